"""Positions outside of the source's log.

A mirror has copied 100 records to as many offsets; the last sync and commit
say so, and the target ends there. 400 more wait at the source.
"""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from mirrorwatch.domain.cluster_view import PartitionView
from mirrorwatch.domain.copies.coverage import OffsetPair
from mirrorwatch.domain.copies.out_of_range import (
    OutOfRange,
    find_out_of_range,
)
from mirrorwatch.domain.copies.pair import EventKind, LogPair
from mirrorwatch.domain.mirror_records import Committed
from tests.support.builders import NOON

PLACE = ("t", 0)
FLUSH = timedelta(seconds=90)
TICK = timedelta(seconds=5)


@dataclass(frozen=True)
class Case:
    """Logs, what is known of the copies, and what is out of range."""

    start: int
    found: tuple[int, int, int] | None
    """First offset, first sure one, end."""

    end: int = 500
    target_end: int | None = 100
    committed: int | None = 100
    counted_end: int = 100
    seen_end: int = 500
    """End at the source in the survey before."""

    passed: int = 100
    empty_until: int = 0
    is_shared: bool = False
    is_mixed: bool = False
    has_markers: bool = False
    is_moving: bool = False
    is_transactional: bool = False
    dropped: tuple[int, int] = (0, 0)
    is_unseen: bool = False

    @property
    def pair(self) -> LogPair:
        pair = LogPair(source_id="s", target_id="t")
        pair.begin(99, 99)
        pair.passed = self.passed
        pair.counted_end, pair.source_end = self.counted_end, self.seen_end
        pair.empty_until = self.empty_until
        pair.is_shared, pair.is_mixed = self.is_shared, self.is_mixed
        pair.has_markers = self.has_markers
        return pair

    @property
    def view(self) -> PartitionView:
        commit = Committed(
            topic="t", partition=0, position=self.committed, written_at=NOON
        )
        return PartitionView(
            remote="t",
            source_id="s",
            source_start=self.start,
            source_end=self.end,
            target_id="t",
            target_end=self.target_end,
            uncopied=False,
            committed=commit,
            sync=None,
        )

    def look(
        self, at: datetime = NOON, known: OutOfRange | None = None
    ) -> OutOfRange | None:
        return look(self, self.pair, at, known)


def look(
    case: Case, pair: LogPair, at: datetime, known: OutOfRange | None
) -> OutOfRange | None:
    return find_out_of_range(
        PLACE,
        pair,
        case.view,
        at,
        known=known,
        is_moving=case.is_moving,
        is_transactional=case.is_transactional,
        flush=FLUSH,
        dropped=case.dropped,
    )


CASES = {
    "within the log": Case(100, None),
    "below it": Case(150, (100, 100, 150)),
    "all expired": Case(500, (100, 100, 500)),
    "commit above the sync": Case(150, (120, 120, 150), committed=120),
    "copies after the last commit": Case(
        150, (130, 130, 150), target_end=130, counted_end=130
    ),
    "growth of the target that no commit follows": Case(
        150, (100, 130, 150), target_end=130
    ),
    "more growth than expired": Case(150, (100, 150, 150), target_end=400),
    "another producer": Case(150, (100, 150, 150), is_shared=True),
    "exactly once": Case(
        150, (110, 110, 150), committed=110, is_shared=True,
        is_transactional=True,
    ),
    "two tasks": Case(150, (100, 150, 150), is_mixed=True),
    "transactional source": Case(150, (100, 150, 150), has_markers=True),
    "target does not answer": Case(150, (100, 150, 150), target_end=None),
    "syncs to be accounted for": Case(150, None, is_moving=True),
    "only markers": Case(150, None, empty_until=150),
    "records after markers": Case(150, (120, 120, 150), empty_until=120),
    "dropped on purpose": Case(150, None, dropped=(100, 200)),
    "dropped elsewhere": Case(150, (100, 100, 150), dropped=(110, 200)),
    "one marker after all that was seen": Case(
        101, None, end=101, seen_end=100
    ),
    "records that nobody saw": Case(
        150, (100, 150, 150), end=150, seen_end=100, is_unseen=True
    ),
    "records that were seen to wait": Case(
        150, (100, 100, 150), end=150, seen_end=150
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_a_position_and_a_log(name: str) -> None:
    case = CASES[name]
    found = case.look()
    assert (found and (found.first, found.sure_from, found.end)) == case.found
    if found is not None:
        assert found.is_unseen is case.is_unseen


@pytest.mark.parametrize(
    ("case", "believed_after"),
    [
        (Case(150, None), TICK),
        (Case(150, None, target_end=130), TICK),
        (Case(150, None, is_shared=True), 2 * FLUSH),
    ],
)
def test_it_is_believed_after(case: Case, believed_after: timedelta) -> None:
    at, found = NOON, case.look()
    while found is not None and not found.is_believed(at):
        at += TICK
        found = case.look(at, found)
    assert at - NOON == believed_after


def test_a_position_that_moves_is_looked_at_anew() -> None:
    found = Case(150, None, is_shared=True).look()
    moved = Case(150, None, is_shared=True, committed=110).look(
        NOON + TICK, found
    )
    assert moved is not None
    assert moved.since == NOON + TICK


@pytest.mark.parametrize(
    ("change", "found"),
    [
        ({}, (100, 100, 150)),
        ({"start": 200}, (100, 100, 200)),
        # The mirror has resumed: what expires now it may have copied.
        ({"start": 200, "target_end": 140}, (100, 100, 150)),
        ({"committed": 120}, (120, 120, 150)),
        ({"committed": 400}, (100, 100, 150)),
    ],
)
def test_what_is_believed_stays_until_copies_show_the_position(
    change: dict[str, Any], found: tuple[int, int, int]
) -> None:
    case = Case(150, None)
    known = case.look(NOON + TICK, case.look())
    assert known is not None
    case = replace(case, **change)
    pair = case.pair
    after = look(case, pair, NOON + 2 * TICK, known)
    assert after is not None
    assert (after.first, after.sure_from, after.end) == found
    pair.judged = after.end
    assert look(case, pair, NOON + 3 * TICK, after) is None


def test_a_truncated_log_is_out_of_range_until_the_next_sync() -> None:
    case = Case(0, None)
    pair = case.pair
    (event,) = pair.truncate_source(60)
    assert (event.kind, event.ranges) == (
        EventKind.SOURCE_TRUNCATED,
        (range(60, 100),),
    )
    found = look(case, pair, NOON, None)
    assert found is not None
    assert (found.first, found.end, found.is_beyond) == (60, 100, True)
    assert found.is_believed(NOON)
    pair.cursor = None
    pair.take(OffsetPair(140, 70), NOON)
    assert look(case, pair, NOON, found) is None
