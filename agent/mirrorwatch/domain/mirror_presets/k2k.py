"""Lenses K2K: its positions are in a topic whose format is not public."""

from . import MirrorPreset

__all__ = ["PRESET"]

PRESET = MirrorPreset(
    title="K2K",
    naming="identity",
    # Only if it is configured to.
    creates_topics=False,
)
