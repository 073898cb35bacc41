"""What a panel asks of each kind of data source that Grafana has."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from string import ascii_uppercase
from typing import Any

from grafana_foundation_sdk.cog.variants import Dataquery
from grafana_foundation_sdk.models import prometheus
from grafana_foundation_sdk.models.dashboard import DataSourceRef

from .. import flux, influxql, promql
from ..panels import Board, Panel, Picture, Query, Variable

__all__ = ["INSTANT", "Flux", "InfluxQl", "Prometheus", "Store"]

INSTANT = (Picture.NUMBER, Picture.TABLE)
"""Pictures of what is true now."""


class Store(ABC):
    """A kind of data source: its plugin, and how it is asked."""

    name: str
    """Folder of its dashboards, and part of their uids."""

    plugin: str
    """Type of the data source in Grafana."""

    language: str
    """What is chosen from: data sources of this kind."""

    @property
    def source(self) -> DataSourceRef:
        """The data source that the reader has chosen."""
        return DataSourceRef(type_val=self.plugin, uid="${datasource}")

    @abstractmethod
    def targets(self, panel: Panel, board: Board) -> list[Dataquery]:
        """Return the queries of a panel."""

    @abstractmethod
    def choices(
        self, variable: Variable, before: Sequence[Variable]
    ) -> str | dict[str, object]:
        """Return the query for the values of a variable."""


class Prometheus(Store):
    """A Prometheus that scrapes the agent."""

    name = "grafana-prometheus"
    plugin = "prometheus"
    language = "Prometheus"

    def targets(self, panel: Panel, board: Board) -> list[Dataquery]:
        return [
            self._target(ref, query, panel, board)
            for ref, query in _lettered(panel.queries)
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


class InfluxQuery(Dataquery):
    """A query to InfluxDB, which the SDK has no type for."""

    def __init__(self, fields: dict[str, Any]) -> None:
        self._fields = fields

    def to_json(self) -> dict[str, object]:
        """Return it as Grafana's plugin stores it."""
        return self._fields


class InfluxQl(Store):
    """InfluxDB 1.8 and later 1.x; 2.x by its InfluxQL."""

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


class Flux(Store):
    """InfluxDB 2.x by Flux."""

    name = "grafana-flux"
    plugin = "influxdb"
    language = "Flux"

    def targets(self, panel: Panel, board: Board) -> list[Dataquery]:
        if panel.picture is Picture.TABLE:
            return [self._query("A", flux.table(panel.queries, board))]
        number = panel.picture is Picture.NUMBER
        ask = flux.now if number else flux.over_time
        return [
            self._query(ref, ask(query.reading, board))
            for ref, query in _lettered(panel.queries)
        ]

    def choices(
        self, variable: Variable, before: Sequence[Variable]
    ) -> str | dict[str, object]:
        return flux.choices(variable.label, variable.source, before)

    def _query(self, ref: str, text: str) -> Dataquery:
        source = self.source.to_json()
        return InfluxQuery({"refId": ref, "datasource": source, "query": text})


def _lettered(queries: Sequence[Query]) -> Iterator[tuple[str, Query]]:
    return zip(ascii_uppercase, queries, strict=False)
