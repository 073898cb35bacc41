"""The command line: one file for each command."""

from .root import main

__all__ = ["main"]
