"""Where consumer groups are, so that it is known when the source is not."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import partial

from ..domain.failover import GroupOffset, GroupState
from .database import Database
from .documents import DocumentStore, from_json, to_json

__all__ = ["GroupStore"]


_TABLE = """
CREATE TABLE IF NOT EXISTS failover_group (
    flow TEXT, name TEXT, body TEXT NOT NULL,
    PRIMARY KEY (flow, name)) WITHOUT ROWID
"""


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
        self._flow = flow
        self._reading = DocumentStore(database, flow, "failover", _Reading)
        with database.transaction() as sql:
            sql.execute(_TABLE)

    def load(self) -> dict[str, GroupState]:
        """Read all groups, by name."""
        with self._database.transaction() as sql:
            reading = self._reading.load()
            rows = sql.execute(
                "SELECT name, body FROM failover_group "
                "WHERE flow = ? ORDER BY name",
                (self._flow,),
            ).fetchall()
        found = {}
        for name, body in rows:
            group = self._database.decode(
                "failover_group",
                {"flow": self._flow, "name": name},
                partial(from_json, _Group, body),
            )
            if group is not None:
                found[name] = GroupState(
                    group=name, read_at=reading.at, offsets=group.offsets
                )
        return found

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
        with self._database.transaction() as sql:
            sql.executemany(
                "INSERT OR REPLACE INTO failover_group VALUES (?, ?, ?)",
                [
                    (self._flow, name, to_json(_Group(offsets=offsets)))
                    for name, offsets in groups.items()
                ],
            )
            sql.executemany(
                "DELETE FROM failover_group WHERE flow = ? AND name = ?",
                [(self._flow, name) for name in gone],
            )
            self._reading.save(_Reading(at=read_at))
