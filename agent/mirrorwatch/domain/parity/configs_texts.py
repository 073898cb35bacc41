"""Texts of the check `configs`."""

__all__ = ["ABOUT"]

ABOUT = ""
