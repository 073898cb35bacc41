"""A state file of the first layout is read, and loses nothing.

`state_v0.db` was written by the agent of 2026-11-22, with something in every
table; `state_v0.json` is what that agent read from it. Only `contents`
follows the code.
"""

import json
import shutil
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from mirrorwatch.domain.bottleneck.model import ErrorCounters
from mirrorwatch.domain.metrics import LATENCY_BUCKETS
from mirrorwatch.domain.notices.model import NotificationState
from mirrorwatch.domain.position.model import PositionState
from mirrorwatch.domain.tasks.model import Restarts
from mirrorwatch.exceptions import StateError
from mirrorwatch.sources.audit.worker import AuditAttempts, FlowAudits
from mirrorwatch.state import Database
from mirrorwatch.state.canary import CanaryStore
from mirrorwatch.state.documents import (
    DocumentStore,
    FirstSeenStore,
    VerdictStore,
    to_json,
)
from mirrorwatch.state.history import History
from mirrorwatch.state.maintenance import MaintenanceStore
from mirrorwatch.state.migrations import LAYOUT
from mirrorwatch.state.position import PositionStore
from mirrorwatch.state.queue import Batch, DurableQueue
from mirrorwatch.state.skips import SkipsStore
from tests.pins.pinned import in_older_buckets, kept
from tests.support.builders import FLOW, NOON
from tests.support.ticks import SECOND, a_tick, only

DATA = Path(__file__).parents[1] / "data"
FLOWS = (FLOW.name, "ldf->summit")
HOUR = timedelta(hours=1)
DOCUMENTS: Mapping[str, tuple[str, type[Any]]] = {
    "mirror_errors": (FLOWS[0], ErrorCounters),
    "restarts": (FLOWS[0], Restarts),
    "audits": (FLOWS[0], FlowAudits),
    "audit_diary": ("", AuditAttempts),
}


def plain(value: Any) -> Any:
    return json.loads(to_json(value), object_hook=in_older_buckets)


ADDED_TO_LEDGERS = {"due_at", "keyed_from", "level", "missed"}
ADDED_TO_PROBES = {"overdue"}
ADDED_TO_PARTITIONS = {"copies", "tells_first", "unconfirmed"}
ADDED_TO_PARTITIONS |= {"again", "again_count", "first_copy", "unnamed"}
ADDED_TO_COUNTERS = {"excess", "filtered", "passed", "samples"}
ADDED_TO_EVENTS = {"filtered"}
ADDED_TO_RESETS = {
    "at_least",
    "at_most",
    "former_end",
    "offsets",
    "proved",
    "summed",
    "unseen",
}
ADDED_TO_ERROR_COUNTERS = {"last_errors"}
ADDED_TO_AUDITS = {"ahead"}
ADDED_TO_LAST_NOTIFIED = {"cause"}
ADDED_TO_POSITIONS = {"source_end", "target_end", "is_seen"}
ADDED_TO_POSITIONS |= {"truncation", "passed"}
"""Fields that an older file has not."""


ADDED_TO_DOCUMENTS: Mapping[type[Any], set[str]] = {
    ErrorCounters: ADDED_TO_ERROR_COUNTERS,
    FlowAudits: ADDED_TO_AUDITS,
}


def known(value: Any, added: set[str]) -> Any:
    """Return what an older file has of a value."""
    return {k: v for k, v in plain(value).items() if k not in added}


def contents(database: Database) -> dict[str, Any]:
    """Return all that the stores read from a state file."""
    verdicts = VerdictStore(database)
    return {
        "canary": {flow: canary(database, flow) for flow in FLOWS},
        "skips": {flow: skips(database, flow) for flow in FLOWS},
        "position": {flow: position(database, flow) for flow in FLOWS},
        "history": history(database),
        "points": {
            sink: points(database, sink) for sink in ("influxdb", "other")
        },
        "notices": notices(database),
        "verdicts": [plain(v) for v in verdicts.load(NOON)],
        "verdicts_at": plain(verdicts.newest()),
        "maintenance": maintenance(MaintenanceStore(database)),
        "first_seen": {
            f"{flow} {area}": plain(
                dict(FirstSeenStore(database, flow, area).load())
            )
            for flow in FLOWS
            for area in ("topics", "configs")
        },
        "documents": {
            name: known(
                DocumentStore(database, flow, name, kind).load(),
                ADDED_TO_DOCUMENTS.get(kind, set()),
            )
            for name, (flow, kind) in DOCUMENTS.items()
        },
    }


def canary(database: Database, flow: str) -> Any:
    store = CanaryStore(database, flow)
    ledgers = store.load()
    return {
        "run": store.run,
        "identity": plain(store.identity),
        "ledgers": {
            str(n): known(ledger, ADDED_TO_LEDGERS)
            for n, ledger in ledgers.items()
        },
        "outstanding": {
            str(n): [
                known(p, ADDED_TO_PROBES) for p in ledger.outstanding.values()
            ]
            for n, ledger in ledgers.items()
        },
        "losses": [plain(loss) for loss in store.losses()],
    }


def skips(database: Database, flow: str) -> Any:
    store = SkipsStore(database, flow)
    tracker = store.load()
    return {
        "begun": tracker.begun,
        "marked": tracker.marked,
        "partitions": [
            known(state, ADDED_TO_PARTITIONS)
            for _, state in sorted(tracker.states.items())
        ],
        "counters": {
            t: known(c, ADDED_TO_COUNTERS)
            for t, c in sorted(tracker.tallies.items())
        },
        "journal": [known(event, ADDED_TO_EVENTS) for event in store.events()],
    }


def position(database: Database, flow: str) -> Any:
    state = PositionStore(database, flow).load()
    return {
        "pins": sorted([*pin, id_] for pin, id_ in state.pins.items()),
        "positions": [
            [*key, known(place, ADDED_TO_POSITIONS)]
            for key, place in sorted(state.places.items())
        ],
        "resets": [
            known(reset, ADDED_TO_RESETS)
            for _, reset in sorted(state.resets.items())
        ],
        "counts": state.counts,
        "last": state.last,
    }


def history(database: Database) -> Any:
    series = [
        History(database).series(FLOWS[0], NOON, NOON + 2 * HOUR, points)
        for points in (24, 720)
    ]
    return [
        [
            plain(point.at),
            plain(bucket.quantile(0.5)),
            plain(bucket.quantile(0.99)),
            plain(bucket.worst),
            [bucket.delivered, bucket.late, bucket.lost, bucket.duplicates],
            bucket.outstanding,
            bucket.health.label,
        ]
        for part in series
        for point in part.points
        if (bucket := point.bucket).health is not None
    ]


def points(database: Database, sink: str) -> Any:
    counted = DurableQueue(database, sink).points
    batches = [
        [batch.points, batch.body.decode()]
        for batch in waiting(database, sink)
    ]
    return {"points": counted, "batches": batches}


def waiting(database: Database, name: str) -> Iterator[Batch]:
    queue = DurableQueue(database, name)
    while (found := queue.oldest(1)) is not None:
        rows, batch = found
        queue.remove(rows)
        yield batch


def notices(database: Database) -> Any:
    state = DocumentStore(database, "", "notifications", NotificationState)
    kept = state.load()
    return {
        "state": plain(kept)
        | {
            "flows": {
                flow: known(last, ADDED_TO_LAST_NOTIFIED)
                for flow, last in kept.flows.items()
            }
        },
        "waiting": {
            receiver: [
                json.loads(batch.body)
                for batch in waiting(database, f"notify {receiver}")
            ]
            for receiver in ("r0", "r1")
        },
    }


def maintenance(store: MaintenanceStore) -> Any:
    return {
        "open": [plain(window) for window in store.open()],
        "in_force": [plain(window) for window in store.in_force(NOON)],
        "last": [plain(outcome) for outcome in store.last(FLOWS)],
    }


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return Path(shutil.copy(DATA / "state_v0.db", tmp_path / "state.db"))


@pytest.fixture
def database(path: Path) -> Iterator[Database]:
    database = Database(path)
    yield database
    database.close()


EXPECTED = json.loads((DATA / "state_v0.json").read_text())


def test_every_value_of_an_older_file_is_read(database: Database) -> None:
    found = contents(database)
    assert found.keys() == EXPECTED.keys()
    for part, expected in EXPECTED.items():
        assert kept(found[part], expected) == expected, part


def test_counters_go_on_from_what_it_had_seen(database: Database) -> None:
    history = History(database)
    at = NOON + HOUR + 10 * SECOND
    history.record(a_tick(at, delivered=205))
    assert only(history, at, 10 * SECOND).delivered == 5


def test_it_is_migrated_once_and_not_again(path: Path) -> None:
    Database(path).close()
    with closing(sqlite3.connect(path)) as file:
        tables = {
            name
            for (name,) in file.execute(
                "SELECT name FROM sqlite_master WHERE type = 'table'"
            )
        }
        assert file.execute("PRAGMA user_version").fetchone() == (LAYOUT,)
        assert not tables & {"document", "standing", "verdict", "spool"}
        first = list(file.iterdump())
    Database(path).close()
    with closing(sqlite3.connect(path)) as file:
        assert list(file.iterdump()) == first


def test_positions_of_the_layout_before_are_kept(path: Path) -> None:
    database = Database(path)
    before = PositionStore(database, FLOWS[0]).load().places
    database.close()
    assert before
    with closing(sqlite3.connect(path)) as file:
        file.execute("ALTER TABLE position_partition DROP COLUMN copies_end")
        file.execute("PRAGMA user_version = 1")
        file.commit()
    database = Database(path)
    store = PositionStore(database, FLOWS[0])
    state = store.load()
    assert state.places == before
    place = next(iter(state.places.values()))
    place.copies_end = 12
    store.save(state, state.places)
    assert store.load().places == state.places
    database.close()


def test_latencies_of_the_layout_before_are_above_two_seconds(
    path: Path,
) -> None:
    database = Database(path)
    store = CanaryStore(database, FLOWS[0])
    ledger = store.load()[0]
    for seconds in (0.9, 1.1, 2.2, 2.6):
        ledger.latency.observe(seconds * SECOND)
    expected = ledger.latency.copy()
    bound = LATENCY_BUCKETS.index(2.0)
    # That of 1.1 s: it is not known that it was not above 2 s.
    expected.counts[bound + 1] += expected.counts[bound]
    expected.counts[bound] = 0
    del ledger.latency.counts[bound]
    ledger.latency.counts[bound] += 1
    del ledger.replication.counts[bound], ledger.produce.counts[bound]
    store.save([ledger])
    database.close()
    with closing(sqlite3.connect(path)) as file:
        file.execute("UPDATE canary_partition SET body = '{' WHERE partition")
        file.execute("PRAGMA user_version = 2")
        file.commit()

    for _ in range(2):  # once only
        database = Database(path)
        ledgers = CanaryStore(database, FLOWS[0]).load()
        assert list(ledgers) == [0]
        assert ledgers[0].latency == expected
        assert dict(ledgers[0].latency.cumulative())["+Inf"] == sum(
            expected.counts
        )
        database.close()


def test_a_migration_that_fails_leaves_the_file_as_it_was(path: Path) -> None:
    with closing(sqlite3.connect(path)) as file:
        file.execute("UPDATE notice_books SET body = '{'")
        file.commit()
        before = list(file.iterdump())
    with pytest.raises(StateError, match="Cannot migrate the state file"):
        Database(path)
    with closing(sqlite3.connect(path)) as file:
        assert list(file.iterdump()) == before


def test_a_command_beside_an_older_agent_changes_nothing(path: Path) -> None:
    with pytest.raises(StateError, match="has layout 0, this"):
        Database(path, beside=True)
    with closing(sqlite3.connect(path)) as file:
        assert file.execute("SELECT count(*) FROM spool").fetchone() == (4,)


def test_a_file_of_a_newer_agent_is_refused(path: Path) -> None:
    with closing(sqlite3.connect(path)) as file:
        file.execute(f"PRAGMA user_version = {LAYOUT + 1}")
    for _ in range(2):  # and let go of
        with pytest.raises(StateError, match=f"has layout {LAYOUT + 1}"):
            Database(path)


def test_one_that_was_never_used_by_some_stores_is_migrated(
    path: Path,
) -> None:
    with closing(sqlite3.connect(path)) as file:
        for (table,) in file.execute(
            "SELECT name FROM sqlite_master WHERE name LIKE 'reset_%' "
            "OR name LIKE 'notice_%' OR name = 'spool'"
        ).fetchall():
            file.execute(f"DROP TABLE {table}")
        file.commit()
    database = Database(path)
    state = PositionStore(database, FLOWS[0]).load()
    database.close()
    assert state == PositionState()
