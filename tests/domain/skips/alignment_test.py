"""From where on copies are of what a recreated or truncated log holds."""

from dataclasses import replace
from typing import Any

import pytest

from mirrorwatch.domain.offsets import OffsetMap, OffsetRange
from mirrorwatch.domain.skips.alignment import (
    find_first,
    go_back,
    may_be_cut,
)
from mirrorwatch.domain.skips.model import OffsetPair, RangeRequest
from mirrorwatch.domain.skips.partition import PartitionState
from mirrorwatch.domain.skips.settle import RangeContent

SEARCH = RangeRequest(
    topic="a",
    partition=0,
    remote="a",
    source_id="s2",
    target_id="t1",
    start=OffsetPair(-1, 99),
    points=(),
    source=(OffsetRange(0, 5),),
    target=OffsetRange(100, 110),
)

RECORDS = {0: 70, 1: 71, 2: 72, 3: 73, 4: 74}
"""Of the new topic; what was copied of the old one is 60 and more."""


@pytest.mark.parametrize(
    ("copies", "first"),
    [
        ({100: 69, 101: 70, 102: 71}, 0),
        ({100: 69, 101: 72, 102: 73}, 2),
        # Another task began before, and copied later.
        ({100: 73, 101: 74, 102: 71}, 1),
        ({100: 68, 101: 69}, None),
        ({}, None),
    ],
)
def test_the_lowest_record_with_a_copy_is_the_first(
    copies: dict[int, int], first: int | None
) -> None:
    reading = RangeContent(source=RECORDS, target=copies)
    assert find_first(SEARCH, reading) == first


@pytest.mark.parametrize(
    "what",
    [
        {"source_start": 2, "source": {2: 72, 3: 73, 4: 74}},
        {"target_start": 101},
        {"source_compacted": True},
        {"target_compacted": True},
        {"source": RECORDS | {4: 73}},
    ],
)
def test_what_may_have_been_copied_before_leaves_it_unknown(
    what: dict[str, Any],
) -> None:
    facts: dict[str, Any] = {"source": RECORDS, "target": {101: 73, 102: 74}}
    assert find_first(SEARCH, RangeContent(**facts)) == 3
    assert find_first(SEARCH, RangeContent(**facts | what)) is None


def test_markers_before_the_first_record_are_none_that_is_missing() -> None:
    reading = RangeContent(
        source={2: 72, 3: 73}, target={100: 72}, source_compacted=True
    )
    assert find_first(SEARCH, reading) == 0


@pytest.mark.parametrize(
    ("copies", "goes_back"),
    [
        ({3: 60, 4: 73}, True),
        ({3: 73, 4: 74}, False),
        ({3: 72, 4: 73}, False),
    ],
)
def test_copies_are_compared_again_from_the_first_known_one_on(
    copies: dict[int, int], goes_back: bool
) -> None:
    state = PartitionState(
        topic="a", partition=0, source_id="s2", target_id="t1"
    )
    state.begin(2, 2)
    state.copies = OffsetMap([(0, 0, 3)])
    request = replace(
        SEARCH,
        start=OffsetPair(2, 2),
        points=(OffsetPair(3, 4),),
        target=OffsetRange(3, 5),
    )
    reading = RangeContent(source=RECORDS, target=copies)
    assert go_back(state, request, reading) is goes_back
    assert state.cursor == (OffsetPair(-1, -1) if goes_back else request.start)


@pytest.mark.parametrize("is_copy", [True, False])
def test_what_is_before_the_first_copy_is_no_lost_one(is_copy: bool) -> None:
    # There, it is a copy of a topic of before.
    state = PartitionState(topic="t", partition=0, source_id="s")
    state.begin(4, 9, is_copy=is_copy)
    seen = replace(
        SEARCH,
        start=OffsetPair(4, 9),
        points=(OffsetPair(7, 11),),
        target=OffsetRange(10, 12),
    )
    assert may_be_cut(state, seen) is is_copy
