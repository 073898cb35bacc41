"""`mirrorwatch lab`: two real sites and a mirror on this machine."""

import json
import os
import shutil
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from pathlib import Path
from threading import Event
from types import FrameType
from typing import Any, Literal

import click
import structlog
from rich.console import Console
from rich.table import Table

from mirrorwatch.cli.options import DURATION
from mirrorwatch.clock import Clock
from mirrorwatch.config import Config
from mirrorwatch.daemon import Daemon, wait_for_signal
from mirrorwatch.factory import build_agent
from mirrorwatch.log import configure_logging
from mirrorwatch.state import Database

from . import CANARY_TOPIC, SOURCE, TARGET, Lab, LabSettings
from .control import (
    Control,
    ask,
    is_reserved,
    reserve,
    running_labs,
    the_only_lab,
)
from .exceptions import LabError
from .menu import FAULTS
from .process import KAFKA_VERSIONS
from .traffic import TRAFFIC_TOPICS, Traffic
from .waiting import wait_until

__all__ = ["describe_agent"]


_DOWN_LIMIT = timedelta(seconds=510)
"""Up to five parts stop one after the other, and each is given 90 s; a busy
machine needs some more to notice."""

_which = click.option("--name", help="Which lab, if several are running.")


@click.group(
    "lab",
    epilog="Examples: mirrorwatch lab up; mirrorwatch lab faults freeze "
    "mirror --for 60s; mirrorwatch lab down",
)
def lab_command() -> None:
    """Run two real Kafka sites and a real MirrorMaker 2 here.

    Needs Java 17 or later; everything else is fetched once and kept.
    """


@lab_command.command(
    epilog="Examples: mirrorwatch lab up; mirrorwatch lab up --name old "
    "--kafka 3.9.2 --naming default --minutes 10"
)
@click.option(
    "--name",
    default="lab",
    show_default=True,
    help="What to call it; several can run side by side.",
)
@click.option(
    "--kafka",
    type=click.Choice(KAFKA_VERSIONS),
    default=KAFKA_VERSIONS[0],
    show_default=True,
    help="Version of brokers and mirror.",
)
@click.option(
    "--naming",
    type=click.Choice(["identity", "default"]),
    default="identity",
    show_default=True,
    help="The mirror's replication policy.",
)
@click.option(
    "--intervals",
    type=click.Choice(["default", "fast"]),
    default="default",
    show_default=True,
    help="MirrorMaker 2's own intervals, or a second for each.",
)
@click.option(
    "--registries", is_flag=True, help="With a schema registry for each site."
)
@click.option(
    "--minutes",
    type=click.FloatRange(min=0, min_open=True),
    help="Stop by itself after this time; else at Ctrl-C.",
)
def up(
    *,
    name: str,
    kafka: str,
    naming: Literal["identity", "default"],
    intervals: Literal["default", "fast"],
    registries: bool,
    minutes: float | None,
) -> None:
    """Start a lab and keep it up until Ctrl-C or `lab down`."""
    settings = LabSettings(
        kafka=kafka,
        naming=naming,
        intervals=intervals,
        registries=registries,
    )
    with reserve(name) as folder, _interruptible() as interrupted:
        # The logs of the last one were kept until now.
        shutil.rmtree(folder / "lab", ignore_errors=True)
        click.echo(f"Starting two sites with Kafka {kafka} and a mirror …")
        lab = Lab(settings, folder / "lab")
        with suppress(KeyboardInterrupt), lab, Control(lab, name):
            Console().print(_addresses(lab))
            with suppress(KeyboardInterrupt):
                interrupted.wait(None if minutes is None else minutes * 60)
            click.echo("Stopping …")
        click.echo(f"Stopped. The logs are in {lab.logs}")


@lab_command.command(epilog="Example: mirrorwatch lab down --name old")
@_which
def down(name: str | None) -> None:
    """Stop a lab that runs in another terminal."""
    name = name or the_only_lab()
    ask(name, {"do": "down"})
    wait_until(
        lambda: not is_reserved(name),
        limit=_DOWN_LIMIT,
        what=f"the lab {name} has not stopped",
    )
    click.echo(f"The lab {name} has stopped")


@lab_command.command(epilog="Example: mirrorwatch lab status --json")
@click.option("--json", "as_json", is_flag=True, help="For a program.")
def status(*, as_json: bool) -> None:
    """Show the labs that run, and their parts."""
    labs = {}
    for name in running_labs():
        # One may end while it is asked.
        with suppress(LabError):
            labs[name] = ask(name, {"do": "status"})
    if as_json:
        click.echo(json.dumps(labs, indent=2))
        return
    if not labs:
        click.echo("No lab is running; start one by `mirrorwatch lab up`")
        return
    table = Table("Lab", "Kafka", "Part", "State", "Process", "Address")
    for name, lab in labs.items():
        addresses = {"summit": lab["source"], "ldf": lab["target"]}
        addresses |= lab["registries"]
        for part in lab["parts"]:
            table.add_row(
                name,
                lab["kafka"],
                part["name"],
                part["state"],
                str(part["pid"] or ""),
                addresses.get(part["name"], lab["jolokia"]),
            )
    Console().print(table)


@lab_command.command(
    epilog="Examples: mirrorwatch lab faults; mirrorwatch lab faults freeze "
    "mirror --for 60s; mirrorwatch lab faults slow agent 150 1000000"
)
@click.argument("fault", required=False)
@click.argument("arguments", nargs=-1)
@click.option(
    "--for",
    "duration",
    type=DURATION,
    metavar="DURATION",
    help="Take the fault back after this time, as 60s.",
)
@_which
def faults(
    fault: str | None,
    arguments: tuple[str, ...],
    duration: timedelta | None,
    name: str | None,
) -> None:
    """List the faults, or inject one into a running lab.

    PART is source, target or mirror; LINK is that of the mirror or of the
    agent.
    """
    if fault is None:
        Console().print(_menu())
        return
    if fault not in FAULTS:
        raise click.UsageError(
            f"No such fault: {fault}. There are {', '.join(FAULTS)}."
        )
    ask(
        name or the_only_lab(),
        {
            "do": "inject",
            "fault": fault,
            "arguments": list(arguments),
            "seconds": duration.total_seconds() if duration else None,
        },
    )
    said = " ".join((fault, *arguments))
    back = f", for {duration.total_seconds():g} s" if duration else ""
    click.echo(f"Done: {said}{back}")


def _menu() -> Table:
    table = Table("Fault", "Arguments", "What it does", "--for")
    for name, fault in FAULTS.items():
        back = "yes" if fault.can_undo else ""
        table.add_row(name, fault.usage, fault.summary, back)
    return table


def _addresses(lab: Lab) -> Table:
    table = Table.grid(padding=(0, 2))
    for what, where in {
        "summit, the source": lab.source.bootstrap,
        "  behind the agent's link": lab.source.agent_bootstrap,
        "ldf, the target": lab.target.bootstrap,
        "The mirror's MBeans": lab.mirror.jolokia_url,
        **{f"Schemas of {a}": r.url for a, r in lab.registries.items()},
        "Logs": str(lab.logs),
        "Break something": "mirrorwatch lab faults (in another terminal)",
        "Stop": "Ctrl-C",
    }.items():
        table.add_row(f"  {what}", where)
    return table


@contextmanager
def _interruptible() -> Iterator[Event]:
    """Let SIGTERM and Ctrl-C end what runs, cleaning up.

    Yields
    ------
    Event
        Set by either. Kafka's library swallows what is raised while it calls
        back, so that the exception alone may be lost.
    """
    interrupted = Event()

    def interrupt(number: int, _: FrameType | None) -> None:
        interrupted.set()
        raise KeyboardInterrupt(signal.Signals(number).name)

    numbers = signal.SIGINT, signal.SIGTERM
    before = [signal.signal(number, interrupt) for number in numbers]
    try:
        yield interrupted
    finally:
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)


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
def demo_command(
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
            clock=Clock(),
            logger=logger,
        )
        source = {"bootstrap.servers": lab.source.bootstrap}
        with Traffic(source), Daemon(agent, logger=logger):
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
