"""Everything about resets that must outlive the agent."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from ..view import TopicPartition
from .event import Kind, Reset
from .place import Place

__all__ = ["Pin", "ResetBooks"]

Pin = tuple[str, str]
"""What is pinned: kind (``cluster``, ``source``, ``target``, ``internal``)
and name."""

KEPT = 1000
"""Resets kept in memory beyond the open ones: more than anybody reads."""

Spot = tuple[Kind, str, int | None]


@dataclass(kw_only=True)
class ResetBooks:
    """Pinned ids, proved positions, and resets, of one flow."""

    pins: dict[Pin, str] = field(default_factory=dict)
    places: dict[TopicPartition, Place] = field(default_factory=dict)
    resets: dict[int, Reset] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)
    """Resets by source topic; never forgotten."""

    last: int = 0
    """Number of the newest reset."""

    def __post_init__(self) -> None:
        self._newest: dict[Spot, int] = {}
        for number in sorted(self.resets):
            self._newest[_spot(self.resets[number])] = number
        self.touched: set[TopicPartition] = set()
        """Places to be written down, as soon as is convenient."""

        self.urgent = False
        """Whether anything else is to be written down now."""

    def pin(self, kind: str, name: str, id_: str) -> None:
        """Remember an id."""
        if self.pins.get((kind, name)) != id_:
            self.pins[kind, name] = id_
            self.urgent = True

    def unpin(self, kind: str) -> None:
        """Forget all ids of a kind."""
        for pin in [pin for pin in self.pins if pin[0] == kind]:
            del self.pins[pin]
            self.urgent = True

    def newest(
        self, kind: Kind, topic: str, partition: int | None = None
    ) -> Reset | None:
        """Return the newest reset of a kind at a place, if it is kept."""
        return self.resets.get(self._newest.get((kind, topic, partition), 0))

    def open(
        self, kind: Kind, topic: str, partition: int | None = None
    ) -> Reset | None:
        """Return the reset of a kind that is open at a place."""
        found = self.newest(kind, topic, partition)
        return found if found and found.settled is None else None

    def begin(
        self,
        kind: Kind,
        topic: str,
        at: datetime,
        *,
        partition: int | None = None,
        counted: Iterable[str] | None = None,
        **what: Any,
    ) -> Reset:
        """Open a reset, and count it.

        Parameters
        ----------
        kind
            What happened.
        topic
            Where.
        at
            When.
        partition
            Partition, if one is concerned.
        counted
            Source topics under which it counts; by default its own.
        what
            More about it.
        """
        self.last += 1
        found = Reset(
            number=self.last,
            kind=kind,
            topic=topic,
            partition=partition,
            began=at,
            **what,
        )
        self._newest[_spot(found)] = found.number
        self.resets[found.number] = found
        for name in [topic] if counted is None else set(counted):
            self.counts[name] = self.counts.get(name, 0) + 1
        self.urgent = True
        return found

    def change(self, reset: Reset, **what: Any) -> Reset:
        """Note what became of a reset."""
        changed = replace(reset, **what)
        if changed != reset:
            self.resets[reset.number] = changed
            self.urgent = True
        return changed

    def drop(self, reset: Reset) -> None:
        """Forget a reset; it stays counted."""
        self.resets.pop(reset.number, None)
        self.urgent = True

    def forget(self, now: datetime, memory: timedelta) -> None:
        """Forget resets that are over for longer than anybody asks."""
        over = [r for r in self.resets.values() if r.settled is not None]
        for n, reset in enumerate(reversed(over)):
            assert reset.settled is not None  # noqa: S101 - chosen so
            if n >= KEPT or now - reset.settled > memory:
                self.drop(reset)

    def places_of(self, topic: str) -> Iterator[tuple[int, Place]]:
        """Yield the partitions of a topic of which a position is known."""
        for (name, partition), place in self.places.items():
            if name == topic and place.reached is not None:
                yield partition, place


def _spot(reset: Reset) -> Spot:
    return (reset.kind, reset.topic, reset.partition)
