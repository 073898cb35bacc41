"""A real Prometheus with our rules and a real Alertmanager."""

import shutil
import subprocess
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml

from mirrorwatch.domain.cause import FaultyPart
from mirrorwatch.domain.checks import CHECKS
from mirrorwatch_lab.link import Ports

from .http import HTTP
from .influx import dies_with_parent
from .programs import program
from .tick_site import Server

__all__ = [
    "FLOW",
    "OTHER",
    "Alertmanager",
    "PrometheusServer",
    "RulingPrometheus",
    "Story",
    "cause_of",
    "check_stories",
    "health_of",
    "play",
    "ruling",
]


EVERY = "1s"


class RulingPrometheus(Server):
    """Prometheus that scrapes one agent and follows one file of rules.

    Parameters
    ----------
    folder
        A folder of its own.
    agent
        Address of the agent's page.
    rules
        File of rules.
    alertmanager
        Where alerts are sent to, if anywhere.
    every
        How often it scrapes and judges.
    """

    program = "prometheus"
    ready = "/-/ready"

    def __init__(
        self,
        folder: Path,
        *,
        agent: str,
        rules: Path,
        alertmanager: "Alertmanager | None" = None,
        every: str = EVERY,
    ) -> None:
        super().__init__(folder)
        self._config: dict[str, Any] = {
            "global": {
                "scrape_interval": every,
                "scrape_timeout": every,
                "evaluation_interval": every,
            },
            "rule_files": [str(rules)],
            "scrape_configs": [
                {"job_name": "mirrorwatch", "static_configs": [_at(agent)]}
            ],
        }
        if alertmanager is not None:
            found = [{"static_configs": [_at(alertmanager.url)]}]
            self._config["alerting"] = {"alertmanagers": found}

    def command(self) -> list[str]:
        config = self.folder / "prometheus.yaml"
        config.write_text(yaml.safe_dump(self._config), encoding="utf-8")
        return [
            f"--config.file={config}",
            f"--storage.tsdb.path={self.folder / 'data'}",
            f"--web.listen-address=127.0.0.1:{self.port}",
        ]

    def query(self, text: str) -> list[Any]:
        """Return the series that a query finds."""
        answer = self.ask("GET", "/api/v1/query", params={"query": text})
        found: list[Any] = answer["data"]["result"]
        return found

    def alerts(self) -> list[tuple[str, str, datetime]]:
        """Return every alert of the last day: name, state and time, once for
        each time that it was judged so.
        """
        return sorted(
            (labels["alertname"], labels["alertstate"], _to_time(at))
            for series in self.query("ALERTS[1d]")
            for labels in [series["metric"]]
            for at, _ in series["values"]
        )

    def judged(self, check: str) -> int:
        """Return how often the rules of a check had something to judge."""
        recorded = f'mirrorwatch:check_health{{check="{check}"}}[1d]'
        return sum(len(series["values"]) for series in self.query(recorded))


def _to_time(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, tz=UTC)


@contextmanager
def ruling(
    folder: Path, agent: str, rules: Path, *, every: str
) -> Iterator[RulingPrometheus]:
    """Let a Prometheus look at an agent for a while."""
    prometheus = RulingPrometheus(
        folder, agent=agent, rules=rules, every=every
    )
    try:
        prometheus.start()
        yield prometheus
    finally:
        prometheus.kill()


class Alertmanager(Server):
    """Alertmanager with some configuration."""

    program = "prometheus-alertmanager"
    ready = "/-/ready"

    def __init__(self, folder: Path, config: Any) -> None:
        super().__init__(folder)
        self._config = config

    def command(self) -> list[str]:
        config = self.folder / "alertmanager.yaml"
        config.write_text(yaml.safe_dump(self._config), encoding="utf-8")
        return [
            f"--config.file={config}",
            f"--storage.path={self.folder / 'data'}",
            f"--web.listen-address=127.0.0.1:{self.port}",
            "--cluster.listen-address=",
        ]


def _at(url: str) -> dict[str, list[str]]:
    return {"targets": [url.removeprefix("http://")]}


PORTS = Ports()
START_SECONDS = 240.0
ANSWER_SECONDS = 120.0


class PrometheusServer:
    """One that is asked, and killed at the end.

    Parameters
    ----------
    folder
        A folder of its own.
    targets
        Addresses of the hosts that it scrapes, as HOST:PORT.
    """

    def __init__(self, folder: Path, targets: Iterable[str]) -> None:
        self._folder = folder
        self._targets = list(targets)
        self.url = f"http://127.0.0.1:{PORTS.take()}"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        config = self._folder / "prometheus.yaml"
        scrape = {
            "job_name": "mirrorwatch",
            "static_configs": [{"targets": self._targets}],
        }
        config.write_text(
            yaml.safe_dump(
                {
                    "global": {"scrape_interval": "1s"},
                    "scrape_configs": [scrape],
                }
            )
        )
        with (self._folder / "log").open("wb") as log:
            self._process = subprocess.Popen(
                [
                    *dies_with_parent(),
                    program("prometheus"),
                    f"--config.file={config}",
                    f"--storage.tsdb.path={self._folder / 'data'}",
                    f"--web.listen-address={self.url.removeprefix('http://')}",
                ],
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline and self._process.poll() is None:
            try:
                if HTTP.get(f"{self.url}/-/ready", timeout=10).is_success:
                    return
            except httpx.TransportError:
                pass
            time.sleep(0.1)  # a poll with a deadline
        log_text = (self._folder / "log").read_text(errors="replace")
        self.kill()
        pytest.fail(f"prometheus did not start:\n{log_text[-2000:]}")

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None
        shutil.rmtree(self._folder / "data", ignore_errors=True)

    def ask(self, path: str, **parameters: object) -> Any:
        """Return the data of an answer; a query that is refused fails."""
        answer = HTTP.get(
            f"{self.url}/api/v1/{path}",
            params={key: str(value) for key, value in parameters.items()},
            timeout=ANSWER_SECONDS,
        ).json()
        assert answer["status"] == "success", (parameters, answer)
        return answer["data"]


FLOW = "summit->ldf"
OTHER = "ldf->summit"
"""A second flow, which is well all the time."""

FIRING = 'group by (alertname, flow) (ALERTS{alertstate="firing"})'


def health_of(check: str, flow: str = FLOW) -> str:
    return f'mirrorwatch_check_health{{flow="{flow}", check="{check}"}}'


def cause_of(part: str, flow: str = FLOW) -> str:
    return f'mirrorwatch_flow_cause{{flow="{flow}", cause="{part}"}}'


@dataclass(kw_only=True)
class Story:
    """What happens to some series, and what is fired of it.

    Times are in steps from the beginning. Series that the story does not
    name are those of an agent that is well.
    """

    name: str
    step: timedelta
    steps: int
    series: Mapping[str, str]
    fires: Mapping[int, set[tuple[str, str]]]
    ever: set[str] = field(default_factory=set)


def check_stories(rules: Path, folder: Path, stories: list[Story]) -> None:
    """Let promtool play the stories; fail with what it says."""
    document = {
        "rule_files": [str(rules)],
        # That of the longest step of all: it is one for the whole file.
        "evaluation_interval": _text(stories[0].step),
        "tests": [_test(story) for story in stories],
    }
    assert {story.step for story in stories} == {stories[0].step}
    play(document, folder)


def play(document: Mapping[str, Any], folder: Path) -> None:
    """Let promtool run what is a file of its tests."""
    file = folder / "stories.yaml"
    file.write_text(yaml.safe_dump(document), encoding="utf-8")
    ran = subprocess.run(
        [program("promtool"), "test", "rules", file],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr


def _test(story: Story) -> dict[str, Any]:
    series = _well(story) | dict(story.series)
    end = (story.steps - 1) * story.step
    return {
        "name": story.name,
        "interval": _text(story.step),
        "input_series": [
            {"series": name, "values": values}
            for name, values in series.items()
        ],
        "promql_expr_test": [
            *(
                _expect(FIRING, at * story.step, _labels(alerts))
                for at, alerts in story.fires.items()
            ),
            _expect(
                "group by (alertname) (last_over_time("
                f'ALERTS{{alertstate="firing"}}[{_text(2 * end)}]))',
                end,
                (f'{{alertname="{name}"}}' for name in sorted(story.ever)),
            ),
        ],
    }


def _well(story: Story) -> dict[str, str]:
    steps, seconds = story.steps, story.step.total_seconds()
    series = {
        'mirrorwatch_sink_up{sink="influxdb"}': f"1x{steps}",
        'mirrorwatch_sink_spooled_points{sink="influxdb"}': f"0x{steps}",
        'mirrorwatch_sink_lost_points_total{sink="influxdb"}': f"7x{steps}",
        # Time begins at 0 there.
        "mirrorwatch_last_tick_timestamp_seconds": f"0+{seconds:g}x{steps}",
    }
    for flow in (FLOW, OTHER):
        series[f'mirrorwatch_health{{flow="{flow}"}}'] = f"0x{steps}"
        series[f'mirrorwatch_maintenance{{flow="{flow}"}}'] = f"0x{steps}"
        series |= {health_of(check, flow): f"0x{steps}" for check in CHECKS}
        series |= {cause_of(part, flow): f"0x{steps}" for part in FaultyPart}
    return series


def _labels(alerts: Iterable[tuple[str, str]]) -> Iterator[str]:
    for name, flow in sorted(alerts):
        told = f', flow="{flow}"' if flow else ""
        yield f'{{alertname="{name}"{told}}}'


def _expect(
    expression: str, at: timedelta, labels: Iterable[str]
) -> dict[str, Any]:
    return {
        "expr": expression,
        "eval_time": _text(at),
        "exp_samples": [{"labels": text, "value": 1} for text in labels],
    }


def _text(time: timedelta) -> str:
    return f"{int(time.total_seconds())}s"
