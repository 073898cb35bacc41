"""What dashboards ask is in the catalogue, and every panel explains itself."""

import json
import re
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.cog.plugins import register_default_plugins
from grafana_foundation_sdk.models.dashboard import Dashboard

from mirrorwatch.domain.canary import metrics as canary
from mirrorwatch.domain.catalogue import CATALOGUE
from mirrorwatch.domain.checks import CHECKS
from mirrorwatch.domain.lag import metrics as lag
from mirrorwatch.domain.report import Health
from mirrorwatch.domain.samples import BUILD_INFO, FLOW_INFO
from mirrorwatch_dashboards.__main__ import files, write
from mirrorwatch_dashboards.boards import BOARDS
from mirrorwatch_dashboards.panels import (
    COLOURS,
    COLUMNS,
    Board,
    Limits,
    Panel,
    PanelPosition,
    Picture,
    Query,
    Reading,
    Unit,
    arrange,
)
from mirrorwatch_promotion.bundled_files import bundled_folder

PANELS = [
    pytest.param(panel, id=f"{board.name}: {panel.title}")
    for board in BOARDS
    for panel in board.panels
]


INFO = {BUILD_INFO.name, FLOW_INFO.name}
"""Metrics that are always 1: others are joined with them."""


def test_every_metric_is_asked_for_and_no_other() -> None:
    queries = [
        query
        for board in BOARDS
        for panel in board.panels
        for query in panel.queries
    ]
    asked = {query.metric.name for query in queries}
    asked |= {query.rest.name for query in queries if query.rest}
    assert asked == {metric.name for metric in CATALOGUE} - INFO


@pytest.mark.parametrize("panel", PANELS)
def test_a_panel_says_what_it_shows(panel: Panel) -> None:
    # A noun; units are on the axes.
    assert not re.search("[?!.()]", panel.title)
    assert panel.description.endswith(".")
    if panel.picture in {Picture.LINES, Picture.BARS}:
        assert bool(panel.axis) is (
            panel.unit in {Unit.COUNT, Unit.PER_SECOND}
        )
    if len(panel.queries) > 1:
        labels = [query.label for query in panel.queries]
        assert all(labels)
        assert len({*labels}) == len(labels)


@pytest.mark.parametrize("panel", PANELS)
def test_a_panel_leads_to_a_section_of_the_runbook(panel: Panel) -> None:
    assert panel.check is None or panel.check in CHECKS


@pytest.mark.parametrize("panel", PANELS)
def test_the_metrics_of_a_panel_have_one_unit(panel: Panel) -> None:
    # A count may be one of topics beside one of properties.
    units = {q.metric.unit for q in panel.queries}
    counted = panel.unit in {Unit.COUNT, Unit.PER_SECOND}
    assert counted or panel.picture is Picture.TABLE or len(units) == 1


@pytest.mark.parametrize("board", BOARDS, ids=lambda board: str(board.name))
def test_no_two_panels_overlap_and_none_is_outside(board: Board) -> None:
    for panels in _sections(board):
        places = [place for _, place in arrange(panels)]
        assert len(places) == len(panels)
        assert all(at.x + at.width <= COLUMNS for at in places)
        twice = [pair for pair in combinations(places, 2) if _overlap(*pair)]
        assert not twice


@pytest.mark.parametrize("board", BOARDS, ids=lambda board: str(board.name))
def test_rows_are_full_and_of_one_height(board: Board) -> None:
    for panels in _sections(board):
        rows: dict[int, list[PanelPosition]] = {}
        for _, place in arrange(panels):
            rows.setdefault(place.y, []).append(place)
        for places in rows.values():
            assert len({at.height for at in places}) == 1
            assert sum(at.width for at in places) == COLUMNS


def _sections(board: Board) -> list[tuple[Panel, ...]]:
    return [board.first, *(row.panels for row in board.rows)]


SCREEN = 22
"""Rows of the grid, of 38 pixels, below Grafana's own lines at 1080p."""


def test_the_overview_is_one_screen_and_the_rest_is_folded() -> None:
    (overview,) = (b for b in BOARDS if b.name == "flow-overview")
    places = [place for _, place in arrange(overview.first)]
    assert max(at.y + at.height for at in places) <= SCREEN
    (mirror,) = (b for b in BOARDS if b.name == "mirror-internals")
    rows = [row.title for row in mirror.rows]
    assert rows == ["Tasks", "Consumer", "Producer", "Agent"]
    for path in GRAFANA:
        panels = _load(path)["panels"]
        folded = [p for p in panels if p["type"] == "row"]
        assert all(row["collapsed"] and row["panels"] for row in folded)
        inner = [panel for row in folded for panel in row["panels"]]
        numbers = [panel["id"] for panel in (*panels, *inner)]
        assert len({*numbers}) == len(numbers)


def test_boards_are_as_fresh_as_what_they_show_and_keep_time_and_flow() -> (
    None
):
    for path in GRAFANA:
        board = _load(path)
        audit = "audit" in path.stem
        assert board["refresh"] == ("5m" if audit else "30s")
        assert board["editable"] is True
        assert board["timezone"] == "utc"
        (link,) = (x for x in board["links"] if x["type"] == "dashboards")
        assert link["keepTime"]
        assert link["includeVars"]


def test_alerts_and_maintenance_are_marked_on_every_board() -> None:
    for path in GRAFANA:
        marks = _load(path)["annotations"]["list"]
        names = [mark["name"] for mark in marks]
        # In InfluxDB the title of an event names its topic and numbers.
        is_prometheus = "prometheus" in str(path)
        more = ["Alerts", "Lost records"] if is_prometheus else []
        assert names == [*more, "Events", "Maintenance"]
        assert all(m["datasource"]["uid"] == "${datasource}" for m in marks)


@pytest.mark.parametrize("chosen", [".+", "(one|other)"])
def test_that_no_agent_reports_is_marked_whatever_is_chosen(
    chosen: str,
) -> None:
    # `absent` makes an alert without job and flow.
    for path in GRAFANA:
        if "prometheus" not in str(path):
            continue
        (alerts, *_) = _load(path)["annotations"]["list"]
        matchers = dict(re.findall(r'(\w+)=~"([^"]*)"', alerts["expr"]))
        assert sorted(matchers) == ["flow", "job"]
        for label, pattern in matchers.items():
            filled = re.compile(pattern.replace(f"${label}", chosen))
            assert filled.fullmatch("")
            assert filled.fullmatch("one")
            assert bool(filled.fullmatch("third")) is (chosen == ".+")


@pytest.mark.parametrize("board", BOARDS, ids=lambda board: str(board.name))
def test_titles_on_a_dashboard_differ(board: Board) -> None:
    titles = [panel.title for panel in board.panels]
    assert len({*titles}) == len(titles)


def test_a_label_that_a_metric_lacks_is_refused() -> None:
    with pytest.raises(ValueError, match="lag_seconds has no label check"):
        Query(lag.LAG_SECONDS, by=("check",))
    with pytest.raises(ValueError, match="has no label state"):
        Query(lag.LAG_SECONDS, where={"state": "failed"})


def test_a_reading_that_does_not_fit_its_metric_is_refused() -> None:
    with pytest.raises(ValueError, match="lag_seconds is a gauge"):
        Query(lag.LAG_SECONDS, rest=lag.LAG_SECONDS)
    with pytest.raises(ValueError, match="is a gauge"):
        Query(lag.LAG_SECONDS, quantile=0.5)
    with pytest.raises(ValueError, match="is a histogram"):
        Query(canary.LATENCY)


def test_limits_from_above_and_from_below() -> None:
    ok, warning, critical = Health.OK, Health.WARNING, Health.CRITICAL
    assert Limits(warning=2, critical=5).steps == (
        (None, ok),
        (2, warning),
        (5, critical),
    )
    assert Limits(warning=24, critical=6, below=True).steps == (
        (None, critical),
        (6, warning),
        (24, ok),
    )
    assert Limits(critical=1, below=True).steps == ((None, critical), (1, ok))


def test_a_count_of_zero_is_grey_everywhere() -> None:
    seen = set()
    for board in BOARDS:
        for panel in board.panels:
            if panel.picture is Picture.NUMBER and panel.limits is not None:
                shown = {health for _, health in panel.steps}
                # Those where a small number is the bad one begin at 1.
                counts = panel.unit is Unit.COUNT and not panel.limits.below
                assert (Health.OFF in shown) is counts, panel.title
                assert (Health.OK in shown) is not counts, panel.title
                seen.add(counts)
    assert seen == {True, False}


def _overlap(one: PanelPosition, other: PanelPosition) -> bool:
    return (
        one.x < other.x + other.width
        and other.x < one.x + one.width
        and one.y < other.y + other.height
        and other.y < one.y + one.height
    )


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
def test_the_sdk_of_grafana_knows_every_field(path: Path) -> None:
    register_default_plugins()
    kept = _load(path)
    again = json.loads(json.dumps(Dashboard.from_json(kept), cls=JSONEncoder))
    # It has no fields for what plugins ask for annotations.
    for board in (kept, again):
        board["annotations"] = [
            x["name"] for x in board["annotations"]["list"]
        ]
    assert _within(again, kept) == kept


def _within(whole: Any, part: Any) -> Any:
    """Return of a whole what a part of it names."""
    if isinstance(part, dict) and isinstance(whole, dict):
        shared = whole.keys() & part.keys()
        return {key: _within(whole[key], part[key]) for key in shared}
    if isinstance(part, list) and isinstance(whole, list):
        return [_within(*both) for both in zip(whole, part, strict=True)]
    return whole


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


def test_a_column_has_the_unit_of_what_it_shows_and_the_worst_is_first() -> (
    None
):
    shown = {
        (board.name, panel.title): panel
        for board in BOARDS
        for panel in board.panels
    }
    tables = [(f, p) for f, p in _panels() if p["type"] == "table"]
    assert tables
    for path, panel in tables:
        kept = panel["fieldConfig"]
        units = {
            override["matcher"]["options"]: rule["value"]
            for override in kept["overrides"]
            for rule in override["properties"]
            if rule["id"] == "unit"
        }
        queries = shown[path.stem, panel["title"]].queries
        for query in queries:
            unit = units.get(query.label, kept["defaults"]["unit"])
            assert (unit == "s") is (query.metric.unit == "seconds")
        # Events have times in InfluxDB only.
        dated = queries[0].reading is Reading.EVENTS and "influxql" in str(
            path
        )
        first = "Time" if dated else queries[0].label
        assert panel["options"]["sortBy"] == [
            {"displayName": first, "desc": True}
        ]
        (organize,) = panel["transformations"][1:]
        assert organize["options"]["excludeByName"]["Time"] is not dated


def test_a_share_is_not_rounded_to_all() -> None:
    # Grafana's own number of digits makes 100 % of 99.96 %, Chronograf 1.00.
    numbers = [
        panel
        for _, panel in _panels()
        if panel["type"] == "stat"
        and panel["fieldConfig"]["defaults"]["unit"] == "percentunit"
    ]
    assert numbers
    for panel in numbers:
        assert panel["fieldConfig"]["defaults"]["decimals"] == 3
    shares = {
        panel.title
        for board in BOARDS
        for panel in board.panels
        if panel.unit is Unit.RATIO
    }
    for path in sorted((KEPT / "chronograf").glob("*.json")):
        for cell in _load(path)["cells"]:
            digits = cell["decimalPlaces"]["digits"]
            assert (digits == 5) is (cell["name"] in shares), cell["name"]


def test_a_part_that_is_not_named_is_not_green() -> None:
    causes = [p for _, p in _panels() if p["title"] == "Part at fault"]
    assert causes
    for panel in causes:
        (words,) = panel["fieldConfig"]["defaults"]["mappings"]
        assert words["options"]["0"]["text"] == "not named"
        assert COLOURS[Health.OK] not in str(panel)
    (kept,) = (
        cell
        for cell in _load(KEPT / "chronograf/flow-overview.json")["cells"]
        if cell["name"].startswith("Part at fault (0 not named")
        and cell["type"] == "table"
    )
    assert COLOURS[Health.OK] not in str(kept)


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
            is_list = panel["title"] == "Events"
            assert panel.get("timeFrom") == (None if is_list else "2m"), path
        if panel["type"] == "stat":
            text = json.dumps(panel["targets"])
            whole = "increase(" in text or "difference(" in text
            if panel["title"] == "Service level of 30 days":
                assert panel["timeFrom"] == "30d"
                continue
            assert ("timeFrom" in panel) is not whole, panel["title"]


def _load(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def _panels() -> Iterator[tuple[Path, Any]]:
    for path in GRAFANA:
        for panel in _load(path)["panels"]:
            for inner in panel.get("panels", [panel]):
                yield path, inner
