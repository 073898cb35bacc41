"""What is known of a flow's positions at one time."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from .event import Reset

__all__ = ["PositionObservation"]


@dataclass(frozen=True, kw_only=True, slots=True)
class PositionObservation:
    """The resets of one flow that are open or not long over."""

    flow: str
    """Name of the flow."""

    at: datetime
    """When both sides were last asked."""

    source: str
    """Our alias of the source."""

    target: str
    """Our alias of the target."""

    partitions: int = 0
    """Source partitions of which a position is known."""

    resets: tuple[Reset, ...] = ()
    """Open ones, and those not long over, in their order."""

    counts: Mapping[str, int]
    """Resets since the state file was made, by source topic."""

    problems: tuple[str, ...] = ()
    """What keeps positions from being known, in sentences."""
