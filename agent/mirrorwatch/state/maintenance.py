"""Announced maintenance: written by a command, taken up by the agent."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from sqlite3 import Connection
from typing import Any

from ..domain.notices.maintenance import FlowSnapshot, MaintenanceOutcome
from ..domain.notices.model import NoticeMessage
from ..domain.report import MaintenanceWindow
from .database import Database
from .documents import from_json, to_json, to_time
from .queue import Outbox

__all__ = ["KEPT", "MaintenanceStore", "Open"]

KEPT = 200
"""Windows that are kept once they are over: years of upgrades."""

_TABLE = """
CREATE TABLE IF NOT EXISTS maintenance (
    id INTEGER PRIMARY KEY AUTOINCREMENT, flow TEXT NOT NULL,
    since TEXT NOT NULL, until TEXT NOT NULL, reason TEXT NOT NULL,
    before TEXT, after TEXT)
"""

_COLUMNS = "flow, since, until, reason"


@dataclass(frozen=True, kw_only=True, slots=True)
class Open:
    """A window whose end the agent has not seen yet."""

    number: int
    """Its number in the state file."""

    window: MaintenanceWindow
    """When notices are held."""

    before: FlowSnapshot | None
    """How the flow was before, once that was noted."""


class MaintenanceStore:
    """Keeps announced maintenance, and what it changed.

    Parameters
    ----------
    database
        The state file.

    Raises
    ------
    StateError
        Raised by every method if the file cannot be used.

    Notes
    -----
    Times are kept in UTC, as ISO 8601, so that they sort as text.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        with database.transaction() as sql:
            sql.execute(_TABLE)

    def announce(
        self, flows: Iterable[str], since: datetime, until: datetime, why: str
    ) -> tuple[MaintenanceWindow, ...]:
        """Hold the notices of flows.

        One that is in maintenance already stays so from its own beginning,
        until the new end and for the new reason.
        """
        windows = []
        with self._database.transaction() as sql:
            for flow in flows:
                found = sql.execute(
                    "SELECT id, since FROM maintenance WHERE flow = ? "
                    "AND after IS NULL AND until > ? ORDER BY id DESC",
                    (flow, since.isoformat()),
                ).fetchone()
                number, began = found or (None, since.isoformat())
                sql.execute(
                    "INSERT INTO maintenance (id, flow, since, until, reason) "
                    "VALUES (?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE "
                    "SET until = excluded.until, reason = excluded.reason",
                    (number, flow, began, until.isoformat(), why),
                )
                windows.append(_to_window(flow, began, until.isoformat(), why))
        return tuple(windows)

    def end(
        self, flows: Iterable[str], now: datetime
    ) -> tuple[MaintenanceWindow, ...]:
        """End the maintenance of flows; return what was in force."""
        wanted = set(flows)
        with self._database.transaction() as sql:
            ended = [w for w in self._in_force(sql, now) if w.flow in wanted]
            sql.executemany(
                "UPDATE maintenance SET until = ? "
                "WHERE flow = ? AND after IS NULL AND until > ?",
                [(now.isoformat(), w.flow, now.isoformat()) for w in ended],
            )
        return tuple(ended)

    def move(self, step: timedelta, now: datetime) -> None:
        """Keep the length of what is announced as the wall clock is stepped.

        Parameters
        ----------
        step
            How far it was stepped.
        now
            What it says since.
        """
        with self._database.transaction() as sql:
            rows = sql.execute(
                f"SELECT id, {_COLUMNS} FROM maintenance "  # noqa: S608
                "WHERE after IS NULL"
            ).fetchall()
            sql.executemany(
                "UPDATE maintenance SET since = ?, until = ? WHERE id = ?",
                [
                    (
                        (window.since + step).isoformat(),
                        (window.until + step).isoformat(),
                        number,
                    )
                    for number, *row in rows
                    if (window := self._decode(number, row)) is not None
                    # Not what was announced since the step.
                    and window.since <= now - step
                ],
            )

    def _in_force(
        self, sql: Connection, now: datetime
    ) -> list[MaintenanceWindow]:
        rows = sql.execute(
            f"SELECT id, {_COLUMNS} FROM maintenance "  # noqa: S608
            "WHERE after IS NULL AND since <= ? AND until > ? ORDER BY id",
            (now.isoformat(), now.isoformat()),
        ).fetchall()
        windows = [self._decode(number, row) for number, *row in rows]
        return [window for window in windows if window is not None]

    def _decode(
        self, number: int, row: Sequence[str]
    ) -> MaintenanceWindow | None:
        return self._database.decode(
            "maintenance", {"id": number}, partial(_to_window, *row)
        )

    def in_force(self, now: datetime) -> tuple[MaintenanceWindow, ...]:
        """Return the windows in which notices are held now."""
        with self._database.transaction() as sql:
            return tuple(self._in_force(sql, now))

    def open(self) -> tuple[Open, ...]:
        """Return every window whose end the agent has not seen."""
        with self._database.transaction() as sql:
            rows = sql.execute(
                f"SELECT id, before, {_COLUMNS} FROM maintenance "  # noqa: S608
                "WHERE after IS NULL ORDER BY id"
            ).fetchall()
            opened = [
                self._database.decode(
                    "maintenance",
                    {"id": number},
                    partial(_to_open, number, *row),
                )
                for number, *row in rows
            ]
        return tuple(found for found in opened if found is not None)

    def begin(self, number: int, before: FlowSnapshot) -> None:
        """Note how a flow was before its maintenance."""
        with self._database.transaction() as sql:
            sql.execute(
                "UPDATE maintenance SET before = ? WHERE id = ?",
                (to_json(before), number),
            )

    def finish(
        self,
        afters: Iterable[tuple[int, FlowSnapshot]],
        messages: Sequence[NoticeMessage],
        outbox: Outbox | None,
    ) -> None:
        """Write how flows are after it, with the messages about it."""
        with self._database.transaction() as sql:
            sql.executemany(
                "UPDATE maintenance SET after = ? WHERE id = ?",
                [(to_json(after), number) for number, after in afters],
            )
            sql.execute(
                "DELETE FROM maintenance WHERE after IS NOT NULL AND id <= "
                "(SELECT max(id) FROM maintenance) - ?",
                (KEPT,),
            )
            if outbox is not None:
                outbox.put(messages)

    def last(self, flows: Iterable[str]) -> tuple[MaintenanceOutcome, ...]:
        """Return what the last maintenance of each flow changed."""
        outcomes = []
        with self._database.transaction() as sql:
            for flow in flows:
                row = sql.execute(
                    f"SELECT before, after, {_COLUMNS} "  # noqa: S608
                    "FROM maintenance WHERE flow = ? AND after IS NOT NULL "
                    "ORDER BY id DESC LIMIT 1",
                    (flow,),
                ).fetchone()
                if row is not None:
                    before, after, *window = row
                    outcomes.append(
                        MaintenanceOutcome(
                            window=_to_window(*window),
                            before=_to_snapshot(before),
                            after=from_json(FlowSnapshot, after),
                        )
                    )
        return tuple(outcomes)


def _to_open(number: int, before: Any, *window: str) -> Open:
    return Open(
        number=number,
        window=_to_window(*window),
        before=_to_snapshot(before),
    )


def _to_window(
    flow: str, since: str, until: str, reason: str
) -> MaintenanceWindow:
    return MaintenanceWindow(
        flow=flow,
        since=to_time(since),
        until=to_time(until),
        reason=reason,
    )


def _to_snapshot(text: Any) -> FlowSnapshot | None:
    return None if text is None else from_json(FlowSnapshot, text)
