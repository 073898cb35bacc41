"""Texts of the check `skips`."""

__all__ = ["ABOUT"]

ABOUT = ""
