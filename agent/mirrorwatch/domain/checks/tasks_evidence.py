"""What the check ``tasks`` shows of what led to its verdict."""

from ..tasks import TasksObservation, name_partitions
from ..verdicts import Evidence

__all__ = ["show_tasks"]

MOST = 40
"""Connectors and tasks that are shown one by one."""

LONGEST = 4000
"""Characters of one piece of evidence: ten thousand partitions are not for
reading."""


def show_tasks(seen: TasksObservation) -> Evidence:
    """Return the evidence of a verdict on the mirror's tasks."""
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
    for number, done in enumerate(seen.restarts, start=1):
        found[f"restart_{number}"] = done
    return found


def _key(connector: str, task: int | None) -> str:
    return connector if task is None else f"{connector}-{task}"


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST else text[: LONGEST - 2] + " …"
