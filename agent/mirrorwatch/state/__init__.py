"""What must outlive the process: one SQLite file."""

from .database import Database
from .opening import use_state

__all__ = ["Database", "use_state"]
