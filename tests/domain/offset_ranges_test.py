from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mirrorwatch.domain.offsets import RangeSet

NUMBERS = st.integers(1, 30)


@given(st.lists(st.tuples(st.booleans(), NUMBERS, NUMBERS)))
def test_a_range_set_holds_what_a_set_would(
    changes: list[tuple[bool, int, int]],
) -> None:
    ranges, plain = RangeSet(), set[int]()
    for adding, a, b in changes:
        first, last = min(a, b), max(a, b)
        if adding:
            ranges.add(first, last)
            plain.update(range(first, last + 1))
        elif a in plain:
            ranges.remove(a)
            plain.remove(a)
    assert {n for n in range(32) if n in ranges} == plain
    assert len(ranges) == len(plain)
    assert RangeSet((n, n) for n in sorted(plain, reverse=True)) == ranges


@given(st.lists(NUMBERS, min_size=1))
def test_neighbours_are_one_range(numbers: list[int]) -> None:
    ranges = list(RangeSet((n, n) for n in numbers))
    pairs = pairwise(ranges)
    assert all(b[0] - a[1] > 1 for a, b in pairs)


def test_a_number_that_is_not_there_cannot_be_removed() -> None:
    with pytest.raises(KeyError):
        RangeSet([(1, 3), (5, 9)]).remove(4)
