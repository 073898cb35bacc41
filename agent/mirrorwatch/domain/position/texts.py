"""Texts of the check `position`."""

__all__ = ["ABOUT"]

ABOUT = ""
