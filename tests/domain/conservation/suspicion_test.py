"""Records that wait: dropped, or only behind."""

from datetime import UTC, datetime, timedelta

from mirrorwatch.domain.skips.model import DroppedTailDetector, OffsetRange

START = datetime(2026, 1, 1, tzinfo=UTC)
DROPPED, BUSY = ("dropped", 0), ("busy", 0)
ONE_TASK = {DROPPED: 0, BUSY: 0}


class Flow:
    """Two partitions: one waits, the other is written every ten seconds."""

    def __init__(self, tasks: dict[tuple[str, int], int]) -> None:
        self.suspicions = DroppedTailDetector(patience=timedelta(minutes=2))
        self.tasks = tasks
        self.at = START
        self.ends = {DROPPED: 30, BUSY: 0}
        self.positions = {DROPPED: 20, BUSY: 0}
        self.spans: dict[tuple[str, int], OffsetRange] = {}

    def go_on(self, seconds: int, *, copying: int) -> set[tuple[str, int]]:
        """Let time pass; the mirror copies so many records each time."""
        found: set[tuple[str, int]] = set()
        for _ in range(seconds // 10):
            self.at += timedelta(seconds=10)
            self.ends = self.ends | {BUSY: self.ends[BUSY] + 5}
            position = min(self.positions[BUSY] + copying, self.ends[BUSY])
            self.positions = self.positions | {BUSY: position}
            self.spans = self.suspicions.look(
                self.at, self.ends, self.positions, self.tasks
            )
            found = set(self.spans)
        return found


def test_records_that_their_task_leaves_behind_are_suspected() -> None:
    flow = Flow(ONE_TASK)
    assert flow.go_on(120, copying=5) == set()
    assert flow.go_on(30, copying=5) == {DROPPED}
    assert flow.suspicions.since(DROPPED) == START + timedelta(seconds=10)


def test_a_mirror_that_stands_is_not_suspected() -> None:
    flow = Flow(ONE_TASK)
    flow.go_on(60, copying=5)
    assert flow.go_on(3600, copying=0) == set()


def test_a_mirror_that_drains_a_backlog_is_not_suspected() -> None:
    flow = Flow(ONE_TASK)
    flow.go_on(600, copying=0)
    assert flow.go_on(900, copying=4) == set()


def test_another_task_that_goes_on_says_nothing() -> None:
    assert Flow({DROPPED: 0, BUSY: 1}).go_on(3600, copying=5) == set()


def test_without_known_tasks_nothing_is_suspected() -> None:
    assert Flow({}).go_on(3600, copying=5) == set()


def test_a_position_that_moves_takes_it_back() -> None:
    flow = Flow(ONE_TASK)
    assert flow.go_on(300, copying=5) == {DROPPED}
    flow.positions = flow.positions | {DROPPED: 25}
    assert flow.go_on(10, copying=5) == set()
    assert flow.go_on(300, copying=5) == {DROPPED}
    flow.positions = flow.positions | {DROPPED: 30}
    assert flow.go_on(300, copying=5) == set()


def test_records_are_left_behind_before_they_are_suspected() -> None:
    flow = Flow(ONE_TASK)
    flow.go_on(30, copying=5)
    assert flow.suspicions.left_behind == set()
    assert flow.go_on(30, copying=5) == set()
    assert flow.suspicions.left_behind == {DROPPED}
    flow.positions = flow.positions | {DROPPED: 30}
    flow.go_on(10, copying=5)
    assert flow.suspicions.left_behind == set()


def test_what_was_written_since_their_task_stands_is_only_late() -> None:
    flow = Flow(ONE_TASK)
    assert flow.go_on(300, copying=5) == {DROPPED}
    flow.ends = flow.ends | {DROPPED: 90}
    assert flow.go_on(3600, copying=0) == {DROPPED}
    assert flow.spans[DROPPED] == OffsetRange(20, 30)
    # It goes on: those are left behind in their turn.
    assert flow.go_on(200, copying=2000) == {DROPPED}
    assert flow.spans[DROPPED] == OffsetRange(20, 90)


def test_of_many_ends_some_are_remembered() -> None:
    flow = Flow(ONE_TASK)
    for _ in range(500):
        flow.ends = flow.ends | {DROPPED: flow.ends[DROPPED] + 1}
        flow.go_on(10, copying=5)
    assert 500 < flow.spans[DROPPED].end <= flow.ends[DROPPED] - 12
    assert len(flow.suspicions.waiting[DROPPED].ends) <= 64
