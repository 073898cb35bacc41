"""What is kept for Chronograf, as far as no server is needed to tell."""

import json
import re
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from mirrorwatch.domain.catalogue import CATALOGUE, LABELS
from mirrorwatch.domain.report import Health
from mirrorwatch_dashboards.boards import BOARDS
from mirrorwatch_dashboards.panels import Reading
from mirrorwatch_promotion.bundled_files import bundled_folder

PATHS = sorted((bundled_folder("dashboards") / "chronograf").glob("*.json"))

KEPT = [
    pytest.param(json.loads(path.read_text(encoding="utf-8")), id=path.stem)
    for path in PATHS
]

MEASUREMENT = re.compile(r'FROM "mirrorwatch"\."autogen"\."(\w+)"')
FIELD = re.compile(r'(?:last|max|mean|min|percentile)\("(\w+)"')
TAG = re.compile(r'"(\w+)" (?:=~|=) |(?<=, )"(\w+)"|GROUP BY "(\w+)"')


def test_every_dashboard_is_there_with_an_id_of_its_own() -> None:
    assert {path.stem for path in PATHS} == {board.name for board in BOARDS}
    ids = {_dashboard(path)["id"] for path in PATHS}
    assert len(ids) == len(BOARDS)


@pytest.mark.parametrize("kept", KEPT)
def test_every_query_names_what_the_catalogue_has(kept: Any) -> None:
    fields = {(m.measurement, m.field) for m in CATALOGUE}
    tags = {m.measurement: set[str]() for m in CATALOGUE}
    for metric in CATALOGUE:
        tags[metric.measurement] |= {*metric.labels}
    asked = 0
    for cell in kept["cells"]:
        for query in cell["queries"]:
            (measurement,) = MEASUREMENT.findall(query["query"])
            # An outer query reads the columns that its inner one names.
            columns = {*re.findall(r'AS "([^"]+)"', query["query"])}
            for field in FIELD.findall(query["query"]):
                known = (measurement, field) in fields or field in columns
                assert known, query
            names = {
                name for hit in TAG.findall(query["query"]) for name in hit
            }
            assert names - {""} - columns <= tags[measurement], query
            assert names & LABELS.keys() or "agent" in measurement
            asked += 1
    assert asked


@pytest.mark.parametrize("kept", KEPT)
def test_no_two_cells_overlap_and_none_is_outside(kept: Any) -> None:
    assert all(cell["x"] + cell["w"] <= 12 for cell in kept["cells"])
    assert not [p for p in combinations(kept["cells"], 2) if _overlap(*p)]
    assert len({cell["i"] for cell in kept["cells"]}) == len(kept["cells"])


@pytest.mark.parametrize("kept", KEPT)
def test_notes_come_back_as_they_were_posted(kept: Any) -> None:
    # Chronograf makes HTML entities of these.
    notes = [cell["note"] for cell in kept["cells"]]
    assert all(notes)
    assert not [note for note in notes if re.search("[<>&'\"]", note)]


@pytest.mark.parametrize("kept", KEPT)
def test_unknown_is_never_green(kept: Any) -> None:
    for cell in kept["cells"]:
        colours = {colour["name"]: colour["hex"] for colour in cell["colors"]}
        if Health.UNKNOWN.label in colours:
            assert len({*colours.values()}) == len(Health)
            words = ", ".join(f"{h.value} {h.label}" for h in Health if h >= 0)
            assert cell["name"].endswith(f"({words})")


@pytest.mark.parametrize("kept", KEPT)
def test_a_single_number_is_one_and_never_old(kept: Any) -> None:
    for cell in kept["cells"]:
        if cell["type"] != "single-stat":
            continue
        (query,) = cell["queries"]
        inner, _, outer = query["query"].rpartition(")")
        assert "GROUP BY" not in outer or not inner
        whole = "difference" in query["query"]
        assert ("now() - " in query["query"]) is not whole


def test_only_what_needs_a_time_of_its_own_is_missing() -> None:
    """InfluxQL takes no time from the present one, cells have no time."""
    for board, path in zip(BOARDS, _paths(), strict=True):
        names = [cell["name"] for cell in _dashboard(path)["cells"]]
        for panel in board.panels:
            there = any(name.startswith(panel.title) for name in names)
            past = panel.reading in {Reading.AGE, Reading.SHARE}
            assert there is not past


def _paths() -> list[Path]:
    return [PATHS[0].with_name(f"{board.name}.json") for board in BOARDS]


def _dashboard(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def _overlap(one: Any, other: Any) -> bool:
    return bool(
        one["x"] < other["x"] + other["w"]
        and other["x"] < one["x"] + one["w"]
        and one["y"] < other["y"] + other["h"]
        and other["y"] < one["y"] + one["h"]
    )
