"""Positions that were lost: resets that no lag shows."""

from .books import ResetBooks
from .event import Kind, Reset
from .observation import PositionObservation
from .place import Place
from .watch import News, ResetWatch

__all__ = [
    "Kind",
    "News",
    "Place",
    "PositionObservation",
    "Reset",
    "ResetBooks",
    "ResetWatch",
]
