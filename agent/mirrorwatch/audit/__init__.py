"""The nightly audit, up to where Spark begins."""

from .planner import freeze, recheck, renew

__all__ = ["freeze", "recheck", "renew"]
