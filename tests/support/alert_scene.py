"""An agent, a Prometheus that judges it by our rules, and who is told.

The rules are those that are shipped, but that nothing has to hold for long.
"""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import yaml

from mirrorwatch.bundled_files import bundled_folder
from mirrorwatch_alerting import ALERTS
from mirrorwatch_alerting.prometheus import rules

from .agent_process import AgentProcess
from .alerting_servers import Alertmanager, RulingPrometheus
from .webhook import Webhook, serve_webhook

__all__ = ["HOLD", "Scene", "alert_scene"]

EXAMPLE = bundled_folder("alerts") / "alertmanager.example.yaml"
HOLD = timedelta(seconds=5)


@dataclass(frozen=True)
class Scene:
    """Who watches whom."""

    agent: AgentProcess
    prometheus: RulingPrometheus
    pages: Webhook
    tickets: Webhook

    @property
    def firing(self) -> set[str]:
        """Names of the alerts that fire."""
        found = self.prometheus.query('ALERTS{alertstate="firing"}')
        return {series["metric"]["alertname"] for series in found}

    def paged(self, **labels: str) -> list[dict[str, Any]]:
        """Return the pages of one group."""
        return [b for b in self.pages.bodies if b["groupLabels"] == labels]


@contextmanager
def alert_scene(
    folder: Path, config: Mapping[str, Any], *, together: timedelta
) -> Iterator[Scene]:
    """Set it up.

    Parameters
    ----------
    folder
        Empty folder for all of it.
    config
        Configuration of the agent.
    together
        How long the first message of a group waits for more alerts.
    """
    hurried = folder / "rules.yaml"
    hurried.write_text(rules([replace(a, hold=HOLD) for a in ALERTS]))
    with ExitStack() as around:
        pages = around.enter_context(serve_webhook())
        tickets = around.enter_context(serve_webhook())
        agent = around.enter_context(AgentProcess(folder / "agent", config))
        alertmanager = Alertmanager(
            folder / "alertmanager",
            _configure(pages.url, tickets.url, together),
        )
        prometheus = RulingPrometheus(
            folder / "prometheus",
            agent=agent.url,
            rules=hurried,
            alertmanager=alertmanager,
        )
        for server in (alertmanager, prometheus):
            around.callback(server.kill)
            server.start()
        yield Scene(agent, prometheus, pages, tickets)


def _configure(pages: str, tickets: str, together: timedelta) -> Any:
    """Return the example's configuration with addresses that are there."""
    config = yaml.safe_load(EXAMPLE.read_text("utf-8"))
    urls = {"mirrorwatch-pages": pages, "mirrorwatch-tickets": tickets}
    for receiver in config["receivers"]:
        for webhook in receiver.get("webhook_configs", ()):
            webhook["url"] = urls[receiver["name"]]
    (route,) = config["route"]["routes"]
    seconds = int(together.total_seconds())
    route |= {"group_wait": f"{seconds}s", "group_interval": "5s"}
    return config
