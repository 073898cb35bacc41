"""Metrics of the canary, by partition."""

from collections.abc import Iterator
from datetime import datetime

from ..metrics import PREFIX, Metric, MetricType, Sample, counter, gauge
from .model import CanaryObservation, CanaryPartition

__all__ = [
    "BAD",
    "COUNTERS",
    "GOOD",
    "LAST_ARRIVAL",
    "LATENCY",
    "METRICS",
    "OLDEST",
    "OUTSTANDING",
    "PRODUCE",
    "REPLICATION",
    "samples",
]


_LABELS = ("flow", "partition")


def _durations(name: str, text: str) -> Metric:
    return Metric(
        name=f"{PREFIX}canary_{name}_seconds",
        unit="seconds",
        type=MetricType.HISTOGRAM,
        help=text,
        labels=_LABELS,
        measurement="canary",
    )


COUNTERS = {
    name: counter(f"canary_{name}", unit, "canary", _LABELS, text)
    for name, unit, text in (
        ("sent", "probes", "Probes given to the producer"),
        ("acked", "probes", "Probes whose source offset is known"),
        ("failed", "probes", "Probes never written at the source"),
        (
            "indeterminate",
            "probes",
            "Sends whose outcome was unknown at first",
        ),
        (
            "delivered",
            "probes",
            "Probes that arrived within the deadline, as far as known",
        ),
        ("late", "probes", "Probes that arrived after the deadline"),
        ("lost", "probes", "Probes proved not to be at the target"),
        ("unverifiable", "probes", "Probes whose arrival cannot be verified"),
        (
            "recovered",
            "probes",
            "Lost or unverifiable probes that arrived later",
        ),
        ("duplicates", "records", "Duplicates of arrived probes"),
        ("reordered", "probes", "Probes that arrived after a later one"),
        (
            "negative",
            "intervals",
            "Latencies below zero, caused by clock steps",
        ),
    )
}
"""By the name of the counter in `CanaryCounts`."""

LATENCY = _durations(
    "latency",
    "End-to-end latency from produce to consume, an upper bound of "
    "replication",
)
REPLICATION = _durations(
    "replication",
    "Latency from acknowledgement to consume, a lower bound of replication",
)
PRODUCE = _durations("produce", "Produce latency from send to acknowledgement")
OUTSTANDING = gauge(
    "canary_outstanding",
    "probes",
    "canary",
    _LABELS,
    "Probes sent whose outcome is not known yet",
)
OLDEST = gauge(
    "canary_oldest_outstanding_seconds",
    "seconds",
    "canary",
    _LABELS,
    "Age of the oldest outstanding probe; 0 when there is none",
)
LAST_ARRIVAL = gauge(
    "canary_last_arrival_timestamp_seconds",
    "seconds since 1970",
    "canary",
    _LABELS,
    "Time of the last arrival of a probe; absent before the first",
)
GOOD = counter(
    "level_good",
    "probes",
    "level",
    ("flow",),
    "Probes that arrived within `canary.within`",
)
BAD = counter(
    "level_bad",
    "probes",
    "level",
    ("flow",),
    "Probes that did not arrive within `canary.within`, or were lost",
)

METRICS = (
    GOOD,
    BAD,
    *COUNTERS.values(),
    LATENCY,
    REPLICATION,
    PRODUCE,
    OUTSTANDING,
    OLDEST,
    LAST_ARRIVAL,
)


def samples(seen: CanaryObservation, now: datetime) -> Iterator[Sample]:
    """Yield the samples of one flow's canary."""
    if seen.partitions:
        yield Sample(GOOD, (seen.flow,), seen.good)
        yield Sample(BAD, (seen.flow,), seen.bad)
    for partition in seen.partitions:
        labels = (seen.flow, str(partition.partition))
        yield from _of_partition(partition, labels, now)


def _of_partition(
    state: CanaryPartition, labels: tuple[str, str], now: datetime
) -> Iterator[Sample]:
    for name, count in state.counts.as_dict().items():
        yield Sample(COUNTERS[name], labels, count)
    yield Sample(LATENCY, labels, state.latency)
    yield Sample(REPLICATION, labels, state.replication)
    yield Sample(PRODUCE, labels, state.produce)
    yield Sample(OUTSTANDING, labels, state.outstanding)
    age = _age_of_oldest(state, now)
    if age is not None:
        yield Sample(OLDEST, labels, age)
    if state.last_arrival is not None:
        arrived = state.last_arrival.timestamp()
        yield Sample(LAST_ARRIVAL, labels, arrived)


def _age_of_oldest(state: CanaryPartition, now: datetime) -> float | None:
    if not state.outstanding:
        return 0.0  # idle is known, not absent
    oldest = (state.oldest_outstanding, state.oldest_unacked)
    sent = [time for time in oldest if time is not None]
    return (now - min(sent)).total_seconds() if sent else None
