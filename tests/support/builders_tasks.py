"""Tasks of a mirror as a tick would see them."""

from datetime import datetime

from mirrorwatch.domain.tasks.model import MirrorTask, TasksObservation

from .builders import FLOW

__all__ = ["some_tasks"]


def some_tasks(at: datetime) -> TasksObservation:
    """Return a connector with one task that runs and one that failed."""
    states = {None: "RUNNING", 0: "RUNNING", 1: "FAILED"}
    return TasksObservation(
        flow=FLOW.name,
        at=at,
        tasks=tuple(
            MirrorTask(
                connector="MirrorSourceConnector",
                role="source",
                number=number,
                state=state,
                since=at,
            )
            for number, state in states.items()
        ),
    )
