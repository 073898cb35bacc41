"""Exceptions of the lab."""

from mirrorwatch.exceptions import MirrorwatchError

__all__ = ["LabError"]


class LabError(MirrorwatchError):
    """A part of the lab did not start, or did not stay up."""
