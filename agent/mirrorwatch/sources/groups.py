"""Reads the consumer groups of a cluster once, for all that judge them."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from typing import Protocol

from ..domain.checkpoints import GroupPartition
from ..domain.readers.model import GroupFacts
from ..exceptions import MirrorwatchError, SourceError
from ..kafka.admin import Cluster
from ..kafka.groups import describe_groups, list_groups, read_group_offsets
from ..ports import Guard, unguarded

__all__ = ["GroupListener", "GroupReading", "GroupsWorker"]

MOST = 1000
"""Groups that are read in one round: each is a request."""

MOST_CHOSEN = 200
"""The same where they are described, too: each is two requests, and a series
of each metric."""


@dataclass(frozen=True, kw_only=True, slots=True)
class GroupReading:
    """Reading of the consumer groups of one cluster, in one round."""

    at: datetime
    ended: datetime | None = None
    """End of the reading; `None` if nothing was read."""

    listed: AbstractSet[str] = frozenset()
    is_whole: bool = False
    asked: AbstractSet[str] = frozenset()
    """Groups whose offsets were asked for, also such as are not listed."""

    denied: AbstractSet[str] = frozenset()
    """Groups that the agent lacks the right to describe."""

    offsets: Mapping[GroupPartition, int] = field(default_factory=dict)
    facts: Mapping[str, GroupFacts] = field(default_factory=dict)
    """State and members of the groups, where that is asked for."""

    problem: str | None = None

    @property
    def is_full(self) -> bool:
        """The reading has reached its limit of groups (`MOST`)."""
        return len(self.asked) >= MOST


class GroupListener(Protocol):
    """Takes every reading of the groups at one side of one flow."""

    name: str

    def named(self) -> Iterable[str]:
        """Return groups to ask for whether or not they are listed: what the
        agent may not describe is left out of the list.
        """
        ...

    def take_groups(self, reading: GroupReading) -> None:
        """Learn from a reading.

        Raises
        ------
        MirrorwatchError
            Raised if what was learned could not be kept.
        """
        ...


class GroupsWorker:
    """Reads the offsets of all groups of one cluster.

    Parameters
    ----------
    source
        The cluster.
    listeners
        Listeners to the readings, in this order.
    clock
        Gives the time.
    chosen
        Returns whether a group is read. `None` reads all of them, without
        their state and members.
    guard
        Lets each of those who learn crash alone.
    """

    interval = timedelta(seconds=15)

    def __init__(
        self,
        *,
        source: Cluster,
        listeners: Sequence[GroupListener],
        clock: Callable[[], datetime],
        chosen: Callable[[str], bool] | None = None,
        guard: Guard = unguarded,
    ) -> None:
        self._guard = guard
        kind = "groups" if chosen is None else "readers"
        self.name = f"{kind} {source.alias}"
        self._chosen = chosen
        self._source = source
        self._listeners = listeners
        self._clock = clock

    def step(self) -> None:
        """Read the groups, and hand the reading to all.

        Raises
        ------
        MirrorwatchError
            Raised if a listener could not keep it; it can with the next one.
        """
        at = self._clock()
        try:
            reading = self._read(at)
        except SourceError as e:
            reading = GroupReading(at=at, problem=str(e))
        failed: MirrorwatchError | None = None
        for listener in self._listeners:
            try:
                self._guard(
                    f"reading {listener.name}",
                    partial(listener.take_groups, reading),
                )
            except MirrorwatchError as e:
                # The others must learn all the same.
                failed = failed or e
        if failed is not None:
            raise failed

    def close(self) -> None:
        """Do nothing: the cluster's connections end with the process."""

    def _read(self, at: datetime) -> GroupReading:
        named = sorted({n for each in self._listeners for n in each.named()})
        listed, is_whole = list_groups(self._source)
        most, facts = MOST, {}
        if self._chosen is not None:
            listed = [name for name in listed if self._chosen(name)]
            most = MOST_CHOSEN
        asked = list(dict.fromkeys([*named, *listed]))[:most]
        offsets, denied = read_group_offsets(self._source, asked)
        if self._chosen is not None:
            there = {group for group, _, _ in offsets}
            facts = describe_groups(self._source, sorted(there))
        return GroupReading(
            at=at,
            ended=self._clock(),
            listed=frozenset(listed),
            is_whole=is_whole,
            asked=frozenset(asked),
            denied=frozenset(denied),
            offsets=offsets,
            facts=facts,
        )
