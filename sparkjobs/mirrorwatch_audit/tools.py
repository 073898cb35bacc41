"""What every run works with."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta, tzinfo

from .planner import Planner
from .progress import Progress
from .records import Read

__all__ = ["Settings", "Tools"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Settings:
    """How records are compared."""

    bucket: timedelta
    """Length of time that one checksum stands for."""

    timezone: tzinfo
    """Where nights are named."""

    keys: int = 0
    """Keys to name for each finding."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Tools:
    """What every run works with."""

    read: Read
    """Reads records."""

    planner: Planner
    """Freezes what is compared."""

    settings: Settings
    """How records are compared."""

    progress: Progress
    """Is told what is being done."""

    clock: Callable[[], datetime]
    """Gives the time."""
