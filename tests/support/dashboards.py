"""Queries of the kept dashboards, filled in as the program does that asks."""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import httpx

from mirrorwatch.clock import utc_now
from mirrorwatch.domain.report import Flow
from mirrorwatch.sinks.influxdb import to_points
from mirrorwatch.sinks.prometheus import PrometheusSink
from mirrorwatch_lab import CANARY_TOPIC, Lab, LabSettings
from mirrorwatch_lab.cli import describe_agent
from mirrorwatch_lab.traffic import TRAFFIC_TOPICS, Traffic
from mirrorwatch_promotion.bundled_files import bundled_folder

from .agent_process import AgentProcess
from .alert_servers import PrometheusServer
from .builders import FLOW as REPORTED
from .full_report import a_full_report
from .http import HTTP, serving
from .influx import (
    ADMIN,
    DATABASE,
    PASSWORD,
    POLICY,
    TOKEN,
    Influx1,
    Influx2,
    InfluxServer,
    influx_config,
    influx_environment,
)
from .watch import wait_until

__all__ = [
    "ASK",
    "LAB",
    "REPORTED",
    "Asked",
    "Stores",
    "ask_influxql",
    "asked",
    "fill_chronograf",
    "fill_grafana",
    "filled_stores",
    "values_of",
]


LOOK_BACK = timedelta(minutes=15)
"""How far a dashboard looks back in tests."""

STEP_SECONDS = 10
RATE_SECONDS = 30


@dataclass(frozen=True, kw_only=True)
class Asked:
    """One query of a panel, as it is kept."""

    board: str
    panel: str
    number: int
    """Which of the panel's queries, from 0."""

    text: str
    instant: bool = False
    short: str | None = None
    """How little of the past the panel looks at, as Grafana says it."""

    @property
    def name(self) -> tuple[str, str, int]:
        return (self.board, self.panel, self.number)


def asked(store: str) -> Iterator[Asked]:
    """Yield every query of the dashboards that are kept for a store."""
    for path in sorted((bundled_folder("dashboards") / store).glob("*.json")):
        kept = json.loads(path.read_text(encoding="utf-8"))
        for panel in _unfolded(kept.get("panels") or kept["cells"]):
            queries = panel.get("targets") or panel["queries"]
            for number, query in enumerate(queries):
                yield Asked(
                    board=path.stem,
                    panel=panel.get("title") or panel["name"],
                    number=number,
                    text=query.get("expr") or query["query"],
                    instant=query.get("instant", False),
                    short=panel.get("timeFrom"),
                )


def _unfolded(panels: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for panel in panels:
        if panel.get("type") == "row":
            yield from panel["panels"]
        else:
            yield panel


def fill_grafana(
    query: Asked, chosen: Mapping[str, str], now: datetime
) -> str:
    """Return a query as Grafana would send it.

    Parameters
    ----------
    query
        What is kept.
    chosen
        Values of variables, as regular expressions.
    now
        End of the time that is looked at.
    """
    begin = now - (_duration(query.short) if query.short else LOOK_BACK)
    first, last = (int(at.timestamp() * 1000) for at in (begin, now))
    text = query.text
    for name, value in {
        "$timeFilter": f"time >= {first}ms and time <= {last}ms",
        "$__rate_interval": f"{RATE_SECONDS}s",
        "$__interval_ms": f"{STEP_SECONDS}000",
        "$__interval": f"{STEP_SECONDS}s",
        "$__range": f"{LOOK_BACK.total_seconds():g}s",
        "$job": ".+",
        **{f"${key}": value for key, value in chosen.items()},
    }.items():
        text = text.replace(name, value)
    assert not re.search(r"\$[a-z_{]", text), text
    return text


def fill_chronograf(
    text: str, chosen: Mapping[str, str], now: datetime
) -> str:
    """Return a query as Chronograf would send it."""
    for name, value in {
        ":dashboardTime:": f"now() - {LOOK_BACK.total_seconds():g}s",
        ":upperDashboardTime:": "now()",
        # The stores are asked of the moment when they were filled.
        "now()": f"{int(now.timestamp() * 1000)}ms",
        ":interval:": f"{STEP_SECONDS}000ms",
        **{f"= :{key}:": f"= '{value}'" for key, value in chosen.items()},
        **{f":{key}:": value for key, value in chosen.items()},
    }.items():
        text = text.replace(name, value)
    assert not re.search(r":[a-zA-Z]+:", text), text
    return text


def _duration(text: str) -> timedelta:
    unit = {"m": timedelta(minutes=1), "d": timedelta(days=1)}[text[-1]]
    return int(text[:-1]) * unit


def numbers(values: Any) -> list[float]:
    """Return what is a number, of what a store answered."""
    found = []
    for value in values:
        try:
            number = float(value)
        except (TypeError, ValueError):
            continue
        if number == number:  # noqa: PLR0124 - NaN is no data
            found.append(number)
    return found


# Real stores, filled by a real agent that watches a real mirror.
#
# What a lab does not show in minutes (audit, skips, a mirror in trouble) is
# written beside it, as a flow of another name: the report that has a value for
# every metric, by the agent's own sinks.

LAB = Flow(name="lab", source="summit", target="ldf")

SETTINGS = LabSettings(
    intervals="fast",
    topics={CANARY_TOPIC: 2, **TRAFFIC_TOPICS},
    # So that something expires.
    topic_configs={
        name: {"retention.ms": "86400000"} for name in TRAFFIC_TOPICS
    },
)

SETTLED = timedelta(seconds=45)
"""How long the last of the agent's figures must have been there: several
steps of a picture, and scrapes."""


@dataclass(frozen=True, kw_only=True)
class Stores:
    """What can be asked; all of them hold the same."""

    prometheus: PrometheusServer
    influx1: Influx1
    influx2: Influx2

    at: datetime


@contextmanager
def filled_stores(folder: Path) -> Iterator[Stores]:
    with ExitStack() as stack:
        servers = [Influx1(_made(folder, "1")), Influx2(_made(folder, "2"))]
        for server in servers:
            stack.callback(server.kill)
            server.start()
            server.set_up()
        one, two = servers
        assert isinstance(one, Influx1)
        assert isinstance(two, Influx2)
        sink = PrometheusSink()
        sink.publish(a_full_report(utc_now()))
        reported = stack.enter_context(serving(sink.exposition()[0]))
        with ExitStack() as watched:
            lab = watched.enter_context(Lab(SETTINGS))
            source = {"bootstrap.servers": lab.source.bootstrap}
            watched.enter_context(Traffic(source))
            agent = watched.enter_context(
                AgentProcess(
                    folder / "agent",
                    _config(lab, one),
                    influx_environment(one),
                )
            )
            prometheus = PrometheusServer(
                _made(folder, "prometheus"),
                [_host(agent.url), _host(reported)],
            )
            stack.callback(prometheus.kill)
            prometheus.start()
            _wait_until_filled(one, prometheus)
            at = utc_now()
            # Nothing is added from here on, so that all can hold the same.
            agent.stop()
        _report(one, at)
        _copy(one, two)
        yield Stores(prometheus=prometheus, influx1=one, influx2=two, at=at)


def _made(folder: Path, name: str) -> Path:
    made = folder / name
    made.mkdir()
    return made


def _host(url: str) -> str:
    return url.removeprefix("http://").rstrip("/")


def _config(lab: Lab, influx: InfluxServer) -> Mapping[str, Any]:
    config = describe_agent(lab)
    (flow,) = config["flows"]
    flow["name"] = LAB.name
    flow["classes"] = {"telemetry": "lsst[.]sal[.].*"}
    flow["canary"] |= {"interval": "500ms"}
    flow["mirror"]["jmx"] = {
        "format": "jolokia",
        "urls": [lab.mirror.jolokia_url],
    }
    config["interval"] = "1s"
    config["sinks"] = {"influxdb": influx_config(influx)}
    return config


def _wait_until_filled(
    influx: InfluxServer, prometheus: PrometheusServer
) -> None:
    """Wait for what comes last: the mirror's own rates, and checkpoints."""

    def points() -> float:
        answer = influx.query(
            "SELECT count(records_per_second) FROM throughput"
            " WHERE flow = 'lab' AND class = 'telemetry'"
            " AND records_per_second > 0"
        ).json()
        (result,) = answer["results"]
        series = result.get("series")
        return float(series[0]["values"][0][1]) if series else 0

    # A point each second.
    wait_until(lambda: points() > SETTLED.total_seconds(), what=points)
    rate = f'count_over_time(mirrorwatch_health{{flow="{LAB.name}"}}[1h])'

    def scrapes() -> float:
        found = prometheus.ask("query", query=rate)["result"]
        return float(found[0]["value"][1]) if found else 0

    wait_until(lambda: scrapes() > SETTLED.total_seconds(), what=scrapes)


def _report(influx: InfluxServer, at: datetime) -> None:
    """Write the report that has everything, at some moments before."""
    moments = [at - timedelta(seconds=5 + 15 * n) for n in range(4)]
    lines = [
        point.to_line_protocol()
        for moment in moments
        for point in to_points(a_full_report(moment))
    ]
    _write(influx, lines)


def _copy(one: InfluxServer, other: InfluxServer) -> None:
    lines = []
    for (measurement, tags), times in one.select_all().items():
        key = ",".join([measurement, *(f"{k}={_escape(v)}" for k, v in tags)])
        for at, fields in times.items():
            values = ",".join(
                f"{k}={json.dumps(v, ensure_ascii=False)}"
                for k, v in fields.items()
            )
            lines.append(f"{key} {values} {at}")
    _write(other, lines)


def _escape(value: str) -> str:
    for character in ", =":
        value = value.replace(character, f"\\{character}")
    return value


def _write(server: InfluxServer, lines: list[str]) -> None:
    first = isinstance(server, Influx1)
    token = {} if first else {"Authorization": f"Token {TOKEN}"}
    for begin in range(0, len(lines), 5000):
        HTTP.post(
            f"{server.url}/write",
            params={"db": DATABASE, "precision": "ns"},
            content="\n".join(lines[begin : begin + 5000]),
            auth=httpx.BasicAuth(ADMIN, PASSWORD) if first else httpx.Auth(),
            headers=token,
            timeout=120,
        ).raise_for_status()


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
    "Chronograf's on 1.8": ("chronograf", _chronograf),
}
"""The folder of the dashboards, and who answers, by what it is called."""
