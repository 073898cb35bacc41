"""The nightly audit, up to where Spark begins."""

from .freeze import freeze
from .recheck import recheck
from .side import freeze_side

__all__ = ["freeze", "freeze_side", "recheck"]
