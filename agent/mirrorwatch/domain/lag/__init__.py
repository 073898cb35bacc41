"""How far a mirror is behind: in records, in seconds, and until loss."""

from .first_loss import FirstLoss, first_loss
from .head import Head, Wanted
from .observation import (
    Headroom,
    LagObservation,
    LagStatus,
    Standing,
    TopicLag,
)
from .tracker import LagTracker

__all__ = ["FirstLoss", "Head", "Headroom", "LagObservation", "LagStatus"]
__all__ += ["LagTracker", "Standing", "TopicLag", "Wanted", "first_loss"]
