"""A real Chronograf takes each dashboard and gives it back equal."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mirrorwatch_promotion.bundled_files import bundled_folder
from tests.support.influx import Influx1
from tests.support.tick_site import Chronograf

pytestmark = [pytest.mark.chronograf, pytest.mark.slow]

KEPT = sorted((bundled_folder("dashboards") / "chronograf").glob("*.json"))

ADDED = {"links", "queryConfig"}
"""What the server adds to what it was given."""


@pytest.fixture(scope="module")
def chronograf(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Chronograf]:
    # Nothing is asked of the InfluxDB, so it need not run.
    folder = tmp_path_factory.mktemp("chronograf")
    server = Chronograf(folder, Influx1(folder))
    # As compose.yaml does it: files that the server reads by itself.
    for path in KEPT:
        text = path.read_text(encoding="utf-8")
        (folder / f"{path.stem}.dashboard").write_text(text)
    try:
        server.start()
        yield server
    finally:
        server.kill()


@pytest.mark.parametrize("path", KEPT, ids=lambda path: str(path.stem))
def test_it_gives_back_what_was_posted(
    chronograf: Chronograf, path: Path
) -> None:
    kept = json.loads(path.read_text(encoding="utf-8"))
    made = chronograf.ask("POST", "/chronograf/v1/dashboards", json=kept)
    back = chronograf.ask("GET", made["links"]["self"])
    # What is posted is numbered by the server.
    for dashboard in (kept, back):
        del dashboard["id"]
        for cell in dashboard["cells"]:
            del cell["i"]
    assert _plain(back) == kept


@pytest.mark.parametrize("path", KEPT, ids=lambda path: str(path.stem))
def test_it_shows_what_lies_among_its_resources(
    chronograf: Chronograf, path: Path
) -> None:
    kept = json.loads(path.read_text(encoding="utf-8"))
    back = chronograf.ask("GET", f"/chronograf/v1/dashboards/{kept['id']}")
    assert _plain(back) == kept


def _plain(value: Any) -> Any:
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {k: _plain(v) for k, v in value.items() if k not in ADDED}
