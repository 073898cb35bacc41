"""What ``/api/status`` says."""

import math
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from .. import __version__
from ..domain.observations import CanaryPartition, Observation, canaries
from ..domain.verdicts import Evidence, Flow, Health, Verdict
from ..ports import Report
from ..state.bucket import Bucket
from .freshness import Freshness
from .runbook import Runbook
from .times import seconds, time_text

__all__ = ["status_document"]

MOST_LOSSES = 20
"""Losses listed one by one; how many there were is in the counters."""


def status_document(
    report: Report | None,
    recent: Mapping[str, Bucket],
    freshness: Freshness,
    now: datetime,
    runbook: Runbook,
) -> dict[str, Any]:
    """Return what the API says about the last report.

    Parameters
    ----------
    report
        Last report, if there is one.
    recent
        The last five minutes of each flow, as far as they are known.
    freshness
        Age of the report.
    now
        Current time.
    runbook
        Says where each verdict is explained.

    Notes
    -----
    The health of a flow is that of its worst check, and at least ``unknown``
    when the report is too old: a reader that looks at nothing else must not
    take the last word of an agent that has stopped for the present.
    """
    flows = () if report is None else report.flows
    return {
        "at": None if report is None else time_text(report.at),
        "agent": _agent(report, freshness, now),
        "flows": [
            _flow(report, flow, recent.get(flow.name), freshness, runbook)
            for flow in flows
            if report is not None
        ],
        "maintenance": [
            {
                "flow": window.flow,
                "since": time_text(window.since),
                "until": time_text(window.until),
                "reason": window.reason,
            }
            for window in (() if report is None else report.maintenance)
        ],
    }


def _agent(
    report: Report | None, freshness: Freshness, now: datetime
) -> dict[str, Any]:
    agent = None if report is None else report.agent
    return {
        "version": __version__,
        "now": time_text(now),
        "status": freshness.status,
        "age_seconds": seconds(freshness.age),
        "stale_after_seconds": seconds(freshness.limit),
        "last_tick_seconds": None
        if agent is None
        else seconds(agent.last_tick),
        "sources_up": {} if agent is None else dict(agent.sources_up),
        "sinks_up": {} if agent is None else dict(agent.sinks_up),
        "spooled_points": {} if agent is None else dict(agent.spooled_points),
        "lost_points": {} if agent is None else dict(agent.lost_points),
    }


def _flow(
    report: Report,
    flow: Flow,
    recent: Bucket | None,
    freshness: Freshness,
    runbook: Runbook,
) -> dict[str, Any]:
    health = report.health_of(flow.name)
    if not freshness.is_fresh:
        health = max(health, Health.UNKNOWN)
    return {
        "name": flow.name,
        "source": flow.source,
        "target": flow.target,
        "health": health.label,
        "verdicts": [
            _verdict(verdict, runbook)
            for verdict in report.verdicts
            if verdict.flow == flow.name
        ],
        "canary": _canary(flow.name, report.observations, recent),
    }


def _verdict(verdict: Verdict, runbook: Runbook) -> dict[str, Any]:
    return {
        "check": verdict.check,
        "health": verdict.health.label,
        "reason": verdict.reason,
        "since": time_text(verdict.since),
        "runbook": runbook.link(verdict.check, verdict.reason),
        "evidence": _evidence(verdict.evidence),
    }


def _evidence(evidence: Evidence) -> dict[str, Any]:
    """Return evidence, with the numbers that JSON does not have as words."""
    return {
        name: str(value)
        if isinstance(value, float) and not math.isfinite(value)
        else value
        for name, value in evidence.items()
    }


def _canary(
    flow: str, observations: Iterable[Observation], recent: Bucket | None
) -> dict[str, Any] | None:
    """Return the canary's books, `None` if it was not seen."""
    for seen in canaries(observations):
        if seen.flow == flow:
            return {
                "observed_at": time_text(seen.at),
                "topic": seen.topic,
                "remote_topic": seen.remote_topic,
                "last_5_minutes": None if recent is None else _recent(recent),
                "partitions": [_partition(p) for p in seen.partitions],
                "losses": [
                    {
                        "partition": loss.partition,
                        "sequence": loss.sequence,
                        "source_offset": loss.source_offset,
                        "sent_at": time_text(loss.sent_at),
                        "proved_at": time_text(loss.proved_at),
                        "proof": loss.proof,
                    }
                    for loss in seen.losses[-MOST_LOSSES:]
                ],
            }
    return None


def _recent(bucket: Bucket) -> dict[str, Any]:
    return {
        "latency_median_seconds": seconds(bucket.quantile(0.5)),
        "latency_p99_seconds": seconds(bucket.quantile(0.99)),
        "latency_worst_seconds": seconds(bucket.worst),
        "delivered": bucket.delivered,
        "late": bucket.late,
        "lost": bucket.lost,
        "duplicates": bucket.duplicates,
    }


def _partition(partition: CanaryPartition) -> dict[str, Any]:
    return {
        "partition": partition.partition,
        "warming": partition.warming,
        "outstanding": partition.outstanding,
        "oldest_outstanding_at": time_text(partition.oldest_outstanding),
        "last_arrival_at": time_text(partition.last_arrival),
        **partition.counts.as_dict(),
    }
