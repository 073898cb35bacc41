"""A panel of Grafana: its picture, its unit and its colours."""

from grafana_foundation_sdk.models import (
    common,
    stat,
    statetimeline,
    table,
    timeseries,
)
from grafana_foundation_sdk.models.dashboard import (
    DashboardLink,
    DashboardLinkType,
    FieldConfig,
    FieldConfigSource,
)
from grafana_foundation_sdk.models.dashboard import Panel as Drawn

from ..panels import FRESH, Board, Panel, Picture, Unit
from ..promql import QUANTILE_WINDOW
from ..readings import Increase, Quantile
from .tables import overrides, transformations
from .targets import Store
from .values import NO_DATA, colour, mappings, thresholds

__all__ = ["render_panel"]

UNITS = {
    Unit.BYTES: "bytes",
    Unit.BYTES_PER_SECOND: "Bps",
    Unit.COUNT: "short",
    Unit.FLAG: "none",
    Unit.HEALTH: "none",
    Unit.MOMENT: "dateTimeFromNow",
    Unit.PER_SECOND: "short",
    Unit.RATIO: "percentunit",
    Unit.SECONDS: "s",
}
"""Grafana's own names. Where it has no word for what is counted, the title has
it."""

STEP = {Picture.LINES: "30s", Picture.STATES: "30s", Picture.BARS: "1m"}
"""Least time between two points: every one has a tick of any usual agent, so
that a hole is one."""

TYPES = {
    Picture.BARS: "timeseries",
    Picture.LINES: "timeseries",
    Picture.NUMBER: "stat",
    Picture.STATES: "state-timeline",
    Picture.TABLE: "table",
}


def render_panel(panel: Panel, board: Board, store: Store) -> Drawn:
    """Return a panel, without its place."""
    return Drawn(
        type_val=TYPES[panel.picture],
        title=panel.title,
        description=panel.description,
        datasource=store.source,
        targets=store.targets(panel, board),
        interval=STEP.get(panel.picture),
        time_from=_time_from(panel),
        links=_links(panel),
        options=_options(panel.picture),
        transformations=transformations(panel, store),
        field_config=FieldConfigSource(
            defaults=FieldConfig(
                unit=UNITS[panel.unit],
                no_value=NO_DATA,
                mappings=list(mappings(panel)),
                thresholds=thresholds(panel),
                color=colour(panel),
                custom=_custom(panel),
            ),
            overrides=overrides(panel, store),
        ),
    )


def _time_from(panel: Panel) -> str | None:
    """Return how little of the past a panel looks at, if it does.

    Notes
    -----
    What is true now must not be an old figure of an agent that is gone. A
    reader who looks at a time in the past sees the end of that time: there
    Grafana leaves the panel's own time alone.
    """
    readings = [query.reading for query in panel.queries]
    if panel.picture is Picture.TABLE:
        return _minutes()
    if panel.picture is not Picture.NUMBER:
        return None
    if any(isinstance(reading, Increase) for reading in readings):
        return None
    if any(isinstance(reading, Quantile) for reading in readings):
        return QUANTILE_WINDOW
    return _minutes()


def _minutes() -> str:
    return f"{FRESH.total_seconds() / 60:g}m"


def _links(panel: Panel) -> list[DashboardLink]:
    if panel.check is None:
        return []
    return [
        DashboardLink(
            title=f"Runbook: {panel.check}",
            type_val=DashboardLinkType.LINK,
            url=f"${{page:raw}}/runbook#{panel.check}",
            target_blank=True,
        )
    ]


def _custom(panel: Panel) -> object:
    """Return how lines are drawn: never over a hole, never 0 for nothing."""
    styles = common.GraphDrawStyle
    dashes = common.GraphTresholdsStyleMode
    match panel.picture:
        case Picture.LINES | Picture.BARS:
            bars = panel.picture is Picture.BARS
            return common.GraphFieldConfig(
                draw_style=styles.BARS if bars else styles.LINE,
                line_width=1,
                fill_opacity=60 if bars else 0,
                show_points=common.VisibilityMode.AUTO,
                span_nulls=False,
                thresholds_style=common.GraphThresholdsStyleConfig(
                    mode=dashes.DASHED if panel.limits else dashes.OFF
                ),
            )
        case Picture.STATES:
            return statetimeline.FieldConfig(fill_opacity=80, line_width=0)
        case Picture.NUMBER | Picture.TABLE:
            return None


def _options(picture: Picture) -> object:
    legend = common.VizLegendOptions(
        display_mode=common.LegendDisplayMode.LIST,
        placement=common.LegendPlacement.BOTTOM,
        show_legend=True,
    )
    multi = common.VizTooltipOptions(mode=common.TooltipDisplayMode.MULTI)
    match picture:
        case Picture.LINES | Picture.BARS:
            return timeseries.Options(legend=legend, tooltip=multi)
        case Picture.STATES:
            return statetimeline.Options(
                show_value=common.VisibilityMode.NEVER,
                row_height=0.9,
                merge_values=True,
                legend=legend,
                tooltip=multi,
            )
        case Picture.NUMBER:
            return stat.Options(
                graph_mode=common.BigValueGraphMode.NONE,
                color_mode=common.BigValueColorMode.BACKGROUND,
                text_mode=common.BigValueTextMode.VALUE_AND_NAME,
                reduce_options=common.ReduceDataOptions(
                    values=False, calcs=["lastNotNull"]
                ),
            )
        case Picture.TABLE:
            return table.Options(show_header=True)
