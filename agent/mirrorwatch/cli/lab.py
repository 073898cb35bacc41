"""`mirrorwatch lab`: two real sites and a mirror on this machine."""

import json
import shutil
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from threading import Event
from typing import Literal

import click
from rich.console import Console
from rich.table import Table

from ..exceptions import LabError
from ..lab import Lab, LabSettings
from ..lab.artifacts import KAFKA_VERSIONS
from ..lab.control import (
    Control,
    ask,
    is_reserved,
    reserve,
    running_labs,
    the_only_lab,
)
from ..lab.menu import FAULTS
from ..lab.waiting import wait_until
from .options import DURATION

__all__ = ["command"]

_DOWN_LIMIT = timedelta(seconds=510)
"""Up to five parts stop one after the other, and each is given 90 s; a busy
machine needs some more to notice."""

_which = click.option("--name", help="Which lab, if several are running.")


@click.group(
    "lab",
    epilog="Examples: mirrorwatch lab up; mirrorwatch lab faults freeze "
    "mirror --for 60s; mirrorwatch lab down",
)
def command() -> None:
    """Run two real Kafka sites and a real MirrorMaker 2 here.

    Needs Java 17 or later; everything else is fetched once and kept.
    """


@command.command(
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
    with reserve(name) as folder, _terminated_as_interrupted():
        # The logs of the last one were kept until now.
        shutil.rmtree(folder / "lab", ignore_errors=True)
        click.echo(f"Starting two sites with Kafka {kafka} and a mirror …")
        lab = Lab(settings, folder / "lab")
        with suppress(KeyboardInterrupt), lab, Control(lab, name):
            Console().print(_addresses(lab))
            with suppress(KeyboardInterrupt):
                Event().wait(None if minutes is None else minutes * 60)
            click.echo("Stopping …")
        click.echo(f"Stopped. The logs are in {lab.logs}")


@command.command(epilog="Example: mirrorwatch lab down --name old")
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


@command.command(epilog="Example: mirrorwatch lab status --json")
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


@command.command(
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
def _terminated_as_interrupted() -> Iterator[None]:
    """Let SIGTERM end what runs as Ctrl-C does, cleaning up."""
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
