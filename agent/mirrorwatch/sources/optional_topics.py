"""Which of a mirror's optional topics are there and may be read."""

from dataclasses import dataclass, replace
from threading import Lock

__all__ = ["OptionalTopic", "OptionalTopics"]


@dataclass(frozen=True, kw_only=True, slots=True)
class OptionalTopic:
    """How one topic is doing that a mirror need not have."""

    absent: bool = False
    """Whether it is known not to be there."""

    problem: str | None = None
    """What keeps it from being read, if anything does."""

    unread: int | None = None
    """Partitions not yet read to their end; `None` before the first look."""

    @property
    def readable(self) -> bool:
        """Whether all that it says is known."""
        return self.problem is None and not self.absent and self.unread == 0


class OptionalTopics:
    """Written by the tails, read by everyone; no method waits for I/O."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._found: dict[str, OptionalTopic] = {}

    def get(self, kind: str) -> OptionalTopic:
        """Return what is known of a topic, by its kind."""
        with self._lock:
            return self._found.get(kind, OptionalTopic())

    def miss(self, kind: str) -> None:
        """Note that a topic is not there."""
        with self._lock:
            self._found[kind] = OptionalTopic(absent=True)

    def fail(self, kind: str, problem: str | None) -> None:
        """Note why a topic cannot be read; `None` if it can."""
        with self._lock:
            found = self._found.get(kind, OptionalTopic())
            self._found[kind] = replace(found, absent=False, problem=problem)

    def catch_up(self, kind: str, unread: int) -> None:
        """Note how many partitions are not yet read to their end."""
        with self._lock:
            found = self._found.get(kind, OptionalTopic())
            self._found[kind] = replace(found, unread=unread)
