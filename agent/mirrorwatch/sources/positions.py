"""What the mirror's internal topics said last, kept for other threads."""

from collections.abc import Mapping
from threading import Lock

from ..domain.positions import Committed, Connector, MirrorFact, Sync

__all__ = ["Positions"]


class Positions:
    """The newest fact of each kind, partition and connector.

    Written by the tails, read by everyone; no method waits for I/O.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._committed: dict[tuple[str, int], Committed] = {}
        self._syncs: dict[tuple[str, int], Sync] = {}
        self._connectors: dict[str, Connector] = {}
        self._problems: dict[str, str] = {}

    def note(self, fact: MirrorFact) -> None:
        """Take a fact that was read from an internal topic."""
        with self._lock:
            match fact:
                case Committed():
                    self._committed[fact.topic, fact.partition] = fact
                case Sync():
                    self._syncs[fact.topic, fact.partition] = fact
                case Connector():
                    self._connectors[fact.name] = fact

    def committed(self, topic: str) -> Mapping[int, Committed]:
        """Return the committed offsets of a source topic, by partition."""
        with self._lock:
            return {
                fact.partition: fact
                for fact in self._committed.values()
                if fact.topic == topic
            }

    def syncs(self, topic: str) -> Mapping[int, Sync]:
        """Return the newest syncs of a source topic, by partition."""
        with self._lock:
            return {
                fact.partition: fact
                for fact in self._syncs.values()
                if fact.topic == topic
            }

    def connectors(self) -> tuple[Connector, ...]:
        """Return the mirror's source connectors."""
        with self._lock:
            return tuple(self._connectors.values())

    def fail(self, topic: str, problem: str | None) -> None:
        """Note why an internal topic cannot be read; `None` if it can."""
        with self._lock:
            if problem is None:
                self._problems.pop(topic, None)
            else:
                self._problems[topic] = problem

    def problems(self) -> tuple[str, ...]:
        """Return what keeps internal topics from being read."""
        with self._lock:
            return tuple(self._problems.values())
