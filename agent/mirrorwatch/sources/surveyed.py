"""What the survey of all topics is made for: flows, and who learns."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from ..domain.carriage import Carriage
from ..domain.verdicts import Flow
from ..domain.view import FlowView
from .positions import Positions

__all__ = ["Reader", "Surveyed"]


class Reader(Protocol):
    """Takes every view of one flow, in order."""

    def take(self, view: FlowView) -> None:
        """Learn from a view. Never waits: other flows wait for it.

        Raises
        ------
        MirrorwatchError
            Raised if what was learned could not be kept.
        """
        ...


@dataclass(frozen=True, kw_only=True)
class Surveyed:
    """One flow that is surveyed."""

    flow: Flow
    carriage: Carriage
    positions: Positions
    readers: Sequence[Reader]
    """Who learns from the views, in this order."""
