"""Skips and repeats for a report that has everything."""

from datetime import datetime

from mirrorwatch.domain.skips.model import (
    SkipCounters,
    SkipsObservation,
    SuspectedDrop,
)

from .builders import FLOW

__all__ = ["some_skips"]


def some_skips(at: datetime) -> SkipsObservation:
    """Return skips of one topic, and a topic without any."""
    return SkipsObservation(
        flow=FLOW.name,
        at=at,
        partitions=3,
        tallies=(
            ("events", SkipCounters()),
            (
                "telemetry",
                SkipCounters(
                    skipped=10, recovered=2, repeated=300, unverifiable=1
                ),
            ),
        ),
        suspicions=(
            SuspectedDrop(
                topic="telemetry",
                partition=1,
                first=90,
                end=100,
                count=10,
                since=at,
            ),
        ),
    )
