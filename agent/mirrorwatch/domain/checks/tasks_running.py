"""Tasks that do not run, or do not stay running."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from ..tasks import MirrorTask, TasksObservation
from ..verdicts import Health
from ..words import agree, counted
from .finding import Finding, seconds

__all__ = ["TasksLimits", "find_flapping", "find_idle"]

DELAY = (
    "for up to 5 min after a worker left, Connect may wait for it before it "
    "gives its tasks to others (scheduled.rebalance.max.delay.ms)"
)

PAUSED = "somebody paused or stopped them, and has to resume the connector"


@dataclass(frozen=True, kw_only=True, slots=True)
class TasksLimits:
    """Limits of the check. The configuration gives their reasons."""

    grace: timedelta = timedelta(seconds=30)
    """How long a task may be between two runs."""

    failures: int = 2
    """Failures within the window from which a running task is flapping."""

    restarts: int = 6
    """Starts and rebalances within the window that are usual, beside those
    for new topics."""


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
        Health.CRITICAL if copies and not running else Health.WARNING,
        f"{len(idle)} of {counted(len(tasks), 'task')} of {name} "
        f"{agree(len(tasks), 'do not run')} for {seconds(now - since)} "
        f"({states}): {PAUSED if paused else DELAY}",
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
        Health.CRITICAL if copies else Health.WARNING,
        f"{connector} has had no task for {seconds(now - connector.since)} "
        f"({connector.state}): it copies nothing while it is paused or "
        "stopped, or if its filter matches no topic",
    )


def find_flapping(
    ours: Sequence[MirrorTask], seen: TasksObservation, limits: TasksLimits
) -> Iterator[Finding]:
    """Find what is started again and again."""
    window = seconds(seen.window)
    # Each look for new topics may be a reason to give tasks out anew.
    usual = limits.restarts
    if seen.refresh:
        usual += int(seen.window / seen.refresh)
    for task in ours:
        if task.state != "FAILED" and task.failures >= limits.failures:
            yield Finding(
                Health.WARNING,
                f"{task} has failed {counted(task.failures, 'time')} in the "
                f"last {window} and was started again: it is flapping",
            )
        elif task.starts > usual:
            yield Finding(
                Health.WARNING,
                f"{task} was started {counted(task.starts, 'time')} in the "
                f"last {window}: it is flapping",
            )
    if seen.rebalances > usual:
        yield Finding(
            Health.WARNING,
            "Tasks were given out anew "
            f"{counted(seen.rebalances, 'time')} in the last {window}: "
            "workers come and go, or connectors are changed",
        )
