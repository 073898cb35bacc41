"""Real stores, filled by a real agent that watches a real mirror.

What a lab does not show in minutes (an audit, skips, a mirror in trouble) is
written beside it, as a flow of another name: the report that has a figure for
every metric, by the agent's own sinks.
"""

from collections.abc import Iterator, Mapping
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

from .agent_process import AgentProcess
from .builders import FLOW as REPORTED
from .full_report import a_full_report
from .influx import (
    ADMIN,
    DATABASE,
    PASSWORD,
    TOKEN,
    Influx1,
    Influx2,
    InfluxServer,
)
from .influx_config import influx_config, influx_environment
from .plain_http import HTTP
from .prometheus_server import PrometheusServer
from .serving import serving
from .watch import wait_until

__all__ = ["LAB", "REPORTED", "Stores", "filled_stores"]

LAB = Flow(name="lab", source="summit", target="ldf")
"""The flow that the real agent watches."""

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
    """When they were filled: what is true now was true then."""


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
    """Give one server every point of another."""
    lines = []
    for (measurement, tags), times in one.select_all().items():
        key = ",".join([measurement, *(f"{k}={_escape(v)}" for k, v in tags)])
        for at, fields in times.items():
            values = ",".join(f"{k}={v!r}" for k, v in fields.items())
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
