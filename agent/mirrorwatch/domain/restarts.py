"""Whether a failed task may be started again."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

__all__ = ["RestartRules", "may_restart"]

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
