"""A mirror to which everything happens, on a lab, and an agent that watches.

For a new recording only: `python -m tests.pins.story FOLDER`, then
`python -m tests.pins.record --run FOLDER`.
"""

import json
import sqlite3
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

from mirrorwatch.config import AuditConfig, Config, SinksConfig
from mirrorwatch.lab import Lab, LabSettings
from mirrorwatch.lab.faults import drop_marked
from mirrorwatch.lab.settings import TARGET
from mirrorwatch.state import Database
from mirrorwatch.wiring import to_mirror
from tests.support.watch import Watch, describe

from .recorder import recording
from .seam import keep_audits
from .story_faults import (
    TOPICS,
    Marks,
    begin,
    cut,
    drop,
    freeze,
    grow,
    kill,
    lose,
)

__all__ = ["record_story"]

NOBODY = "http://127.0.0.1:1"

LIMITS = {
    "canary": {"warning_window": "20s"},
    "configs": {"every": "2s"},
    "lag": {"stuck_flushes": 1},
    "retention": {"warning_share": 0.9},
    "skips": {"suspect_after": "15s"},
    "topics": {"least": "10s"},
}

SETTINGS = LabSettings(
    topics=TOPICS,
    intervals="fast",
    mirror_properties={
        **drop_marked(),
        # Often enough to see it, and seldom enough to be killed before.
        f"{TARGET}.offset.flush.interval.ms": "10000",
    },
)


def record_story(folder: Path) -> None:
    """Leave `facts.jsonl`, `state.db` and `audits` in a folder.

    The state file is copied while the mirror stands, from a running agent.
    """
    folder.mkdir(parents=True, exist_ok=True)
    keep_audits(folder / "audits")
    with (
        Lab(SETTINGS) as lab,
        recording(folder / "facts.jsonl"),
        _watching(lab, folder) as (watch, marks),
    ):
        begin(lab, watch)
        drop(lab, watch, marks)
        cut(lab, watch)
        grow(lab, watch)
        kill(lab, watch)
        running = folder / "running.db"
        freeze(lab, watch, lambda: _copy(running, folder / "state.db"))
        lose(lab, watch)
        watch.let_pass(15)


@contextmanager
def _watching(lab: Lab, folder: Path) -> Iterator[tuple[Watch, Marks]]:
    marks = Marks()
    mirror: dict[str, Any] = describe(lab)["flows"][0]["mirror"]
    jmx = {"format": "jolokia", "urls": [lab.mirror.jolokia_url]}
    watch = Watch(
        lab,
        state=folder / "running.db",
        headers=marks,
        canary={"interval": "500ms", "deadline": "5s"},
        flow={"limits": LIMITS, "mirror": mirror | {"jmx": jmx}},
    )
    influxdb = {
        "url": NOBODY,
        "org": "o",
        "bucket": "b",
        "token": "t",
        # What is kept shall be small.
        "spool": {"limit": "64KiB"},
    }
    receivers = [
        {"name": "plain", "kind": "webhook", "url": NOBODY},
        {"name": "slack", "kind": "slack", "url": NOBODY},
    ]
    notify = {"hold": "2s", "recovery": "5s", "receivers": receivers}
    audits = str(folder / "audits")
    audit = {"schedule": "0 2 * * *", "out": audits, "start": False}
    watch.config = watch.config.model_copy(
        update={
            "sinks": SinksConfig.model_validate(
                {"influxdb": influxdb, "notify": notify}
            ),
            "audit": AuditConfig.model_validate(audit),
        }
    )
    setting = json.dumps(_setting(watch.config))
    (folder / "setting.json").write_text(setting, encoding="utf-8")
    with watch:
        yield watch, marks


def _setting(config: Config) -> dict[str, Any]:
    """Return what trackers are told of their flow."""
    (flow,) = config.flows
    limits = flow.limits
    internal = to_mirror(flow).internal_topics()
    memory = max(limits.position.lost_window, limits.position.rewind_window)
    spans = {
        "memory": memory,
        "patience": limits.skips.suspect_after,
        "deadline": flow.canary.deadline,
        "warmup": flow.canary.warmup,
    }
    return {
        "flow": flow.name,
        "source": flow.source,
        "target": flow.target,
        "internal": {topic.kind: topic.name for topic in internal},
        **{k: t // timedelta(microseconds=1) for k, t in spans.items()},
    }


def _copy(running: Path, file: Path) -> None:
    """Copy a state file that an agent uses, whole and closed."""
    file.unlink(missing_ok=True)
    with (
        closing(sqlite3.connect(running)) as source,
        closing(sqlite3.connect(file)) as copy,
    ):
        source.backup(copy)
    Database(file).close()


if __name__ == "__main__":
    record_story(Path(sys.argv[1]))
