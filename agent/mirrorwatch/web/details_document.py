"""What ``/api/details`` says."""

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from ..domain.audit.observation import AuditObservation
from ..domain.observations import Observation
from ..domain.parity.configs import ConfigsObservation
from ..domain.parity.topics import TopicsObservation
from ..domain.tasks import TasksObservation
from ..domain.verdicts import Flow
from ..ports import Report
from .audit_document import audit_document
from .freshness import Freshness
from .parity_document import configs_document, parity_document
from .tasks_document import tasks_document
from .times import seconds, time_text

__all__ = ["details_document"]


def _of(
    kind: type[Any], tell: Callable[[Any], dict[str, Any]]
) -> Callable[[Observation], dict[str, Any] | None]:
    return lambda seen: tell(seen) if isinstance(seen, kind) else None


PARTS: Mapping[str, Callable[[Observation], dict[str, Any] | None]] = {
    "tasks": _of(TasksObservation, tasks_document),
    "parity": _of(TopicsObservation, parity_document),
    "configs": _of(ConfigsObservation, configs_document),
    "audit": _of(AuditObservation, audit_document),
}
"""Each tells one kind of observation, and nothing of the others."""


def details_document(
    report: Report | None,
    flow: str | None,
    freshness: Freshness,
    now: datetime,
) -> dict[str, Any]:
    """Return what stands behind the verdicts that compare and list.

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
        "agent": {
            "now": time_text(now),
            "status": freshness.status,
            "age_seconds": seconds(freshness.age),
            "stale_after_seconds": seconds(freshness.limit),
        },
        "flows": [
            _flow(report, wanted)
            for wanted in flows
            if report is not None and flow in {None, wanted.name}
        ],
    }


def _flow(report: Report, flow: Flow) -> dict[str, Any]:
    found: dict[str, Any] = {
        "name": flow.name,
        "source": flow.source,
        "target": flow.target,
        **dict.fromkeys(PARTS),
    }
    for seen in report.observations:
        if seen.flow == flow.name:
            for name, tell in PARTS.items():
                found[name] = tell(seen) or found[name]
    return found
