"""A state file of the first layout is read, and loses nothing.

`state_v0.db` was written by the agent of 2026-11-22, with something in every
table; `state_v0.json` is what that agent read from it. Only `contents`
follows the code.
"""

import json
import shutil
from collections.abc import Iterator, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from mirrorwatch.domain.bottleneck.model import ErrorCounters
from mirrorwatch.domain.tasks.model import Restarts
from mirrorwatch.sinks.queue import Spool
from mirrorwatch.sources.audit.worker import AuditAttempts, FlowAudits
from mirrorwatch.state import Database
from mirrorwatch.state.canary import CanaryStore
from mirrorwatch.state.codec import to_json
from mirrorwatch.state.documents import (
    DocumentStore,
    StandingStore,
    VerdictStore,
)
from mirrorwatch.state.history import History
from mirrorwatch.state.maintenance import MaintenanceStore
from mirrorwatch.state.notices import NoticeStore, Outbox
from mirrorwatch.state.position import ResetStore
from mirrorwatch.state.skips import SkipsStore
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
    return json.loads(to_json(value))


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
                dict(StandingStore(database, flow, area).load())
            )
            for flow in FLOWS
            for area in ("topics", "configs")
        },
        "documents": {
            name: plain(DocumentStore(database, flow, name, kind).load())
            for name, (flow, kind) in DOCUMENTS.items()
        },
    }


def canary(database: Database, flow: str) -> Any:
    store = CanaryStore(database, flow)
    ledgers = store.load()
    return {
        "run": store.run,
        "identity": plain(store.identity),
        "ledgers": {str(n): plain(ledger) for n, ledger in ledgers.items()},
        "outstanding": {
            str(n): [plain(p) for p in ledger.outstanding.values()]
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
        "partitions": [plain(e) for _, e in sorted(tracker.epochs.items())],
        "counters": {t: plain(c) for t, c in sorted(tracker.tallies.items())},
        "journal": [plain(event) for event in store.happenings()],
    }


def position(database: Database, flow: str) -> Any:
    state = ResetStore(database, flow).load()
    return {
        "pins": sorted([*pin, id_] for pin, id_ in state.pins.items()),
        "positions": [
            [*key, plain(place)] for key, place in sorted(state.places.items())
        ],
        "resets": [plain(r) for _, r in sorted(state.resets.items())],
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
    spool = Spool(database, sink, limit_bytes=10**9)
    counted, batches = spool.points, []
    while (found := spool.oldest(1)) is not None:
        batches.append([found[1].points, found[1].body.decode()])
        spool.remove(found[0])
    return {"points": counted, "batches": batches}


def notices(database: Database) -> Any:
    receivers = ("r0", "r1")
    outbox = Outbox(database, receivers)
    waiting: dict[str, list[Any]] = {name: [] for name in receivers}
    for receiver, messages in waiting.items():
        while (found := outbox.oldest(receiver)) is not None:
            messages.append(plain(found[1]))
            outbox.remove(found[0])
    return {
        "state": plain(NoticeStore(database, outbox).load()),
        "waiting": waiting,
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
        assert found[part] == expected, part


def test_counters_go_on_from_what_it_had_seen(database: Database) -> None:
    history = History(database)
    at = NOON + HOUR + 10 * SECOND
    history.record(a_tick(at, delivered=205))
    assert only(history, at, 10 * SECOND).delivered == 5
