"""The service levels of a flow: objectives, what is left of them, how fast."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum

__all__ = [
    "BURNS",
    "MONTH",
    "WITHIN",
    "Burn",
    "LevelCounts",
    "LevelObjective",
    "LevelState",
    "LevelsObservation",
    "ServiceLevel",
    "sentence",
]


WITHIN = timedelta(seconds=5)
"""Bound of the latency of probes: where `latency` is critical by default."""


@dataclass(slots=True)
class LevelCounts:
    """Probes or records, each counted once.

    Notes
    -----
    What is not known is neither good nor bad: it has a count of its own, and
    is shown beside the share of the others.
    """

    good: int = 0
    """As they should be."""

    bad: int = 0
    """Known not to be so."""

    unknown: int = 0
    """Those of which nobody knows; of probes, also those that were due and
    not sent."""

    @property
    def known(self) -> int:
        """How many are good or bad."""
        return self.good + self.bad

    @property
    def share(self) -> float | None:
        """Good ones of those that are known, from 0 to 1."""
        return self.good / self.known if self.known else None

    @property
    def unknown_share(self) -> float | None:
        """Those that are not known, of all."""
        every = self.known + self.unknown
        return self.unknown / every if every else None

    def add(self, other: "LevelCounts") -> None:
        """Take in what else was counted."""
        self.good += other.good
        self.bad += other.bad
        self.unknown += other.unknown

    def risen_since(self, before: "LevelCounts") -> "LevelCounts":
        """Return by how much each rose; one that is lower did not."""
        return LevelCounts(
            good=max(0, self.good - before.good),
            bad=max(0, self.bad - before.bad),
            unknown=max(0, self.unknown - before.unknown),
        )

    def copy(self) -> "LevelCounts":
        """Return counts that do not change with these."""
        return LevelCounts(self.good, self.bad, self.unknown)


MONTH = timedelta(days=30)
"""What a budget is for: as long as the charts reach back."""


class ServiceLevel(StrEnum):
    """What a share is of."""

    DELIVERED = "delivered"
    """Probes that arrived at the target within a bound."""

    VERIFIED = "verified"
    """Records that the mirror passed, and that are accounted for at the
    target."""


@dataclass(frozen=True, kw_only=True, slots=True)
class LevelObjective:
    """The share that is wanted."""

    level: ServiceLevel
    """What it is a share of."""

    share: float
    """From 0 to 1."""

    within: timedelta | None = None
    """Bound of the latency, of probes."""

    @property
    def budget(self) -> float:
        """Share that may be bad."""
        return 1 - self.share


@dataclass(frozen=True, kw_only=True, slots=True)
class Burn:
    """How fast a budget may be used up before someone is told.

    Notes
    -----
    Both windows must agree: the long one says that it matters, the short one
    that it goes on. Windows and factors are those of the SRE Workbook of
    Google, chapter 5, for a budget of 30 days.
    """

    long: timedelta
    short: timedelta

    factor: float
    """How many times faster than the budget would just last."""


BURNS: Mapping[str, Burn] = {
    # 2 % of the budget in an hour, 5 % in six hours, 10 % in three days.
    "1h": Burn(
        long=timedelta(hours=1), short=timedelta(minutes=5), factor=14.4
    ),
    "6h": Burn(long=timedelta(hours=6), short=timedelta(minutes=30), factor=6),
    "3d": Burn(long=timedelta(days=3), short=timedelta(hours=6), factor=1),
}
"""By the name of the long window."""


@dataclass(frozen=True, kw_only=True, slots=True)
class LevelState:
    """One service level as it is now."""

    objective: LevelObjective
    """What is wanted."""

    total: LevelCounts
    """Everything since the state file was made."""

    month: LevelCounts
    """The last 30 days, as far as they were counted."""

    burns: Mapping[str, float] = field(default_factory=dict)
    """By long window: the lower burn rate of it and its short one, absent
    where one of them is not known. At 1 the budget lasts just 30 days."""

    @property
    def budget_left(self) -> float | None:
        """Share of the budget that is left; below 0 when it is overdrawn."""
        share = self.month.share
        if share is None:
            return None
        return 1 - (1 - share) / self.objective.budget


@dataclass(frozen=True, kw_only=True, slots=True)
class LevelsObservation:
    """The service levels of one flow."""

    flow: str
    """Name of the flow."""

    at: datetime
    """When they were worked out (UTC)."""

    levels: tuple[LevelState, ...]
    """One for each that is counted."""


WORTH_SAYING = 0.0001
"""Share of what is not known from which on it is said: 4 minutes of 30 days.
Every restart of the agent leaves some seconds."""


def sentence(state: LevelState) -> str:
    """Return a service level in words, such as ``99.98 % within 5 s, budget
    left 61 %``.
    """
    share, left = state.month.share, state.budget_left
    unknown = state.month.unknown_share or 0
    if share is None or left is None:
        return "not known yet" if not unknown else "not known"
    within = state.objective.within
    what = (
        f"within {within.total_seconds():g} s"
        if within is not None
        else "verified"
    )
    left_text = (
        f"budget left {_percent(left, 0)}"
        if left >= 0
        else f"budget used {1 - left:,.1f} times"
    )
    also = (
        f"; {_percent(unknown, 2)} not known"
        if unknown >= WORTH_SAYING
        else ""
    )
    return f"{_exact(share, state.objective)} {what}, {left_text}{also}"


def _exact(share: float, objective: LevelObjective) -> str:
    """Return a share with as many digits as its objective asks for.

    It is cut, not rounded: what is below the objective never looks met.
    """
    digits = 2
    while objective.budget * 100 * 10**digits < 9.99 and digits < 6:
        digits += 1
    scaled = int(share * 100 * 10**digits + 1e-6) / 10**digits
    return f"{scaled:.{digits}f} %"


def _percent(share: float, digits: int) -> str:
    return f"{share * 100:.{digits}f} %"
