"""How topics are configured on both sides of a flow, for other threads."""

from collections.abc import Mapping
from threading import Lock

from ..domain.topic_configs import TopicConfigs

__all__ = ["Configs"]


class Configs:
    """The newest known configuration of a flow's topics.

    Written by one worker, read by everyone; no method waits for I/O.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._source: Mapping[str, TopicConfigs] = {}
        self._target: Mapping[str, TopicConfigs] = {}

    def source(self, topic: str) -> TopicConfigs | None:
        """Return how a source topic is configured, `None` if not known."""
        with self._lock:
            return self._source.get(topic)

    def target(self, remote: str) -> TopicConfigs | None:
        """Return how a target topic is configured, by its name there."""
        with self._lock:
            return self._target.get(remote)

    def sources(self) -> Mapping[str, TopicConfigs]:
        """Return all that is known of the source; never changed in place."""
        with self._lock:
            return self._source

    def targets(self) -> Mapping[str, TopicConfigs]:
        """Return all that is known of the target; never changed in place."""
        with self._lock:
            return self._target

    def note(
        self,
        source: Mapping[str, TopicConfigs],
        target: Mapping[str, TopicConfigs],
    ) -> None:
        """Replace what is known by what was read."""
        with self._lock:
            self._source, self._target = source, target
