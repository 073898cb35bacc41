"""What must outlive the process: one SQLite file."""

from .database import Database

__all__ = ["Database"]
