"""What is not worked out anew is what would be."""

from dataclasses import replace
from datetime import timedelta

from hypothesis import given, settings
from hypothesis import strategies as st

from mirrorwatch.domain.cluster_view import TopicConfigs
from mirrorwatch.domain.lag.tracker import LagTracker

from .view import HOUR_MS, a_tracker, a_view, only

CONFIGS = TopicConfigs(retention_ms=HOUR_MS, retention_bytes=1000)

steps = st.tuples(
    st.sampled_from([5, 15, 61, 300]),  # seconds that pass
    st.sampled_from([0, 0, 0, 7, 400]),  # records written
    st.sampled_from([0, 1, 1, 1]),  # whether the mirror is at the end
    st.sampled_from([0, 0, 0, 5]),  # records deleted
)


def a_forgetful_tracker() -> LagTracker:
    """Return one to which configurations look new at every survey."""
    return LagTracker(
        flow="f",
        class_of=lambda _: "telemetry",
        configs=lambda: {"t": replace(CONFIGS)},
    )


@settings(deadline=None)
@given(st.lists(steps, max_size=20))
def test_lag_that_is_kept_is_the_lag_that_would_be_found(
    steps: list[tuple[int, int, int, int]],
) -> None:
    keeps, forgets = a_tracker(CONFIGS), a_forgetful_tracker()
    at = end = committed = start = 0
    for seconds, written, copies, deleted in steps:
        at, end = at + seconds, end + written
        committed = end if copies else committed
        start = min(start + deleted, committed)
        view = a_view(at, end=end, committed=committed, start=start)
        assert keeps.take(view) == forgets.take(view)


def test_a_topic_on_which_nothing_moves_is_not_summarized_again() -> None:
    tracker = a_tracker(CONFIGS)
    view = a_view(0, end=9, committed=9)
    first = only(tracker.take(view))
    again = replace(view, at=view.at + timedelta(seconds=5))
    assert only(tracker.take(again)) is first
