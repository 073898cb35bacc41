"""The nightly audit, up to where Spark begins."""

from .planner import freeze, recheck

__all__ = ["freeze", "recheck"]
