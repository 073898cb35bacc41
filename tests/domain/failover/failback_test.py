"""Which source records a failback has to copy."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mirrorwatch.domain.copies.coverage import Coverage, OffsetPair, State
from mirrorwatch.domain.failover import texts
from mirrorwatch.domain.failover.failback import ReplicatedLog, list_uncopied
from tests.domain.copies.coverage_test import HISTORIES
from tests.domain.copies.history import History
from tests.support.copies import Spans, copied_partition
from tests.support.examples import examples

Found = tuple[int, int, str | None]
"""First and last offset, and the doubt."""


def a_log(
    *spans: Spans,
) -> ReplicatedLog:
    """Return a source of 100 records, to whose copy 10 more came since."""
    copied = copied_partition(*spans)
    assert copied.cursor is not None
    return ReplicatedLog(
        topic="t",
        partition=0,
        end=100,
        coverage=copied.coverage,
        cursor=copied.cursor,
        target_end=copied.cursor.target + 11,
    )


DROPPED = a_log((0, 10, 0), (17, 51, 10))
UNREAD = a_log((0, 10, 0), (10, 17, None, 10), (17, 51, 12))
LATE = a_log((20, 51, 0))
NO_COPY = ReplicatedLog(topic="t", partition=0, end=9, start=2)
TAIL = replace(DROPPED, coverage=Coverage(), cursor=OffsetPair(43, 50))
GONE = (10, 16, None)


def with_tail_dropped() -> ReplicatedLog:
    copied = copied_partition((0, 51, 0))
    assert copied.coverage is not None
    copied.coverage.put(51, 55, State.ABSENT)
    return replace(
        DROPPED, coverage=copied.coverage, cursor=OffsetPair(50, 50)
    )


def with_much_dropped() -> ReplicatedLog:
    coverage = Coverage()
    coverage.put(0, 51, State.COPIED, 0)
    coverage.absent_from = 30
    return replace(DROPPED, coverage=coverage, cursor=OffsetPair(50, 50))


@pytest.mark.parametrize(
    ("log", "found"),
    [
        (DROPPED, [GONE, (61, 99, None)]),
        (replace(DROPPED, target_end=93), [GONE]),
        (replace(DROPPED, is_filtered=True), [(61, 99, None)]),
        (UNREAD, [(10, 16, texts.UNVERIFIABLE), (61, 99, None)]),
        (
            replace(UNREAD, is_filtered=True),
            [(10, 16, texts.UNVERIFIABLE), (61, 99, None)],
        ),
        # What expired needs no copy.
        (replace(DROPPED, start=14), [(14, 16, None), (61, 99, None)]),
        (replace(DROPPED, start=80), [(80, 99, None)]),
        # Nothing of before the first sync was compared.
        (LATE, [(0, 19, texts.NOT_COMPARED), (61, 99, None)]),
        (
            replace(LATE, coverage=Coverage(), cursor=None, passed=40),
            [(0, 39, texts.NOT_COMPARED), (40, 99, texts.NO_SYNC)],
        ),
        # Dropped at the end, and perhaps copied again since.
        (
            with_tail_dropped(),
            [(51, 54, texts.RECOPIED), (58, 99, None)],
        ),
        (
            replace(with_tail_dropped(), target_end=51),
            [(51, 99, None)],
        ),
        (
            with_much_dropped(),
            [(0, 29, texts.FORGOTTEN), (54, 99, None)],
        ),
        (
            replace(with_much_dropped(), is_filtered=True),
            [(54, 99, None)],
        ),
        # The target has no such partition.
        (replace(NO_COPY, target_end=0), [(2, 8, None)]),
        (replace(DROPPED, target_end=0), [(0, 99, None)]),
        # Its log was truncated after the source was lost.
        (
            replace(DROPPED, target_end=40),
            [GONE, (47, 50, texts.NOT_COMPARED), (51, 99, None)],
        ),
        (replace(DROPPED, target_end=44), [GONE, (51, 99, None)]),
        # The mirror writes no syncs.
        (replace(NO_COPY, passed=5), [(5, 8, texts.NO_SYNC)]),
        (replace(NO_COPY, uncounted=texts.MERGED), [(2, 8, texts.MERGED)]),
    ],
)
def test_what_was_not_copied(log: ReplicatedLog, found: list[Found]) -> None:
    ranges = list(list_uncopied(log))
    assert [(r.first, r.last, r.doubt) for r in ranges] == found
    assert sum(r.count for r in ranges) == sum(b - a + 1 for a, b, _ in found)


@pytest.mark.parametrize(
    ("changed", "tail"),
    [
        ({}, (61, None)),
        ({"uncounted": texts.SHARED}, (51, texts.SHARED)),
        ({"target_end": None}, (51, texts.SILENT)),
        ({"target_end": None, "passed": 58}, (51, texts.SILENT)),
        # The mirror committed more than the target holds.
        ({"passed": 61}, (61, None)),
        ({"passed": 62}, (51, texts.TOO_FEW)),
        ({"passed": 62, "target_end": 44}, (51, None)),
        # The target holds more than there was to copy, or the source has
        # grown since its end was read.
        ({"target_end": 93}, None),
        ({"target_end": 94}, (51, texts.TOO_MANY)),
        ({"target_end": 94, "is_growing": True}, None),
        # Producers write to the target, under the same name.
        ({"watched_end": 54}, (61, None)),
        ({"watched_end": 50}, (57, texts.PRODUCERS)),
        ({"watched_end": 44}, (51, texts.PRODUCERS)),
        ({"watched_end": 0}, (51, texts.PRODUCERS)),
        (
            {"watched_end": 50, "target_end": 94, "is_growing": True},
            (57, texts.PRODUCERS),
        ),
    ],
)
def test_how_far_the_mirror_came(
    changed: dict[str, int], tail: tuple[int, str | None] | None
) -> None:
    ranges = list(list_uncopied(replace(DROPPED, **changed)))  # type: ignore[arg-type]
    found = [(r.first, r.doubt) for r in ranges if r.last == 99]
    assert found == ([] if tail is None else [tail])


@given(HISTORIES, st.integers(0, 20), st.integers(0, 9))
@examples(400)
def test_nothing_that_is_missing_is_left_out(
    actions: list[str], start: int, truncated: int
) -> None:
    history = History().do(*actions)
    target = history.target[: len(history.target) - truncated]
    found = list(
        list_uncopied(
            ReplicatedLog(
                topic="t",
                partition=0,
                start=start,
                end=len(history.source),
                coverage=history.coverage,
                cursor=history.cursor,
                passed=history.passed,
                target_end=len(target),
                uncounted=texts.SHARED if history.is_shared else None,
            )
        )
    )
    copied = set(target)
    missing = {
        offset
        for offset, is_record in enumerate(history.source)
        if is_record and offset not in copied and offset >= start
    }
    listed = {n: r for r in found for n in range(r.first, r.last + 1)}
    assert missing <= listed.keys()
    sure = {n for n, each in listed.items() if each.doubt is None}
    # A task that goes back may copy anything again.
    assert history.is_mixed or not sure & copied
    # Where all was read, no more is listed.
    if history.done[-1:] == ["read"] and "give_up" not in history.done:
        lacking = set(range(start, len(history.source))) - copied
        assert truncated or listed.keys() <= lacking
