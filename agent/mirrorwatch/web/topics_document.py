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
from .times import time_text
from .topic_facts import NAMES, Facts, missing, topic_facts
from .topics_choice import choose, is_late
from .topics_query import TopicsQuery

__all__ = ["topics_document"]

FIRST = 5
"""Topics named that would lose records first: those that must be saved."""

LOSING = TopicsQuery(sort="time_to_loss_seconds")


def topics_document(
    report: Report | None,
    query: TopicsQuery,
    freshness: Freshness,
    now: datetime,
) -> dict[str, Any]:
    """Return what the API says about topics, the worst first by default.

    Parameters
    ----------
    report
        Last report, if there is one.
    query
        Which flows, and which topics of each.
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
            _flow(report, flow, query)
            for flow in flows
            if report is not None and query.flow in {None, flow.name}
        ],
    }


def _flow(report: Report, flow: Flow, query: TopicsQuery) -> dict[str, Any]:
    named = {"name": flow.name, "source": flow.source, "target": flow.target}
    for seen in report.observations:
        if isinstance(seen, LagObservation) and seen.flow == flow.name:
            counts = topic_facts(report.observations, flow.name)
            return named | _topics(seen, counts, query)
    return named | {"observed_at": None, "matching": 0, "topics": []}


def _topics(
    seen: LagObservation, counts: Facts, query: TopicsQuery
) -> dict[str, Any]:
    chosen = choose(seen.topics, counts, query)
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
        "first_to_lose": [
            _topic(topic, counts.get(topic.topic, {}))
            for topic in choose(seen.topics, counts, LOSING)[:FIRST]
            if topic.headroom is not None
        ],
        "matching": len(chosen),
        "topics": [
            _topic(topic, counts.get(topic.topic, {}))
            for topic in chosen[: query.top]
        ],
    }


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
        "notable": is_late(topic) or missing(counts) > 0,
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
