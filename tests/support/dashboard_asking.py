"""Asks real stores what the kept dashboards ask, and returns numbers."""

import csv
import io
from collections.abc import Callable, Mapping
from typing import Any

from .dashboard_stores import Stores
from .dashboards import (
    LOOK_BACK,
    STEP_SECONDS,
    Asked,
    fill_chronograf,
    fill_grafana,
    numbers,
)
from .influx import POLICY, TOKEN, InfluxServer
from .plain_http import HTTP

__all__ = ["ASK", "ask_flux", "ask_influxql", "values_of"]

Ask = Callable[[Stores, Asked, Mapping[str, str]], list[float]]


def _prometheus(
    stores: Stores, query: Asked, chosen: Mapping[str, str]
) -> list[float]:
    now = stores.at
    text = fill_grafana(query, chosen, now)
    if query.instant:
        data = stores.prometheus.ask("query", query=text, time=now.timestamp())
        return numbers(row["value"][1] for row in data["result"])
    data = stores.prometheus.ask(
        "query_range",
        query=text,
        start=(now - LOOK_BACK).timestamp(),
        end=now.timestamp(),
        step=STEP_SECONDS,
    )
    return numbers(v for row in data["result"] for _, v in row["values"])


def ask_influxql(server: InfluxServer, text: str) -> list[dict[str, Any]]:
    """Return the series of an answer; a query that is refused fails."""
    answer = server.query(text)
    assert answer.is_success, (text, answer.text)
    return series_of(text, answer.json())


def series_of(text: str, answer: Any) -> list[dict[str, Any]]:
    (result,) = answer["results"]
    assert "error" not in result, (text, result)
    return list(result.get("series", ()))


def values_of(series: list[dict[str, Any]]) -> list[float]:
    """Return all numbers of series, but not their times."""
    return numbers(
        value for one in series for row in one["values"] for value in row[1:]
    )


def ask_flux(stores: Stores, text: str) -> list[dict[str, str]]:
    """Return the rows of an answer; a query that is refused fails."""
    answer = HTTP.post(
        f"{stores.influx2.url}/api/v2/query",
        params={"org": "efd"},
        json={"query": text, "dialect": {"annotations": []}},
        headers={"Authorization": f"Token {TOKEN}"},
        timeout=120,
    )
    assert answer.is_success, (text, answer.text)
    return list(csv.DictReader(io.StringIO(answer.text)))


def _flux(
    stores: Stores, query: Asked, chosen: Mapping[str, str]
) -> list[float]:
    rows = ask_flux(stores, fill_grafana(query, chosen, stores.at))
    beside = {"", "result", "table", "_time"}
    for row in rows:
        # What is neither is a label: of them there may be those asked for.
        assert "_start" not in row, query
    return numbers(
        value
        for row in rows
        for key, value in row.items()
        if key not in beside
    )


def _influx1(
    stores: Stores, query: Asked, chosen: Mapping[str, str]
) -> list[float]:
    text = fill_grafana(query, chosen, stores.at)
    return values_of(ask_influxql(stores.influx1, text))


def _influx2(
    stores: Stores, query: Asked, chosen: Mapping[str, str]
) -> list[float]:
    text = fill_grafana(query, chosen, stores.at)
    return values_of(ask_influxql(stores.influx2, text))


def _chronograf(
    stores: Stores, query: Asked, chosen: Mapping[str, str]
) -> list[float]:
    text = fill_chronograf(query.text, chosen, stores.at)
    text = text.replace("autogen", POLICY)
    return values_of(ask_influxql(stores.influx1, text))


ASK: Mapping[str, tuple[str, Ask]] = {
    "Prometheus": ("grafana-prometheus", _prometheus),
    "InfluxQL on 1.8": ("grafana-influxql", _influx1),
    "InfluxQL on 2.7": ("grafana-influxql", _influx2),
    "Flux on 2.7": ("grafana-flux", _flux),
    "Chronograf's on 1.8": ("chronograf", _chronograf),
}
"""The folder of the dashboards, and who answers, by what it is called."""
