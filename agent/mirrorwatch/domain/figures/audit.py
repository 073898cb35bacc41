"""Figures of the nightly audit, by topic."""

from collections.abc import Iterator
from datetime import datetime

from ..audit.night import KINDS
from ..audit.observation import AuditObservation
from .metric import gauge
from .sample import Sample

__all__ = ["FOUND", "LAST_SUCCESS", "METRICS", "UNVERIFIABLE", "figures"]

_LABELS = ("flow", "topic")

_WORDS = {
    "dropped": "Source records that the last audit found nowhere at the "
    "target",
    "corrupted": "Records that the last audit found altered at the target",
    "extra": "Target records that the last audit found nowhere at the source",
    "duplicated": "Copies beyond the first that the last audit found",
}

FOUND = {
    kind: gauge(
        f"audit_{kind}_records", "records", "audit", _LABELS, _WORDS[kind]
    )
    for kind in KINDS
}
"""By the kind of finding."""

UNVERIFIABLE = gauge(
    "audit_unverifiable_records",
    "offsets",
    "audit",
    _LABELS,
    "Source offsets that the last audit could not judge; a range of unknown "
    "length counts as one",
)
LAST_SUCCESS = gauge(
    "audit_last_success_timestamp_seconds",
    "seconds since 1970",
    "audit",
    ("flow",),
    "When the last audit came to its end, whatever it found: alert on its age",
)

METRICS = (*FOUND.values(), UNVERIFIABLE, LAST_SUCCESS)


def figures(seen: AuditObservation, _now: datetime) -> Iterator[Sample]:
    """Yield what the last audit found; nothing before the first."""
    night = seen.night
    if night is None:
        return
    for topic in night.topics:
        labels = (seen.flow, topic.topic)
        for kind, metric in FOUND.items():
            yield Sample(metric, labels, topic.found.get(kind, 0))
        yield Sample(UNVERIFIABLE, labels, topic.unverifiable)
    yield Sample(LAST_SUCCESS, (seen.flow,), night.ended_at.timestamp())
