"""Where groups start after a failover, and which method is trusted."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mirrorwatch.domain.copies.coverage import OffsetPair
from mirrorwatch.domain.failover import texts
from mirrorwatch.domain.failover.translation import (
    CopiedPartition,
    GroupOffset,
    Method,
    Start,
    merge,
    translate,
)
from mirrorwatch.domain.finding import render
from mirrorwatch.domain.offsets import LARGEST
from tests.domain.copies.coverage_test import HISTORIES
from tests.domain.copies.history import History
from tests.support.copies import copied_partition
from tests.support.examples import examples

SYNC, CHECKPOINT, TIME = Method.SYNC, Method.CHECKPOINT, Method.TIME

Known = tuple[Method, int, int | None, int | None, bool]
"""Method, offset, repeated, missed, and whether these are exact."""

COPIES = copied_partition((0, 359, 0), (369, 469, 359), end=459)
"""Ten records were dropped after the first 359."""

GAP = copied_partition((0, 359, 0), (359, 375, None, 359), (375, 475, 365))
"""Of 16 records, 6 at most were copied, and it is not known which."""


def at(
    committed: int | None, checkpoint: tuple[int, int] | None = None
) -> GroupOffset:
    upstream, downstream = checkpoint or (None, None)
    return GroupOffset(
        topic="t",
        partition=0,
        committed=committed,
        upstream=upstream,
        downstream=downstream,
    )


def listed(start: Start) -> list[Known]:
    found = [start.chosen] if start.chosen else []
    return [
        (s.by, s.offset, s.repeated, s.missed, s.exact)
        for s in (*found, *start.others)
    ]


def expired(offset: int, **records: int) -> str:
    return render(texts.EXPIRED, {"offset": offset, **records})


def may_have_expired(offset: int, records: int) -> str:
    numbers = {"offset": offset, "records": records}
    return render(texts.MAY_HAVE_EXPIRED, numbers)


def expired_until(
    source_end: int, ends: OffsetPair | None = None
) -> CopiedPartition:
    """Return a partition whose copies have expired."""
    return replace(
        copied_partition((0, 96, 0), end=99),
        start=99,
        source_end=source_end,
        ends=ends,
    )


TRUSTED: list[tuple[str, GroupOffset, CopiedPartition, list[Known]]] = [
    (
        "syncs lead further than a checkpoint",
        at(300, (201, 201)),
        COPIES,
        [(SYNC, 300, 0, 0, True), (CHECKPOINT, 201, 99, 0, True)],
    ),
    (
        "dropped records are jumped over",
        at(362),
        COPIES,
        [(SYNC, 359, 0, 0, True)],
    ),
    (
        "unverifiable ones may be copies",
        at(366, (301, 301)),
        replace(GAP, end=465),
        [(SYNC, 359, 6, 0, False), (CHECKPOINT, 301, 64, 0, False)],
    ),
    (
        "others write to the target",
        at(300),
        replace(COPIES, is_shared=True),
        [(SYNC, 300, 0, 0, False)],
    ),
    (
        "what came last has no sync",
        at(470),
        replace(COPIES, end=462),
        [(SYNC, 459, 1, 0, False)],
    ),
    (
        "it is new to a group that stopped before",
        at(460),
        replace(COPIES, end=462),
        [(SYNC, 450, 0, 0, True)],
    ),
    (
        "it may be anything where others write",
        at(460),
        replace(COPIES, end=462, is_shared=True),
        [(SYNC, 450, 3, 0, False)],
    ),
    (
        "both sides grew alike",
        at(470),
        replace(COPIES, end=462, ends=OffsetPair(462, 472)),
        [(SYNC, 460, 0, 0, True)],
    ),
    (
        "the target grew on since",
        at(470),
        replace(COPIES, end=465, even_ends=OffsetPair(462, 472)),
        [(SYNC, 460, 0, 0, True)],
    ),
    (
        "they had grown alike before the last sync",
        at(470),
        replace(COPIES, end=465, even_ends=OffsetPair(300, 301)),
        [(SYNC, 459, 1, 0, False)],
    ),
    (
        "the target grew by more than there was",
        at(470),
        replace(COPIES, end=463, ends=OffsetPair(463, 472)),
        [(SYNC, 459, 4, 0, False)],
    ),
    (
        "nothing was copied yet",
        at(0),
        copied_partition(end=0),
        [(SYNC, 0, 0, 0, True)],
    ),
    (
        "a group ahead of the mirror",
        at(900),
        COPIES,
        [(SYNC, 459, 0, 0, True)],
    ),
    (
        "no syncs",
        at(300, (201, 190)),
        CopiedPartition(end=465),
        [(CHECKPOINT, 190, None, 0, False)],
    ),
    (
        "an offset that the source never told",
        at(None, (201, 190)),
        COPIES,
        [(CHECKPOINT, 190, None, 0, False)],
    ),
    (
        "a checkpoint from before all known copies",
        at(1000, (1000, 700)),
        copied_partition((1500, 4500, 990), end=5000),
        [(CHECKPOINT, 700, None, 0, False)],
    ),
    (
        "a checkpoint of before a reset",
        at(100, (201, 201)),
        COPIES,
        [(SYNC, 100, 0, 0, True), (CHECKPOINT, 201, 0, 101, True)],
    ),
    (
        "a mirror that adds the distance (before Kafka 3.5)",
        at(372, (372, 372)),
        COPIES,
        [(SYNC, 362, 0, 0, True), (CHECKPOINT, 372, 0, 10, True)],
    ),
    (
        "altered copies: the checkpoint is trusted",
        at(300, (201, 190)),
        replace(COPIES, guessed_until=301),
        [
            (CHECKPOINT, 190, None, 0, False),
            (SYNC, 300, None, None, False),
        ],
    ),
    (
        "altered copies without a checkpoint",
        at(300),
        replace(COPIES, guessed_until=301),
        [(SYNC, 300, None, None, False)],
    ),
    (
        "altered copies, some of which have expired",
        at(99, (96, 96)),
        replace(
            copied_partition((0, 100, 0), end=100), start=99, guessed_until=100
        ),
        [(SYNC, 99, None, None, False), (CHECKPOINT, 99, None, 3, False)],
    ),
    (
        "altered copies before it",
        at(301),
        replace(COPIES, guessed_until=301),
        [(SYNC, 301, 0, 0, True)],
    ),
    (
        "a target that does not answer",
        at(300, (201, 201)),
        replace(COPIES, end=None),
        [
            (SYNC, 300, None, None, False),
            (CHECKPOINT, 201, None, None, False),
        ],
    ),
    (
        "an early time",
        at(300),
        replace(COPIES, at_time=250),
        [(SYNC, 300, 0, 0, True), (TIME, 250, 50, 0, True)],
    ),
    (
        "a late time",
        at(300),
        replace(COPIES, at_time=350),
        [(SYNC, 300, 0, 0, True), (TIME, 350, 0, 50, True)],
    ),
    (
        "a time is the last resort",
        at(300),
        CopiedPartition(end=465, at_time=250),
        [(TIME, 250, None, None, False)],
    ),
    (
        "what the group has read may expire",
        at(200, (150, 150)),
        replace(COPIES, start=200),
        [(SYNC, 200, 0, 0, True), (CHECKPOINT, 200, 0, 0, True)],
    ),
    (
        "all has expired, and the group has read all",
        at(99, (96, 96)),
        expired_until(99, OffsetPair(99, 99)),
        [(SYNC, 99, 0, 0, True), (CHECKPOINT, 99, 0, 0, True)],
    ),
    (
        "the same where others write",
        at(99),
        replace(expired_until(99), is_shared=True),
        [(SYNC, 99, 0, 0, False)],
    ),
    (
        "the same without syncs",
        at(99, (96, 96)),
        CopiedPartition(start=99, end=99, source_end=99),
        [(CHECKPOINT, 99, None, 0, False)],
    ),
    (
        "what expired at the source, too, is not missed",
        at(170),
        replace(COPIES, start=200, source_start=200),
        [(SYNC, 200, 0, 0, True)],
    ),
    (
        "a checkpoint at the log start",
        at(3000, (3000, 3000)),
        replace(
            copied_partition((5000, 5001, 5000), end=5001),
            start=3000,
            source_start=0,
            source_end=5001,
        ),
        [(CHECKPOINT, 3000, None, 0, False)],
    ),
    (
        "all that the group lacks expired at the source, too",
        at(96, (96, 96)),
        replace(
            copied_partition((5000, 5001, 5000), end=5001),
            start=3000,
            source_start=5000,
        ),
        [(CHECKPOINT, 3000, None, 0, False)],
    ),
]


@pytest.mark.parametrize(
    ("place", "copied", "found"),
    [each[1:] for each in TRUSTED],
    ids=[each[0] for each in TRUSTED],
)
def test_the_trusted_start_and_the_others(
    place: GroupOffset, copied: CopiedPartition, found: list[Known]
) -> None:
    start = translate(place, copied)
    assert start.problem is None
    assert start.chosen is not None
    assert listed(start) == found


NONE: list[tuple[str, GroupOffset, CopiedPartition, str, list[int | None]]] = [
    (
        "a checkpoint of a target that was recreated",
        at(1200, (1000, 990)),
        copied_partition((1500, 4500, 0), end=5000),
        texts.MISSES,
        [990],
    ),
    (
        "the same, and it is beyond the end",
        at(None, (1000, 990)),
        copied_partition((1500, 4500, 0), end=500),
        render(texts.BEYOND_END, {"offset": 500}),
        [990],
    ),
    (
        "a checkpoint of before a reset",
        at(100, (201, 190)),
        CopiedPartition(end=465),
        texts.MISSES,
        [101],
    ),
    (
        "a checkpoint beyond the end",
        at(300, (201, 190)),
        CopiedPartition(end=12),
        render(texts.BEYOND_END, {"offset": 12}),
        [0],
    ),
    (
        "unread copies expired",
        at(170, (150, 150)),
        replace(COPIES, start=200),
        expired(200, records=30),
        [30, 30],
    ),
    (
        "the source holds some of them",
        at(170),
        replace(COPIES, start=200, source_start=171),
        expired(200, records=29),
        [29],
    ),
    (
        "only one expired at the source",
        at(10),
        replace(
            copied_partition((0, 5000, 0), end=5000),
            start=3000,
            source_start=11,
        ),
        expired(3000, records=2989),
        [2989],
    ),
    (
        "unverifiable ones may be among them",
        at(357),
        replace(GAP, start=362, end=465),
        expired(362, least=2),
        [5],
    ),
    (
        "only these",
        at(360),
        replace(GAP, start=362, end=465),
        may_have_expired(362, 3),
        [3],
    ),
    (
        "the source holds one more, which may have been copied",
        at(99, (96, 96)),
        expired_until(100),
        may_have_expired(99, 1),
        [1, 1],
    ),
    (
        "the same without syncs",
        at(99, (96, 96)),
        CopiedPartition(start=99, end=99, source_end=100),
        may_have_expired(99, 3),
        [3],
    ),
    (
        "a sync is newer than the known end",
        at(99),
        replace(
            copied_partition((0, 100, 0), end=100), start=100, source_end=99
        ),
        expired(100, records=1),
        [1],
    ),
    (
        "its end is not known",
        at(99, (96, 96)),
        CopiedPartition(start=99, end=99),
        may_have_expired(99, 3),
        [3],
    ),
    (
        "the group stopped before the agent began",
        at(96, (96, 96)),
        replace(
            copied_partition((5000, 5001, 5000), end=5001),
            start=3000,
            source_start=0,
        ),
        may_have_expired(3000, 2904),
        [2904],
    ),
    (
        "no such partition",
        at(10, (10, 10)),
        replace(COPIES, absent=True),
        texts.ABSENT,
        [],
    ),
    (
        "before all syncs",
        at(40),
        copied_partition((50, 60, 0), end=10),
        render(texts.BEFORE_SYNCS, {"offset": 40}),
        [],
    ),
    ("no offset", at(None), COPIES, texts.NO_OFFSET, []),
    ("nothing at all", at(40), CopiedPartition(), texts.NO_SYNCS, []),
]


@pytest.mark.parametrize(
    ("place", "copied", "problem", "missed"),
    [each[1:] for each in NONE],
    ids=[each[0] for each in NONE],
)
def test_why_there_is_no_start(
    place: GroupOffset,
    copied: CopiedPartition,
    problem: str,
    missed: list[int | None],
) -> None:
    start = translate(place, copied)
    assert start.chosen is None
    assert start.problem == problem
    assert [other.missed for other in start.others] == missed


def test_checkpoints_join_the_offsets_of_their_partitions() -> None:
    found = merge([at(10)], [at(None, (9, 8))])
    assert found == (at(10, (9, 8)),)
    assert merge([], [at(None, (9, 8))]) == (at(None, (9, 8)),)


def partition(history: History) -> CopiedPartition:
    end = len(history.target)
    return CopiedPartition(
        coverage=history.coverage,
        cursor=history.cursor,
        is_shared=None in history.target,
        is_mixed=history.is_mixed,
        end=end,
        ends=OffsetPair(end, len(history.source)),
        source_end=len(history.source),
    )


@given(HISTORIES, st.integers(0, 20))
@examples(400)
def test_costs_are_as_announced(actions: list[str], time: int) -> None:
    history = History().do(*actions)
    end = len(history.target)
    copied = replace(partition(history), at_time=min(time, end))
    for committed in range(len(history.source) + 2):
        start = translate(at(committed), copied)
        assert start.chosen is not None
        assert start.chosen.missed == 0
        for found in (start.chosen, *start.others):
            assert found.missed is not None
            assert found.repeated is not None
            cost = history.read_from(found.offset, committed)
            announced = found.missed, found.repeated
            assert cost[0] <= announced[0], (committed, found)
            assert cost[1] <= announced[1], (committed, found)
            assert not found.exact or cost == announced, (committed, found)


@given(HISTORIES, st.integers(0, 20), st.integers(0, 20))
@examples(400)
def test_what_expired_unread_is_missed(
    actions: list[str], start: int, source_start: int
) -> None:
    history = History().do(*actions)
    copied = replace(
        partition(history),
        start=min(start, len(history.target)),
        source_start=source_start,
    )
    log_start = copied.start or 0
    for committed in range(len(history.source) + 2):
        found = translate(at(committed), copied)
        left = history.copied(max(committed, source_start))
        kept = history.copied() & set(history.target[log_start:])
        if found.chosen is not None:
            assert found.chosen.missed == 0
            assert found.chosen.offset >= log_start
            assert left <= set(history.target[found.chosen.offset :])
        else:
            (other,) = found.others
            assert other.offset == log_start
            assert (other.missed or 0) >= len(left - kept)
            assert not other.exact or other.missed == len(left - kept)


@given(HISTORIES, st.integers(0, 20), st.integers(0, 20))
@examples(200)
def test_a_doubtful_start_never_claims_to_miss_nothing(
    actions: list[str], upstream: int, downstream: int
) -> None:
    history = History().do(*actions)
    copied = replace(partition(history), guessed_until=LARGEST)
    for committed in (*range(len(history.source) + 2), None):
        found = translate(at(committed, (upstream, downstream)), copied)
        by_sync = [
            each
            for each in (found.chosen, *found.others)
            if each is not None and each.by is SYNC
        ]
        assert all(each.missed is None for each in by_sync)
