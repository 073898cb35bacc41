"""Document of ``/api/details``: the facts behind the verdicts."""

from collections.abc import Callable, Container, Mapping, Sequence
from datetime import datetime
from typing import Any

from ..domain.audit.flow_result import (
    KINDS,
    Attempt,
    AuditObservation,
    FlowResult,
)
from ..domain.audit.result import AuditFinding, OffsetRanges
from ..domain.failover.check import FailoverObservation, GroupStart
from ..domain.parity.configs import ConfigDrift, ConfigsObservation
from ..domain.parity.topics import TopicsObservation
from ..domain.readers.model import GroupLag, ReadersObservation
from ..domain.report import Flow, Observation
from ..domain.schemas.model import SchemasObservation
from ..domain.tasks.model import (
    MirrorTask,
    Stopped,
    TasksObservation,
    name_partitions,
)
from ..ports import Report
from .status import Freshness, age_document, seconds, time_text

__all__ = ["details_document", "night_document"]


MOST_FINDINGS = 50
"""Findings, gaps and topics listed; the report has all of them."""


def audit_document(seen: AuditObservation) -> dict[str, Any]:
    """Return the last audit, the last attempt at one, and the next.

    Parameters
    ----------
    seen
        Observation of the flow's audits.
    """
    return {
        "observed_at": time_text(seen.at),
        "report": None if seen.report is None else f"/audit/{seen.report}",
        "next_due": time_text(seen.next_due),
        "overdue": time_text(seen.overdue),
        "attempt": None if seen.attempt is None else _attempt(seen.attempt),
        "night": None
        if seen.night is None
        else night_document(seen.night) | _details(seen.night),
        "problems": list(seen.problems),
    }


def night_document(night: FlowResult) -> dict[str, Any]:
    """Return the sums of an audit.

    Parameters
    ----------
    night
        The audit.
    """
    return {
        "runs": list(night.runs),
        "from": time_text(night.start),
        "to": time_text(night.end),
        "began_at": time_text(night.began_at),
        "ended_at": time_text(night.ended_at),
        "more_to_come": night.more,
        "topics": len(night.topics),
        "source_records": sum(t.source_records for t in night.topics),
        "target_records": sum(t.target_records for t in night.topics),
        "unverifiable_records": sum(t.unverifiable for t in night.topics),
        "found_records": {kind: night.found(kind) for kind in KINDS},
        "stated_records": dict(sorted(night.stated.items())),
    }


def _details(night: FlowResult) -> dict[str, Any]:
    doubtful = [t for t in night.topics if t.found or t.unverifiable]
    return {
        "findings": [_finding(f) for f in night.findings[:MOST_FINDINGS]],
        "gaps_total": night.gaps_total,
        "gaps": [
            {
                "topic": gap.topic,
                "partition": gap.partition,
                "records": gap.records,
                "reason": gap.reason,
            }
            for gap in night.gaps[:MOST_FINDINGS]
        ],
        "doubtful_topics_total": len(doubtful),
        "doubtful_topics": [
            {
                "topic": topic.topic,
                "source_records": topic.source_records,
                "target_records": topic.target_records,
                "unverifiable_records": topic.unverifiable,
                "found_records": {k: topic.found.get(k, 0) for k in KINDS},
            }
            for topic in doubtful[:MOST_FINDINGS]
        ],
    }


def _attempt(attempt: Attempt) -> dict[str, Any]:
    return {
        "due": time_text(attempt.due),
        "began_at": time_text(attempt.began_at),
        "ended_at": time_text(attempt.ended_at),
        "outcome": attempt.outcome,
        "error": attempt.error or None,
    }


def _finding(finding: AuditFinding) -> dict[str, Any]:
    return {
        "kind": finding.kind,
        "topic": finding.topic,
        "partition": finding.partition,
        "records": finding.count,
        "source_offsets": _ranges(finding.source_offsets),
        "target_offsets": _ranges(finding.target_offsets),
        "from": time_text(finding.start),
        "to": time_text(finding.end),
    }


def _ranges(ranges: OffsetRanges) -> list[list[int]]:
    return [[first, last] for first, last in ranges]


MOST_TOPICS_COMPARED = 100
"""Listed of each kind; their number is beside them."""


def parity_document(seen: TopicsObservation) -> dict[str, Any]:
    """Return which topics the target lacks, or has otherwise.

    Parameters
    ----------
    seen
        Observation of the topics on both sides.
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
            for topic in missing[:MOST_TOPICS_COMPARED]
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
            for topic in mismatches[:MOST_TOPICS_COMPARED]
        ],
        "not_wanted": _topic_names(seen.unwanted)
        if seen.chosen
        else _topic_names(()),
        "replication": _topic_names(seen.other_replication),
        "came_round": _topic_names(seen.cycles),
        "only_at_target": _topic_names(seen.left_over),
        "problems": list(seen.problems),
    }


def configs_document(seen: ConfigsObservation) -> dict[str, Any]:
    """Return which topics are configured otherwise at the target.

    Parameters
    ----------
    seen
        Observation of the configurations on both sides.
    """
    due = set(seen.due)
    drifts = sorted(seen.drifts, key=lambda d: (d not in due, d.topic))
    return {
        "observed_at": time_text(seen.at),
        "fresh": seen.fresh,
        "compared": seen.compared,
        "drifts_total": len(drifts),
        "drifts": [_drift(d, d in due) for d in drifts[:MOST_TOPICS_COMPARED]],
        "told_total": len(seen.told),
        "told": [
            _drift(d, overdue=False) for d in seen.told[:MOST_TOPICS_COMPARED]
        ],
        "problems": list(seen.problems),
    }


def _topic_names(topics: Sequence[str]) -> dict[str, Any]:
    return {
        "total": len(topics),
        "topics": sorted(topics)[:MOST_TOPICS_COMPARED],
    }


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


MOST_TASKS = 200
"""Connectors and tasks listed, those that do not run first."""

MOST_TOPICS = 20
"""Topics named of what is not copied."""

FINE = "RUNNING"


def tasks_document(seen: TasksObservation) -> dict[str, Any]:
    """Return how every connector and task is, the worst first.

    Parameters
    ----------
    seen
        Observation of the connectors and tasks.
    """
    stopped = {(s.connector, s.task): s for s in seen.stopped}
    tasks = sorted(seen.tasks, key=_order)
    copying = [t for t in tasks if t.role == "source" and t.number is not None]
    return {
        "observed_at": time_text(seen.at),
        "read_from": seen.origin,
        "window_seconds": seen.window.total_seconds(),
        "rebalances": seen.rebalances,
        "copying": len(copying),
        "copying_running": sum(t.state == FINE for t in copying),
        "unassigned_partitions": len(seen.unassigned),
        "unassigned": name_partitions(seen.unassigned, MOST_TOPICS),
        "total": len(tasks),
        "tasks": [_task(task, stopped) for task in tasks[:MOST_TASKS]],
        "problems": list(seen.problems),
    }


def _order(task: MirrorTask) -> tuple[Any, ...]:
    """Return what sorts a task: neighbours last, what does not run first."""
    number = -1 if task.number is None else task.number
    return (
        task.role == "neighbour",
        task.state == FINE,
        task.role != "source",
        task.connector,
        number,
    )


def _task(
    task: MirrorTask, stopped: Mapping[tuple[str, int], Stopped]
) -> dict[str, Any]:
    lost = (
        None
        if task.number is None
        else stopped.get((task.connector, task.number))
    )
    return {
        "connector": task.connector,
        "task": task.number,
        "role": task.role,
        "state": task.state,
        "since": time_text(task.since),
        "worker": task.worker or None,
        "cause": task.cause or None,
        "starts": task.starts,
        "failures": task.failures,
        "not_copied_partitions": 0 if lost is None else len(lost.partitions),
        "not_copied": name_partitions(
            () if lost is None else lost.partitions, MOST_TOPICS
        ),
        "stuck_at": [] if lost is None else [str(s) for s in lost.stuck],
    }


MOST_GROUPS = 50
"""Groups listed; the metrics have all of them."""


def readers_document(seen: ReadersObservation) -> dict[str, Any]:
    """Return how far groups at the target have read, the slowest first.

    Parameters
    ----------
    seen
        Observation of the groups at the target.
    """
    slowest = sorted(
        seen.groups, key=lambda g: (-g.seconds, -g.records, g.group)
    )
    return {
        "observed_at": time_text(seen.at),
        "total": len(seen.groups),
        "lag_records": sum(g.records for g in seen.groups),
        "lag_seconds": max((g.seconds for g in seen.groups), default=0.0),
        "groups": [_reader(group) for group in slowest[:MOST_GROUPS]],
        "lost_total": len(seen.lost),
        "lost": [
            {
                "group": lost.group,
                "topics": lost.topics,
                "lag_records": lost.records,
                "missed_at": time_text(lost.missed_at),
            }
            for lost in sorted(seen.lost, key=lambda g: (-g.records, g.group))[
                :MOST_GROUPS
            ]
        ],
        "missing": list(seen.missing),
        "problems": list(seen.problems),
    }


def _reader(group: GroupLag) -> dict[str, Any]:
    worst, facts = group.worst, group.facts
    return {
        "group": group.group,
        "state": None if facts is None else facts.state,
        "members": None if facts is None else facts.members,
        "lag_records": group.records,
        "lag_seconds": group.seconds,
        "at_least": any(topic.at_least for topic in group.topics),
        "status": "even" if worst is None else str(worst.status),
        "topic": None if worst is None else worst.topic,
        "partition": None if worst is None else worst.partition,
        "offset": None if worst is None else worst.position,
        "stuck_seconds": None if worst is None else seconds(worst.stuck),
    }


def failover_document(seen: FailoverObservation) -> dict[str, Any]:
    """Return where consumer groups would start, the worst first.

    Parameters
    ----------
    seen
        Observation of the groups' starts.
    """
    excluded = {m.group for m in seen.missing if m.excluded}
    return {
        "observed_at": time_text(seen.at),
        "read_at": time_text(seen.read_at),
        "groups": seen.groups,
        "groups_without_start": len({m.group for m in seen.missing}),
        "starts_total": seen.starts_total,
        "starts": [_start(each, excluded) for each in seen.starts],
        "problems": list(seen.problems),
    }


def _start(each: GroupStart, excluded: Container[str]) -> dict[str, Any]:
    place, chosen = each.start.place, each.start.chosen
    return {
        "group": each.group,
        "topic": place.topic,
        "remote_topic": each.remote,
        "partition": place.partition,
        "committed": place.committed,
        "offset": None if chosen is None else chosen.offset,
        "by": None if chosen is None else str(chosen.by),
        "repeated": None if chosen is None else chosen.repeated,
        "exact": None if chosen is None else chosen.exact,
        "problem": each.start.problem,
        "excluded": chosen is None and each.group in excluded,
    }


MOST_SCHEMAS = 100
"""Schemas and subjects listed, the oldest problems first."""


def schemas_document(seen: SchemasObservation) -> dict[str, Any]:
    """Return which schemas readers at the target do not get.

    Parameters
    ----------
    seen
        Observation of the schemas.
    """
    return {
        "observed_at": time_text(seen.at),
        "known": seen.known,
        "topics": seen.topics,
        "topics_with_schemas": seen.carriers,
        "resolved": seen.resolved,
        "schemas_total": len(seen.bad),
        "schemas": [
            {
                "topic": problem.use.topic,
                "part": problem.use.part,
                "schema": str(problem.use.schema),
                "state": str(problem.resolution),
                "since": time_text(problem.since),
            }
            for problem in seen.bad[:MOST_SCHEMAS]
        ],
        "late": [
            {
                "topic": late.use.topic,
                "part": late.use.part,
                "schema": str(late.use.schema),
                "delay_seconds": seconds(late.delay),
                "readable_at": time_text(late.readable_at),
            }
            for late in seen.late[:MOST_SCHEMAS]
        ],
        "missing_subjects": _topic_names(seen.missing_subjects),
        "modes": dict(seen.modes),
        "problems": list(seen.problems),
    }


def _of(
    kind: type[Any], render: Callable[[Any], dict[str, Any]]
) -> Callable[[Observation], dict[str, Any] | None]:
    return lambda seen: render(seen) if isinstance(seen, kind) else None


PARTS: Mapping[str, Callable[[Observation], dict[str, Any] | None]] = {
    "tasks": _of(TasksObservation, tasks_document),
    "parity": _of(TopicsObservation, parity_document),
    "configs": _of(ConfigsObservation, configs_document),
    "failover": _of(FailoverObservation, failover_document),
    "readers": _of(ReadersObservation, readers_document),
    "schemas": _of(SchemasObservation, schemas_document),
    "audit": _of(AuditObservation, audit_document),
}
"""Each renders one kind of observation, and nothing of the others."""


def details_document(
    report: Report | None,
    flow: str | None,
    freshness: Freshness,
    now: datetime,
) -> dict[str, Any]:
    """Return what is behind the verdicts that compare and list.

    Parameters
    ----------
    report
        Last report, if there is one.
    flow
        Name of the only flow that is wanted, `None` for every one.
    freshness
        Age of the report.
    now
        Current time.

    Notes
    -----
    A part of which nothing was seen is `null`: its verdict says why.
    """
    flows = () if report is None else report.flows
    return {
        "at": None if report is None else time_text(report.at),
        "agent": age_document(freshness, now),
        "flows": [
            _flow_details(report, wanted)
            for wanted in flows
            if report is not None and flow in {None, wanted.name}
        ],
    }


def _flow_details(report: Report, flow: Flow) -> dict[str, Any]:
    found: dict[str, Any] = {
        "name": flow.name,
        "source": flow.source,
        "target": flow.target,
        **dict.fromkeys(PARTS),
    }
    for seen in report.observations:
        if seen.flow == flow.name:
            for name, render in PARTS.items():
                found[name] = render(seen) or found[name]
    return found
