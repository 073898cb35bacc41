"""Redpanda Shadowing: shadow topics have the offsets of the source."""

from ..mirror_traits import of_ends

__all__ = ["PRESET"]

PRESET = of_ends("Shadowing")
