"""The mirror's own JMX metrics, and what it copies by class."""

from collections.abc import Iterator
from dataclasses import Field, fields
from datetime import datetime
from typing import Any

from ..metrics import Metric, Sample, counter, gauge
from .model import (
    ClassMetrics,
    ConsumerMetrics,
    IoMetrics,
    MirrorObservation,
    ProducerMetrics,
    TaskMetrics,
)

__all__ = ["ERRORS", "METRICS", "WORKERS", "samples"]


_FLOW = ("flow",)
_CLIENT = ("flow", "client")
_CLASS = ("flow", "class")

_THROUGHPUT = {"records_per_second", "bytes_per_second"}
"""Metrics of a class that answer how much is copied."""


def _gauge(of: Field[Any], labels: tuple[str, ...]) -> Metric:
    subject = "throughput" if of.name in _THROUGHPUT else "mirror"
    unit, text = of.metadata["unit"], of.metadata["help"]
    return gauge(f"{subject}_{of.name}", unit, subject, labels, text)


GAUGES = {
    group: {of.name: _gauge(of, labels) for of in fields(group)}
    for group, labels in (
        (ConsumerMetrics, _FLOW),
        (ProducerMetrics, _FLOW),
        (IoMetrics, _CLIENT),
        (TaskMetrics, _FLOW),
        (ClassMetrics, _CLASS),
    )
}
"""By the class of the facts, and the name of its field."""

ERRORS = {
    name: counter(f"mirror_{name}", unit, "mirror", _FLOW, text)
    for name, unit, text in (
        (
            "record_failures",
            "records",
            (
                "Failed attempts to process records, those that were retried "
                "included (total-record-failures)"
            ),
        ),
        (
            "records_skipped",
            "records",
            (
                "Records left out because a transform or converter failed "
                "(total-records-skipped)"
            ),
        ),
        (
            "record_errors",
            "errors",
            (
                "Transforms and conversions of records that failed for good "
                "(total-record-errors)"
            ),
        ),
        (
            "retries",
            "retries",
            "Operations that tasks retried (total-retries)",
        ),
    )
}
"""By the name of the field in `TaskErrors`."""

WORKERS = gauge(
    "mirror_workers_up",
    "processes",
    "mirror",
    _FLOW,
    "MirrorMaker processes with fresh JMX metrics",
)

METRICS = (
    *(metric for group in GAUGES.values() for metric in group.values()),
    *ERRORS.values(),
    WORKERS,
)


def samples(seen: MirrorObservation, _now: datetime) -> Iterator[Sample]:
    """Yield what the mirror of one flow says; what it does not is absent."""
    said, flow = seen.metrics, (seen.flow,)
    yield from _of(said.consumer, flow)
    yield from _of(said.producer, flow)
    yield from _of(said.tasks, flow)
    for client, io in sorted(said.io.items()):
        yield from _of(io, (*flow, client))
    for name, copied in sorted(said.classes.items()):
        yield from _of(copied, (*flow, name))
    for name, metric in ERRORS.items():
        yield Sample(metric, flow, getattr(seen.counted, name))
    yield Sample(WORKERS, flow, len(seen.answering))


def _of(
    group: ConsumerMetrics
    | ProducerMetrics
    | IoMetrics
    | TaskMetrics
    | ClassMetrics,
    labels: tuple[str, ...],
) -> Iterator[Sample]:
    for name, metric in GAUGES[type(group)].items():
        value = getattr(group, name)
        if value is not None:
            yield Sample(metric, labels, value)
