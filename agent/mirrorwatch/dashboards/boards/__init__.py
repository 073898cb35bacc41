"""All dashboards: what they ask, and in which order."""

from .overview import OVERVIEW

__all__ = ["BOARDS"]

BOARDS = (OVERVIEW,)
"""In the order of a first look."""
