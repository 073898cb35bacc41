"""Texts of the check `topics`."""

__all__ = ["ABOUT"]

ABOUT = ""
