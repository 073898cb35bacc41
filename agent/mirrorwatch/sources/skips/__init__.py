"""Skips and repeats: reading the stretches that offsets do not explain."""

from .watch import SkipsWatch

__all__ = ["SkipsWatch"]
