"""The layout of the state file, and how older ones become it."""

import json
import zlib
from collections import defaultdict
from collections.abc import Callable
from sqlite3 import Connection
from typing import Any

__all__ = ["LAYOUT", "is_foreign", "migrate"]

LAYOUT = 3
"""Version of the layout, kept as ``PRAGMA user_version``. Raise it with each
change of a table, and add a step below; what a document holds has a version
of its own."""

APPLICATION = 0x4D697257
"""``PRAGMA application_id`` of a state file. Older ones have none."""

_TABLES = (
    """
CREATE TABLE IF NOT EXISTS documents (
    kind TEXT, flow TEXT, version INTEGER NOT NULL, body TEXT NOT NULL,
    PRIMARY KEY (kind, flow)) WITHOUT ROWID
""",
    """
CREATE TABLE IF NOT EXISTS queue (
    id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL,
    points INTEGER NOT NULL, body BLOB NOT NULL)
""",
    # Finds the oldest entry of one queue without reading the others.
    "CREATE INDEX IF NOT EXISTS queue_name ON queue (name, id)",
)


def is_foreign(sql: Connection) -> bool:
    """Return whether a file is another program's."""
    (found,) = sql.execute("PRAGMA application_id").fetchone()
    tables = {
        name
        for (name,) in sql.execute(
            "SELECT name FROM sqlite_master WHERE type = 'table'"
        )
    }
    ours = {"documents", *_MOVED, *_RENAMED}
    if found == APPLICATION or not tables:
        return False
    return bool(found) or not tables & ours


def migrate(sql: Connection) -> None:
    """Bring a file to the layout of today, in the caller's transaction.

    The version is written in any case: so a file that cannot be written is
    found out at the start.
    """
    (found,) = sql.execute("PRAGMA user_version").fetchone()
    for step in _STEPS[found:]:
        step(sql)
    sql.execute(f"PRAGMA user_version = {LAYOUT}")
    sql.execute(f"PRAGMA application_id = {APPLICATION}")


def _to_documents(sql: Connection) -> None:
    """Move what is read and written as a whole to one table, what waits for
    a server to another. A new file has none of the old tables.
    """
    old = {
        name
        for (name,) in sql.execute(
            "SELECT name FROM sqlite_master WHERE type = 'table'"
        )
    }
    # Tables that may be large are renamed, and their rows not copied.
    for table, changes in _RENAMED.items():
        if table in old:
            for change in changes:
                sql.execute(change)
    for table in _TABLES:
        sql.execute(table)
    for table, move in _MOVED.items():
        if table in old:
            if move is not None:
                move(sql)
            sql.execute(f"DROP TABLE {table}")


def _move_document(sql: Connection) -> None:
    for flow, name, body in sql.execute(
        "SELECT flow, name, body FROM document"
    ).fetchall():
        _keep(sql, name, flow, json.loads(body))


def _move_standing(sql: Connection) -> None:
    areas: dict[tuple[str, str], dict[str, str]] = defaultdict(dict)
    for flow, area, condition, since in sql.execute(
        "SELECT flow, area, condition, since FROM standing"
    ):
        areas[area, flow][condition] = since
    for (area, flow), conditions in areas.items():
        _keep(sql, f"{area}_first_seen", flow, conditions)


def _move_verdict(sql: Connection) -> None:
    rows = sql.execute(
        "SELECT at, body FROM verdict ORDER BY flow, name"
    ).fetchall()
    if rows:  # of one tick: all have its time
        verdicts = [json.loads(body) for _, body in rows]
        _keep(sql, "verdicts", "", {"at": rows[0][0], "verdicts": verdicts})


def _move_notification_state(sql: Connection) -> None:
    for (body,) in sql.execute("SELECT body FROM notice_books").fetchall():
        _keep(sql, "notifications", "", json.loads(body))


def _move_reset_pin(sql: Connection) -> None:
    """Move the pins of positions, with their resets and counts."""
    flows: dict[str, dict[str, Any]] = defaultdict(
        lambda: {"pins": [], "resets": [], "counts": {}}
    )
    for flow, *pin in sql.execute(
        "SELECT flow, kind, name, id FROM reset_pin"
    ):
        flows[flow]["pins"].append(pin)
    for flow, body in sql.execute(
        "SELECT flow, body FROM reset_event ORDER BY flow, number"
    ):
        flows[flow]["resets"].append(json.loads(body))
    for flow, topic, resets in sql.execute(
        "SELECT flow, topic, resets FROM reset_count"
    ):
        flows[flow]["counts"][topic] = resets
    for flow, value in flows.items():
        _keep(sql, "position", flow, value)


def _move_skips(sql: Connection) -> None:
    for flow, body in sql.execute("SELECT flow, body FROM skips").fetchall():
        _keep(sql, "skips", flow, json.loads(body))


def _move_canary(sql: Connection) -> None:
    for flow, run, body in sql.execute(
        "SELECT flow, run, body FROM canary"
    ).fetchall():
        value = {"run": run, "identity": json.loads(body)}
        _keep(sql, "canary", flow, value)


def _move_history_seen(sql: Connection) -> None:
    for flow, at, counts in sql.execute(
        "SELECT flow, observed_at, counts FROM history_seen"
    ).fetchall():
        value = {"at": at, "counts": json.loads(counts)}
        _keep(sql, "history_seen", flow, value)


def _move_notice_outbox(sql: Connection) -> None:
    rows = sql.execute(
        "SELECT receiver, body FROM notice_outbox ORDER BY id"
    ).fetchall()
    sql.executemany(
        "INSERT INTO queue (name, points, body) VALUES (?, 1, ?)",
        [
            (f"notify {receiver}", zlib.compress(body.encode(), 1))
            for receiver, body in rows
        ],
    )


_RENAMED = {
    "reset_place": ("ALTER TABLE reset_place RENAME TO position_partition",),
    "skips_happening": ("ALTER TABLE skips_happening RENAME TO skips_event",),
    "spool": (
        "ALTER TABLE spool RENAME TO queue",
        "ALTER TABLE queue RENAME COLUMN sink TO name",
    ),
}

_MOVED: dict[str, Callable[[Connection], None] | None] = {
    "document": _move_document,
    "standing": _move_standing,
    "verdict": _move_verdict,
    "notice_books": _move_notification_state,
    "reset_pin": _move_reset_pin,
    "reset_event": None,
    "reset_count": None,
    "skips": _move_skips,
    "canary": _move_canary,
    "history_seen": _move_history_seen,
    "notice_outbox": _move_notice_outbox,
}
"""By table, in this order: what moves its content before it is dropped.
`None` where the one before took it along."""


def _add_copies_end(sql: Connection) -> None:
    """Give positions the end of their copies. A new file has no table yet."""
    columns = sql.execute("PRAGMA table_info(position_partition)").fetchall()
    if columns and "copies_end" not in {name for _, name, *_ in columns}:
        sql.execute(
            "ALTER TABLE position_partition ADD COLUMN copies_end INTEGER"
        )


def _add_bucket_of_two_seconds(sql: Connection) -> None:
    """Give histograms of latencies the bucket from 1 s to 2 s, the ninth.

    What was counted up to 2.5 s stays there: it may have been above 2 s.
    """
    (known,) = sql.execute(
        "SELECT count(*) FROM sqlite_master WHERE name = 'canary_partition'"
    ).fetchone()
    if not known:  # a new file
        return
    for flow, partition, body in sql.execute(
        "SELECT flow, partition, body FROM canary_partition"
    ).fetchall():
        try:
            ledger = json.loads(body)
            for name in ("latency", "replication", "produce"):
                ledger[name]["counts"].insert(8, 0)
        except (ValueError, TypeError, LookupError, AttributeError):
            continue  # whoever reads it sets it aside
        sql.execute(
            "UPDATE canary_partition SET body = ? "
            "WHERE flow = ? AND partition = ?",
            (json.dumps(ledger, separators=(",", ":")), flow, partition),
        )


_STEPS = (_to_documents, _add_copies_end, _add_bucket_of_two_seconds)
"""By the layout that they begin with."""


def _keep(sql: Connection, kind: str, flow: str, value: Any) -> None:
    sql.execute(
        "INSERT INTO documents VALUES (?, ?, 1, ?)",
        (kind, flow, json.dumps(value, separators=(",", ":"))),
    )
