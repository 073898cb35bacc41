"""The check ``tasks``: whether the mirror's tasks run, and stay running."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from ..report import (
    Evidence,
    Finding,
    Health,
    Subject,
    Verdict,
    agree,
    conclude,
    counted,
    seconds,
)
from .group import find_group, show_group
from .model import MirrorTask, Stopped, TasksObservation, name_partitions

__all__ = ["TasksLimits", "judge_tasks"]


MOST = 40
"""Connectors and tasks that are shown one by one."""

LONGEST = 4000
"""Characters of one piece of evidence: ten thousand partitions are not for
reading."""


def show_tasks(seen: TasksObservation) -> Evidence:
    """Return the evidence of a verdict on the mirror's tasks."""
    if seen.group is not None:
        return show_group(seen.group)
    ours = [task for task in seen.tasks if task.role != "neighbour"]
    if len(ours) > MOST:
        # What runs is only counted, then.
        ours = [task for task in ours if task.state != "RUNNING"][:MOST]
    found: dict[str, str | int | float | bool | None] = {
        "read_from": seen.origin,
        "rebalances": seen.rebalances,
        "running": sum(task.state == "RUNNING" for task in seen.tasks),
        **{
            _key(task.connector, task.number): f"{task.state} on {task.worker}"
            for task in ours
        },
    }
    if seen.version is not None:
        found["version"] = seen.version
    for stopped in seen.stopped:
        key = _key(stopped.connector, stopped.task)
        partitions = name_partitions(stopped.partitions)
        found[f"{key}_not_copied"] = _cut(partitions)
        if stopped.stuck:
            found[f"{key}_stuck_at"] = _cut("; ".join(map(str, stopped.stuck)))
    if seen.unassigned:
        found["unassigned"] = _cut(name_partitions(seen.unassigned))
    neighbours = sorted(
        f"{_key(task.connector, task.number)} {task.state}"
        for task in seen.tasks
        if task.role == "neighbour"
    )
    if neighbours:
        found["neighbours"] = _cut(", ".join(neighbours))
    return found


def _key(connector: str, task: int | None) -> str:
    return connector if task is None else f"{connector}-{task}"


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST else text[: LONGEST - 2] + " …"


DELAY = (
    "Connect waits up to 5 min for a lost worker before it reassigns the "
    "tasks (scheduled.rebalance.max.delay.ms)"
)

PAUSED = "the connector was paused or stopped. Resume it"


@dataclass(frozen=True, kw_only=True, slots=True)
class TasksLimits:
    """Limits of the check `tasks`."""

    grace: timedelta = field(
        default=timedelta(seconds=30),
        metadata={"title": "Grace period", "gt": timedelta()},
    )
    """How long tasks may be neither running nor failed. A rebalance stops them
    for some seconds; a longer stop is a stop of the flow."""

    failures: int = field(
        default=2, metadata={"title": "Failures per hour", "ge": 1}
    )
    """Number of failures within an hour from which a running task is flapping.
    One failure may have been repaired, a second one was not."""

    restarts: int = field(
        default=6, metadata={"title": "Restarts per hour", "ge": 1}
    )
    """Number of starts and rebalances within an hour that are normal, in
    addition to one for each topic refresh of MirrorMaker. A deployment takes
    up to three."""


def find_idle(
    ours: Sequence[MirrorTask], limits: TasksLimits, now: datetime
) -> Iterator[Finding]:
    """Find what neither runs nor failed, for longer than between two runs."""
    for name in dict.fromkeys(task.connector for task in ours):
        members = [task for task in ours if task.connector == name]
        tasks = [task for task in members if task.number is not None]
        found = (
            _judge_tasks(name, tasks, limits, now)
            if tasks
            else _judge_connector(members[0], limits, now)
        )
        if found is not None:
            yield found


def _judge_tasks(
    name: str,
    tasks: Sequence[MirrorTask],
    limits: TasksLimits,
    now: datetime,
) -> Finding | None:
    idle = [t for t in tasks if t.state not in {"RUNNING", "FAILED"}]
    if not idle:
        return None
    since = max(task.since for task in idle)
    if now - since < limits.grace:
        return None
    running = any(task.state == "RUNNING" for task in tasks)
    copies = tasks[0].role == "source"
    states = ", ".join(sorted({task.state for task in idle}))
    paused = all(task.state in {"PAUSED", "STOPPED"} for task in idle)
    return Finding(
        "tasks.idle",
        Health.CRITICAL if copies and not running else Health.WARNING,
        f"{len(idle)} of {counted(len(tasks), 'task')} of {name} "
        f"{agree(len(tasks), 'have not run')} for {seconds(now - since)} "
        f"({states}): {PAUSED if paused else DELAY}",
        subject={"connector": name},
        numbers={
            "idle_tasks": len(idle),
            "tasks": len(tasks),
            "seconds": (now - since).total_seconds(),
        },
    )


def _judge_connector(
    connector: MirrorTask, limits: TasksLimits, now: datetime
) -> Finding | None:
    copies = connector.role == "source"
    if (
        connector.state == "FAILED"
        # Without consumer groups there is nothing to make checkpoints of.
        or (connector.state == "RUNNING" and not copies)
        or now - connector.since < limits.grace
    ):
        return None
    return Finding(
        "tasks.idle",
        Health.CRITICAL if copies else Health.WARNING,
        f"{connector} has had no tasks for {seconds(now - connector.since)} "
        f"({connector.state}). Check whether it is paused or stopped, or its "
        "topic filter matches no topic",
        subject={"connector": connector.connector},
        numbers={
            "idle_tasks": 0,
            "tasks": 0,
            "seconds": (now - connector.since).total_seconds(),
        },
    )


def find_flapping(
    ours: Sequence[MirrorTask], seen: TasksObservation, limits: TasksLimits
) -> Iterator[Finding]:
    """Find what is started again and again."""
    window = seconds(seen.window)
    # Each look for new topics may be a reason to rebalance tasks.
    usual = limits.restarts
    if seen.refresh:
        usual += int(seen.window / seen.refresh)
    for task in ours:
        if task.state != "FAILED" and task.failures >= limits.failures:
            yield Finding(
                "tasks.flapping",
                Health.WARNING,
                f"{task} is flapping: failed "
                f"{counted(task.failures, 'time')} in the last {window} and "
                "was restarted",
                subject=_subject(task),
                numbers={"failures": task.failures},
            )
        elif task.starts > usual:
            yield Finding(
                "tasks.flapping",
                Health.WARNING,
                f"{task} is flapping: started {counted(task.starts, 'time')} "
                f"in the last {window}",
                subject=_subject(task),
                numbers={"starts": task.starts},
            )
    if seen.rebalances > usual:
        yield Finding(
            "tasks.flapping",
            Health.WARNING,
            f"Tasks were rebalanced {counted(seen.rebalances, 'time')} in "
            f"the last {window}: workers join and leave, or connectors are "
            "reconfigured",
            numbers={"rebalances": seen.rebalances},
        )


def _subject(task: MirrorTask) -> Subject:
    named = {} if task.number is None else {"task": task.number}
    return {"connector": task.connector, **named}


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
            "tasks.no-data",
            Health.UNKNOWN,
            "MirrorMaker's tasks have not been read yet",
        )
        return
    if seen.absent is not None:
        yield Finding("tasks.off", Health.OFF, seen.absent)
        return
    yield from (
        Finding("tasks.unreadable", Health.UNKNOWN, problem)
        for problem in seen.problems
    )
    if seen.group is not None:
        yield from find_group(seen.group, limits.grace, now)
        return
    ours = [task for task in seen.tasks if task.role != "neighbour"]
    yield from _find_failed(ours, seen)
    yield from find_idle(ours, limits, now)
    yield from find_flapping(ours, seen, limits)
    yield from _find_unassigned(seen)
    copying = [t for t in ours if t.role == "source" and t.number is not None]
    count = len(copying)
    running = sum(task.state == "RUNNING" for task in copying)
    if running and seen.unproved is not None:
        yield Finding(
            "tasks.unproved",
            Health.UNKNOWN,
            f"{running} of {counted(count, 'source task')} "
            f"{agree(count, 'are running')} according to {seen.origin}, but "
            "nothing proves it: no position has moved for "
            f"{seconds(seen.unproved)} while records wait. A worker that was "
            "killed leaves its states behind. Check that MirrorMaker runs",
            numbers={
                "running_tasks": running,
                "tasks": count,
                "seconds": seen.unproved.total_seconds(),
            },
        )
    if running:
        yield Finding(
            "tasks.ok",
            Health.OK,
            f"{running} of {counted(count, 'source task')} "
            f"{agree(count, 'are running')}",
            numbers={"running_tasks": running, "tasks": count},
        )
    elif copying:
        # Whatever is worse was found above.
        yield Finding(
            "tasks.ok",
            Health.OK,
            "Source tasks are starting",
            numbers={"running_tasks": 0, "tasks": count},
        )
    elif not seen.problems:
        yield Finding(
            "tasks.no-data",
            Health.UNKNOWN,
            "No source task has been seen running yet",
        )


def _find_failed(
    ours: Sequence[MirrorTask], seen: TasksObservation
) -> Iterator[Finding]:
    stopped = {(s.connector, s.task): s for s in seen.stopped}
    for task in ours:
        if task.state != "FAILED":
            continue
        found = (
            None
            if task.number is None
            else stopped.get((task.connector, task.number))
        )
        yield Finding(
            "tasks.failed",
            Health.CRITICAL,
            f"{task} has failed: {task.cause or 'Connect reports no cause'}"
            f"{_effect(found) if found else ''}",
            subject=_subject(task),
            numbers={
                "partitions": len(found.partitions),
                "stuck_records": len(found.stuck),
            }
            if found
            else {},
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
            "tasks.unassigned",
            Health.WARNING,
            f"{counted(count, 'partition')} {agree(count, 'have been')} "
            "unassigned for two topic refreshes of MirrorMaker: "
            f"{name_partitions(seen.unassigned, NAMED)}",
            numbers={"partitions": count},
        )
