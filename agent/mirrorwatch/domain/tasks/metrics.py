"""Metrics of a mirror's connectors and tasks."""

from collections import Counter
from collections.abc import Iterator
from datetime import datetime

from ..metrics import Sample, gauge
from .model import TasksObservation

__all__ = ["METRICS", "TASKS", "samples"]


STATES = (
    "running",
    "failed",
    "paused",
    "stopped",
    "restarting",
    "unassigned",
)
"""Connect's own words. All of them are exported, so that what is over is 0."""

TASKS = gauge(
    "tasks",
    "tasks",
    "tasks",
    ("flow", "connector", "state"),
    "Tasks of the mirror's connectors by Connect state",
)

METRICS = (TASKS,)


def samples(seen: TasksObservation, at: datetime) -> Iterator[Sample]:
    """Yield the samples of one flow."""
    del at  # they are as old as what they were read from
    counts: dict[str, Counter[str]] = {}
    for task in seen.tasks:
        if task.role != "neighbour":
            found = counts.setdefault(task.connector, Counter())
            if task.number is not None:
                found[task.state.lower()] += 1
    for connector, found in counts.items():
        for state in STATES:
            labels = (seen.flow, connector, state)
            yield Sample(TASKS, labels, float(found[state]))
