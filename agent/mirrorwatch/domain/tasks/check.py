"""The check ``tasks``: whether the mirror's tasks run, and stay running."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from ..finding import Finding, Health, Numbers, Subject
from ..report import Evidence, Verdict, conclude
from . import texts
from .group import find_group, show_group
from .model import MirrorTask, Stopped, TasksObservation

__all__ = ["TasksLimits", "judge_tasks"]


@dataclass(frozen=True, kw_only=True, slots=True)
class TasksLimits:
    """Limits of the check `tasks`."""

    grace: timedelta = field(
        default=timedelta(seconds=30),
        metadata={"title": "Grace period", "gt": timedelta()},
    )
    """Grace period for tasks neither running nor failed. A rebalance stops
    them for some seconds; a longer stop stops the flow."""

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
    running = sum(task.state == "RUNNING" for task in tasks)
    copies = tasks[0].role == "source"
    return texts.IDLE.found(
        Health.CRITICAL if copies and not running else Health.WARNING,
        {"connector": name},
        idle_tasks=len(idle),
        running_tasks=running,
        tasks=len(tasks),
        seconds=(now - since).total_seconds(),
        states=", ".join(sorted({task.state for task in idle})),
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
    return texts.IDLE.found(
        Health.CRITICAL if copies else Health.WARNING,
        {"connector": connector.connector},
        idle_tasks=0,
        running_tasks=0,
        tasks=0,
        seconds=(now - connector.since).total_seconds(),
        states=connector.state,
    )


def find_flapping(
    ours: Sequence[MirrorTask], seen: TasksObservation, limits: TasksLimits
) -> Iterator[Finding]:
    """Find what is started again and again."""
    window = seen.window.total_seconds()
    # Each look for new topics may be a reason to rebalance tasks.
    usual = limits.restarts
    if seen.refresh:
        usual += int(seen.window / seen.refresh)
    for task in ours:
        if task.state != "FAILED" and task.failures >= limits.failures:
            yield texts.FLAPPING.found(
                Health.WARNING,
                _subject(task),
                failures=task.failures,
                window_seconds=window,
            )
        elif task.starts > usual:
            yield texts.FLAPPING.found(
                Health.WARNING,
                _subject(task),
                starts=task.starts,
                window_seconds=window,
            )
    if seen.rebalances > usual:
        yield texts.FLAPPING.found(
            Health.WARNING, rebalances=seen.rebalances, window_seconds=window
        )


def _subject(task: MirrorTask) -> Subject:
    named = {} if task.number is None else {"task": task.number}
    return {"connector": task.connector, **named}


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
        State of the connectors and tasks, as Connect reports it.
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
        evidence={} if seen is None else _evidence(seen),
    )


def _evidence(seen: TasksObservation) -> Evidence:
    if seen.group is not None:
        return show_group(seen.group)
    version = {} if seen.version is None else {"version": seen.version}
    return {"read_from": seen.origin, **version}


def _find(
    seen: TasksObservation | None, limits: TasksLimits, now: datetime
) -> Iterator[Finding]:
    if seen is None:
        yield texts.NO_DATA.found(Health.UNKNOWN)
        return
    if seen.absent is not None:
        yield texts.OFF.found(Health.OFF, problem=seen.absent)
        return
    for problem in seen.problems:
        yield texts.UNREADABLE.found(Health.UNKNOWN, problem=problem)
    if seen.group is not None:
        yield from find_group(seen.group, limits.grace, now)
        return
    ours = [task for task in seen.tasks if task.role != "neighbour"]
    yield from _find_failed(ours, seen)
    yield from find_idle(ours, limits, now)
    yield from find_flapping(ours, seen, limits)
    yield from _find_unassigned(seen)
    copying = [t for t in ours if t.role == "source" and t.number is not None]
    running = sum(task.state == "RUNNING" for task in copying)
    if running and seen.unproved is not None:
        yield texts.UNPROVED.found(
            Health.UNKNOWN,
            running_tasks=running,
            tasks=len(copying),
            seconds=seen.unproved.total_seconds(),
            origin=seen.origin,
        )
    if copying:
        # Whatever is worse was found above.
        yield texts.OK.found(
            Health.OK, running_tasks=running, tasks=len(copying)
        )
    elif not seen.problems:
        yield texts.NO_DATA.found(Health.UNKNOWN)


def _find_failed(
    ours: Sequence[MirrorTask], seen: TasksObservation
) -> Iterator[Finding]:
    stopped: dict[tuple[str, int | None], Stopped] = {
        (s.connector, s.task): s for s in seen.stopped
    }
    for task in ours:
        if task.state == "FAILED":
            found = stopped.get((task.connector, task.number))
            yield texts.FAILED.found(
                Health.CRITICAL,
                _subject(task),
                problem=task.cause or "Connect reports no cause",
                **({} if found is None else _effect(found)),
            )


def _effect(stopped: Stopped) -> Numbers:
    numbers: dict[str, str | int | None] = {
        "partitions": len(stopped.partitions),
        "stuck_records": len(stopped.stuck),
    }
    if not stopped.stuck:
        return {**numbers, "note": stopped.note or None}
    first = stopped.stuck[0]
    return {
        **numbers,
        "topic": first.topic,
        "partition": first.partition,
        "offset": first.offset,
        "record_bytes": first.size_bytes,
        "limit": first.limit,
        "limit_bytes": first.limit_bytes,
    }


def _find_unassigned(seen: TasksObservation) -> Iterator[Finding]:
    if seen.unassigned:
        topics = {topic for topic, _ in seen.unassigned}
        yield texts.UNASSIGNED.found(
            Health.WARNING,
            partitions=len(seen.unassigned),
            topics=len(topics),
            topic=min(topics),
        )
