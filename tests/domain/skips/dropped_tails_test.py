"""Suspected drops: partitions that wait while their task copies others."""

from dataclasses import dataclass, field
from datetime import timedelta

import pytest

from mirrorwatch.domain.cluster_view import TopicPartition
from mirrorwatch.domain.offsets import OffsetRange
from mirrorwatch.domain.skips.dropped_tails import (
    DroppedTailDetector,
    SuspectedDrop,
)
from tests.domain.copies.world import START

WAITING, BUSY = ("waiting", 0), ("busy", 0)
PATIENCE = timedelta(minutes=2)


@dataclass
class Flow:
    """Two partitions: one waits, the other is written every ten seconds."""

    tasks: dict[TopicPartition, int] = field(
        default_factory=lambda: {WAITING: 0, BUSY: 0}
    )
    detector: DroppedTailDetector = field(
        default_factory=lambda: DroppedTailDetector(patience=PATIENCE)
    )
    seconds: int = 0
    end: int = 30
    position: int = 20
    busy_end: int = 0
    busy_position: int = 0
    suspected: OffsetRange | None = None

    def go_on(self, seconds: int, copying: int) -> "Flow":
        """Let time pass; the mirror copies so many records of the busy
        partition each time.
        """
        for _ in range(seconds // 10):
            self.seconds += 10
            self.busy_end += 5
            self.busy_position = min(
                self.busy_position + copying, self.busy_end
            )
            found = self.detector.look(
                START + timedelta(seconds=self.seconds),
                {WAITING: self.end, BUSY: self.busy_end},
                {WAITING: self.position, BUSY: self.busy_position},
                self.tasks,
            )
            self.suspected = found.get(WAITING)
        return self


@pytest.mark.parametrize(
    ("steps", "is_suspected"),
    [
        ([(120, 5)], False),
        ([(150, 5)], True),
        # The mirror is stalled, or drains a backlog.
        ([(60, 5), (3600, 0)], False),
        ([(600, 0), (900, 4)], False),
        # What was copied while the task was stalled counts a little.
        ([(10, 0), *[(300, 0), (10, 2000)] * 3], False),
        ([(10, 0), *[(300, 0), (10, 2000)] * 4], True),
    ],
)
def test_a_partition_that_its_task_leaves_behind_is_suspected(
    steps: list[tuple[int, int]], is_suspected: bool
) -> None:
    flow = Flow()
    for seconds, copying in steps:
        flow.go_on(seconds, copying)
    assert flow.suspected == (OffsetRange(20, 30) if is_suspected else None)


@pytest.mark.parametrize("tasks", [{WAITING: 0, BUSY: 1}, {}])
def test_only_partitions_of_one_task_are_compared(
    tasks: dict[TopicPartition, int],
) -> None:
    assert Flow(tasks).go_on(3600, 5).suspected is None


def test_a_task_that_drains_one_partition_first_is_not_suspected() -> None:
    flow = Flow(position=30).go_on(60, 5)
    flow.end = 60
    assert flow.go_on(600, 0).go_on(80, 2000).suspected is None
    assert flow.go_on(60, 5).suspected == OffsetRange(30, 60)


def test_a_task_that_was_idle_was_not_stalled() -> None:
    flow = Flow().go_on(60, 5)
    flow.seconds += 600
    assert flow.go_on(20, 5).suspected is not None


def test_a_position_that_moves_takes_a_suspicion_back() -> None:
    flow = Flow().go_on(300, 5)
    assert flow.suspected is not None
    assert flow.detector.since(WAITING) == START + timedelta(seconds=10)
    flow.position = 25
    assert flow.go_on(10, 5).suspected is None
    assert flow.go_on(300, 5).suspected == OffsetRange(25, 30)
    flow.position = 30
    assert flow.go_on(300, 5).suspected is None


def test_records_are_left_behind_before_they_are_suspected() -> None:
    flow = Flow().go_on(30, 5)
    assert flow.detector.left_behind == set()
    assert flow.go_on(30, 5).suspected is None
    assert flow.detector.left_behind == {WAITING}
    flow.position = 30
    flow.go_on(10, 5)
    assert flow.detector.left_behind == set()


def test_records_written_since_the_task_is_stalled_are_only_late() -> None:
    flow = Flow().go_on(300, 5)
    flow.end = 90
    assert flow.go_on(3600, 0).suspected == OffsetRange(20, 30)
    assert flow.go_on(200, 2000).suspected == OffsetRange(20, 90)


def test_of_many_ends_some_are_remembered() -> None:
    flow = Flow()
    for _ in range(500):
        flow.end += 1
        flow.go_on(10, 5)
    assert flow.suspected is not None
    assert 500 < flow.suspected.end <= flow.end - 12
    assert len(flow.detector.waiting[WAITING].ends) <= 64


@pytest.mark.parametrize("moves", [False, True])
def test_a_suspicion_outlives_a_restart_unless_the_position_moved(
    moves: bool,
) -> None:
    flow = Flow().go_on(150, 5)
    since = flow.detector.since(WAITING)
    known = SuspectedDrop(
        topic=WAITING[0],
        partition=0,
        first=20,
        end=30,
        count=10,
        since=since,
    )
    flow.detector = DroppedTailDetector(
        patience=PATIENCE, known={WAITING: known}
    )
    # The tasks are not known at first.
    tasks, flow.tasks = flow.tasks, {}
    assert flow.go_on(10, 5).suspected is None
    flow.tasks, flow.end = tasks, 35
    if moves:
        flow.position = 25
        assert flow.go_on(120, 5).suspected is None
        return
    assert flow.go_on(10, 5).suspected == OffsetRange(20, 30)
    assert flow.detector.since(WAITING) == since
    assert flow.go_on(150, 5).suspected == OffsetRange(20, 35)
