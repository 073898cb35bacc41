"""Metrics of the nightly audit: in sum, and of each topic with findings.

A topic without findings has none: a thousand zeros at every tick would only
cost.
"""

from collections.abc import Iterator
from datetime import datetime

from ..metrics import Sample, gauge
from .flow_result import KINDS, AuditObservation

__all__ = [
    "FOUND",
    "IN_ALL",
    "LAST_SUCCESS",
    "METRICS",
    "UNJUDGED",
    "UNVERIFIABLE",
    "samples",
]


_LABELS = ("flow", "topic")

_WORDS = {
    "dropped": "Source records missing at the target, by the last audit",
    "corrupted": "Records altered at the target, by the last audit",
    "extra": "Target records missing at the source, by the last audit",
    "duplicated": "Duplicates at the target, by the last audit",
    "filtered": "Source records missing at the target where "
    "`topics.filtered` says that a transform drops them, by the last audit",
}

FOUND = {
    kind: gauge(
        f"audit_{kind}_records", "records", "audit", _LABELS, _WORDS[kind]
    )
    for kind in KINDS
}

UNVERIFIABLE = gauge(
    "audit_unverifiable_records",
    "offsets",
    "audit",
    _LABELS,
    "Source offsets that the last audit could not verify; a range of "
    "unknown length counts as one",
)
UNJUDGED = "unverifiable"
"""Beside the kinds of findings, what was no finding and not clean either."""

IN_ALL = gauge(
    "audit_found_records",
    "records",
    "audit",
    ("flow", "kind"),
    "Findings of the last audit in all topics: `dropped`, `corrupted`, "
    "`extra` and `duplicated` records, `filtered` ones, which are missing as "
    "configured, and `unverifiable` offsets; 0 if none",
)
LAST_SUCCESS = gauge(
    "audit_last_success_timestamp_seconds",
    "seconds since 1970",
    "audit",
    ("flow",),
    "Time at which the last audit completed, with or without findings: "
    "alert on its age",
)

METRICS = (IN_ALL, *FOUND.values(), UNVERIFIABLE, LAST_SUCCESS)


def samples(seen: AuditObservation, _now: datetime) -> Iterator[Sample]:
    """Yield what the last audit found; nothing before the first."""
    night = seen.night
    if night is None:
        return
    for kind in FOUND:
        found = sum(topic.found.get(kind, 0) for topic in night.topics)
        yield Sample(IN_ALL, (seen.flow, kind), found)
    unjudged = sum(topic.unverifiable for topic in night.topics)
    yield Sample(IN_ALL, (seen.flow, UNJUDGED), unjudged)
    for topic in night.topics:
        if not topic.unverifiable and not any(topic.found.values()):
            continue
        labels = (seen.flow, topic.topic)
        for kind, metric in FOUND.items():
            yield Sample(metric, labels, topic.found.get(kind, 0))
        yield Sample(UNVERIFIABLE, labels, topic.unverifiable)
    yield Sample(LAST_SUCCESS, (seen.flow,), night.ended_at.timestamp())
