"""Probes that are really lost, in three ways, and some that only seem so.

Each test leaves the mirror as it was there: the next starts it as it needs it.
"""

from datetime import timedelta

import pytest

from mirrorwatch.domain.canary.model import ProbeMessage
from mirrorwatch.domain.report import Health
from mirrorwatch_lab import CANARY_TOPIC, TARGET, Lab
from mirrorwatch_lab.faults import MARK, drop_marked, tolerate_errors
from tests.support.truth import Truth
from tests.support.watch import Watch, wait_until

pytestmark = pytest.mark.lab

COMMITS = {f"{TARGET}.offset.flush.interval.ms": "10000"}
"""Of a mirror that is to commit several times within a test."""


class Marks:
    """Marks every nth probe of a partition, 0 for none."""

    def __init__(self) -> None:
        self.every = 0
        self.made = 0

    def __call__(
        self, message: ProbeMessage
    ) -> list[tuple[str, str | bytes | None]]:
        if self.every == 0 or message.sequence % self.every:
            return []
        self.made += 1
        return [(MARK, b"")]


def expect_all_named(watch: Watch, lost: int) -> None:
    """Every loss is in the books by name, with its proof."""
    assert lost > 0
    named = {(loss.partition, loss.sequence) for loss in watch.losses}
    assert len(named) == len(watch.losses) == lost
    assert all("arrived" in x.proof or "past" in x.proof for x in watch.losses)


def let_arrive(lab: Lab, probes: int) -> None:
    """Wait for arrivals: the agent's own counts change with its looks only."""

    def arrived() -> int:
        ends = lab.target.topics.ends(CANARY_TOPIC).values()
        return sum(end for _, end in ends)

    enough = arrived() + probes
    wait_until(lambda: arrived() >= enough)


def lower_the_limit(lab: Lab, watch: Watch) -> None:
    """Let the target refuse large probes until the agent has seen it."""
    limits = {"max.message.bytes": "50000"}, {"max.message.bytes": "1048588"}
    for limit, is_seen in zip(limits, (True, False), strict=True):
        lab.target.topics.set_configs(CANARY_TOPIC, limit)
        wait_until(
            lambda: watch.says("canary.uncovered") is is_seen,  # noqa: B023
        )


@pytest.mark.long
def test_records_deleted_ahead_of_a_stopped_mirror_are_lost(lab: Lab) -> None:
    truth = Truth(lab)
    with Watch(lab) as watch:
        watch.wait_for(Health.OK)
        lab.mirror.stop()
        watch.wait_for_count("acked", watch.counts["acked"] + 60)
        # In this order: what is deleted was looked at.
        ends = lab.source.topics.ends(CANARY_TOPIC)
        truth.look()
        lab.delete_records(
            CANARY_TOPIC, {p: end - 3 for p, (_, end) in ends.items()}
        )
        lab.mirror.start()
        watch.wait_for(Health.CRITICAL, "canary.lost")
        wait_until(lambda: watch.counts["outstanding"] < 30)
        watch.stop()
    expect_all_named(watch, truth.check(watch)["lost"])


def test_probes_that_the_target_refuses_are_lost_one_by_one(lab: Lab) -> None:
    lab.mirror.stop()
    lab.mirror.start(tolerate_errors())
    with Watch(
        lab,
        interval="5s",
        canary={"sized": {"bytes": 100_000}},
        sized_interval=timedelta(milliseconds=300),
    ) as watch:
        watch.wait_for(Health.OK)
        # The agent never sends what it sees to be too large; the limit falls
        # behind its back, until it looks again. Thrice, because it may look
        # at once, and each time at another moment between two looks.
        for seconds in (1, 2, 4):
            let_arrive(lab, seconds * 12)
            lower_the_limit(lab, watch)
        watch.wait_for(Health.CRITICAL, "canary.lost")
        wait_until(lambda: watch.counts["outstanding"] < 30)
        watch.stop()
    totals = Truth(lab).check(watch)
    expect_all_named(watch, totals["lost"])
    assert {loss.partition for loss in watch.losses} == {0}


@pytest.mark.long
def test_filtered_probes_are_lost_but_a_filtered_tail_is_not(lab: Lab) -> None:
    lab.mirror.stop()
    lab.mirror.start(drop_marked() | COMMITS)
    marks = Marks()
    with Watch(lab, headers=marks) as watch:
        watch.wait_for(Health.OK)
        marks.every = 7
        watch.wait_for_count("sent", watch.counts["sent"] + 120)
        marks.every = 0
        watch.wait_for(Health.CRITICAL, "canary.lost")
        lost = marks.made
        wait_until(lambda: watch.counts["lost"] == lost)

        # From now on the mirror drops every probe: nothing passes them, so
        # nothing proves that they will not come, nor does a commit.
        marks.every = 1
        watch.wait_for(Health.CRITICAL, "canary.overdue")
        watch.wait_for_count("outstanding", 6 * 2 * 25)
        assert watch.counts["lost"] == lost
        lab.mirror.kill()
        # It first runs its old configuration for some seconds: an unmarked
        # probe that it copied then would leave the marked ones behind.
        lab.mirror.start()
        marks.every = 0
        wait_until(lambda: watch.counts["outstanding"] < 12)
        assert watch.counts["late"] > 0, (watch.counts, watch.verdict())
        watch.stop()
    totals = Truth(lab).check(watch)
    assert totals["lost"] == lost
    expect_all_named(watch, lost)
