"""The check ``tasks``: whether the mirror's tasks run, and stay running."""

from collections.abc import Iterator, Sequence
from datetime import datetime

from ..tasks import MirrorTask, Stopped, TasksObservation, name_partitions
from ..verdicts import Health, Verdict
from ..words import agree, counted
from .finding import Finding, conclude
from .tasks_evidence import show_tasks
from .tasks_running import TasksLimits, find_flapping, find_idle

__all__ = ["TasksLimits", "judge_tasks"]

NAMED = 4
"""Topics that a reason names; the evidence has them all."""


def judge_tasks(
    flow: str,
    seen: TasksObservation | None,
    limits: TasksLimits,
    now: datetime,
) -> Verdict:
    """Judge the connectors and tasks of a flow's mirror.

    Parameters
    ----------
    flow
        Name of the flow.
    seen
        What Connect says of them.
    limits
        Limits of the check.
    now
        The time.
    """
    return conclude(
        _find(seen, limits, now),
        flow=flow,
        check="tasks",
        now=now,
        evidence={} if seen is None else show_tasks(seen),
    )


def _find(
    seen: TasksObservation | None, limits: TasksLimits, now: datetime
) -> Iterator[Finding]:
    if seen is None:
        yield Finding(
            Health.UNKNOWN, "The mirror's tasks have not been looked at yet"
        )
        return
    if seen.absent is not None:
        yield Finding(Health.OFF, seen.absent)
        return
    ours = [task for task in seen.tasks if task.role != "neighbour"]
    yield from _find_failed(ours, seen)
    yield from find_idle(ours, limits, now)
    yield from find_flapping(ours, seen, limits)
    yield from _find_unassigned(seen)
    for problem in seen.problems:
        yield Finding(Health.UNKNOWN, problem)
    copying = [t for t in ours if t.role == "source" and t.number is not None]
    count = len(copying)
    running = sum(task.state == "RUNNING" for task in copying)
    if running:
        yield Finding(
            Health.OK,
            f"{running} of {counted(count, 'task')} that "
            f"{agree(count, 'copy')} {agree(count, 'run')}",
        )
    elif copying:
        # Whatever is worse was found above.
        yield Finding(Health.OK, "Tasks that copy are about to run")
    elif not seen.problems:
        yield Finding(
            Health.UNKNOWN, "No task that copies has been seen to run yet"
        )


def _find_failed(
    ours: Sequence[MirrorTask], seen: TasksObservation
) -> Iterator[Finding]:
    stopped = {(s.connector, s.task): s for s in seen.stopped}
    for task in ours:
        if task.state != "FAILED":
            continue
        effect = ""
        if task.number is not None:
            found = stopped.get((task.connector, task.number))
            effect = _effect(found) if found else ""
        yield Finding(
            Health.CRITICAL,
            f"{task} has failed: {task.cause or 'no cause is told'}{effect}",
        )


def _effect(stopped: Stopped) -> str:
    parts = []
    if stopped.stuck:
        more = len(stopped.stuck) - 1
        others = f" (and {counted(more, 'more record')})" if more else ""
        parts.append(f"It is stuck at {stopped.stuck[0]}{others}")
    elif stopped.note:
        parts.append(stopped.note)
    if stopped.partitions:
        count = len(stopped.partitions)
        parts.append(
            f"{counted(count, 'partition')} "
            f"{agree(count, 'are no longer copied')}: "
            f"{name_partitions(stopped.partitions, NAMED)}"
        )
    return "".join(f". {part}" for part in parts)


def _find_unassigned(seen: TasksObservation) -> Iterator[Finding]:
    if seen.unassigned:
        count = len(seen.unassigned)
        yield Finding(
            Health.WARNING,
            f"{counted(count, 'partition')} "
            f"{agree(count, 'have been')} given to no task for two of the "
            "mirror's looks for new topics: "
            f"{name_partitions(seen.unassigned, NAMED)}",
        )
