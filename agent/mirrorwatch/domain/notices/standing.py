"""How long a flow has stood worse or better than what was told."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from ..verdicts import Health

__all__ = ["Standing"]


@dataclass(kw_only=True, slots=True)
class Standing:
    """How long a flow has stood worse or better than what was told.

    Notes
    -----
    It is kept in memory only. After a restart everything has to stand anew:
    that delays a notice by a hold-down, and never makes a second one.
    """

    worse_since: datetime | None = None
    """Since when it has been worse than told, without a break."""

    bad_since: datetime | None = None
    """The same, and it was known to be bad all the time."""

    restless_since: datetime | None = None
    """Since when it has not stood as told for the time of a recovery."""

    calm_since: datetime | None = None
    """Since when it has not been worse than told."""

    better_since: datetime | None = None
    """Since when it has been better than told."""

    ok_since: datetime | None = None
    """Since when it has been well."""

    def see(
        self,
        health: Health,
        told: Health,
        now: datetime,
        recovery: timedelta,
    ) -> None:
        """Take in what a tick found.

        Parameters
        ----------
        health
            Health of the flow.
        told
            What was last told of it.
        now
            Time of the tick.
        recovery
            How long a flow must stand well to count as calm.
        """
        worse = health > told
        self.worse_since = _since(self.worse_since, now, worse)
        bad = worse and health is not Health.UNKNOWN
        self.bad_since = _since(self.bad_since, now, bad)
        self.calm_since = _since(self.calm_since, now, not worse)
        calm = (
            self.calm_since is not None and now - self.calm_since >= recovery
        )
        trouble = worse or (self.restless_since is not None and not calm)
        self.restless_since = _since(self.restless_since, now, trouble)
        self.better_since = _since(self.better_since, now, health < told)
        self.ok_since = _since(self.ok_since, now, health is Health.OK)


def _since(
    since: datetime | None,
    now: datetime,
    holds: bool,  # noqa: FBT001
) -> datetime | None:
    """Return since when something holds; never a time that is to come."""
    if not holds:
        return None
    return now if since is None else min(since, now)
