"""What a dashboard is, whatever draws it."""

from dataclasses import dataclass
from datetime import timedelta
from enum import Enum, StrEnum, auto

from ..domain.catalogue import Metric
from ..domain.verdicts import Health
from .readings import Increase, Reading

__all__ = ["FRESH", "Board", "Limits", "Panel", "Picture", "Query", "Unit"]
__all__ += ["Variable"]

FRESH = timedelta(minutes=2)
"""How old a figure may be that is shown as today's: longer than three ticks
of any usual agent, and short enough that a dead one is seen. Older ones are
shown as no data."""


class Unit(StrEnum):
    """What is counted, in words that follow a number."""

    BYTES = "bytes"
    BYTES_PER_SECOND = "bytes/s"
    COUNT = ""
    FLAG = "yes or no"
    HEALTH = "health"
    MOMENT = "ago"
    PER_SECOND = "per second"
    RATIO = "ratio"
    SECONDS = "s"


class Picture(Enum):
    """How it is drawn."""

    BARS = auto()
    """Events: nothing joins one stretch of time to the next."""

    LINES = auto()
    """How something went."""

    NUMBER = auto()
    """What is true now, or all of the time that is looked at."""

    STATES = auto()
    """Since when something is as it is, in words and colours."""

    TABLE = auto()
    """A row for each topic."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Limits:
    """From which value on something is a warning or critical."""

    warning: float | None = None
    critical: float | None = None

    below: bool = False
    """Whether small values are the bad ones."""

    @property
    def steps(self) -> tuple[tuple[float | None, Health], ...]:
        """Health from each value upwards; the first has no beginning."""
        marks = [
            (at, health)
            for at, health in (
                (self.warning, Health.WARNING),
                (self.critical, Health.CRITICAL),
            )
            if at is not None
        ]
        if not self.below:
            return ((None, Health.OK), *marks)
        # Each colour ends where the next milder one begins.
        milder = [Health.OK, *(health for _, health in marks)]
        rising = zip((at for at, _ in marks), milder, strict=False)
        return ((None, milder[-1]), *reversed(list(rising)))


@dataclass(frozen=True, kw_only=True, slots=True)
class Query:
    """One reading of a panel."""

    reading: Reading

    label: str = ""
    """What it is called beside others; the heading of its column."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Panel:
    """One question, and the picture that answers it."""

    title: str
    """A question, or a quantity with its unit."""

    description: str
    """How to read it, for someone who sees it for the first time."""

    picture: Picture
    queries: tuple[Query, ...]
    unit: Unit = Unit.COUNT
    limits: Limits | None = None

    check: str | None = None
    """Check that judges it: the section of the runbook."""

    width: int = 12
    """Of 24 columns."""

    height: int = 7
    """In rows of a grid, as high as in Grafana (38 pixels)."""

    @property
    def steps(self) -> tuple[tuple[float | None, Health], ...]:
        """Health from each value upwards; the first has no beginning.

        Notes
        -----
        That no event was counted is no good news by itself: an agent that is
        gone counts none. So it is never green.
        """
        if self.limits is None:
            return ()
        (_, best), *worse = self.limits.steps
        counted = any(isinstance(q.reading, Increase) for q in self.queries)
        if counted and best is Health.OK:
            best = Health.OFF
        return ((None, best), *worse)


@dataclass(frozen=True, kw_only=True, slots=True)
class Variable:
    """What a reader chooses at the top."""

    label: str
    """Label that is held to the choice."""

    source: Metric
    """Metric whose values of the label can be chosen from."""

    all: bool = True
    """Whether all of them can be looked at together, as at first."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Board:
    """A dashboard."""

    name: str
    """Stable name: of its files, and its uid."""

    title: str
    description: str
    variables: tuple[Variable, ...]
    panels: tuple[Panel, ...]

    hours: int = 6
    """How far back it looks at first."""

    def chosen(self, metric: Metric) -> tuple[Variable, ...]:
        """Return the variables that apply to a metric."""
        return tuple(v for v in self.variables if v.label in metric.labels)
