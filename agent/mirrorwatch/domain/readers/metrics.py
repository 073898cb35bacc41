"""Metrics of the groups that read at the target."""

from collections.abc import Iterator
from datetime import datetime

from ..metrics import Sample, gauge
from .model import STALE, ReadersObservation

__all__ = ["METRICS", "READERS_LAG_RECORDS", "READERS_LAG_SECONDS"]
__all__ += ["READERS_MEMBERS", "samples"]

_LABELS = ("flow", "group")

READERS_LAG_RECORDS = gauge(
    "readers_lag_records",
    "offsets",
    "readers",
    _LABELS,
    "Consumer lag at the target: offsets of replicated topics that the group "
    "has not read",
)
READERS_LAG_SECONDS = gauge(
    "readers_lag_seconds",
    "seconds",
    "readers",
    _LABELS,
    "Age of the oldest record at the target that the group has not read; 0 "
    "without lag",
)
READERS_MEMBERS = gauge(
    "readers_members",
    "members",
    "readers",
    _LABELS,
    "Members of the consumer group at the target; absent if not known",
)

METRICS = (READERS_LAG_RECORDS, READERS_LAG_SECONDS, READERS_MEMBERS)


def samples(seen: ReadersObservation, now: datetime) -> Iterator[Sample]:
    """Yield the lag of each group; nothing while it is not known."""
    if now - seen.at > STALE:
        return
    for group in seen.groups:
        labels = (seen.flow, group.group)
        if group.topics:
            yield Sample(READERS_LAG_RECORDS, labels, group.records)
            yield Sample(READERS_LAG_SECONDS, labels, group.seconds)
        if group.facts is not None:
            yield Sample(READERS_MEMBERS, labels, group.facts.members)
