"""`mirrorwatch demo`: two sites, a mirror, traffic, and the agent."""

import os
import sys
from datetime import timedelta
from pathlib import Path
from typing import Any, Literal

import click
import structlog

from ..clock import utc_now
from ..config import Config
from ..daemon import Daemon, wait_for_signal
from ..factory import build_agent
from ..lab import CANARY_TOPIC, SOURCE, TARGET, Lab, LabSettings
from ..lab.control import Control, reserve
from ..lab.traffic import TRAFFIC_TOPICS, Traffic
from ..log import configure_logging
from ..state import Database

__all__ = ["command", "describe_agent"]

PARTITIONS = 6


@click.command(
    "demo",
    epilog="Examples: mirrorwatch demo; mirrorwatch demo --minutes 3",
)
@click.option(
    "--minutes",
    type=click.FloatRange(min=0, min_open=True),
    help="Stop by itself after this time; else at Ctrl-C.",
)
@click.option(
    "--listen",
    default="127.0.0.1:8080",
    show_default=True,
    metavar="HOST:PORT",
    help="Where to serve the page; port 0 takes a free one.",
)
@click.option(
    "--naming",
    type=click.Choice(["identity", "default"]),
    default="identity",
    show_default=True,
    help="The mirror's replication policy.",
)
def command(
    minutes: float | None,
    listen: str,
    naming: Literal["identity", "default"],
) -> None:
    """Watch real records go through a real MirrorMaker 2.

    Starts two Kafka sites and a mirror on this machine, with traffic like an
    observatory's, and the agent that watches them. Needs Java 17 or later;
    everything else is fetched once and kept. Nothing is left running.
    """
    configure_logging(json=False, level="warning")
    logger = structlog.get_logger("mirrorwatch")
    settings = LabSettings(
        naming=naming, topics={CANARY_TOPIC: PARTITIONS, **TRAFFIC_TOPICS}
    )
    click.echo("Starting two Kafka sites and MirrorMaker 2 …")
    # A name of its own: two demos may run side by side.
    name = f"demo-{os.getpid()}"
    with reserve(name), Lab(settings) as lab, Control(lab, name):
        agent = build_agent(
            Config.from_mapping(_describe_demo(lab, listen), "demo"),
            database=Database(lab.folder / "state.db"),
            clock=utc_now,
            logger=logger,
        )
        source = {"bootstrap.servers": lab.source.bootstrap}
        with Traffic(source), Daemon(agent, clock=utc_now, logger=logger):
            assert agent.server is not None  # noqa: S101 - served by default
            _greet(lab, agent.server.url)
            wait_for_signal(
                None if minutes is None else timedelta(minutes=minutes)
            )
            click.echo("Stopping …")


def describe_agent(lab: Lab, listen: str = "127.0.0.1:0") -> dict[str, Any]:
    """Return the configuration of an agent that watches a lab, as YAML would
    give it.
    """
    clusters: dict[str, dict[str, Any]] = {
        SOURCE: {"kafka": lab.source.client_properties()},
        TARGET: {"kafka": lab.target.client_properties()},
    }
    for alias, registry in lab.registries.items():
        clusters[alias]["schema_registry"] = {"url": registry.url}
    return {
        "clusters": clusters,
        "flows": [
            {
                "source": SOURCE,
                "target": TARGET,
                "naming": lab.settings.naming,
                "canary": {"topic": CANARY_TOPIC},
                "mirror": {
                    "source_alias": lab.settings.aliases[0],
                    "target_alias": lab.settings.aliases[1],
                    "separator": lab.settings.separator,
                    **lab.mirror.agent_config,
                },
            }
        ],
        "web": {"listen": listen},
        "state": {"path": str(lab.folder / "state.db")},
    }


def _describe_demo(lab: Lab, listen: str) -> dict[str, Any]:
    """Return the same with the mirror's own figures, which a demo shows."""
    data = describe_agent(lab, listen)
    jmx = {"format": "jolokia", "urls": [lab.mirror.jolokia_url]}
    data["flows"][0]["mirror"]["jmx"] = jmx
    return data


def _greet(lab: Lab, url: str) -> None:
    # To be pasted: it is seldom on the PATH of whoever says `make demo`.
    program = Path(sys.argv[0])
    called = program if program.stem == "mirrorwatch" else "mirrorwatch"
    click.echo(
        f"""
  The page          {url}
  {SOURCE} (source)   {lab.source.bootstrap}
  {TARGET} (target)      {lab.target.bootstrap}
  Logs              {lab.logs}

Break something from another terminal and watch the page:

  {called} lab faults freeze mirror --for 60s

Ctrl-C stops everything.
"""
    )
