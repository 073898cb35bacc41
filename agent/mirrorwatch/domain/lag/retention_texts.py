"""Texts of the check `retention`."""

__all__ = ["ABOUT"]

ABOUT = ""
