"""Texts of the check `tasks`."""

__all__ = ["ABOUT"]

ABOUT = ""
