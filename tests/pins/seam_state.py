"""The state file, read and written by its stores: a seam of the pins."""

import hashlib
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from mirrorwatch.domain.bottleneck.model import ErrorCounters
from mirrorwatch.domain.notices.model import NoticeMessage, NotificationState
from mirrorwatch.domain.tasks.model import Restarts
from mirrorwatch.sources.audit.worker import AuditAttempts, FlowAudits
from mirrorwatch.state import Database
from mirrorwatch.state.canary import CanaryStore
from mirrorwatch.state.documents import (
    DocumentStore,
    FirstSeenStore,
    VerdictStore,
    from_json,
)
from mirrorwatch.state.history import History
from mirrorwatch.state.maintenance import MaintenanceStore
from mirrorwatch.state.position import PositionStore
from mirrorwatch.state.queue import DurableQueue, Outbox
from mirrorwatch.state.skips import SkipsStore

from .neutral import in_order
from .seam_canary import from_ledgers
from .seam_values import CODEC, Json

__all__ = ["FLOW", "RECEIVERS", "contents", "document_in"]

FLOW = "summit->ldf"
RECEIVERS = ("plain", "slack")
DOCUMENTS: dict[str, tuple[str, type[Any]]] = {
    "audits": (FLOW, FlowAudits),
    "mirror_errors": (FLOW, ErrorCounters),
    "restarts": (FLOW, Restarts),
    "audit_diary": ("", AuditAttempts),
}
"""Small values by the name that they have in the file, with their flow."""

ALL = 10**9


def contents(file: Path) -> Json:
    """Return all that a state file holds. It is used up by that: give a copy.

    What is kept in the file has times of its own, so none is asked for.
    """
    database = Database(file)
    try:
        found = _everything(database)
        return {"in_short": _in_short(found), **found}
    finally:
        database.close()


def _everything(database: Database) -> Json:
    newest = VerdictStore(database).newest()
    assert newest is not None
    return {
        "written_until": newest.isoformat(),
        "canary": _canary(database),
        "skips": _skips(database),
        "position": _position(database),
        "history": _history(database, newest),
        "points": _points(database),
        "notices": _notices(database),
        "verdicts": [
            CODEC.encode(verdict)
            for verdict in VerdictStore(database).load(newest)
        ],
        "maintenance": _maintenance(database, newest),
        "since": {
            area: {
                condition: since.isoformat()
                for condition, since in sorted(
                    FirstSeenStore(database, FLOW, area).load().items()
                )
            }
            for area in ("topics", "configs")
        },
        "documents": {
            name: CODEC.encode(document_in(database, name).load())
            for name in DOCUMENTS
        },
    }


def _in_short(found: Json) -> Json:
    """Return the figures that a reader looks for first."""
    partitions = found["canary"]["partitions"]
    tallies = found["skips"]["tallies"].values()
    return {
        "probes": {
            name: sum(p["counts"][name] for p in partitions)
            for name in ("sent", "acked", "delivered", "late", "lost")
        },
        "probes_outstanding": {
            str(p["partition"]): p["waiting"] for p in partitions
        },
        "records_skipped": sum(t["skipped"] for t in tallies),
        "records_repeated": sum(t["repeated"] for t in tallies),
        "partitions_compared": len(found["skips"]["partitions"]),
        "positions": len(found["position"]["positions"]),
        "resets": found["position"]["counts"],
        "resets_open": sum(
            reset["settled"] is None for reset in found["position"]["resets"]
        ),
        "points_waiting": found["points"]["points"],
        "messages_waiting": {
            name: len(messages)
            for name, messages in found["notices"]["waiting"].items()
        },
        "maintenance": [
            found["maintenance"]["open"][0]["window"],
            found["maintenance"]["last"][0]["window"],
        ],
        "verdicts_since": {
            v["check"]: f"{v['health']} since {v['since']}"
            for v in found["verdicts"]
        },
    }


def document_in(database: Database, name: str) -> DocumentStore[Any]:
    """Return what keeps a small value."""
    flow, kind = DOCUMENTS[name]
    return DocumentStore(database, flow, name, kind)


def _canary(database: Database) -> Json:
    store = CanaryStore(database, FLOW)
    ledgers = store.load()
    probes = {
        str(partition): [CODEC.encode(p) for p in ledger.outstanding.values()]
        for partition, ledger in ledgers.items()
    }
    return {
        "run": store.run,
        "identity": CODEC.encode(store.identity),
        "partitions": from_ledgers(ledgers.values()),
        "outstanding": probes,
        "losses": [CODEC.encode(loss) for loss in store.losses()],
    }


def _skips(database: Database) -> Json:
    store = SkipsStore(database, FLOW)
    books = store.load()
    return {
        "begun": books.begun,
        "marked": books.marked,
        "partitions": [
            CODEC.encode(epoch) for _, epoch in sorted(books.states.items())
        ],
        "tallies": {
            topic: CODEC.encode(tally)
            for topic, tally in sorted(books.tallies.items())
        },
        "happenings": [
            [CODEC.encode(found), books.missing(found)]
            for found in store.events()
        ],
    }


def _position(database: Database) -> Json:
    books = PositionStore(database, FLOW).load()
    return {
        "pins": in_order([*pin, id_] for pin, id_ in books.pins.items()),
        "positions": in_order(
            [*key, CODEC.encode(place)] for key, place in books.places.items()
        ),
        "resets": [CODEC.encode(r) for _, r in sorted(books.resets.items())],
        "counts": dict(sorted(books.counts.items())),
        "last": books.last,
    }


def _history(database: Database, newest: datetime) -> list[Json]:
    history = History(database)
    start = newest - timedelta(hours=1)
    series = history.series(FLOW, start, newest, 360)
    coarse = history.series(FLOW, newest - timedelta(days=2), newest, 500)
    return [
        {
            "at": point.at.isoformat(),
            "median": CODEC.encode(point.bucket.quantile(0.5)),
            "p99": CODEC.encode(point.bucket.quantile(0.99)),
            "worst": CODEC.encode(point.bucket.worst),
            "delivered": point.bucket.delivered,
            "late": point.bucket.late,
            "lost": point.bucket.lost,
            "duplicates": point.bucket.duplicates,
            "outstanding": point.bucket.outstanding,
            "health": point.bucket.health.label,
        }
        for point in (*series.points, *coarse.points)
        if point.bucket.health is not None
    ]


def _points(database: Database) -> Json:
    spool = DurableQueue(database, "influxdb")
    found = spool.oldest(ALL)
    assert found is not None
    lines = found[1].body.decode().splitlines()
    return {
        "points": spool.points,
        "sha256": hashlib.sha256(found[1].body).hexdigest(),
        "first": lines[0],
        "last": lines[-1],
    }


def _notices(database: Database) -> Json:
    outbox = Outbox(database, RECEIVERS)
    told = DocumentStore(
        database, "", "notifications", NotificationState
    ).load()
    waiting: dict[str, list[Any]] = {name: [] for name in RECEIVERS}
    for receiver, messages in waiting.items():
        queue = outbox.queues[receiver]
        while (next_ := queue.oldest(1)) is not None:
            message = from_json(NoticeMessage, next_[1].body)
            messages.append(CODEC.encode(message))
            queue.remove(next_[0])
    return {"told": CODEC.encode(told), "waiting": waiting}


def _maintenance(database: Database, newest: datetime) -> Json:
    store = MaintenanceStore(database)
    return {
        "open": [CODEC.encode(window) for window in store.open()],
        "in_force": [CODEC.encode(w) for w in store.in_force(newest)],
        "last": [CODEC.encode(outcome) for outcome in store.last([FLOW])],
    }
