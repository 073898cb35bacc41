"""A real Prometheus with our rules and a real Alertmanager."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import yaml

from .tick_site import Server

__all__ = ["Alertmanager", "RulingPrometheus", "ruling"]

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
