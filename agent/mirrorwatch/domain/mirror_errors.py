"""Errors that the mirror's tasks count, over restarts of tasks and agent."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from datetime import datetime

from .mirror_facts import TaskErrors

__all__ = ["ErrorBooks", "task_key"]


@dataclass(frozen=True, kw_only=True, slots=True)
class ErrorBooks:
    """What was counted so far."""

    counted: TaskErrors = field(default_factory=TaskErrors)
    """Of all tasks, through all their starts that were seen."""

    seen: Mapping[str, TaskErrors] = field(default_factory=dict)
    """What each task last said."""

    last_lost: datetime | None = None
    """When records were last given up."""

    def count(
        self,
        said: Mapping[tuple[str, str, int], TaskErrors],
        last_error: datetime | None,
        now: datetime,
    ) -> "ErrorBooks":
        """Count on.

        Parameters
        ----------
        said
            What each task says now, by address, connector and task.
        last_error
            When the newest error was, if the mirror knows.
        now
            The time.

        Notes
        -----
        A task counts from 0 at each start. So a number below the one before
        is of a new start, and all of it is new.
        """
        counted, seen, lost = self.counted, dict(self.seen), False
        for place, errors in said.items():
            key = task_key(place)
            new = _since(errors, seen.get(key, TaskErrors()))
            counted = _add(counted, new)
            lost = lost or new.lost > 0
            seen[key] = errors
        if seen == self.seen:
            return self
        at = min(last_error or now, now) if lost else self.last_lost
        return ErrorBooks(counted=counted, seen=seen, last_lost=at)


def task_key(place: tuple[str, str, int]) -> str:
    """Return a task's place as one word."""
    url, connector, task = place
    return f"{url} {connector} {task}"


def _add(one: TaskErrors, other: TaskErrors) -> TaskErrors:
    return TaskErrors(
        **{
            f.name: getattr(one, f.name) + getattr(other, f.name)
            for f in fields(TaskErrors)
        }
    )


def _since(now: TaskErrors, before: TaskErrors) -> TaskErrors:
    """Return what was counted since; all of it if the task started anew."""
    pairs = {
        f.name: (getattr(now, f.name), getattr(before, f.name))
        for f in fields(TaskErrors)
    }
    if any(new < old for new, old in pairs.values()):
        return now
    return TaskErrors(
        **{name: new - old for name, (new, old) in pairs.items()}
    )
