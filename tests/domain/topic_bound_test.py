"""Which topics have series of their own, and what becomes of the others."""

from datetime import timedelta

import pytest

from mirrorwatch.domain.lag.metrics import (
    LAG_RECORDS,
    LAG_SECONDS,
    TIME_TO_LOSS,
)
from mirrorwatch.domain.metrics import Sample
from mirrorwatch.domain.skips.metrics import READ, SKIPPED
from mirrorwatch.domain.topic_bound import OTHERS, SEEN_WITHIN, TopicBound
from tests.support.builders import NOON

Series = dict[str, float]


class Scraped:
    """What a bound shows of counters, report by report."""

    def __init__(self, most: int) -> None:
        self.bound, self.at = TopicBound(most), NOON

    def __call__(self, later: timedelta, **counts: int) -> Series:
        self.at += later
        found = [Sample(SKIPPED, ("f", t), n) for t, n in counts.items()]
        shown = list(self.bound(found, self.at))
        assert [*self.bound(found, self.at)] == shown  # another format
        return {s.labels[1]: s.value for s in shown}  # type: ignore[misc]


TICK = timedelta(seconds=15)


def test_the_first_increase_is_in_a_series_that_was_seen_before() -> None:
    scraped = Scraped(1)
    assert scraped(TICK, a=7, b=0) == {OTHERS: 0}
    assert scraped(TICK, a=7, b=3) == {OTHERS: 3, "b": 0}
    assert scraped(SEEN_WITHIN, a=7, b=4) == {OTHERS: 3, "b": 1}


def test_what_rises_before_all_have_seen_a_new_series_is_in_the_rest() -> None:
    scraped = Scraped(1)
    scraped(TICK, a=0)
    scraped(TICK, a=3)
    assert scraped(TICK, a=5) == {OTHERS: 5, "a": 0}


def test_a_topic_that_appears_later_counts_from_zero() -> None:
    scraped = Scraped(0)
    scraped(TICK, a=0)
    assert scraped(TICK, a=0, b=2) == {OTHERS: 2}


def test_a_topic_out_of_sight_is_counted_once() -> None:
    scraped = Scraped(0)
    scraped(TICK, a=4, b=0)
    scraped(TICK, b=0)
    assert scraped(TICK, a=5, b=0) == {OTHERS: 1}


@pytest.mark.parametrize("most", [0, 1, 2, 9])
def test_no_series_falls_and_all_together_are_what_was_counted(
    most: int,
) -> None:
    scraped, counts = Scraped(most), dict.fromkeys("abcd", 2)
    before = scraped(TICK, **counts)
    for step in range(40):
        counts["abcd"[step * step % 4]] += step % 3
        shown = scraped(TICK, **counts)
        assert all(shown[t] >= value for t, value in before.items())
        assert all(shown[t] == 0 for t in shown.keys() - before.keys())
        assert sum(shown.values()) == sum(counts.values()) - 8
        assert len(shown) <= most + 1
        before = shown


def test_lag_is_shown_of_those_furthest_behind() -> None:
    found = [
        Sample(metric, ("f", topic), value)
        for topic, lag in {"a": (1, 9), "b": (5, 1), "c": (1, 2)}.items()
        for metric, value in zip((LAG_SECONDS, LAG_RECORDS), lag, strict=True)
    ]
    shown = TopicBound(2)(found, NOON)
    assert {s.labels[1] for s in shown} == {"a", "b"}


@pytest.mark.parametrize("most", [0, 1, 2, 9])
def test_the_topic_next_to_lose_records_is_among_them(most: int) -> None:
    # A few seconds of lag are much where little is kept.
    days, minutes = 2 * 86_400, 300
    found = [
        Sample(metric, (flow, topic), value)
        for flow in ("f", "g")
        for topic, values in {
            "a": (9, days),
            "b": (8, days),
            "c": (7, days),
            "next": (3, minutes),
            "kept": (1, None),
        }.items()
        for metric, value in zip(
            (LAG_SECONDS, TIME_TO_LOSS), values, strict=True
        )
        if value is not None
    ]
    shown = list(TopicBound(most)(found, NOON))
    assert len({s.labels[1] for s in shown}) <= (most and most + 1)
    for flow in ("f", "g") if most else ():
        left = [
            (s.metric, s.value)
            for s in shown
            if s.labels[0] == flow and isinstance(s.value, int)
        ]
        assert min(v for metric, v in left if metric is TIME_TO_LOSS) == 300
        assert max(v for metric, v in left if metric is LAG_SECONDS) == 9


def test_what_is_of_no_topic_is_shown() -> None:
    sample = Sample(READ, ("f", "source"), 3)
    assert list(TopicBound(0)([sample], NOON)) == [sample]
