"""Texts of the check `failover`."""

__all__ = ["ABOUT"]

ABOUT = ""
