"""Lenses K2K: its positions are in a topic whose format is not public."""

from ..mirror_traits import without_positions

__all__ = ["PRESET"]

PRESET = without_positions("K2K")
