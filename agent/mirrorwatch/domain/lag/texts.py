"""Texts of the check `lag`."""

__all__ = ["ABOUT"]

ABOUT = ""
