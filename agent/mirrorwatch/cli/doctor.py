"""`mirrorwatch doctor`: finds what is wrong, with the remedy."""

import json
from typing import Any

import click
import structlog
from rich.console import Console
from rich.text import Text

from ..config import Config
from ..config.notes import check_clients
from ..doctor import LONGEST, Diagnosis, examine
from ..domain.report import counted
from ..log import configure_logging
from ..secrets import hide_in
from .options import config_option
from .root import EXIT_FAILED

__all__ = ["command"]

STYLES = {"error": "bold red", "warning": "yellow"}


def to_document(diagnosis: Diagnosis) -> dict[str, Any]:
    """Return a diagnosis as JSON, secrets hidden."""
    document: dict[str, Any] = hide_in(
        {
            "ok": not diagnosis.failed,
            "seconds": round(diagnosis.seconds, 1),
            "checked": diagnosis.checked,
            "findings": [
                {
                    "severity": finding.severity.label,
                    "subject": finding.subject,
                    "check": finding.check,
                    "cause": finding.cause,
                    "remedy": finding.remedy,
                    "reference": finding.reference,
                }
                for finding in diagnosis.findings
            ],
        }
    )
    return document


def print_diagnosis(document: dict[str, Any], console: Console) -> None:
    """Print a diagnosis for people."""
    for finding in document["findings"]:
        severity = finding["severity"]
        head = Text(severity, style=STYLES[severity])
        head.append(f"  {finding['subject']} ({finding['check']})", "bold")
        console.print(head)
        # Text, as names and regexes are full of square brackets.
        console.print(Text(f"  {finding['cause']}"))
        if finding["remedy"]:
            console.print(Text(f"  {finding['remedy']}.", style="cyan"))
        if finding["reference"]:
            console.print(Text(f"  See {finding['reference']}", style="dim"))
        console.print()
    found = document["findings"]
    errors = sum(f["severity"] == "error" for f in found)
    console.print(
        Text(
            f"{counted(len(document['checked']), 'part')} checked in "
            f"{document['seconds']} s: {counted(errors, 'error')}, "
            f"{counted(len(found) - errors, 'warning')}",
            style="bold red" if errors else "bold green",
        )
    )


@click.command(
    "doctor",
    short_help="Find what is wrong, with its remedy.",
    epilog="Example: mirrorwatch doctor --config mirrorwatch.yaml",
)
@config_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.pass_context
def command(ctx: click.Context, config: Config, *, as_json: bool) -> None:
    """Find what keeps the agent from its work, with the remedy.

    Connects to everything that the configuration names (clusters, Connect,
    JMX, registries, InfluxDB; web hooks without sending), checks rights and
    internal topics, and compares MirrorMaker's own configuration with known
    traps. Nothing is written or created. It takes ten seconds at most. Exit
    status 1 if there is an error; warnings do not count.
    """
    check_clients(config)
    configure_logging(json=False, level="critical")
    console = Console(stderr=True)
    # A line on a terminal, and nothing anywhere else.
    with console.status("Checking") as status:
        diagnosis = examine(
            config,
            logger=structlog.get_logger("mirrorwatch"),
            progress=lambda line: status.update(Text(str(hide_in(line)))),
            longest=LONGEST,
        )
    document = to_document(diagnosis)
    if as_json:
        click.echo(json.dumps(document, indent=2))
    else:
        print_diagnosis(document, Console(highlight=False))
    if diagnosis.failed:
        ctx.exit(EXIT_FAILED)
