"""The mirror's connectors and tasks: how they are, and what they stopped."""

from .board import Answer, TasksBoard
from .facts import TaskFacts
from .inspector import Inspector
from .source import TasksSource
from .unassigned import Unassigned

__all__ = [
    "Answer",
    "Inspector",
    "TaskFacts",
    "TasksBoard",
    "TasksSource",
    "Unassigned",
]
