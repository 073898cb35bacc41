"""How far a mirror is behind: in records, in seconds, and until loss."""

from .head import Head, Wanted
from .observation import (
    Headroom,
    LagObservation,
    LagStatus,
    Standing,
    TopicLag,
)
from .tracker import LagTracker

__all__ = ["Head", "Headroom", "LagObservation", "LagStatus", "LagTracker"]
__all__ += ["Standing", "TopicLag", "Wanted"]
