"""Texts of the check `readers`."""

__all__ = ["ABOUT"]

ABOUT = ""
