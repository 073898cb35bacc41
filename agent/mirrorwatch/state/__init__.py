"""Persistent state of the agent: one SQLite file."""

from .database import Database
from .opening import use_state

__all__ = ["Database", "use_state"]
