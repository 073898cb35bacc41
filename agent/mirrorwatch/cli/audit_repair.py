"""`mirrorwatch audit repair`: writes what was dropped once more."""

from collections import Counter

import click
from rich.console import Console
from rich.text import Text

from ..audit.repair import Repaired, Repairer
from ..config import Config
from ..domain.report import counted
from ..exceptions import AuditError
from ..log import configure_logging
from ..state.audits import read_named, read_target_ends
from .audit_options import EXIT_UNHEALTHY, local_runs, out_option
from .options import config_option

__all__ = ["repair"]


@click.command(
    epilog="Examples: mirrorwatch audit repair --config config.yaml "
    "--dry-run; mirrorwatch audit repair --config config.yaml "
    "nightly-2026-11-21 --to-topic repaired"
)
@config_option
@click.argument("run", required=False)
@click.option("--dry-run", is_flag=True, help="Say what would be written.")
@click.option(
    "--to-target",
    is_flag=True,
    help="Write the records to the topics that lack them, as they are.",
)
@click.option(
    "--to-topic",
    metavar="TOPIC",
    help="Write them to a topic of the target cluster, with headers "
    "(mirrorwatch.source.*) that say where each is from.",
)
@out_option
@click.pass_context
def repair(
    ctx: click.Context,
    config: Config,
    *,
    run: str | None,
    dry_run: bool,
    to_target: bool,
    to_topic: str | None,
    out: str | None,
) -> None:
    """Write source records that RUN found dropped: the last night's, unless a
    run is named.

    Records go to the end of their partition. Run again, it writes nothing
    twice, nor what the mirror has copied since. The principal needs WRITE on
    the topic, and READ. Exit status 3 if something was not written.
    """
    if to_target and to_topic is not None:
        raise click.UsageError("--to-target and --to-topic exclude each other")
    if not (dry_run or to_target or to_topic is not None):
        raise click.UsageError(
            "nothing is written by default: name --dry-run, --to-target or "
            "--to-topic"
        )
    configure_logging(json=False, level="warning")
    folder = local_runs(config, out)
    audits = read_named(folder, run)
    if not audits:
        raise AuditError(
            f"There is no finished run {run or 'of a night'} in {folder}: "
            "mirrorwatch audit history lists them"
        )
    console = Console(highlight=False)
    done: Counter[str] = Counter()
    unnamed = 0
    for audit in audits:
        result = audit.result
        console.print(Text(f"{result.id}", style="bold"))
        repairer = Repairer(
            config,
            to_topic=to_topic,
            looked_to=read_target_ends(folder, result.id),
        )
        for found in repairer.repair(result, dry_run=dry_run):
            done[found.outcome] += len(found.offsets)
            console.print(_line(found), soft_wrap=True)
        unnamed += sum(f.count for f in result.errors if f.kind == "dropped")
    unnamed -= done.total()
    if unnamed:
        console.print(
            f"{counted(unnamed, 'record')} more: audit the window again "
            "afterwards, for a finding names only its first ranges"
        )
    if done["refused"] or unnamed:
        ctx.exit(EXIT_UNHEALTHY)


def _line(found: Repaired) -> Text:
    first, last = found.offsets.first, found.offsets.end - 1
    said = {
        "written": f"{counted(found.records, 'record')} written to",
        "to write": f"{counted(found.records, 'record')} would be written to",
        "there": "there by now in",
        "refused": "not written to",
    }[found.outcome]
    line = f"  {found.topic}[{found.partition}] {first} to {last}: {said} "
    line += found.to + (f": {found.reason}" if found.reason else "")
    style = "bold red" if found.outcome == "refused" else ""
    return Text(line, style=style)
