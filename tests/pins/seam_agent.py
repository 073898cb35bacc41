"""An agent on a state file, and what is rare in one: a seam of the pins."""

from datetime import timedelta
from pathlib import Path

import structlog

from mirrorwatch.config import Config
from mirrorwatch.factory import build_agent
from mirrorwatch.state import Database
from mirrorwatch.state.audits import latest_audit, read_audits, read_hours
from mirrorwatch.state.canary import CanaryStore
from mirrorwatch.state.documents import VerdictStore
from mirrorwatch.state.history import History
from tests.support.audit import NIGHT
from tests.support.builders import FLOW, a_canary, a_report
from tests.support.clock import clock_of

from .seam_state import RECEIVERS
from .seam_values import CODEC, Json

__all__ = ["build_on", "counted_on", "kept_audits"]


def build_on(file: Path, audits: Path) -> None:
    """Wire a whole agent on a state file, and let it go without a tick."""
    nobody = "http://127.0.0.1:1"
    kafka = {"kafka": {"bootstrap.servers": "127.0.0.1:1"}}
    receivers = [
        {"name": name, "kind": "webhook", "url": nobody} for name in RECEIVERS
    ]
    config = Config.from_mapping(
        {
            "clusters": {"summit": kafka, "ldf": kafka},
            "flows": [
                {"source": "summit", "target": "ldf", "naming": "identity"}
            ],
            "sinks": {
                "influxdb": {
                    "url": nobody,
                    "org": "o",
                    "bucket": "b",
                    "token": "t",
                },
                "notify": {"receivers": receivers},
            },
            "audit": {"schedule": "0 2 * * *", "out": str(audits)},
        }
    )
    database = Database(file)
    newest = VerdictStore(database).newest() or NIGHT
    agent = build_agent(
        config,
        database=database,
        clock=clock_of(lambda: newest),
        logger=structlog.get_logger(),
        serve=False,
        audits=False,
    )
    for sink in agent.senders:
        sink.close()
    database.close()


def counted_on(file: Path) -> Json:
    """Return what the history counts of probes an hour later.

    One more than the file knows has arrived on each partition: only what it
    had not counted before may be added.
    """
    database = Database(file)
    store, history = CanaryStore(database, FLOW.name), History(database)
    later = (VerdictStore(database).newest() or NIGHT) + timedelta(hours=1)
    partitions = []
    for ledger in store.load().values():
        ledger.counts.delivered += 1
        partitions.append(ledger.snapshot(warming=False))
    seen = a_canary(later, flow=FLOW.name, partitions=partitions)
    history.record(a_report(later, observations=[seen]))
    minute = timedelta(minutes=1)
    added = history.summary(FLOW.name, later - minute, later + minute)
    database.close()
    return {
        "delivered": added.delivered,
        "late": added.late,
        "lost": added.lost,
        "duplicates": added.duplicates,
        "outstanding": added.outstanding,
    }


def kept_audits(folder: Path) -> Json:
    """Return all results of audits that a folder holds."""
    latest = latest_audit(folder)
    return {
        "latest": None if latest is None else latest.result.id,
        "runs": [
            {
                "result": CODEC.encode(audit),
                "hours": CODEC.encode(read_hours(folder, audit.result.id)),
            }
            for audit in read_audits(folder)
        ],
    }
