"""Which source records a failback has to copy."""

from dataclasses import replace

import pytest
from hypothesis import example, given

from mirrorwatch.domain.failover.failback import ReplicatedLog, list_uncopied
from mirrorwatch.domain.offsets import OffsetMap, RangeSet
from tests.domain.skips.oracle_test import COPYING, ONE, histories
from tests.domain.skips.world import KEY, MARK, TOPIC, World
from tests.support.examples import examples

DROPPED = ReplicatedLog(
    topic="t",
    partition=0,
    end=100,
    position=20,
    upstream=50,
    downstream=43,
    copies=OffsetMap([(0, 0, 10), (17, 10, 34)]),
    skipped=RangeSet([(10, 16)]),
    target_end=54,
)
"""Seven records were skipped; ten were copied since the last sync."""


def ranges(log: ReplicatedLog) -> list[tuple[int, int]]:
    return [(each.first, each.last) for each in list_uncopied(log)]


def doubts(log: ReplicatedLog) -> list[str | None]:
    return [each.doubt for each in list_uncopied(log)]


def test_what_was_skipped_and_what_the_mirror_did_not_come_to() -> None:
    assert ranges(DROPPED) == [(10, 16), (61, 99)]
    assert doubts(DROPPED) == [None, None]
    assert [each.count for each in list_uncopied(DROPPED)] == [7, 39]


def test_a_drained_partition_has_nothing() -> None:
    log = replace(DROPPED, skipped=RangeSet(), target_end=93)
    assert ranges(log) == []
    # Only marks of transactions follow.
    rest = replace(log, target_end=54, position=100)
    assert ranges(replace(rest, looked=100)) == []
    # Nobody has looked yet.
    assert ranges(rest) == [(51, 99)]
    assert "or are markers of transactions" in str(doubts(rest))


def test_what_expired_needs_no_copy() -> None:
    assert ranges(replace(DROPPED, start=14)) == [(14, 16), (61, 99)]
    assert ranges(replace(DROPPED, start=80)) == [(80, 99)]


def test_a_partition_without_a_copy_lacks_everything() -> None:
    log = ReplicatedLog(topic="t", partition=0, end=9, start=2, target_end=0)
    assert ranges(log) == [(2, 8)]
    assert doubts(log) == [None]


def test_copies_that_were_lost_count_as_not_copied() -> None:
    log = replace(DROPPED, hole=40)
    assert ranges(log) == [(0, 99)]
    assert "recreated" in str(doubts(log))
    # The source has deleted what was copied to the former topic.
    assert ranges(replace(log, start=40)) == [(61, 99)]


@pytest.mark.parametrize(
    ("log", "first", "why"),
    [
        (replace(DROPPED, uncounted="Others write"), 51, "Others write"),
        (replace(DROPPED, target_end=None), 51, "does not say"),
        (replace(DROPPED, position=58, target_end=None), 58, "does not say"),
        (replace(DROPPED, upstream=None, skipped=RangeSet()), 20, "No offset"),
        (replace(DROPPED, target_end=150), 51, "more records than"),
    ],
)
def test_what_is_not_known_exactly_is_said(
    log: ReplicatedLog, first: int, why: str
) -> None:
    *_, tail = list_uncopied(log)
    assert (tail.first, tail.last) == (first, 99)
    assert why in str(tail.doubt)


def test_a_lost_source_may_have_grown_after_its_end_was_read() -> None:
    log = replace(DROPPED, target_end=150, grown=True)
    assert ranges(log) == [(10, 16)]


def test_syncs_that_were_not_looked_into_are_not_believed() -> None:
    copies = OffsetMap([(17, 10, 34), (60, 50, 1)])
    log = replace(DROPPED, copies=copies)
    assert ranges(log) == [(10, 16), (51, 99)]
    assert "both sides were not read" in str(doubts(log))


def test_what_was_skipped_and_forgotten_is_not_called_copied() -> None:
    log = replace(DROPPED, forgotten=True)
    assert ranges(log) == [(0, 9), (10, 16), (61, 99)]
    assert "remember" in str(doubts(log)[0])


def test_what_cannot_be_recognised_is_listed_with_its_doubt() -> None:
    log = replace(DROPPED, doubtful=RangeSet([(20, 22)]))
    assert ranges(log) == [(10, 16), (20, 22), (61, 99)]
    assert "cannot be recognised" in str(doubts(log)[1])


@given(histories(*COPYING, *ONE, "mark"))
@example(["mark", "write", "write", "copy", "fail", "flush"])
@example(["write", "write", "drop 3", "write", "copy", "crash", "copy 3"])
@examples(200)
def test_nothing_that_is_missing_is_left_out(actions: list[str]) -> None:
    world = World().do("look", *actions, "look", "look", "look", "look")
    state = world.store.load().states[KEY]
    copied = set(world.target)
    missing = {
        offset
        for offset, look in enumerate(world.source)
        if look != MARK and offset not in copied
    }
    found = list(
        list_uncopied(
            ReplicatedLog(
                topic=TOPIC,
                partition=0,
                end=len(world.source),
                position=max(state.frontier + 1, world.committed or 0),
                looked=state.frontier + 1,
                upstream=state.upstream,
                downstream=state.downstream,
                copies=state.copies,
                skipped=state.skipped,
                doubtful=state.doubtful,
                target_end=len(world.target),
            )
        )
    )
    listed = {n for each in found for n in range(each.first, each.last + 1)}
    assert missing <= listed
    sure = {
        n
        for each in found
        if each.doubt is None
        for n in range(each.first, each.last + 1)
    }
    assert all(n in missing or world.source[n] == MARK for n in sure)


def test_copies_that_the_target_has_lost_since_are_listed() -> None:
    """The source is lost, and then the target is truncated: who compares both
    sides cannot see it.
    """
    log = replace(DROPPED, position=100, looked=100, target_end=40)
    assert ranges(log) == [(10, 16), (47, 99)]
    assert "truncated" in str(doubts(log)[1])
    assert ranges(replace(log, target_end=44)) == [(10, 16)]


@pytest.mark.parametrize(
    ("watched", "first"), [(54, 61), (50, 57), (44, 51), (0, 51)]
)
def test_what_came_since_both_sides_were_read_may_be_of_producers(
    watched: int, first: int
) -> None:
    log = replace(DROPPED, watched_end=watched, target_end=70, grown=True)
    assert ranges(log)[1:] == [(first, 99)]
    assert "Producers may have written" in str(doubts(log)[1])
    # Nothing came since, or all was copied before.
    assert doubts(replace(log, watched_end=70)) == [None, None]
    assert ranges(replace(log, position=100, looked=100)) == [(10, 16)]
