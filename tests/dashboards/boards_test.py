"""What dashboards ask is in the catalogue, and every panel explains itself."""

import re
from itertools import combinations

import pytest

from mirrorwatch.domain.canary import metrics as canary
from mirrorwatch.domain.catalogue import CATALOGUE
from mirrorwatch.domain.checks import CHECKS
from mirrorwatch.domain.lag import metrics as lag
from mirrorwatch.domain.report import Health
from mirrorwatch_dashboards.boards import BOARDS
from mirrorwatch_dashboards.layout import COLUMNS, PanelPlace, arrange
from mirrorwatch_dashboards.panels import (
    Board,
    Gauge,
    Increase,
    Limits,
    Panel,
    Picture,
    Quantile,
    Unit,
)

PANELS = [
    pytest.param(panel, id=f"{board.name}: {panel.title}")
    for board in BOARDS
    for panel in board.panels
]


def test_every_metric_is_asked_for_and_no_other() -> None:
    asked = {
        query.reading.metric.name
        for board in BOARDS
        for panel in board.panels
        for query in panel.queries
    }
    assert asked == {metric.name for metric in CATALOGUE}


@pytest.mark.parametrize("panel", PANELS)
def test_a_panel_says_what_it_shows(panel: Panel) -> None:
    # A question, or a quantity with its unit; often both.
    assert re.search(r"\?$|\(.+\)$", panel.title)
    assert panel.description.endswith(".")
    if panel.unit is Unit.SECONDS:
        assert panel.title.endswith("(s)") or "s)" in panel.title
    assert panel.queries
    if len(panel.queries) > 1:
        labels = [query.label for query in panel.queries]
        assert all(labels)
        assert len({*labels}) == len(labels)


@pytest.mark.parametrize("panel", PANELS)
def test_a_panel_leads_to_a_section_of_the_runbook(panel: Panel) -> None:
    assert panel.check is None or panel.check in CHECKS


@pytest.mark.parametrize("panel", PANELS)
def test_the_unit_is_that_of_what_is_read(panel: Panel) -> None:
    for query in panel.queries:
        metric = query.reading.metric
        seconds = metric.name.endswith("_seconds")
        if panel.picture is not Picture.TABLE:
            moment = metric.name.endswith("timestamp_seconds")
            assert (panel.unit is Unit.MOMENT) is moment
            assert (panel.unit is Unit.SECONDS) is (seconds and not moment)
        assert (panel.unit is Unit.HEALTH) is (metric.unit == "health")
        assert (panel.unit is Unit.FLAG) is (metric.unit == "0 or 1")


@pytest.mark.parametrize("board", BOARDS, ids=lambda board: str(board.name))
def test_no_two_panels_overlap_and_none_is_outside(board: Board) -> None:
    places = [place for _, place in arrange(board.panels)]
    assert len(places) == len(board.panels)
    assert all(at.x + at.width <= COLUMNS for at in places)
    assert not [pair for pair in combinations(places, 2) if _overlap(*pair)]


@pytest.mark.parametrize("board", BOARDS, ids=lambda board: str(board.name))
def test_rows_are_full_and_of_one_height(board: Board) -> None:
    rows: dict[int, list[PanelPlace]] = {}
    for _, place in arrange(board.panels):
        rows.setdefault(place.y, []).append(place)
    for places in rows.values():
        assert len({at.height for at in places}) == 1
        assert sum(at.width for at in places) == COLUMNS


@pytest.mark.parametrize("board", BOARDS, ids=lambda board: str(board.name))
def test_titles_on_a_dashboard_differ(board: Board) -> None:
    titles = [panel.title for panel in board.panels]
    assert len({*titles}) == len(titles)


def test_a_label_that_a_metric_lacks_is_refused() -> None:
    with pytest.raises(ValueError, match="lag_seconds has no label check"):
        Gauge(metric=lag.LAG_SECONDS, by=("check",))
    with pytest.raises(ValueError, match="has no label state"):
        Gauge(metric=lag.LAG_SECONDS, where={"state": "failed"})


def test_a_reading_that_does_not_fit_its_metric_is_refused() -> None:
    with pytest.raises(ValueError, match="lag_seconds is a gauge"):
        Increase(metric=lag.LAG_SECONDS)
    with pytest.raises(ValueError, match="is a gauge"):
        Quantile(metric=lag.LAG_SECONDS, q=0.5)
    with pytest.raises(ValueError, match="is a histogram"):
        Gauge(metric=canary.LATENCY)


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


def test_that_nothing_was_counted_is_not_green() -> None:
    numbers = [
        panel
        for board in BOARDS
        for panel in board.panels
        if panel.picture is Picture.NUMBER and panel.limits is not None
    ]
    counted = [
        panel
        for panel in numbers
        if isinstance(panel.queries[0].reading, Increase)
    ]
    assert counted
    for panel in numbers:
        shown = {health for _, health in panel.steps}
        assert (Health.OK in shown) is (panel not in counted), panel.title


def _overlap(one: PanelPlace, other: PanelPlace) -> bool:
    return (
        one.x < other.x + other.width
        and other.x < one.x + one.width
        and one.y < other.y + other.height
        and other.y < one.y + one.height
    )
