"""When people are told."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta
from typing import Literal

from ..verdicts import Health, Verdict

__all__ = ["REGROUP", "RESTLESS", "UNKNOWN_HOLD", "Policy"]

UNKNOWN_HOLD = timedelta(minutes=2)
"""How long nobody can tell before that is told: a restart of the agent or of
a mirror's process takes less, and nothing can be done about it sooner."""

RESTLESS = timedelta(minutes=5)
"""A flow that never stood well for the time of a recovery is told after so
long, although it never stood badly for the time of the hold-down either."""

REGROUP = timedelta(minutes=15)
"""Least time between a notice and lesser news of the same flow: that one more
check is bad, or that it is better but not well. What belongs to one fault
comes within minutes of its first sign, and then is in no message of its
own."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Policy:
    """When people are told."""

    minimum: Literal["warning", "critical"] = "warning"
    """Least severity that is told. That nobody can tell always is, because
    anything may be behind it."""

    hold: timedelta = timedelta(seconds=30)
    """How long a flow must be worse than what was told."""

    recovery: timedelta = timedelta(minutes=1)
    """How long it must be well again."""

    remind: timedelta = timedelta(hours=4)
    """How often it is told that a flow still is critical; zero for never."""

    most_per_hour: int = 20
    """Most notices in any hour, of all flows together."""

    def weigh(self, health: Health) -> Health:
        """Return a check's health as far as people are told of it."""
        if health is Health.WARNING and self.minimum == "critical":
            return Health.OK
        return max(health, Health.OK)

    def weigh_flow(self, verdicts: Iterable[Verdict]) -> Health:
        """Return a flow's health as far as people are told of it.

        A flow of which nothing is judged is never taken to be well.
        """
        judged = [v.health for v in verdicts if v.health is not Health.OFF]
        return max(map(self.weigh, judged), default=Health.UNKNOWN)
