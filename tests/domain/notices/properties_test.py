"""What holds of notices whatever happens."""

from datetime import timedelta
from itertools import pairwise
from typing import NamedTuple

from hypothesis import example, given
from hypothesis import strategies as st

from mirrorwatch.domain.notices.model import NotificationState
from mirrorwatch.domain.notices.notifier import NotificationPolicy
from mirrorwatch.domain.report import Health
from mirrorwatch.state.codec import from_json, to_json
from tests.support.builders import FLOW
from tests.support.notices import OTHER, Telling

SECOND = timedelta(seconds=1)
QUIET = timedelta(hours=3)
"""Time enough: for a recovery, lesser news, and room for both flows."""


class Step(NamedTuple):
    """A tick of one flow."""

    after: int
    flow: str
    health: Health
    other: Health
    held: bool
    restarts: bool


steps = st.lists(
    st.builds(
        Step,
        after=st.sampled_from([1, 5, 5, 5, 20, 40, 200, 2000]),
        flow=st.sampled_from([FLOW.name, OTHER.name]),
        health=st.sampled_from(Health),
        other=st.sampled_from(Health),
        held=st.sampled_from([False, False, False, True]),
        restarts=st.sampled_from([False, False, False, False, True]),
    ),
    max_size=40,
)

policies = st.builds(
    NotificationPolicy,
    minimum=st.sampled_from(["warning", "critical"]),
    hold=st.sampled_from([0, 10, 30, 300]).map(lambda s: s * SECOND),
    recovery=st.sampled_from([0, 60, 300]).map(lambda s: s * SECOND),
    remind=st.sampled_from([timedelta(), timedelta(hours=4)]),
    most_per_hour=st.sampled_from([1, 2, 100]),
)


def run(
    policy: NotificationPolicy, row: list[Step]
) -> tuple[Telling, list[str]]:
    """Tick through a row; say who was told of although they were held."""
    telling = Telling(policy, flows=[FLOW, OTHER])
    wrong = []
    for step in row:
        if step.restarts:
            telling.books = from_json(
                NotificationState, to_json(telling.books)
            )
            telling.restart()
        notices = telling.tick(
            {"canary": step.health, "lag": step.other},
            after=step.after * SECOND,
            flow=step.flow,
            held={step.flow} if step.held else set(),
        )
        wrong += [n.flow for n in notices if step.held and n.flow == step.flow]
    return telling, wrong


def settle(telling: Telling) -> None:
    """Let nothing change for a while."""
    end = telling.now + QUIET
    while telling.now < end:
        for flow in (FLOW.name, OTHER.name):
            own = {
                v.check: v.health for v in telling.verdicts if v.flow == flow
            }
            telling.tick(own, after=150 * SECOND, flow=flow)


@given(policies, steps)
@example(NotificationPolicy(hold=timedelta()), [])
def test_after_quiet_people_believe_what_is_true(
    policy: NotificationPolicy, row: list[Step]
) -> None:
    telling, _ = run(policy, row)
    settle(telling)
    for flow in (FLOW.name, OTHER.name):
        own = [v for v in telling.verdicts if v.flow == flow]
        told = telling.books.flows[flow]
        assert told.health is policy.weigh_flow(own)
        for verdict in own:
            believed = told.checks.get(verdict.check, Health.OK)
            assert believed >= policy.weigh(verdict.health)


@given(policies, steps)
def test_every_notice_goes_on_from_what_was_told_before(
    policy: NotificationPolicy, row: list[Step]
) -> None:
    telling, _ = run(policy, row)
    settle(telling)
    for flow in (FLOW.name, OTHER.name):
        believed = Health.OK
        for notice in telling.told:
            if notice.flow == flow:
                assert notice.before is believed
                believed = notice.health
        assert believed is telling.books.flows[flow].health


@given(policies, steps)
def test_no_flow_is_told_of_twice_within_the_hold_down(
    policy: NotificationPolicy, row: list[Step]
) -> None:
    telling, _ = run(policy, row)
    for flow in (FLOW.name, OTHER.name):
        times = [n.at for n in telling.told if n.flow == flow]
        for before, after in pairwise(times):
            assert after - before >= policy.hold


@given(policies, steps)
def test_nothing_is_told_of_a_flow_in_maintenance(
    policy: NotificationPolicy, row: list[Step]
) -> None:
    _, wrong = run(policy, row)
    assert wrong == []


@given(policies, steps)
def test_no_hour_has_more_notices_than_allowed(
    policy: NotificationPolicy, row: list[Step]
) -> None:
    telling, _ = run(policy, row)
    times = [n.at for n in telling.told]
    for time in times:
        within = [t for t in times if timedelta() <= t - time < 3600 * SECOND]
        assert len(within) <= policy.most_per_hour


@given(policies, steps)
def test_no_number_of_untold_changes_is_negative(
    policy: NotificationPolicy, row: list[Step]
) -> None:
    telling, _ = run(policy, row)
    settle(telling)
    assert all(n.untold >= 0 for n in telling.told)
    assert telling.books.untold >= 0


@given(steps)
def test_every_notice_was_true_when_it_was_made(row: list[Step]) -> None:
    policy = NotificationPolicy()
    telling, _ = run(policy, row)
    for notice in telling.told:
        named = {c.verdict.health for c in notice.changes}
        assert notice.lasted >= timedelta()
        if notice.health > Health.UNKNOWN:
            assert max(named) is notice.health
