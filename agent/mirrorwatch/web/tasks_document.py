"""What the API says of the mirror's connectors and tasks."""

from collections.abc import Iterable, Mapping
from typing import Any

from ..domain.tasks import (
    MirrorTask,
    Stopped,
    TasksObservation,
    name_partitions,
)
from .times import time_text

__all__ = ["tasks_document"]

MOST = 200
"""Connectors and tasks listed, those that do not run first."""

MOST_TOPICS = 20
"""Topics named of what is not copied."""

FINE = "RUNNING"


def tasks_document(seen: TasksObservation) -> dict[str, Any]:
    """Return how every connector and task is, the worst first.

    Parameters
    ----------
    seen
        What Connect told.
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
        "tasks": [_task(task, stopped) for task in tasks[:MOST]],
        "restarts": list(seen.restarts),
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
        "not_copied": _names(() if lost is None else lost.partitions),
        "stuck_at": [] if lost is None else [str(s) for s in lost.stuck],
    }


def _names(partitions: Iterable[tuple[str, int]]) -> str:
    return name_partitions(partitions, MOST_TOPICS)
