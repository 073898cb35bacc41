"""The nightly audit, up to where Spark begins."""

from .planner import freeze, recheck, renew
from .side import freeze_side

__all__ = ["freeze", "freeze_side", "recheck", "renew"]
