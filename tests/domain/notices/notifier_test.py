"""Which changes are told, one by one."""

from dataclasses import replace
from datetime import timedelta
from itertools import pairwise
from typing import NamedTuple

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mirrorwatch.domain.notices.model import (
    NoticeKind,
    NotificationPolicy,
    NotificationState,
)
from mirrorwatch.domain.report import Cause, Health
from mirrorwatch.state.documents import from_json, to_json
from tests.support.builders import FLOW, NOON
from tests.support.webhook import OTHER, Telling

OK, UNKNOWN = Health.OK, Health.UNKNOWN
WARNING, CRITICAL = Health.WARNING, Health.CRITICAL
SECOND, MINUTE = timedelta(seconds=1), timedelta(minutes=1)
HOUR = timedelta(hours=1)


def test_a_fault_is_told_once_it_has_stood_and_so_is_its_end() -> None:
    telling = Telling()
    assert telling.last(OK, HOUR) == []
    began = telling.now + 5 * SECOND

    (worse,) = telling.last(CRITICAL, 10 * MINUTE)
    (recovered,) = telling.last(OK, HOUR)

    assert (worse.kind, worse.before, worse.health) == (
        *(NoticeKind.WORSE, OK),
        CRITICAL,
    )
    assert worse.at - began == timedelta(seconds=30)
    assert worse.since == began
    assert (recovered.kind, recovered.before) == (
        NoticeKind.RECOVERED,
        CRITICAL,
    )
    assert recovered.lasted == 10 * MINUTE
    (change,) = recovered.changes
    assert (change.before, change.verdict.health) == (CRITICAL, OK)


def test_a_short_fault_is_not_told() -> None:
    telling = Telling()
    for _ in range(20):
        telling.last(CRITICAL, 25 * SECOND)
        telling.last(OK, 2 * MINUTE)
    assert telling.told == []


def test_one_broken_flow_is_one_message() -> None:
    telling = Telling()
    checks = ["canary", "heartbeats", "lag", "latency", "tasks", "retention"]
    found = dict.fromkeys(checks, OK)
    telling.last(found, MINUTE)
    for check in checks:
        found[check] = CRITICAL if check == "canary" else WARNING
        telling.last(found, MINUTE)

    (worse,) = telling.told
    recovered = telling.last(dict.fromkeys(checks, OK), HOUR)

    assert [c.verdict.check for c in worse.changes] == ["canary"]
    assert [n.kind for n in recovered] == [NoticeKind.RECOVERED]


def test_a_notice_names_the_worst_check_first() -> None:
    telling = Telling()
    found = {"lag": WARNING, "tasks": OK, "skips": UNKNOWN, "canary": CRITICAL}
    (notice,) = telling.last(found, MINUTE)
    named = [change.verdict.check for change in notice.changes]
    assert named == ["canary", "lag", "skips"]


def test_one_more_bad_check_is_told_later() -> None:
    telling = Telling()
    (first,) = telling.last({"canary": CRITICAL, "skips": OK}, 5 * MINUTE)
    both = {"canary": CRITICAL, "skips": CRITICAL}
    (second,) = telling.last(both, HOUR)
    assert second.kind is NoticeKind.CHANGED
    assert second.at - first.at == 15 * MINUTE


def test_a_restart_is_no_news_of_a_flow_that_was_told_to_be_bad() -> None:
    telling = Telling()
    telling.last({"configs": WARNING, "lag": OK}, 2 * HOUR)
    telling.restart()
    told = telling.last({"configs": WARNING, "lag": UNKNOWN}, 2 * MINUTE)
    told += telling.last({"configs": WARNING, "lag": OK}, HOUR)
    assert told == []

    telling.last({"configs": CRITICAL, "lag": OK}, 30 * MINUTE)
    telling.restart()
    told = telling.last(UNKNOWN, 2 * MINUTE)
    told += telling.last({"configs": CRITICAL, "lag": OK}, HOUR)
    assert told == []


def test_what_stays_unknown_of_a_bad_flow_is_told_after_two_minutes() -> None:
    telling = Telling()
    telling.last({"configs": CRITICAL, "lag": OK}, 2 * HOUR)
    began = telling.now + 5 * SECOND
    (more,) = telling.last({"configs": CRITICAL, "lag": UNKNOWN}, 10 * MINUTE)
    assert (more.kind, more.at - began) == (NoticeKind.CHANGED, 2 * MINUTE)

    telling.last({"configs": CRITICAL, "lag": UNKNOWN}, HOUR)
    began = telling.now + 5 * SECOND
    (lost,) = telling.last({"configs": UNKNOWN, "lag": OK}, 10 * MINUTE)
    assert (lost.kind, lost.at - began) == (NoticeKind.UNKNOWN, 2 * MINUTE)


CUT = Cause(
    flow=FLOW.name,
    code="link.broken",
    part="link",
    reason="MirrorMaker does not reach summit",
    headline="MirrorMaker does not reach summit for 9 s",
    since=NOON,
    evidence=("no consumer of MirrorMaker is connected to summit",),
    symptoms=("canary", "lag"),
    stops=True,
)
SLOW = replace(CUT, stops=False)


def test_symptoms_of_one_cause_are_one_notice() -> None:
    telling = Telling()
    found = {"canary": UNKNOWN, "lag": OK, "heartbeats": OK}
    assert telling.last(found, MINUTE, cause=CUT) == []
    found["heartbeats"] = WARNING
    told = telling.last(found, MINUTE, cause=CUT)
    found["lag"] = CRITICAL
    told += telling.last(found, 14 * MINUTE, cause=CUT)
    (worse,) = told
    assert (worse.kind, worse.health) == (NoticeKind.WORSE, CRITICAL)
    assert worse.cause == CUT
    recovered = telling.last(dict.fromkeys(found, OK), HOUR)
    assert [n.kind for n in recovered] == [NoticeKind.RECOVERED]


def test_a_flow_of_which_nothing_is_known_waits_for_two_minutes_still() -> (
    None
):
    telling = Telling()
    assert telling.last(UNKNOWN, 2 * MINUTE, cause=CUT) == []
    (notice,) = telling.tick(UNKNOWN, cause=CUT)
    assert (notice.kind, notice.health) == (NoticeKind.WORSE, CRITICAL)


def test_symptoms_of_a_cause_that_was_told_are_no_news() -> None:
    telling = Telling()
    found = {"canary": CRITICAL, "lag": OK}
    telling.last(found, MINUTE, cause=CUT)
    found["lag"] = WARNING
    assert telling.last(found, HOUR, cause=CUT) == []
    found["skips"] = WARNING
    (news,) = telling.last(found, MINUTE, cause=CUT)
    assert news.kind is NoticeKind.CHANGED
    other = replace(CUT, part="target")
    found["lag"] = CRITICAL
    (news,) = telling.last(found, HOUR, cause=other)
    assert (news.kind, news.cause) == (NoticeKind.CHANGED, other)


@pytest.mark.parametrize(
    ("part", "began", "due"),
    [
        ("mirror", 5 * MINUTE, 5 * MINUTE + 30 * SECOND),
        ("mirror", -MINUTE, None),
        ("link", 5 * MINUTE, None),
        ("link", 20 * MINUTE, 20 * MINUTE + 30 * SECOND),
    ],
    ids=["another part", "its sign was there", "flapping", "a new outage"],
)
def test_a_new_cause_is_told_whatever_is_still_critical(
    part: str, began: timedelta, due: timedelta | None
) -> None:
    telling = Telling()
    found = {"skips": CRITICAL, "canary": CRITICAL}
    (first,) = telling.last(found, MINUTE, cause=CUT)
    telling.last(found, 4 * MINUTE)
    new = replace(CUT, part=part, since=first.at + began)
    start = telling.now
    told = [] if began > timedelta() else telling.last(found, HOUR, cause=new)
    if began > timedelta():
        telling.last(found, new.since - start)
        told = telling.last(found, 10 * MINUTE, cause=new)
    expected = [] if due is None else [(NoticeKind.CAUSE, first.at + due)]
    assert [(n.kind, n.at) for n in told] == expected


def test_that_a_slow_part_stops_is_told_though_the_flow_was_critical() -> None:
    telling = Telling()
    found = {"skips": CRITICAL, "latency": WARNING, "canary": OK, "lag": OK}
    slow = replace(SLOW, symptoms=("latency",))
    telling.last(found, MINUTE, cause=slow)
    assert telling.last(found, HOUR, cause=slow) == []
    found |= {"canary": CRITICAL, "lag": CRITICAL}
    told = telling.last(found, 2 * HOUR, cause=CUT)
    assert [(n.kind, n.cause) for n in told] == [(NoticeKind.CHANGED, CUT)]


def test_what_is_slow_again_after_a_stop_is_no_news() -> None:
    telling = Telling()
    telling.last({"canary": CRITICAL, "lag": OK}, MINUTE, cause=CUT)
    found = {"canary": CRITICAL, "lag": WARNING}
    assert telling.last(found, HOUR, cause=SLOW) == []


def test_what_is_slow_is_as_bad_as_its_checks() -> None:
    telling = Telling()
    (worse,) = telling.last(WARNING, HOUR, cause=SLOW)
    assert worse.health is WARNING
    assert telling.last(OK, 30 * SECOND, cause=CUT) == []


def test_the_cause_that_was_told_outlives_the_agent() -> None:
    telling = Telling()
    found = {"canary": CRITICAL, "lag": OK}
    telling.last(found, MINUTE, cause=CUT)
    telling.restart()
    telling.books = from_json(NotificationState, to_json(telling.books))
    found["lag"] = CRITICAL
    assert telling.last(found, HOUR, cause=CUT) == []


def test_a_warning_on_the_way_back_does_not_hasten_the_recovery() -> None:
    telling = Telling()
    telling.last(CRITICAL, MINUTE)
    assert telling.last(WARNING, 5 * MINUTE) == []
    well = telling.now + 5 * SECOND
    (recovered,) = telling.last(OK, HOUR)
    assert recovered.at - well == MINUTE


def test_that_a_flow_got_worse_is_not_delayed_by_what_was_told() -> None:
    telling = Telling()
    telling.last(WARNING, MINUTE)
    (worse,) = telling.last(CRITICAL, MINUTE)
    assert (worse.before, worse.health) == (WARNING, CRITICAL)
    assert worse.lasted < 2 * MINUTE


def test_a_flow_that_never_stands_still_is_told_once() -> None:
    telling = Telling()
    for _ in range(60):
        telling.last(CRITICAL, 10 * SECOND)
        telling.last(OK, 10 * SECOND)
    assert [n.health for n in telling.told] == [CRITICAL]
    (recovered,) = telling.last(OK, 10 * MINUTE)
    assert recovered.kind is NoticeKind.RECOVERED


def test_nobody_can_tell_is_never_told_as_recovered() -> None:
    telling = Telling()
    telling.last(CRITICAL, MINUTE)
    (notice,) = telling.last(UNKNOWN, HOUR)
    assert (notice.kind, notice.health) == (NoticeKind.UNKNOWN, UNKNOWN)


def test_that_nobody_can_tell_is_told_after_two_minutes() -> None:
    telling = Telling()
    assert telling.last(UNKNOWN, 2 * MINUTE) == []
    (notice,) = telling.tick(UNKNOWN)
    assert (notice.kind, notice.health) == (NoticeKind.UNKNOWN, UNKNOWN)


def test_what_is_bad_after_nobody_could_tell_has_to_stand_too() -> None:
    telling = Telling()
    telling.last(UNKNOWN, MINUTE)
    assert telling.last(CRITICAL, 30 * SECOND) == []
    (notice,) = telling.tick(CRITICAL)
    assert notice.lasted > MINUTE


def test_a_flow_of_which_nothing_is_judged_is_not_well() -> None:
    telling = Telling()
    telling.last(CRITICAL, MINUTE)
    (notice,) = telling.last({"canary": Health.OFF}, HOUR)
    assert notice.health is UNKNOWN


def test_a_standing_critical_flow_is_reminded_of() -> None:
    telling = Telling(NotificationPolicy(remind=4 * HOUR))
    first, *reminders = telling.last(CRITICAL, 12 * HOUR + 2 * MINUTE)
    assert [n.kind for n in reminders] == [NoticeKind.REMINDER] * 3
    assert reminders[-1].at - first.at == 12 * HOUR


@pytest.mark.parametrize(
    ("policy", "health"),
    [
        (NotificationPolicy(remind=timedelta()), CRITICAL),
        (NotificationPolicy(), WARNING),
    ],
)
def test_it_is_not_reminded_of(
    policy: NotificationPolicy, health: Health
) -> None:
    telling = Telling(policy)
    assert len(telling.last(health, 24 * HOUR, every=MINUTE)) == 1


def test_a_recovery_knows_of_what_is_too_mild_to_be_told() -> None:
    telling = Telling(NotificationPolicy(minimum="critical"))
    telling.last({"canary": CRITICAL, "lag": OK}, HOUR)
    (mild,) = telling.last({"canary": OK, "lag": WARNING}, HOUR)
    assert (mild.health, mild.actual) == (OK, WARNING)
    telling.last({"canary": CRITICAL, "lag": OK}, HOUR)
    (recovered,) = telling.last({"canary": OK, "lag": OK}, HOUR)
    assert (recovered.health, recovered.actual) == (OK, OK)


def test_warnings_are_not_told_where_only_critical_is_wanted() -> None:
    telling = Telling(NotificationPolicy(minimum="critical"))
    assert telling.last({"lag": WARNING, "canary": OK}, HOUR) == []
    (critical,) = telling.last({"lag": WARNING, "canary": CRITICAL}, HOUR)
    assert [c.verdict.check for c in critical.changes] == ["canary"]
    (end,) = telling.last({"lag": WARNING, "canary": OK}, HOUR)
    assert end.kind is NoticeKind.RECOVERED


def test_a_warning_does_not_hide_that_nobody_can_tell() -> None:
    telling = Telling(NotificationPolicy(minimum="critical"))
    (notice,) = telling.last({"lag": WARNING, "canary": UNKNOWN}, HOUR)
    assert notice.health is UNKNOWN


def test_what_still_stands_after_maintenance_is_told_then() -> None:
    telling = Telling()
    held = {FLOW.name}
    assert telling.last(CRITICAL, HOUR, held=held) == []
    assert telling.last(CRITICAL, 30 * SECOND) == []
    (notice,) = telling.tick(CRITICAL)
    assert notice.lasted > HOUR


def test_what_stood_before_maintenance_has_to_stand_anew_after_it() -> None:
    telling = Telling()
    assert telling.last(CRITICAL, 20 * SECOND) == []
    assert telling.last(CRITICAL, HOUR, held={FLOW.name}) == []
    assert telling.last(CRITICAL, 30 * SECOND) == []
    assert len(telling.tick(CRITICAL)) == 1


def test_what_recovered_in_maintenance_is_told_after_it() -> None:
    telling = Telling()
    telling.last(CRITICAL, MINUTE)
    assert telling.last(OK, HOUR, held={FLOW.name}) == []
    (notice,) = telling.last(OK, 2 * MINUTE)
    assert notice.kind is NoticeKind.RECOVERED


def test_a_quick_recovery_waits_for_the_hold_down_of_what_was_told() -> None:
    telling = Telling(
        NotificationPolicy(hold=5 * MINUTE, recovery=timedelta())
    )
    (worse,) = telling.last(CRITICAL, 6 * MINUTE)
    (recovered,) = telling.last(OK, HOUR)
    assert recovered.at - worse.at == 5 * MINUTE


def test_a_restart_neither_repeats_nor_forgets() -> None:
    telling = Telling()
    telling.last(CRITICAL, MINUTE)
    telling.restart()
    assert telling.last(CRITICAL, HOUR) == []
    (notice,) = telling.last(OK, 2 * MINUTE)
    assert notice.lasted > HOUR


def test_a_clock_that_was_set_back_silences_nothing() -> None:
    telling = Telling()
    telling.last(CRITICAL, MINUTE)
    telling.last(OK, 2 * MINUTE)
    telling.tick(OK, after=timedelta(days=-1))
    assert len(telling.last(CRITICAL, 2 * MINUTE)) == 1


def test_what_found_no_room_is_summed_up_in_the_next_notice() -> None:
    telling = Telling(NotificationPolicy(most_per_hour=2))
    for _ in range(8):
        telling.last(CRITICAL, 2 * MINUTE)
        telling.last(OK, 2 * MINUTE)
    first, second = telling.told
    assert not first.is_last
    assert second.is_last

    # Four times it was bad and nobody was told; it is well, as was told.
    (after,) = telling.last(CRITICAL, HOUR)

    assert after.kind is NoticeKind.WORSE
    assert after.untold == 7


def test_what_still_stands_when_there_is_room_is_told_then() -> None:
    telling = Telling(NotificationPolicy(most_per_hour=1))
    telling.last(WARNING, MINUTE)
    (late,) = telling.last(CRITICAL, HOUR)
    assert (late.before, late.health, late.untold) == (WARNING, CRITICAL, 0)


def test_a_flow_that_broke_goes_before_one_that_is_reminded_of() -> None:
    telling = Telling(
        NotificationPolicy(most_per_hour=1, remind=HOUR), flows=[FLOW, OTHER]
    )
    telling.last(CRITICAL, HOUR)
    for _ in range(20):
        telling.tick(OK, flow=OTHER.name, after=5 * MINUTE)
    assert [n.kind for n in telling.told] == [
        NoticeKind.WORSE,
        *[NoticeKind.REMINDER] * 2,
    ]
    telling.told.clear()

    for _ in range(24):
        telling.tick(WARNING, flow=OTHER.name, after=5 * MINUTE)

    assert [n.flow for n in telling.told] == [OTHER.name, FLOW.name]


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
