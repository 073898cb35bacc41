"""Texts of the check `canary`."""

__all__ = ["ABOUT"]

ABOUT = ""
