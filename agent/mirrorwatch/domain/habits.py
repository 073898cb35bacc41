"""How a mirror goes about topics, by the configuration of its connectors."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta
from functools import cached_property

from .naming import HEARTBEATS
from .positions import Connector
from .selection import PatternError, Selection, compile_pattern

__all__ = ["Habits"]

USUAL = timedelta(minutes=10)
"""MirrorMaker 2's ``refresh.topics.interval.seconds``, and its
``sync.topic.configs.interval.seconds``."""


@dataclass(frozen=True, kw_only=True)
class Habits:
    """What all source connectors of a flow do; MirrorMaker 2's defaults
    where that is not known.
    """

    refresh: timedelta = USUAL
    """How often the slowest looks for new topics and partitions."""

    config_sync: timedelta | None = USUAL
    """How often the slowest copies topic configs; `None` if none does."""

    excluded: tuple[str, ...] = ()
    """Properties of topics that are not copied, as patterns."""

    selections: tuple[Selection, ...] = ()
    """Topics that each replicates; none if that is not known."""

    known: bool = False
    """Whether a connector was seen at all."""

    @classmethod
    def of(cls, connectors: Iterable[Connector]) -> "Habits":
        """Return the habits of a flow's connectors."""
        connectors = tuple(connectors)
        if not connectors:
            return cls()
        syncs = [c.config_sync for c in connectors if c.config_sync]
        return cls(
            refresh=max(c.refresh for c in connectors),
            config_sync=max(syncs, default=None),
            excluded=tuple(
                dict.fromkeys(p for c in connectors for p in c.config_excluded)
            ),
            selections=tuple(c.selection for c in connectors)
            if all(_readable(c.selection) for c in connectors)
            else (),
            known=True,
        )

    def wants(self, topic: str) -> bool:
        """Tell whether a connector takes a topic; yes if not known.

        Heartbeats are taken whatever the filter says.
        """
        if not self.selections:
            return True
        known = self._wanted.get(topic)
        if known is None:
            known = self._wanted[topic] = topic.endswith(HEARTBEATS) or any(
                selection.matches(topic) for selection in self.selections
            )
        return known

    def excludes(self, name: str) -> bool:
        """Tell whether a property of topics is not copied."""
        return any(pattern.fullmatch(name) for pattern in self._excluded)

    @cached_property
    def _wanted(self) -> dict[str, bool]:
        """What was answered: asked for each topic at each tick."""
        return {}

    @cached_property
    def _excluded(self) -> tuple[re.Pattern[str], ...]:
        return tuple(compile_pattern(p) for p in self.excluded if _compiles(p))


def _readable(selection: Selection) -> bool:
    """Tell whether Python reads a mirror's patterns as Java does."""
    return all(map(_compiles, (*selection.include, *selection.exclude)))


def _compiles(pattern: str) -> bool:
    try:
        compile_pattern(pattern)
    except PatternError:
        return False
    return True
