"""One cluster, as surveys see it."""

from collections.abc import Callable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import datetime, timedelta

from ..domain.view import ClusterView, TopicPartition
from .bulk import Described
from .cluster import Cluster
from .ends import Ends
from .topics import Topics

__all__ = ["STARTS_EVERY", "Side", "Wanted"]

STARTS_EVERY = timedelta(seconds=30)
"""How often log starts are read: they move by whole segments, seldom."""

Wanted = Mapping[bool, AbstractSet[TopicPartition]]
"""Partitions of which the ends are needed, by whether as they are read
committed."""


@dataclass(frozen=True, slots=True)
class _Starts:
    """The log starts of one cluster, with what they were read of."""

    at: datetime
    ids: Mapping[str, str]
    starts: Mapping[TopicPartition, int]


@dataclass(frozen=True, slots=True)
class _Asked:
    """What was answered in one survey."""

    at: datetime
    ends: Mapping[bool, Mapping[TopicPartition, int]]
    starts: Mapping[TopicPartition, int]

    def moved(self, before: "_Asked") -> Iterator[str]:
        """Yield the topics of which anything is not as it was before."""
        for committed, ends in self.ends.items():
            yield from _moved(ends, before.ends.get(committed, {}))
        if self.starts is not before.starts:
            yield from _moved(self.starts, before.starts)


class Side:
    """Asks one cluster for its topics and their ends, survey by survey.

    Parameters
    ----------
    alias
        Our alias of it.
    cluster
        The cluster.
    ends
        Reads the ends of its partitions.
    clock
        Gives the time.
    """

    def __init__(
        self,
        alias: str,
        cluster: Cluster,
        ends: Ends,
        clock: Callable[[], datetime],
    ) -> None:
        self._alias = alias
        self._topics = Topics(cluster)
        self._ends = ends
        self._clock = clock
        self._starts: _Starts | None = None
        self._before: _Asked | None = None
        self._asked: _Asked | None = None

    def describe(self) -> Described:
        """Read which topics there are; the first question of a survey.

        Raises
        ------
        SourceError
            Raised if the cluster cannot be asked.
        """
        self._asked = None
        return self._topics.read(self._clock())

    def ask(self, wanted: Wanted, told: AbstractSet[str]) -> None:
        """Read the ends of partitions, and make sure of what topics.

        Parameters
        ----------
        wanted
            Which ends.
        told
            Topics of which the mirror said something since the survey before.

        Raises
        ------
        SourceError
            Raised if the cluster cannot be asked.

        Notes
        -----
        A topic on which anything moved is made sure of after its end was
        read: if it is still the one that it was, so is what was read. What
        is told of it was read before, so it is of that topic, too.
        """
        asked = self._read(wanted)
        moved = asked.moved(self._before) if self._before else ()
        if not self._topics.confirm({*told, *moved}):
            # What was read may be of the topics that are no more.
            asked = self._read(wanted)
        self._before = self._asked = asked

    def view(self, *, read_committed: bool) -> ClusterView | None:
        """Return what was answered; `None` if that was not all."""
        asked, described = self._asked, self._topics.described
        if asked is None:
            return None
        return ClusterView(
            alias=self._alias,
            id=described.id,
            at=asked.at,
            topics=described.topics,
            ends=asked.ends.get(read_committed, {}),
            starts=asked.starts,
        )

    def close(self) -> None:
        """Let go of connections."""
        self._ends.close()

    def _read(self, wanted: Wanted) -> _Asked:
        at = self._clock()
        ends = {
            committed: self._ends.read(places, read_committed=committed)
            for committed, places in wanted.items()
        }
        return _Asked(at, ends, self._read_starts(wanted, at))

    def _read_starts(
        self, wanted: Wanted, at: datetime
    ) -> Mapping[TopicPartition, int]:
        everything = set[TopicPartition]().union(*wanted.values())
        # A topic of another id has other starts, whatever its name.
        topics = self._topics.described.topics
        ids = {topic: topics[topic].id for topic, _ in everything}
        kept = self._starts
        if (
            kept is None
            or at - kept.at >= STARTS_EVERY
            or kept.ids != ids
            or not everything <= kept.starts.keys()
        ):
            starts = self._ends.read_starts(everything)
            kept = self._starts = _Starts(at, ids, starts)
        return kept.starts


def _moved(
    now: Mapping[TopicPartition, int], before: Mapping[TopicPartition, int]
) -> Iterator[str]:
    return (
        place[0]
        for place, offset in now.items()
        if before.get(place) != offset
    )
