"""What the API answers of some scenes, at fixed times."""

from collections.abc import Iterator, Mapping
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tests.support.http import HTTP

from .seam import SCENES, keep_audits, serve_scene

__all__ = ["answers"]

HISTORY = (
    "/api/history?flow=summit->ldf&from=2026-01-02T11:59:50Z"
    "&to=2026-01-02T12:00:10%2B00:00&points=2"
)

PATHS = {
    "status": "/api/status",
    "topics": "/api/topics?top=5",
    "details": "/api/details",
    "history": HISTORY,
    "audits": "/api/audits",
    "healthz": "/healthz",
    "readyz": "/readyz",
}

WRONG = {
    "topics of no flow": "/api/topics?flow=nowhere",
    "details of no flow": "/api/details?flow=nowhere",
    "history of no flow": "/api/history?flow=nowhere",
    "history without a flow": "/api/history",
    "no such page": "/api/nothing",
}

AGES = {"fresh": timedelta(seconds=2), "old": timedelta(minutes=1)}


def answers() -> dict[str, dict[str, Any]]:
    """Return every answer, by scene and question."""
    with TemporaryDirectory() as folder:
        keep_audits(Path(folder))
        found = {
            scene: dict(_ask(scene, AGES["fresh"], PATHS, Path(folder)))
            for scene in SCENES
        }
        found["old"] = dict(_ask("broken", AGES["old"], PATHS, None))
        found["wrong"] = dict(_ask("broken", AGES["fresh"], WRONG, None))
        found["nothing yet"] = dict(_ask("", AGES["fresh"], PATHS, None))
    return found


def _ask(
    scene: str, age: timedelta, paths: Mapping[str, str], audits: Path | None
) -> Iterator[tuple[str, Any]]:
    with serve_scene(scene, age, audits) as url:
        for name, path in paths.items():
            answer = HTTP.get(url + path, timeout=60)
            is_json = "json" in answer.headers["content-type"]
            yield (
                name,
                {
                    "status": answer.status_code,
                    "body": answer.json() if is_json else answer.text,
                },
            )
