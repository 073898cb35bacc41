"""A dashboard of Grafana: its panels, variables and links."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from itertools import count
from string import ascii_uppercase
from typing import Any

from grafana_foundation_sdk.cog.variants import Dataquery
from grafana_foundation_sdk.models import (
    common,
    prometheus,
    stat,
    statetimeline,
    table,
    timeseries,
)
from grafana_foundation_sdk.models.dashboard import (
    AnnotationContainer,
    AnnotationQuery,
    Dashboard,
    DashboardCursorSync,
    DashboardDashboardTemplating,
    DashboardDashboardTime,
    DashboardFieldConfigSourceOverrides,
    DashboardLink,
    DashboardLinkType,
    DashboardSpecialValueMapOptions,
    DataSourceRef,
    DataTransformerConfig,
    DynamicConfigValue,
    FieldColor,
    FieldColorModeId,
    FieldConfig,
    FieldConfigSource,
    GridPos,
    MatcherConfig,
    RowPanel,
    SpecialValueMap,
    SpecialValueMatch,
    Threshold,
    ThresholdsConfig,
    ThresholdsMode,
    ValueMap,
    ValueMappingResult,
    VariableHide,
    VariableModel,
    VariableOption,
    VariableRefresh,
    VariableSort,
    VariableType,
)
from grafana_foundation_sdk.models.dashboard import Panel as Drawn

from mirrorwatch.domain.report import Health
from mirrorwatch.domain.samples import HEALTH, MAINTENANCE

from . import influxql, promql
from .panels import (
    COLOURS,
    COLUMNS,
    FRESH,
    MONTH,
    Board,
    Increase,
    Panel,
    Picture,
    Quantile,
    Query,
    Share,
    Unit,
    Variable,
    arrange,
)
from .promql import QUANTILE_WINDOW

__all__ = [
    "INSTANT",
    "NO_DATA",
    "PAGE",
    "STORES",
    "DataSource",
    "InfluxQl",
    "Prometheus",
    "colour",
    "mappings",
    "overrides",
    "render",
    "render_panel",
    "thresholds",
    "transformations",
]


MAINTENANCE_MARK = "Maintenance"

INSTANT = (Picture.NUMBER, Picture.TABLE)


class DataSource(ABC):
    """A kind of data source: its plugin, and how it is asked."""

    name: str
    plugin: str
    language: str

    @property
    def source(self) -> DataSourceRef:
        """The data source that the reader has chosen."""
        return DataSourceRef(type_val=self.plugin, uid="${datasource}")

    @abstractmethod
    def targets(self, panel: Panel, board: Board) -> list[Dataquery]:
        """Return the queries of a panel."""

    @abstractmethod
    def annotations(self) -> list[AnnotationQuery]:
        """Return what is marked on every picture."""

    def own_variables(self) -> list[VariableModel]:
        """Return selections that only this kind of data source has."""
        return []

    @abstractmethod
    def choices(
        self, variable: Variable, before: Sequence[Variable]
    ) -> str | dict[str, object]:
        """Return the query for the values of a variable."""


class Prometheus(DataSource):
    """A Prometheus that scrapes the agent."""

    name = "grafana-prometheus"
    plugin = "prometheus"
    language = "Prometheus"

    def targets(self, panel: Panel, board: Board) -> list[Dataquery]:
        return [
            self._target(ref, query, panel, board)
            for ref, query in _lettered(panel.queries)
        ]

    def annotations(self) -> list[AnnotationQuery]:
        # Also those of no job and no flow: that no agent reports is one.
        alerts = (
            'ALERTS{alertstate="firing", service="mirrorwatch", '
            'job=~"$job|", flow=~"$flow|"}'
        )
        held = 'mirrorwatch_maintenance{job=~"$job", flow=~"$flow"} == 1'
        return [
            _marks(
                self.source,
                "Alerts",
                COLOURS[Health.CRITICAL],
                expr=alerts,
                step="60s",
                titleFormat="{{alertname}}",
                textFormat="{{flow}} {{cause}}",
                tagKeys="severity",
            ),
            _marks(
                self.source,
                MAINTENANCE_MARK,
                COLOURS[Health.OFF],
                expr=held,
                step="60s",
                titleFormat=MAINTENANCE_MARK,
                textFormat="{{flow}}",
            ),
        ]

    def own_variables(self) -> list[VariableModel]:
        return [
            VariableModel(
                name="job",
                label="Job",
                description="Which agents, where several are scraped",
                type_val=VariableType.QUERY,
                datasource=self.source,
                query={
                    "query": f"label_values({HEALTH.name}, job)",
                    "refId": "job",
                },
                multi=True,
                include_all=True,
                all_value=".+",
                refresh=VariableRefresh.ON_TIME_RANGE_CHANGED,
                sort=VariableSort.ALPHABETICAL_ASC,
            )
        ]

    def choices(
        self, variable: Variable, before: Sequence[Variable]
    ) -> str | dict[str, object]:
        earlier = [other.label for other in before]
        query = promql.choices(variable.label, variable.source, earlier)
        return {"query": query, "refId": variable.label}

    def _target(
        self, ref: str, query: Query, panel: Panel, board: Board
    ) -> Dataquery:
        instant = panel.picture in INSTANT
        ask = promql.now if instant else promql.over_time
        form = prometheus.PromQueryFormat
        table = panel.picture is Picture.TABLE
        labels = [f"{{{{{label}}}}}" for label in query.reading.by]
        return prometheus.Dataquery(
            ref_id=ref,
            datasource=self.source,
            expr=ask(query.reading, board),
            instant=instant,
            range_val=not instant,
            editor_mode=prometheus.QueryEditorMode.CODE,
            format_val=form.TABLE if table else form.TIME_SERIES,
            legend_format=" ".join(filter(None, [query.label, *labels])),
        )


def _marks(
    source: DataSourceRef, name: str, colour: str, **query: object
) -> "Marks":
    return Marks(
        {
            "name": name,
            "datasource": source.to_json(),
            "enable": True,
            "hide": False,
            "iconColor": colour,
            **query,
        }
    )


class Marks(AnnotationQuery):
    """An annotation with the fields of its plugin, which the SDK lacks."""

    def __init__(self, fields: dict[str, Any]) -> None:
        super().__init__(name=fields["name"])
        self._fields = fields

    def to_json(self) -> dict[str, object]:
        """Return it as Grafana stores it."""
        return self._fields


class InfluxQuery(Dataquery):
    """A query to InfluxDB, which the SDK has no type for."""

    def __init__(self, fields: dict[str, Any]) -> None:
        self._fields = fields

    def to_json(self) -> dict[str, object]:
        """Return it as Grafana's plugin stores it."""
        return self._fields


class InfluxQl(DataSource):
    """InfluxDB 1.8 and later 1.x; 2.x by its v1 mapping."""

    name = "grafana-influxql"
    plugin = "influxdb"
    language = "InfluxQL"

    def targets(self, panel: Panel, board: Board) -> list[Dataquery]:
        dialect = influxql.GRAFANA
        if panel.picture is Picture.TABLE:
            text = influxql.table(panel.queries, board, dialect)
            return [self._query("A", text, "table")]
        ask = influxql.over_time
        if panel.picture is Picture.NUMBER:
            ask = influxql.now
        return [
            self._query(
                ref,
                ask(query.reading, board, dialect),
                "time_series",
                " ".join(
                    filter(
                        None,
                        [
                            query.label,
                            *(f"$tag_{label}" for label in query.reading.by),
                        ],
                    )
                ),
            )
            for ref, query in _lettered(panel.queries)
        ]

    def annotations(self) -> list[AnnotationQuery]:
        query = (
            f'SELECT "{MAINTENANCE.field}", "flow" '  # noqa: S608
            f'FROM "{MAINTENANCE.measurement}" '
            f'WHERE "{MAINTENANCE.field}" = 1 AND "flow" =~ /^$flow$/ '
            "AND $timeFilter"
        )
        return [
            _marks(
                self.source,
                MAINTENANCE_MARK,
                COLOURS[Health.OFF],
                query=query,
                tagsColumn="flow",
            )
        ]

    def choices(
        self, variable: Variable, before: Sequence[Variable]
    ) -> str | dict[str, object]:
        return influxql.choices(
            variable.label, variable.source, before, influxql.GRAFANA
        )

    def _query(
        self, ref: str, text: str, form: str, alias: str = ""
    ) -> Dataquery:
        return InfluxQuery(
            {
                "refId": ref,
                "datasource": self.source.to_json(),
                "rawQuery": True,
                "query": text,
                "resultFormat": form,
                "alias": alias,
            }
        )


def _lettered(queries: Sequence[Query]) -> Iterator[tuple[str, Query]]:
    return zip(ascii_uppercase, queries, strict=False)


Override = DashboardFieldConfigSourceOverrides

DETAIL = "topic-detail"


def transformations(
    panel: Panel, store: DataSource
) -> list[DataTransformerConfig] | None:
    """Return what makes one table of the answers to a panel's queries."""
    if panel.picture is not Picture.TABLE:
        return None
    names = (
        {
            f"Value #{ref}": query.label
            for ref, query in _lettered(panel.queries)
        }
        if isinstance(store, Prometheus)
        else {}
    )
    organize = DataTransformerConfig(
        id_val="organize",
        options={"excludeByName": {"Time": True}, "renameByName": names},
    )
    # Prometheus answers each query with a table of its own.
    merge = DataTransformerConfig(id_val="merge", options={})
    return [merge, organize]


def overrides(panel: Panel, store: DataSource) -> list[Override]:
    """Return what holds for single columns, or lines, of a panel."""
    if panel.picture is not Picture.TABLE:
        return []
    return list(_of_columns(panel, store))


def _of_columns(panel: Panel, store: DataSource) -> Iterator[Override]:
    for query in panel.queries:
        if query.reading.metric.unit == "seconds":
            yield _for("byName", query.label, "unit", "s")
    if "topic" in panel.queries[0].reading.by:
        tag = store.name.removeprefix("grafana-")
        url = (
            f"/d/mirrorwatch-{DETAIL}-{tag}?var-topic=${{__value.raw}}"
            "&var-flow=${__data.fields.flow:percentencode}"
            "&${__url_time_range}"
        )
        link = {"title": "Topic detail", "url": url}
        yield _for("byName", "topic", "links", [link])


def _for(matcher: str, what: str, key: str, value: object) -> Override:
    return Override(
        matcher=MatcherConfig(id_val=matcher, options=what),
        properties=[DynamicConfigValue(id_val=key, value=value)],
    )


NO_DATA = "no data"

WORDS: Mapping[Unit, Mapping[int, tuple[str, str | None]]] = {
    Unit.HEALTH: {h.value: (h.label, COLOURS[h]) for h in Health},
    Unit.FAULT: {
        Health.OK.value: ("not named", COLOURS[Health.OFF]),
        **{
            health.value: (health.label, COLOURS[health])
            for health in (Health.WARNING, Health.CRITICAL)
        },
    },
    Unit.FLAG: {0: ("no", None), 1: ("yes", None)},
}
"""Words, and colours if they do not come from limits."""


def mappings(panel: Panel) -> Iterator[ValueMap | SpecialValueMap]:
    """Yield words for values.

    Notes
    -----
    A number that is none gets the colour of the first limit from Grafana:
    green, for most. So it is given a colour of its own.
    """
    if panel.unit in WORDS:
        yield ValueMap(
            options={
                str(value): ValueMappingResult(
                    text=text, color=painted, index=n
                )
                for n, (value, (text, painted)) in enumerate(
                    WORDS[panel.unit].items()
                )
            }
        )
    if panel.picture is Picture.NUMBER:
        yield SpecialValueMap(
            DashboardSpecialValueMapOptions(
                match=SpecialValueMatch.NULL_AND_NAN,
                result=ValueMappingResult(
                    text=NO_DATA, color=COLOURS[Health.OFF]
                ),
            )
        )


def thresholds(panel: Panel) -> ThresholdsConfig:
    """Return from which values on colours hold."""
    # Without limits nothing is good or bad.
    steps = [Threshold(value=None, color="text")]
    if panel.limits is not None:
        steps = [
            Threshold(value=at, color=COLOURS[health])
            for at, health in panel.steps
        ]
    return ThresholdsConfig(mode=ThresholdsMode.ABSOLUTE, steps=steps)


def colour(panel: Panel) -> FieldColor:
    """Return where colours come from."""
    if panel.picture in (Picture.LINES, Picture.BARS):
        return FieldColor(mode=FieldColorModeId.PALETTE_CLASSIC)
    return FieldColor(mode=FieldColorModeId.THRESHOLDS)


UNITS = {
    Unit.BYTES: "bytes",
    Unit.BYTES_PER_SECOND: "Bps",
    Unit.COUNT: "short",
    Unit.FAULT: "none",
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


def render_panel(panel: Panel, board: Board, store: DataSource) -> Drawn:
    """Return a panel, without its position."""
    return Drawn(
        type_val=TYPES[panel.picture],
        title=panel.title,
        description=panel.description,
        datasource=store.source,
        targets=store.targets(panel, board),
        interval=STEP.get(panel.picture),
        time_from=_time_from(panel),
        links=_links(panel),
        options=_options(panel),
        transformations=transformations(panel, store),
        field_config=FieldConfigSource(
            defaults=FieldConfig(
                unit=UNITS[panel.unit],
                decimals=_decimals(panel),
                no_value=NO_DATA,
                mappings=list(mappings(panel)),
                thresholds=thresholds(panel),
                color=colour(panel),
                custom=_custom(panel),
            ),
            overrides=overrides(panel, store),
        ),
    )


def _decimals(panel: Panel) -> float | None:
    """Return how exactly a number is written; `None` leaves it to Grafana.

    Notes
    -----
    Grafana rounds 99.96 % to 100 %: a service level that is missed would look
    like a perfect one.
    """
    is_share = panel.unit is Unit.RATIO and panel.picture is Picture.NUMBER
    return 3 if is_share else None


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
    if any(isinstance(reading, Share) for reading in readings):
        return MONTH
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


def _options(panel: Panel) -> object:
    legend = common.VizLegendOptions(
        display_mode=common.LegendDisplayMode.LIST,
        placement=common.LegendPlacement.BOTTOM,
        show_legend=True,
    )
    multi = common.VizTooltipOptions(mode=common.TooltipDisplayMode.MULTI)
    match panel.picture:
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
            # No store answers in an order of its own.
            worst = common.TableSortByFieldState(
                display_name=panel.queries[0].label, desc=True
            )
            return table.Options(show_header=True, sort_by=[worst])


STORES: tuple[DataSource, ...] = (Prometheus(), InfluxQl())
"""Kinds of data sources that dashboards are made for."""

PAGE = "http://127.0.0.1:8080"
"""Address of the agent's page, until the reader says otherwise."""


def render(board: Board, store: DataSource) -> Dashboard:
    """Return a dashboard for one kind of data source."""
    tag = store.name.removeprefix("grafana-")
    return Dashboard(
        uid=f"mirrorwatch-{board.name}-{tag}",
        title=board.title,
        description=board.description,
        tags=["mirrorwatch", f"mirrorwatch-{tag}"],
        time=DashboardDashboardTime(from_val=f"now-{board.hours}h", to="now"),
        refresh=board.refresh,
        # Changes belong to the code that makes it: copies can be changed.
        editable=False,
        graph_tooltip=DashboardCursorSync.CROSSHAIR,
        panels=list(_panels(board, store)),
        templating=DashboardDashboardTemplating(
            list_val=list(_variables(board, store))
        ),
        annotations=AnnotationContainer(list_val=store.annotations()),
        links=list(_board_links(f"mirrorwatch-{tag}")),
    )


def _panels(board: Board, store: DataSource) -> Iterator[Drawn | RowPanel]:
    """Yield what is seen at first, then the rows, folded."""
    numbers = count(1)
    first = list(_placed(board.first, 0, board, store, numbers))
    yield from first
    below = max(_bottom(panel) for panel in first)
    for row in board.rows:
        at = GridPos(x=0, y=below, w=COLUMNS, h=1)
        yield RowPanel(
            id_val=next(numbers),
            title=row.title,
            collapsed=True,
            grid_pos=at,
            panels=list(_placed(row.panels, below + 1, board, store, numbers)),
        )
        below += 1


def _bottom(panel: Drawn) -> int:
    at = panel.grid_pos
    return 0 if at is None else at.y + at.h


def _placed(
    panels: Sequence[Panel],
    top: int,
    board: Board,
    store: DataSource,
    numbers: Iterator[int],
) -> Iterator[Drawn]:
    for panel, at in arrange(panels):
        drawn = render_panel(panel, board, store)
        drawn.id_val = next(numbers)
        drawn.grid_pos = GridPos(x=at.x, y=top + at.y, w=at.width, h=at.height)
        yield drawn


def _variables(board: Board, store: DataSource) -> Iterator[VariableModel]:
    yield VariableModel(
        name="datasource",
        label="Data source",
        type_val=VariableType.DATASOURCE,
        query=store.plugin,
        refresh=VariableRefresh.ON_DASHBOARD_LOAD,
    )
    yield from store.own_variables()
    for n, variable in enumerate(board.variables):
        yield VariableModel(
            name=variable.label,
            label=variable.label,
            type_val=VariableType.QUERY,
            datasource=store.source,
            query=store.choices(variable, board.variables[:n]),
            multi=True,
            include_all=variable.all,
            all_value=".*" if variable.all else None,
            # What has come since is there to be chosen.
            refresh=VariableRefresh.ON_TIME_RANGE_CHANGED,
            sort=VariableSort.ALPHABETICAL_ASC,
        )
    yield VariableModel(
        name="page",
        label="agent's page",
        description="Where links to the agent's page and its runbook lead",
        type_val=VariableType.TEXTBOX,
        hide=VariableHide.DONT_HIDE,
        query=PAGE,
        current=VariableOption(selected=True, text=PAGE, value=PAGE),
    )


def _board_links(tag: str) -> Iterator[DashboardLink]:
    yield DashboardLink(
        title="mirrorwatch",
        type_val=DashboardLinkType.DASHBOARDS,
        tags=[tag],
        include_vars=True,
        keep_time=True,
        icon="external link",
    )
    for title, path in (("Agent's page", "/"), ("Runbook", "/runbook")):
        yield DashboardLink(
            title=title,
            type_val=DashboardLinkType.LINK,
            url=f"${{page:raw}}{path}",
            target_blank=True,
            icon="doc",
        )
