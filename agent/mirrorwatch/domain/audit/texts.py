"""Texts of the check `audit`."""

__all__ = ["ABOUT"]

ABOUT = ""
