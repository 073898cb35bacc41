"""What the API says of how the topics of both sides compare."""

from collections.abc import Sequence
from typing import Any

from ..domain.parity.configs import ConfigDrift, ConfigsObservation
from ..domain.parity.topics import TopicsObservation
from .times import time_text

__all__ = ["configs_document", "parity_document"]

MOST = 100
"""Listed of each kind; how many there are is told beside them."""


def parity_document(seen: TopicsObservation) -> dict[str, Any]:
    """Return which topics the target lacks, or has otherwise.

    Parameters
    ----------
    seen
        What both sides told.
    """
    late, divided = set(seen.late), set(seen.divided)
    missing = sorted(seen.missing, key=lambda m: (m.since, m.topic))
    mismatches = sorted(seen.mismatches, key=lambda m: (m.since, m.topic))
    return {
        "observed_at": time_text(seen.at),
        "known": seen.known,
        "carried": seen.carried,
        "refresh_seconds": seen.refresh.total_seconds(),
        "missing_total": len(missing),
        "missing": [
            {
                "topic": topic.topic,
                "remote_topic": topic.remote,
                "since": time_text(topic.since),
                "overdue": topic in late,
                "hidden": topic.hidden,
            }
            for topic in missing[:MOST]
        ],
        "partitions_total": len(mismatches),
        "partitions": [
            {
                "topic": topic.topic,
                "source": topic.source,
                "target": topic.target,
                "since": time_text(topic.since),
                "overdue": topic in divided,
            }
            for topic in mismatches[:MOST]
        ],
        "not_wanted": _names(seen.unwanted) if seen.chosen else _names(()),
        "replication": _names(seen.other_replication),
        "came_round": _names(seen.cycles),
        "only_at_target": _names(seen.left_over),
        "problems": list(seen.problems),
    }


def configs_document(seen: ConfigsObservation) -> dict[str, Any]:
    """Return which topics are configured otherwise at the target.

    Parameters
    ----------
    seen
        What both sides told.
    """
    due = set(seen.due)
    drifts = sorted(seen.drifts, key=lambda d: (d not in due, d.topic))
    return {
        "observed_at": time_text(seen.at),
        "fresh": seen.fresh,
        "compared": seen.compared,
        "drifts_total": len(drifts),
        "drifts": [_drift(d, d in due) for d in drifts[:MOST]],
        "told_total": len(seen.told),
        "told": [_drift(d, overdue=False) for d in seen.told[:MOST]],
        "problems": list(seen.problems),
    }


def _names(topics: Sequence[str]) -> dict[str, Any]:
    return {"total": len(topics), "topics": sorted(topics)[:MOST]}


def _drift(drift: ConfigDrift, overdue: bool) -> dict[str, Any]:  # noqa: FBT001
    return {
        "topic": drift.topic,
        "property": drift.name,
        "source": drift.source,
        "target": drift.target,
        "by_default": drift.by_default,
        "since": time_text(drift.since),
        "overdue": overdue,
    }
