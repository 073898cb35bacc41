"""What figures of several tasks and workers come to."""

import pytest

from tests.mirrors.mbeans import (
    DEFAULT,
    OURS,
    a_flow,
    consumer,
    jolokia,
    of,
    without,
)


def test_a_mean_is_weighted_and_a_maximum_is_one() -> None:
    mbeans = [
        consumer(
            OURS.format(n),
            fetch_size_avg=size,
            fetch_size_max=size * 2,
            fetch_rate=rate,
            records_lead_min=size,
        )
        for n, (size, rate) in enumerate([(100, 9), (1000, 1)])
    ]
    told = of(mbeans, DEFAULT).consumer
    assert told.fetch_size_average_bytes == pytest.approx(190)
    assert told.fetch_size_max_bytes == 2000
    assert told.fetches_per_second == 10
    assert told.consumer_lead_min_records == 100
    unweighted = [without(m, "fetch-rate") for m in mbeans]
    told = of(unweighted, DEFAULT).consumer
    assert told.fetch_size_average_bytes == 1000


def test_who_got_no_answer_is_silent_and_who_begins_is_not() -> None:
    told = of(
        [
            consumer(OURS.format(0), fetch_rate=0.0, fetch_total=12),
            consumer(OURS.format(1), fetch_rate=0.0, fetch_total=0.0),
            consumer(OURS.format(2), fetch_rate=1.0, fetch_total=12),
        ],
        DEFAULT,
    )
    assert told.silent == (OURS.format(0),)


def test_workers_are_added_up() -> None:
    mbeans = jolokia("4.3.1")
    one = a_flow(DEFAULT).metrics({"a": mbeans})
    two = a_flow(DEFAULT).metrics({"a": mbeans, "b": mbeans})
    assert two.producer.sends_per_second == pytest.approx(
        2 * (one.producer.sends_per_second or 0)
    )
    assert two.classes["mount"].bytes_per_second == pytest.approx(
        2 * (one.classes["mount"].bytes_per_second or 0)
    )
    assert two.tasks.offset_commit_success_ratio == 1
    assert two.consumer.fetch_latency_max_seconds == (
        one.consumer.fetch_latency_max_seconds
    )
    assert len(two.errors) == 2 * len(one.errors)
    assert two.states == one.states
