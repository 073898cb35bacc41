"""Errors that the mirror's tasks count, over restarts of tasks and agent."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from datetime import datetime, timedelta

from .mirror_facts import TaskErrors

__all__ = ["ErrorBooks", "task_key"]

APART = timedelta(hours=1)
"""Losses further apart than this are told apart: as long as a lost probe is
remembered."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ErrorBooks:
    """What was counted so far."""

    counted: TaskErrors = field(default_factory=TaskErrors)
    """Of all tasks, through all their starts that were seen."""

    seen: Mapping[str, TaskErrors] = field(default_factory=dict)
    """What each task last said."""

    last_lost: datetime | None = None
    """When records were last given up."""

    lately: TaskErrors = field(default_factory=TaskErrors)
    """What was counted then, and in losses before that were not apart."""

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
        seen, all_new = dict(self.seen), TaskErrors()
        for place, errors in said.items():
            key = task_key(place)
            new = _since(errors, seen.get(key, TaskErrors()))
            all_new = _add(all_new, new)
            seen[key] = errors
        if seen == self.seen:
            return self
        at, lately = self.last_lost, self.lately
        if all_new.lost > 0:
            at = min(last_error or now, now)
            together = self.last_lost and at - self.last_lost <= APART
            lately = _add(lately, all_new) if together else all_new
        return ErrorBooks(
            counted=_add(self.counted, all_new),
            seen=seen,
            last_lost=at,
            lately=lately,
        )


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
