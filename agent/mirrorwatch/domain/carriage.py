"""Which topics a flow carries, and what they are called at the target."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from .naming import DefaultNaming, Naming
from .selection import Selection

__all__ = ["Carriage"]

_INTERNAL = re.compile(
    r"mm2.*internal|.*checkpoints.*internal|__.*|\..*", re.ASCII
)
"""What no mirror carries, whatever its filter says
(``ReplicationPolicy.isInternalTopic``, KIP-1074)."""


@dataclass(frozen=True, kw_only=True)
class Carriage:
    """The topics of one flow."""

    selection: Selection
    """The flow's topic filter."""

    naming: Naming
    """The mirror's replication policy."""

    target_alias: str
    """The mirror's alias of the target."""

    def carries(self, topic: str) -> bool:
        """Tell whether a source topic is carried."""
        return (
            self.selection.matches(topic)
            and not _INTERNAL.fullmatch(topic)
            and not self._came_from_target(topic)
        )

    def names(self, topics: Iterable[str]) -> dict[str, str]:
        """Return the carried ones of these topics, with their names there."""
        found = {}
        for topic in topics:
            if topic not in self._known:
                self._known[topic] = (
                    self.naming.remote(topic) if self.carries(topic) else None
                )
            remote = self._known[topic]
            if remote is not None:
                found[topic] = remote
        return found

    @cached_property
    def _known(self) -> dict[str, str | None]:
        """Names that were worked out: they are asked for at every tick."""
        return {}

    def _came_from_target(self, topic: str) -> bool:
        """Tell what ``MirrorSourceConnector.isCycle`` tells.

        Notes
        -----
        The default policy takes every part of a name but the last for an
        alias that it passed, even where it never was one.
        """
        if not isinstance(self.naming, DefaultNaming) or not (
            self.naming.separator
        ):
            return False
        return self.target_alias in topic.split(self.naming.separator)[:-1]
