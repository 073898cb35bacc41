"""Whether a failed task may be started again."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

__all__ = ["HOUR", "Restart", "RestartRules", "Restarts", "may_restart"]

HOUR = timedelta(hours=1)


@dataclass(frozen=True, kw_only=True, slots=True)
class RestartRules:
    """How often failed tasks are started again."""

    enabled: bool = False
    """Whether that is done at all."""

    most_per_hour: int = 3
    """Most restarts of one task within an hour."""

    pause: timedelta = timedelta(minutes=1)
    """From a failure to the first restart; doubled for each one before."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Restart:
    """One restart of a failed task, or of a connector."""

    connector: str
    """Name of the connector."""

    task: int | None
    """Number of the task; `None` for the connector itself."""

    at: datetime
    """When it was asked for."""

    number: int
    """Which one it was within an hour."""

    problem: str | None = None
    """Why Connect did not do it, if it said so."""

    def describe(self, most_per_hour: int) -> str:
        """Return a sentence for a person on call."""
        what = self.connector
        if self.task is not None:
            what = f"task {self.task} of {what}"
        text = (
            f"{self.at:%H:%M:%S} UTC: {what} was started again by the agent "
            f"({self.number} of {most_per_hour} within an hour)"
        )
        if self.problem is None:
            return text
        return f"{text}, in vain: {self.problem}"


@dataclass(frozen=True, kw_only=True, slots=True)
class Restarts:
    """What was done to the failed tasks of one flow."""

    done: tuple[Restart, ...] = ()
    """In the order of time."""

    def recent(self, now: datetime) -> "Restarts":
        """Return those of the last hour."""
        return Restarts(
            done=tuple(one for one in self.done if now - one.at < HOUR)
        )


def may_restart(
    rules: RestartRules,
    *,
    failed_at: datetime,
    done: Sequence[datetime],
    now: datetime,
) -> bool:
    """Tell whether a task is to be started again now.

    Parameters
    ----------
    rules
        How often.
    failed_at
        When it failed.
    done
        When it was started again before.
    now
        The time.
    """
    recent = [at for at in done if now - at < HOUR]
    if not rules.enabled or len(recent) >= rules.most_per_hour:
        return False
    # A restart takes time to show: its pause counts from then.
    begin = max([failed_at, *recent])
    return now - begin >= rules.pause * (1 << len(recent))
