"""Pairs of offsets at which a range can be cut."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from mirrorwatch.domain.audit.facts import (
    MOST,
    SyncHistory,
    newest_sync,
    oldest_sync,
)
from mirrorwatch.domain.mirror_records import Sync
from tests.support.builders import NOON

PLACE = ("t", 0)


def collect(
    *pairs: tuple[int, int], floor: int = 0
) -> tuple[tuple[int, int], ...]:
    history = SyncHistory({PLACE: floor})
    for upstream, downstream in pairs:
        history.take(
            Sync(
                topic="t",
                partition=0,
                upstream=upstream,
                downstream=downstream,
                written_at=NOON,
            )
        )
    return history.of(PLACE)


def test_a_re_reading_mirror_is_no_place_to_cut() -> None:
    assert collect((0, 0), (9, 9), (5, 15), (8, 18), (12, 22)) == (
        (0, 0),
        (9, 9),
        (12, 22),
    )


def test_pairs_of_a_target_that_was_made_again_replace_all_others() -> None:
    assert collect((0, 0), (90, 90), (91, 0), (99, 8)) == ((91, 0), (99, 8))


def test_what_is_below_the_floor_is_of_no_concern() -> None:
    assert collect((0, 0), (9, 9), (12, 12), floor=9) == ((9, 9), (12, 12))
    history = SyncHistory({})
    assert history.of(PLACE) == ()


def test_of_very_many_the_newest_and_some_of_all_are_kept() -> None:
    kept = collect(*((n, n) for n in range(10_000)))
    assert len(kept) <= MOST
    assert kept[-1] == (9_999, 9_999)
    gaps = [b[0] - a[0] for a, b in pairwise(kept)]
    assert kept[0] == (0, 0)
    assert max(gaps) <= 2 * 10_000 / MOST


def test_pairs_are_found_between_others_on_both_sides() -> None:
    pairs = ((5, 1), (9, 4), (12, 9))
    assert newest_sync(pairs, (5, 0), (12, 8)) == (9, 4)
    assert newest_sync(pairs, (10, 0), (11, 9)) is None
    assert oldest_sync(pairs, (5, 2)) == (9, 4)
    assert oldest_sync(pairs, (13, 0)) is None


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 50))))
def test_pairs_ascend_on_both_sides(pairs: list[tuple[int, int]]) -> None:
    kept = collect(*pairs)
    for before, after in pairwise(kept):
        assert before[0] < after[0]
        assert before[1] <= after[1]
