import math
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mirrorwatch.state.history import LatencySketch

DURATIONS = st.lists(
    st.timedeltas(min_value=-timedelta(hours=2), max_value=timedelta(days=30)),
    min_size=1,
)


def nearest_rank(durations: list[timedelta], share: float) -> timedelta:
    return sorted(durations)[max(1, math.ceil(share * len(durations))) - 1]


@given(DURATIONS, st.sampled_from([0.5, 0.9, 0.99, 1.0]))
def test_a_quantile_is_within_one_percent_of_the_true_one(
    durations: list[timedelta], share: float
) -> None:
    told = LatencySketch.of(durations).quantile(share)

    assert told is not None
    true = nearest_rank(durations, share)
    assert told.total_seconds() == pytest.approx(
        true.total_seconds(), rel=0.0101, abs=2e-6
    )


@given(DURATIONS, DURATIONS)
def test_adding_up_two_stretches_equals_counting_both_at_once(
    first: list[timedelta], second: list[timedelta]
) -> None:
    summed = LatencySketch.of(first)
    summed.add(LatencySketch.of(second))

    assert summed.cells == LatencySketch.of(first + second).cells


@given(DURATIONS)
def test_a_stored_sketch_comes_back_whole(durations: list[timedelta]) -> None:
    sketch = LatencySketch.of(durations)

    assert LatencySketch.decode(sketch.encode()).cells == sketch.cells


def test_nothing_counted_has_no_quantile() -> None:
    assert LatencySketch().quantile(0.5) is None
