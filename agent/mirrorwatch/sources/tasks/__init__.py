"""The mirror's connectors and tasks: how they are, and what they stopped."""

from .board import TasksBoard
from .facts import TaskFacts
from .inspector import Inspector
from .source import TasksSource
from .unassigned import Unassigned

__all__ = [
    "Inspector",
    "TaskFacts",
    "TasksBoard",
    "TasksSource",
    "Unassigned",
]
