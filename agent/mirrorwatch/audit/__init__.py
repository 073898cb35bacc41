"""The nightly audit, up to where Spark begins."""

from .freeze import freeze
from .recheck import recheck

__all__ = ["freeze", "recheck"]
