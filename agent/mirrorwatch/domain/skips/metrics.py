"""Metrics of skips and repeats, by topic."""

from collections.abc import Iterator
from datetime import datetime

from ..metrics import Sample, counter
from .model import SkipsObservation

__all__ = [
    "FILTERED",
    "METRICS",
    "READ",
    "RECOVERED",
    "REPEATED",
    "SKIPPED",
    "UNVERIFIABLE",
    "samples",
]


_LABELS = ("flow", "topic")

SKIPPED = counter(
    "skipped_records",
    "records",
    "skips",
    _LABELS,
    "Source records proved to be skipped by the mirror",
)
FILTERED = counter(
    "filtered_records",
    "records",
    "skips",
    _LABELS,
    "Source records missing at the target where `topics.filtered` says that a "
    "transform drops them; not among the skipped ones",
)
RECOVERED = counter(
    "recovered_records",
    "records",
    "skips",
    _LABELS,
    "Skipped records that were copied later",
)
REPEATED = counter(
    "repeated_records",
    "records",
    "skips",
    _LABELS,
    "Duplicates at the target, beyond the first copy of each source record",
)
UNVERIFIABLE = counter(
    "unverifiable_offsets",
    "offsets",
    "skips",
    _LABELS,
    "Source offsets whose replication cannot be verified",
)
READ = counter(
    "range_read_bytes",
    "bytes",
    "skips",
    ("flow", "side"),
    "Bytes of keys and values read to compare ranges of both sides",
)

METRICS = (
    SKIPPED,
    FILTERED,
    RECOVERED,
    REPEATED,
    UNVERIFIABLE,
    READ,
)


def samples(seen: SkipsObservation, _now: datetime) -> Iterator[Sample]:
    """Yield the counters of each topic, which have no age."""
    for topic, counted in seen.counters:
        labels = (seen.flow, topic)
        yield Sample(SKIPPED, labels, counted.skipped - counted.filtered)
        yield Sample(FILTERED, labels, counted.filtered)
        yield Sample(RECOVERED, labels, counted.recovered)
        yield Sample(REPEATED, labels, counted.repeated)
        yield Sample(UNVERIFIABLE, labels, counted.unverifiable)
    for side, size in zip(("source", "target"), seen.bytes_read, strict=True):
        yield Sample(READ, (seen.flow, side), size)
