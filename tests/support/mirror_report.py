"""What a mirror says of itself, with a figure of its own for each thing."""

from dataclasses import fields
from datetime import datetime, timedelta
from typing import Any, TypeVar

from mirrorwatch.domain.bottleneck.model import (
    ClassMetrics,
    ConsumerMetrics,
    IoMetrics,
    MirrorMetrics,
    MirrorObservation,
    ProducerMetrics,
    TaskErrors,
    TaskMetrics,
)

from .builders import FLOW

__all__ = ["a_mirror"]

T = TypeVar("T")


def a_mirror(at: datetime, **more: Any) -> MirrorObservation:
    """Return an observation in which nothing is absent."""
    return MirrorObservation(
        **{
            "flow": FLOW.name,
            "at": at,
            "metrics": MirrorMetrics(
                consumer=_numbered(ConsumerMetrics, 100),
                producer=_numbered(ProducerMetrics, 200),
                tasks=_numbered(TaskMetrics, 300),
                io={
                    "consumer": IoMetrics(io_ratio=0.125, io_wait_ratio=0.5),
                    "producer": IoMetrics(io_ratio=0.25),
                },
                classes={
                    "telemetry": _numbered(ClassMetrics, 400),
                    "other": ClassMetrics(records_per_second=0.0),
                },
            ),
            "answering": ("http://mirror:8778/jolokia",),
            "counted": TaskErrors(
                record_failures=3,
                records_skipped=2,
                record_errors=9,
                retries=4,
            ),
            "last_lost": at - timedelta(minutes=5),
            "lately": TaskErrors(record_failures=1, records_skipped=2),
            **more,
        }
    )


def _numbered(kind: type[T], first: int) -> T:
    names = [f.name for f in fields(kind)]  # type: ignore[arg-type]
    return kind(**{name: first + n + 0.5 for n, name in enumerate(names)})
