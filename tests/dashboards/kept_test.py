"""The dashboards in git are what the code makes, and Grafana can read them."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.cog.plugins import register_default_plugins
from grafana_foundation_sdk.models.dashboard import Dashboard

from mirrorwatch.bundled_files import bundled_folder
from mirrorwatch.domain.report import Health
from mirrorwatch_dashboards.colours import COLOURS
from mirrorwatch_dashboards.files import files, write

KEPT = bundled_folder("dashboards")
GRAFANA = sorted(KEPT.glob("grafana-*/*.json"))


def test_what_is_kept_is_what_the_code_makes() -> None:
    kept = {
        path.relative_to(KEPT).as_posix(): path.read_text(encoding="utf-8")
        for path in KEPT.rglob("*.json")
    }
    made = dict(files())
    assert sorted(kept) == sorted(made)
    stale = [name for name, text in made.items() if kept[name] != text]
    assert not stale, "run `make dashboards`"


def test_what_is_not_made_any_more_is_removed(tmp_path: Path) -> None:
    old = tmp_path / "grafana-prometheus" / "old.json"
    old.parent.mkdir()
    old.write_text("{}")
    (tmp_path / "README.md").write_text("By hand.")
    write(tmp_path)
    assert not old.exists()
    assert (tmp_path / "README.md").exists()
    assert len(list(tmp_path.rglob("*.json"))) == len(dict(files()))


@pytest.mark.parametrize("path", GRAFANA, ids=lambda p: f"{p.parent.name}")
def test_the_sdk_reads_it_back_equal(path: Path) -> None:
    register_default_plugins()
    kept = json.loads(path.read_text(encoding="utf-8"))
    read = Dashboard.from_json(kept)
    assert json.loads(json.dumps(read, cls=JSONEncoder)) == kept


def test_every_dashboard_has_a_uid_of_its_own() -> None:
    uids = [_load(path)["uid"] for path in GRAFANA]
    assert len({*uids}) == len(uids)
    # Grafana refuses longer ones.
    assert all(len(uid) <= 40 for uid in uids)


def test_it_can_be_imported_anywhere() -> None:
    for path, panel in _panels():
        sources = [panel["datasource"]]
        sources += [target["datasource"] for target in panel["targets"]]
        uids = {source["uid"] for source in sources}
        assert uids == {"${datasource}"}, path


def test_no_data_is_shown_as_no_data() -> None:
    for path, panel in _panels():
        defaults = panel["fieldConfig"]["defaults"]
        assert defaults["noValue"] == "no data"
        custom = defaults.get("custom", {})
        assert custom.get("spanNulls") in (None, False), path
        for target in panel["targets"]:
            text = target.get("query", "")
            assert "fill(0)" not in text
            assert "fill(previous)" not in text
            assert "fill(previous" not in text.replace(" ", "")
            assert " or vector(" not in target.get("expr", "")


def test_a_number_that_is_none_is_not_green() -> None:
    # Grafana paints it in the colour of the first limit, unless it is told.
    green = COLOURS[Health.OK]
    numbers = [p for _, p in _panels() if p["type"] == "stat"]
    assert numbers
    for panel in numbers:
        defaults = panel["fieldConfig"]["defaults"]
        (none,) = (m for m in defaults["mappings"] if m["type"] == "special")
        assert none["options"]["match"] == "null+nan"
        assert none["options"]["result"]["text"] == "no data"
        assert none["options"]["result"]["color"] != green
        if "timeFrom" not in panel:
            # What an agent that is gone has not counted is no good news.
            assert green not in str(defaults["thresholds"]), panel["title"]


def test_health_has_words_and_unknown_is_never_green() -> None:
    shown = [
        mapping["options"]
        for _, panel in _panels()
        for mapping in panel["fieldConfig"]["defaults"]["mappings"]
        if len(mapping["options"]) == len(Health)
    ]
    assert shown
    for options in shown:
        words = {value: option["text"] for value, option in options.items()}
        assert words == {str(h.value): h.label for h in Health}
        colours = {option["color"] for option in options.values()}
        assert len(colours) == len(Health)


def test_what_is_true_now_is_never_old() -> None:
    for path, panel in _panels():
        if panel["type"] == "table":
            assert panel["timeFrom"] == "2m", path
        if panel["type"] == "stat":
            text = json.dumps(panel["targets"])
            whole = "increase(" in text or "difference(" in text
            assert ("timeFrom" in panel) is not whole, panel["title"]


def _load(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def _panels() -> Iterator[tuple[Path, Any]]:
    for path in GRAFANA:
        for panel in _load(path)["panels"]:
            yield path, panel
