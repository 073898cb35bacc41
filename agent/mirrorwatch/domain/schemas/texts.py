"""Texts of the check `schemas`."""

__all__ = ["ABOUT"]

ABOUT = ""
