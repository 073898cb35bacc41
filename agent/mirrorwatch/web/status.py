"""Document of ``/api/status``."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Self

from .. import __version__
from ..domain.canary.model import CanaryPartition, canaries
from ..domain.failover.check import FailoverObservation
from ..domain.losses import texts as losses_texts
from ..domain.losses.model import LossesObservation
from ..domain.position import texts as position_texts
from ..domain.report import (
    Cause,
    Evidence,
    Finding,
    Flow,
    Health,
    Observation,
    Verdict,
)
from ..domain.runbook import runbook_link
from ..domain.skips import texts as skips_texts
from ..ports import Report
from ..state.history import Bucket

__all__ = [
    "TICKS",
    "Freshness",
    "age_document",
    "finite",
    "seconds",
    "status_document",
    "time_text",
]


TICKS = 3
"""Ticks that may be missed: one can be slow, two in a row are an accident,
three mean that the agent hangs."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Freshness:
    """Age of the last report."""

    age: timedelta | None
    """Time since the last report, `None` before the first."""

    limit: timedelta

    @classmethod
    def of(
        cls, report: Report | None, now: datetime, interval: timedelta
    ) -> Self:
        """Return how old a report is.

        Parameters
        ----------
        report
            Last report, if there is one.
        now
            Current time.
        interval
            Time between ticks.
        """
        age = None if report is None else now - report.at
        return cls(age=age, limit=TICKS * interval)

    @property
    def is_fresh(self) -> bool:
        """The report is younger than three ticks.

        Its age is by the agent's own time: a step of the wall clock makes no
        report old.
        """
        return self.age is not None and abs(self.age) < self.limit

    @property
    def status(self) -> str:
        """Status in one word: ``ok``, ``stale``, or ``starting`` before a
        report.
        """
        if self.age is None:
            return "starting"
        return "ok" if self.is_fresh else "stale"


def time_text(at: datetime | None) -> str | None:
    """Return a time as it leaves the process: ISO 8601 with its zone."""
    return None if at is None else at.isoformat(timespec="milliseconds")


def seconds(duration: timedelta | None) -> float | None:
    """Return a duration in seconds; `None` if it is not known."""
    return None if duration is None else duration.total_seconds()


MOST_LOSSES = 20
"""Losses listed one by one; how many there were is in the counters."""


def status_document(
    report: Report | None,
    recent: Mapping[str, Bucket],
    freshness: Freshness,
    now: datetime,
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
            _flow(report, flow, recent.get(flow.name), freshness)
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


def age_document(freshness: Freshness, now: datetime) -> dict[str, Any]:
    """Return how old a report is, as every answer says it."""
    return {
        "now": time_text(now),
        "status": freshness.status,
        "age_seconds": seconds(freshness.age),
        "stale_after_seconds": seconds(freshness.limit),
    }


def _agent(
    report: Report | None, freshness: Freshness, now: datetime
) -> dict[str, Any]:
    agent = None if report is None else report.agent
    return {
        "version": __version__,
        **age_document(freshness, now),
        "last_tick_seconds": None
        if agent is None
        else seconds(agent.last_tick),
        "sources_up": {} if agent is None else dict(agent.sources_up),
        "sinks_up": {} if agent is None else dict(agent.sinks_up),
        "spooled_points": {} if agent is None else dict(agent.spooled_points),
        "lost_points": {} if agent is None else dict(agent.lost_points),
        "clock_offset_seconds": 0.0
        if agent is None
        else seconds(agent.clock_offset),
        "clock_steps": 0 if agent is None else agent.clock_steps,
        "problems": [] if agent is None else list(agent.problems),
    }


def _recovery(report: Report, flow: str) -> dict[str, Any]:
    """Return what would be lost with the source; `None` is not known."""
    point = next(
        (
            seen.recovery
            for seen in report.observations
            if isinstance(seen, FailoverObservation) and seen.flow == flow
        ),
        None,
    )
    return {
        "rpo": {
            "records": point and point.known_records(report.at),
            "seconds": point and point.seconds(report.at),
        },
        "complete_until": time_text(point.complete_until if point else None),
    }


MOST_TOPICS = 10
"""Topics listed that lost records, the newest; the sums are those of all."""


def _losses(
    seen: LossesObservation | None, unacknowledged: Sequence[int]
) -> dict[str, Any] | None:
    """Return what was lost for good; `None` is not known."""
    if seen is None:
        return None
    by_expiry = seen.topics and seen.topics[0].lost.dropped == 0
    code = position_texts.EXPIRED_UNREAD if by_expiry else skips_texts.DROPPED
    return {
        "hour": seen.hour.records,
        "day": seen.day.records,
        "total": seen.total.records,
        "missing": seen.total.missing,
        "exception": losses_texts.exception(seen.total),
        "since": time_text(seen.since),
        "title": losses_texts.title(seen.day),
        "detail": losses_texts.describe(seen),
        "acknowledge": losses_texts.acknowledge(unacknowledged),
        "runbook": runbook_link(code.name, code.check),
        "topics": [
            {
                "topic": each.topic,
                "at": time_text(each.at),
                "records": each.lost.records,
                "at_most": each.lost.at_most,
                "recovered": each.lost.recovered,
            }
            for each in seen.topics[:MOST_TOPICS]
        ],
        "topics_total": len(seen.topics),
    }


def _flow(
    report: Report,
    flow: Flow,
    recent: Bucket | None,
    freshness: Freshness,
) -> dict[str, Any]:
    health, lead = report.health_of(flow.name), report.lead_of(flow.name)
    if not freshness.is_fresh:
        health = max(health, Health.UNKNOWN)
    return {
        "name": flow.name,
        "source": flow.source,
        "target": flow.target,
        "health": health.label,
        "headline": report.headline_of(flow.name),
        "lead": None if lead is None else lead.check,
        **_recovery(report, flow.name),
        "lost": _losses(
            report.losses_of(flow.name),
            report.unacknowledged.get(flow.name, ()),
        ),
        "cause": _cause(report.cause_of(flow.name)),
        "verdicts": [
            _verdict(verdict)
            for verdict in report.verdicts
            if verdict.flow == flow.name
        ],
        "canary": _canary(flow.name, report.observations, recent),
    }


def _cause(cause: Cause | None) -> dict[str, Any] | None:
    if cause is None:
        return None
    return {
        "code": cause.code,
        "part": cause.part,
        "reason": cause.reason,
        "since": time_text(cause.since),
        "evidence": list(cause.evidence),
        "symptoms": list(cause.symptoms),
        "runbook": runbook_link(cause.code, "cause"),
    }


def _verdict(verdict: Verdict) -> dict[str, Any]:
    return {
        "check": verdict.check,
        "health": verdict.health.label,
        "reason": verdict.reason,
        "since": time_text(verdict.since),
        "runbook": runbook_link(verdict.code, verdict.check),
        "evidence": finite(verdict.evidence),
        "findings": [_finding(finding) for finding in verdict.findings],
    }


def _finding(finding: Finding) -> dict[str, Any]:
    return {
        "code": finding.code,
        "health": finding.health.label,
        "title": finding.title,
        "runbook": runbook_link(finding.code, finding.code.partition(".")[0]),
        "subject": dict(finding.subject),
        "numbers": finite(finding.numbers),
    }


def finite(evidence: Evidence) -> dict[str, Any]:
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
    """Return what the canary counts, `None` if it was not seen."""
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
