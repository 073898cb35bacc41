"""Where consumer groups are, so that it is known when the source is not."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from ..domain.failover.translation import GroupOffset, GroupState
from .database import Database
from .documents import DocumentStore, FlowTable

__all__ = ["GroupStore"]


@dataclass(frozen=True, kw_only=True, slots=True)
class _Reading:
    at: datetime | None = None
    """When offsets were last read at the source."""


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
        self._reading = DocumentStore(database, flow, "failover", _Reading)
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

    def save(
        self,
        groups: Mapping[str, tuple[GroupOffset, ...]],
        gone: Iterable[str],
        read_at: datetime | None,
    ) -> None:
        """Write groups that changed, and forget those that are no more.

        Parameters
        ----------
        groups
            Offsets of each group that changed.
        gone
            Names of the groups to forget.
        read_at
            When offsets were last read at the source.
        """
        with self._database.transaction():
            self._groups.save(
                {
                    (name,): _Group(offsets=offsets)
                    for name, offsets in groups.items()
                }
                | {(name,): None for name in gone}
            )
            self._reading.save(_Reading(at=read_at))
