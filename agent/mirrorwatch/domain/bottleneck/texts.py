"""Texts of the check `bottleneck`."""

__all__ = ["ABOUT"]

ABOUT = ""
