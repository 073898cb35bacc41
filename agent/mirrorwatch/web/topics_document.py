"""What ``/api/topics`` says."""

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from ..domain.lag import LagObservation, LagStatus, TopicLag
from ..domain.verdicts import Flow
from ..ports import Report
from .freshness import Freshness
from .loss_document import losses_document
from .status_document import time_text
from .topic_facts import NAMES, Facts, missing, topic_facts
from .topics_query import TopicsQuery

__all__ = ["topics_document"]

CALM = {LagStatus.EVEN, LagStatus.MOVING}

NOTED_SECONDS = 5
"""Age from which what waits is worth a line. Records on their way are not: on
a healthy flow others are at every look, and a list of them would hide the
topic that stands."""


def topics_document(
    report: Report | None,
    query: TopicsQuery,
    freshness: Freshness,
    now: datetime,
) -> dict[str, Any]:
    """Return what the API says about topics, the worst first.

    Parameters
    ----------
    report
        Last report, if there is one.
    query
        Which flows, and how many topics of each.
    freshness
        Age of the report.
    now
        Current time.

    Notes
    -----
    Sums are those of all topics, however few are listed. What nobody could
    say is `null`, never 0.
    """
    flows = () if report is None else report.flows
    return {
        "at": None if report is None else time_text(report.at),
        "agent": {
            "now": time_text(now),
            "status": freshness.status,
            "age_seconds": _seconds(freshness.age),
            "stale_after_seconds": _seconds(freshness.limit),
        },
        "flows": [
            _flow(report, flow, query.top)
            for flow in flows
            if report is not None and query.flow in {None, flow.name}
        ],
    }


def _flow(report: Report, flow: Flow, top: int | None) -> dict[str, Any]:
    named = {"name": flow.name, "source": flow.source, "target": flow.target}
    for seen in report.observations:
        if isinstance(seen, LagObservation) and seen.flow == flow.name:
            counts = topic_facts(report.observations, flow.name)
            return named | _topics(seen, counts, top)
    return named | {"observed_at": None, "topics": []}


def _topics(
    seen: LagObservation, counts: Facts, top: int | None
) -> dict[str, Any]:
    ordered = sorted(seen.topics, key=lambda t: _order(t, counts))
    classes: dict[str, list[TopicLag]] = {}
    for topic in seen.topics:
        classes.setdefault(topic.topic_class, []).append(topic)
    statuses = Counter(topic.status for topic in seen.topics)
    return {
        "observed_at": time_text(seen.at),
        "problems": list(seen.problems),
        "unknown_partitions": seen.unknown_partitions,
        "retention_known": seen.configs_known,
        **losses_document(seen.topics),
        "totals": _sums(seen.topics) | _count_sums(counts),
        "statuses": {status: statuses[status] for status in LagStatus},
        "classes": [
            {"class": name} | _sums(topics)
            for name, topics in sorted(classes.items())
        ],
        "topics": [_topic(t, counts.get(t.topic, {})) for t in ordered[:top]],
    }


def _order(topic: TopicLag, counts: Facts) -> tuple[Any, ...]:
    """Return what sorts a topic: how late first, then what is missing, then
    what is on its way, then what would be lost next.
    """
    gone = missing(counts.get(topic.topic, {}))
    left = topic.headroom.remaining if topic.headroom else timedelta.max
    late = topic.seconds if _is_late(topic) else -1
    return -late, -gone, -topic.seconds, -topic.records, left, topic.topic


def _is_late(topic: TopicLag) -> bool:
    return topic.status not in CALM or topic.seconds >= NOTED_SECONDS


def _sums(topics: Sequence[TopicLag]) -> dict[str, Any]:
    return {
        "topics": len(topics),
        "topics_behind": sum(topic.records > 0 for topic in topics),
        "lag_records": sum(topic.records for topic in topics),
        "lag_seconds": _rounded(max((t.seconds for t in topics), default=0)),
    }


def _count_sums(counts: Facts) -> dict[str, int | None]:
    sums: dict[str, int | None] = {}
    for name in NAMES:
        known = [c[name] for c in counts.values() if name in c]
        sums[name] = sum(known) if known else None
    return sums


def _topic(topic: TopicLag, counts: Mapping[str, int]) -> dict[str, Any]:
    left = topic.headroom
    return {
        "topic": topic.topic,
        "class": topic.topic_class,
        "status": topic.status,
        "notable": _is_late(topic) or missing(counts) > 0,
        "lag_records": topic.records,
        "lag_seconds": _rounded(topic.seconds),
        "lag_seconds_at_least": topic.at_least,
        "partition": topic.partition,
        "position": topic.position,
        "position_by": topic.origin or None,
        "stuck_seconds": _seconds(topic.stuck),
        "drain_seconds": _seconds(topic.drain),
        "time_to_loss_seconds": _seconds(left.remaining if left else None),
        "time_to_loss_share": _rounded(left.share) if left else None,
        "time_to_loss_estimated": left.estimated if left else None,
    } | {name: counts.get(name) for name in NAMES}


def _seconds(duration: timedelta | None) -> float | None:
    return None if duration is None else _rounded(duration.total_seconds())


def _rounded(number: float) -> float:
    """Return a number to a thousandth: a millisecond, a tenth of a percent."""
    return round(number, 3)
