"""Grafana dashboards, as the JSON that it stores."""

from collections.abc import Iterator, Sequence
from enum import StrEnum
from itertools import count
from string import ascii_uppercase
from typing import Any

from mirrorwatch.domain.report import Health
from mirrorwatch.domain.samples import HEALTH

from . import influxql, promql
from .panels import (
    COLOURS,
    COLUMNS,
    FRESH,
    MONTH,
    PAGE,
    QUANTILE_WINDOW,
    WORDS,
    Board,
    Panel,
    Picture,
    Query,
    Reading,
    Unit,
    Variable,
    arrange,
)

__all__ = ["Store", "render"]


Json = dict[str, Any]

UNITS = {
    Unit.BYTES: "bytes",
    Unit.BYTES_PER_SECOND: "Bps",
    Unit.COUNT: "short",
    Unit.MOMENT: "dateTimeFromNow",
    Unit.PER_SECOND: "short",
    Unit.RATIO: "percentunit",
    Unit.SECONDS: "s",
}
"""Grafana's own names."""

TYPES = {
    Picture.BARS: "timeseries",
    Picture.LINES: "timeseries",
    Picture.NUMBER: "stat",
    Picture.STATES: "state-timeline",
    Picture.TABLE: "table",
}

STEP = {Picture.LINES: "30s", Picture.STATES: "30s", Picture.BARS: "1m"}
"""Minimum interval between two points, longer than the tick of usual agents:
a hole is one."""

NO_DATA = "no data"
DETAIL = "topic-detail"
CURRENT = f"{FRESH.total_seconds() / 60:g}m"


class Store(StrEnum):
    """Kind of data source: Prometheus, or InfluxDB by InfluxQL (1.8 and later
    1.x; 2.x by its v1 mapping).
    """

    PROMETHEUS = "prometheus"
    INFLUXQL = "influxql"

    @property
    def folder(self) -> str:
        """Name of the folder of its dashboards."""
        return f"grafana-{self}"

    @property
    def plugin(self) -> str:
        """Name of Grafana's plugin."""
        return "prometheus" if self is Store.PROMETHEUS else "influxdb"

    @property
    def source(self) -> Json:
        """Data source that the reader has chosen."""
        return {"type": self.plugin, "uid": "${datasource}"}


def render(board: Board, store: Store) -> Json:
    """Return a dashboard for one kind of data source."""
    links = [
        {
            "title": "mirrorwatch",
            "type": "dashboards",
            "tags": [f"mirrorwatch-{store}"],
            "includeVars": True,
            "keepTime": True,
            "icon": "external link",
        },
        _link("Agent's page", "/"),
        _link("Runbook", "/runbook"),
    ]
    return {
        "uid": f"mirrorwatch-{board.name}-{store}",
        "title": board.title,
        "description": board.description,
        "tags": ["mirrorwatch", f"mirrorwatch-{store}"],
        "schemaVersion": 36,
        "timezone": "utc",
        "time": {"from": f"now-{board.hours}h", "to": "now"},
        "refresh": board.refresh,
        "editable": True,
        "graphTooltip": 1,
        "links": links,
        "templating": {"list": list(_variables(board, store))},
        "annotations": {"list": list(_annotations(store))},
        "panels": list(_panels(board, store)),
    }


def _link(title: str, path: str) -> Json:
    return {
        "title": title,
        "type": "link",
        "url": f"${{page:raw}}{path}",
        "targetBlank": True,
        "icon": "doc",
    }


def _variables(board: Board, store: Store) -> Iterator[Json]:
    yield {
        "name": "datasource",
        "label": "Data source",
        "type": "datasource",
        "query": store.plugin,
    }
    if store is Store.PROMETHEUS:
        job = f"label_values({HEALTH.name}, job)"
        yield _variable("job", job, store, all_value=".+")
    for index, variable in enumerate(board.variables):
        query = _choices(variable, board.variables[:index], store)
        every = ".*" if variable.all else None
        yield _variable(variable.label, query, store, all_value=every)
    query = _choices(PAGE, board.variables[:1], store)
    yield {**_variable("page", query, store), "multi": False, "hide": 2}


def _choices(
    variable: Variable, before: Sequence[Variable], store: Store
) -> str:
    if store is Store.PROMETHEUS:
        return promql.choices(variable, before)
    return influxql.choices(variable, before, influxql.GRAFANA)


def _variable(
    name: str, query: str, store: Store, *, all_value: str | None = None
) -> Json:
    every = {"includeAll": True, "allValue": all_value} if all_value else {}
    return {
        "name": name,
        "label": name.capitalize(),
        "type": "query",
        "datasource": store.source,
        "query": {"query": query, "refId": name}
        if store is Store.PROMETHEUS
        else query,
        "multi": True,
        **every,
        # On a change of the time range, so that new values can be chosen.
        "refresh": 2,
        "sort": 1,
    }


def _annotations(store: Store) -> Iterator[Json]:
    is_prometheus = store is Store.PROMETHEUS
    annotations = promql.ANNOTATIONS if is_prometheus else influxql.ANNOTATIONS
    for name, (health, fields) in annotations.items():
        yield {
            "name": name,
            "datasource": store.source,
            "enable": True,
            "hide": False,
            "iconColor": COLOURS[health],
            **({"step": "60s"} if is_prometheus else {}),
            **fields,
        }


def _panels(board: Board, store: Store) -> Iterator[Json]:
    """Yield the first panels, then the rows, folded."""
    numbers = count(1)
    first = list(_placed(board.first, 0, board, store, numbers))
    yield from first
    top = max(p["gridPos"]["y"] + p["gridPos"]["h"] for p in first)
    for below, row in enumerate(board.rows, start=top):
        yield {
            "id": next(numbers),
            "type": "row",
            "title": row.title,
            "collapsed": True,
            "gridPos": {"x": 0, "y": below, "w": COLUMNS, "h": 1},
            "panels": list(
                _placed(row.panels, below + 1, board, store, numbers)
            ),
        }


def _placed(
    panels: Sequence[Panel],
    top: int,
    board: Board,
    store: Store,
    numbers: Iterator[int],
) -> Iterator[Json]:
    for panel, at in arrange(panels):
        position = {"x": at.x, "y": top + at.y, "w": at.width, "h": at.height}
        drawn = _panel(panel, board, store)
        yield {"id": next(numbers), **drawn, "gridPos": position}


def _panel(panel: Panel, board: Board, store: Store) -> Json:
    drawn: Json = {
        "type": TYPES[panel.picture],
        "title": panel.title,
        "description": panel.description,
        "datasource": store.source,
        "targets": _targets(panel, board, store),
        "fieldConfig": {
            "defaults": _defaults(panel),
            "overrides": list(_overrides(panel, store)),
        },
        "options": _options(panel, store),
    }
    if panel.check is not None:
        name = f"Runbook: {panel.check}"
        drawn["links"] = [_link(name, f"/runbook#{panel.check}")]
    if panel.picture in STEP:
        drawn["interval"] = STEP[panel.picture]
    if short := _time_from(panel):
        drawn["timeFrom"] = short
    if panel.picture is Picture.TABLE:
        drawn["transformations"] = _transformations(panel, store)
    if _repeats(panel):
        drawn |= {"repeat": "flow", "repeatDirection": "v"}
    return drawn


def _repeats(panel: Panel) -> bool:
    """Return whether it is drawn once for each flow, whose name its legend
    leaves out.
    """
    is_wide = panel.width == COLUMNS and panel.picture is Picture.STATES
    return is_wide and "flow" in panel.queries[0].by


def _targets(panel: Panel, board: Board, store: Store) -> list[Json]:
    if panel.picture is Picture.TABLE and store is Store.INFLUXQL:
        text = influxql.table(panel.queries, board, influxql.GRAFANA)
        return [_influxql_target("A", text, "table", "")]
    numbered = zip(ascii_uppercase, panel.queries, strict=False)
    if store is Store.PROMETHEUS:
        return [
            _promql_target(ref, query, panel, board) for ref, query in numbered
        ]
    ask = influxql.now if _is_instant(panel) else influxql.over_time
    return [
        _influxql_target(
            ref,
            ask(query, board, influxql.GRAFANA),
            "time_series",
            _legend(query, panel, "$tag_%s"),
        )
        for ref, query in numbered
    ]


def _is_instant(panel: Panel) -> bool:
    return panel.picture in (Picture.NUMBER, Picture.TABLE)


def _legend(query: Query, panel: Panel, label: str) -> str:
    by = query.by[1:] if _repeats(panel) else query.by
    return " ".join(filter(None, [query.label, *(label % of for of in by)]))


def _promql_target(ref: str, query: Query, panel: Panel, board: Board) -> Json:
    ask = promql.now if _is_instant(panel) else promql.over_time
    is_table = panel.picture is Picture.TABLE
    return {
        "refId": ref,
        "datasource": Store.PROMETHEUS.source,
        "expr": ask(query, board),
        "instant": _is_instant(panel),
        "range": not _is_instant(panel),
        "editorMode": "code",
        "format": "table" if is_table else "time_series",
        "legendFormat": _legend(query, panel, "{{%s}}"),
    }


def _influxql_target(ref: str, text: str, form: str, alias: str) -> Json:
    return {
        "refId": ref,
        "datasource": Store.INFLUXQL.source,
        "rawQuery": True,
        "query": text,
        "resultFormat": form,
        "alias": alias,
    }


def _defaults(panel: Panel) -> Json:
    is_graph = panel.picture in (Picture.LINES, Picture.BARS)
    # Without limits nothing is good or bad.
    steps: list[Json] = [{"value": None, "color": "text"}]
    if panel.limits is not None:
        steps = [
            {"value": at, "color": COLOURS[health]}
            for at, health in panel.steps
        ]
    defaults: Json = {
        "unit": UNITS.get(panel.unit, "none"),
        "noValue": NO_DATA,
        "mappings": list(_mappings(panel)),
        "thresholds": {"mode": "absolute", "steps": steps},
        "color": {"mode": "palette-classic" if is_graph else "thresholds"},
    }
    if panel.unit is Unit.RATIO and panel.picture is Picture.NUMBER:
        # Grafana would round 99.96 % to 100 %.
        defaults["decimals"] = 3
    if is_graph:
        is_bars = panel.picture is Picture.BARS
        # Never over a hole, never 0 for nothing.
        defaults["custom"] = {
            "drawStyle": "bars" if is_bars else "line",
            "lineWidth": 1,
            "fillOpacity": 60 if is_bars else 0,
            "showPoints": "auto",
            "spanNulls": False,
            "axisLabel": panel.axis,
            "thresholdsStyle": {"mode": "dashed" if panel.limits else "off"},
        }
    elif panel.picture is Picture.STATES:
        defaults["custom"] = {"lineWidth": 0, "fillOpacity": 80}
    return defaults


def _mappings(panel: Panel) -> Iterator[Json]:
    """Yield words for values, and a colour for no data, which would have that
    of the first limit.
    """
    if words := WORDS.get(panel.unit):
        options: Json = {
            str(value): {
                "text": text,
                "index": index,
                **({} if health is None else {"color": COLOURS[health]}),
            }
            for index, (value, (text, health)) in enumerate(words.items())
        }
        yield {"type": "value", "options": options}
    if panel.picture is Picture.NUMBER:
        result = {"text": NO_DATA, "color": COLOURS[Health.OFF]}
        options = {"match": "null+nan", "result": result}
        yield {"type": "special", "options": options}


def _time_from(panel: Panel) -> str | None:
    """Return the short time range of a current value: that of an agent that is
    gone is not shown.
    """
    if not _is_instant(panel):
        return None
    return {
        Reading.EVENTS: None,
        Reading.INCREASE: None,
        Reading.SHARE: MONTH,
        Reading.QUANTILE: QUANTILE_WINDOW,
    }.get(panel.reading, CURRENT)


def _transformations(panel: Panel, store: Store) -> list[Json]:
    """Return the transformations that make one table of a panel's answers."""
    numbered = zip(ascii_uppercase, panel.queries, strict=False)
    names = {f"Value #{ref}": query.label for ref, query in numbered}
    options = {
        "excludeByName": {"Time": not _is_dated(panel, store)},
        "renameByName": names if store is Store.PROMETHEUS else {},
    }
    # Prometheus answers each query with a table of its own.
    return [
        {"id": "merge", "options": {}},
        {"id": "organize", "options": options},
    ]


def _is_dated(panel: Panel, store: Store) -> bool:
    """Return whether the rows of a table have a time: Prometheus does not know
    that of an event.
    """
    return panel.reading is Reading.EVENTS and store is Store.INFLUXQL


def _overrides(panel: Panel, store: Store) -> Iterator[Json]:
    """Yield the units and links of a table's columns."""
    if panel.picture is not Picture.TABLE:
        return
    for query in panel.queries:
        if query.metric.unit == "seconds":
            yield _override(query.label, "unit", "s")
    if "topic" in panel.queries[0].by:
        url = (
            f"/d/mirrorwatch-{DETAIL}-{store}?var-topic=${{__value.raw}}"
            "&var-flow=${__data.fields.flow:percentencode}"
            "&${__url_time_range}"
        )
        link = {"title": "Topic detail", "url": url}
        yield _override("topic", "links", [link])


def _override(column: str, key: str, value: object) -> Json:
    return {
        "matcher": {"id": "byName", "options": column},
        "properties": [{"id": key, "value": value}],
    }


def _options(panel: Panel, store: Store) -> Json:
    common = {
        "legend": {
            "displayMode": "list",
            "placement": "bottom",
            "showLegend": True,
        },
        "tooltip": {"mode": "multi", "sort": "none"},
    }
    match panel.picture:
        case Picture.LINES | Picture.BARS:
            return common
        case Picture.STATES:
            return {
                **common,
                "showValue": "never",
                "rowHeight": 0.9,
                "mergeValues": True,
            }
        case Picture.NUMBER:
            return {
                "graphMode": "none",
                "colorMode": "background",
                "textMode": "value_and_name",
                "reduceOptions": {"calcs": ["lastNotNull"], "values": False},
            }
        case Picture.TABLE:
            # No store answers in an order of its own.
            dated = _is_dated(panel, store)
            first = "Time" if dated else panel.queries[0].label
            by = {"displayName": first, "desc": True}
            return {"showHeader": True, "sortBy": [by]}
