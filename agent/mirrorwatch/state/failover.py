"""Stores of consumer group offsets and of source end offsets, for the time
when the source is unreachable.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from ..domain.cluster_view import TopicPartition
from ..domain.failover.translation import GroupOffset, GroupState
from .database import Database
from .documents import DocumentStore, FlowTable

__all__ = ["GroupStore", "SourceEndStore", "SourceEnds"]


@dataclass(frozen=True, kw_only=True, slots=True)
class _Reading:
    at: datetime | None = None
    """Time when the source was last asked."""


@dataclass(frozen=True, kw_only=True, slots=True)
class _GroupsReading:
    at: datetime | None = None
    """Time when the source was last asked."""

    deleted: tuple[str, ...] = ()
    """Groups that had no offsets there, by its last answer."""


@dataclass(frozen=True, kw_only=True, slots=True)
class _Group:
    offsets: tuple[GroupOffset, ...] = ()


class GroupStore:
    """Keeps the offsets and checkpoints of the groups of one flow.

    Parameters
    ----------
    database
        The state file.
    flow
        Name of the flow.

    Raises
    ------
    StateError
        Raised by every method if the file cannot be used.
    """

    def __init__(self, database: Database, flow: str) -> None:
        self._database = database
        self._reading = DocumentStore(
            database, flow, "failover", _GroupsReading
        )
        self._groups: FlowTable[tuple[str], _Group] = FlowTable(
            database, flow, "failover_group", {"name": "TEXT"}, _Group
        )

    def load(self) -> dict[str, GroupState]:
        """Read all groups, by name."""
        # The time first: offsets may be newer than it, and never older.
        at = self._reading.load().at
        return {
            name: GroupState(group=name, read_at=at, offsets=group.offsets)
            for (name,), group in self._groups.load().items()
        }

    def deleted(self) -> frozenset[str]:
        """Read which groups have checkpoints and were deleted."""
        return frozenset(self._reading.load().deleted)

    def save(
        self,
        groups: Mapping[str, tuple[GroupOffset, ...]],
        gone: Iterable[str],
        read_at: datetime | None,
        deleted: Iterable[str] = (),
    ) -> None:
        """Write groups that changed, and forget those that are no more.

        Parameters
        ----------
        groups
            Offsets of each group that changed.
        gone
            Names of the groups to forget.
        read_at
            Time of the last reading of offsets at the source.
        deleted
            Names of the groups that are kept for their checkpoints alone.
        """
        with self._database.transaction():
            self._groups.save(
                {
                    (name,): _Group(offsets=offsets)
                    for name, offsets in groups.items()
                }
                | {(name,): None for name in gone}
            )
            self._reading.save(
                _GroupsReading(at=read_at, deleted=tuple(sorted(deleted)))
            )


@dataclass(frozen=True, kw_only=True, slots=True)
class SourceEnds:
    """End offsets of a source's partitions."""

    at: datetime | None = None
    """Time when the ends were asked for; `None` for never."""

    ends: Mapping[TopicPartition, int] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, slots=True)
class _End:
    offset: int


class SourceEndStore:
    """Keeps the ends of the source of one flow.

    Parameters
    ----------
    database
        The state file.
    flow
        Name of the flow.

    Raises
    ------
    StateError
        Raised by every method if the file cannot be used.
    """

    def __init__(self, database: Database, flow: str) -> None:
        self._database = database
        self._reading = DocumentStore(database, flow, "source_end", _Reading)
        self._ends: FlowTable[TopicPartition, _End] = FlowTable(
            database,
            flow,
            "source_end",
            {"topic": "TEXT", "partition": "INTEGER"},
            _End,
        )

    def load(self) -> SourceEnds:
        """Read all ends."""
        # The time first: ends may be newer than it, and never older.
        at = self._reading.load().at
        ends = {key: each.offset for key, each in self._ends.load().items()}
        return SourceEnds(at=at, ends=ends)

    def save(
        self,
        ends: Mapping[TopicPartition, int],
        gone: Iterable[TopicPartition],
        at: datetime,
    ) -> None:
        """Write ends that changed, and forget those that are no more.

        Parameters
        ----------
        ends
            Ends that changed.
        gone
            Partitions to forget.
        at
            Time when the ends were asked for.
        """
        with self._database.transaction():
            self._ends.save(
                {key: _End(offset=end) for key, end in ends.items()}
                | dict.fromkeys(gone)
            )
            self._reading.save(_Reading(at=at))
