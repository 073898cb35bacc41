"""Lenses K2K: its positions are in a topic whose format is not public."""

from ..mirror_traits import of_copies

__all__ = ["PRESET"]

PRESET = of_copies("K2K")
