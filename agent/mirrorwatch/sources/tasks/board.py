"""What the workers around tasks found, kept for the tick."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from threading import Lock

from ...domain.tasks import Stopped

__all__ = ["Answer", "TasksBoard"]

TaskKey = tuple[str, int]


@dataclass(frozen=True, kw_only=True, slots=True)
class Answer:
    """What Connect's REST API said."""

    at: datetime | None
    """When it was last asked and answered; `None` if it never did."""

    problem: str | None = None
    """Why it said nothing since, if it did not."""

    version: str | None = None
    """Of the worker that answered."""


class TasksBoard:
    """Written by workers, read by the tick; no method waits for I/O."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._stopped: dict[TaskKey, Stopped] = {}
        self._unassigned: frozenset[tuple[str, int]] = frozenset()
        self._answer: Answer | None = None
        self._restarts: tuple[str, ...] = ()

    def note_stopped(self, stopped: Stopped) -> None:
        """Note what a failed task no longer copies."""
        with self._lock:
            self._stopped[stopped.connector, stopped.task] = stopped

    def keep_stopped(self, failed: Collection[TaskKey]) -> None:
        """Forget the tasks that are not among these any more."""
        with self._lock:
            self._stopped = {
                key: found
                for key, found in self._stopped.items()
                if key in failed
            }

    def stopped(self) -> Mapping[TaskKey, Stopped]:
        """Return what failed tasks no longer copy."""
        with self._lock:
            return dict(self._stopped)

    def note_unassigned(self, partitions: frozenset[tuple[str, int]]) -> None:
        """Note the partitions that no task was given for long."""
        with self._lock:
            self._unassigned = partitions

    def unassigned(self) -> frozenset[tuple[str, int]]:
        """Return the partitions that no task was given for long."""
        with self._lock:
            return self._unassigned

    def note_answer(self, answer: Answer) -> None:
        """Note what Connect's REST API said."""
        with self._lock:
            self._answer = answer

    def answer(self) -> Answer | None:
        """Return what Connect's REST API said last."""
        with self._lock:
            return self._answer

    def note_restarts(self, done: tuple[str, ...]) -> None:
        """Note what was done to failed tasks lately."""
        with self._lock:
            self._restarts = done

    def restarts(self) -> tuple[str, ...]:
        """Return what was done to failed tasks lately."""
        with self._lock:
            return self._restarts
