"""The command group: loads a command when it is called, maps errors."""

import importlib
import json
import os
from collections.abc import Mapping
from importlib.util import find_spec
from typing import Any, NamedTuple

import click

from .. import __version__
from ..exceptions import AuditRefusedError, ConfigError, MirrorwatchError

__all__ = ["main"]


class _Command(NamedTuple):
    """Location of a click command."""

    module: str
    attribute: str = "command"
    package: str = ""
    """Name at the package index, if it is not a part of the agent."""


COMMANDS = {
    "ack": _Command("mirrorwatch.cli.events", "ack_command"),
    "acls": _Command("mirrorwatch.cli.acls"),
    "alerts": _Command(
        "mirrorwatch_promotion.cli", "alerts_command", "mirrorwatch-promotion"
    ),
    "audit": _Command("mirrorwatch.cli.audit"),
    "check-config": _Command("mirrorwatch.cli.check_config"),
    "dashboards": _Command(
        "mirrorwatch_promotion.cli",
        "dashboards_command",
        "mirrorwatch-promotion",
    ),
    "demo": _Command("mirrorwatch_lab.cli", "demo_command", "mirrorwatch-lab"),
    "doctor": _Command("mirrorwatch.cli.doctor"),
    "events": _Command("mirrorwatch.cli.events"),
    "failback": _Command("mirrorwatch.cli.failback"),
    "init": _Command("mirrorwatch.cli.init"),
    "lab": _Command("mirrorwatch_lab.cli", "lab_command", "mirrorwatch-lab"),
    "maintenance": _Command("mirrorwatch.cli.maintenance"),
    "notify": _Command("mirrorwatch.cli.notify"),
    "offsets": _Command("mirrorwatch.cli.offsets"),
    "once": _Command("mirrorwatch.cli.once"),
    "run": _Command("mirrorwatch.cli.run"),
    "status": _Command("mirrorwatch.cli.status"),
}

PRIVATE = 0o077
"""File mode mask (umask) that denies all access but the owner's: files are
made with mode 0600 and folders with 0700, those of Spark too, which runs as a
child."""

EXIT_FAILED = 1

EXIT_USAGE = 2
"""The command line or the configuration is wrong; retrying will not help."""


class Commands(click.Group):
    """Imports a command when it is called, so that the daemon never loads
    the lab.
    """

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [n for n, c in COMMANDS.items() if _is_installed(c)]

    def get_command(
        self, ctx: click.Context, cmd_name: str
    ) -> click.Command | None:
        if (wanted := COMMANDS.get(cmd_name)) is None:
            return None
        if not _is_installed(wanted):
            folder = f"agent/{wanted.package.replace('-', '_')}"
            raise click.UsageError(
                f"mirrorwatch {cmd_name} needs the package {wanted.package}: "
                f"pip install ./{folder}, in a checkout."
            )
        module = importlib.import_module(wanted.module)
        command: click.Command = getattr(module, wanted.attribute)
        return command

    def invoke(self, ctx: click.Context) -> Any:
        before = os.umask(PRIVATE)
        as_json = "--json" in ctx.args
        try:
            return super().invoke(ctx)
        except click.UsageError as e:
            if as_json:
                said = {"type": "UsageError", "message": e.format_message()}
                _print_json(said)
            raise
        except MirrorwatchError as e:
            if as_json:
                _print_json(e.to_document())
            click.echo(f"Error: {e}", err=True)
            ctx.exit(_status_of(e))
        finally:
            os.umask(before)


def _status_of(error: MirrorwatchError) -> int:
    match error:
        case ConfigError():
            return EXIT_USAGE
        case AuditRefusedError():
            return error.STATUS
        case _:
            return EXIT_FAILED


def _print_json(error: Mapping[str, Any]) -> None:
    """Print an error where the result would be, as an object of one key."""
    click.echo(json.dumps({"error": error}, indent=2))


def _is_installed(command: _Command) -> bool:
    if not command.package:
        return True
    try:
        # The module, as files of a package may be there without its code.
        return find_spec(command.module) is not None
    except ModuleNotFoundError:
        return False


@click.group(
    cls=Commands,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Exit status: 0 ok, 1 failed at run time, 2 usage or "
    "configuration, 3 ran and found replication unhealthy, 4 `diff` found a "
    "difference, 5 another `audit` is running on the same folder.",
)
@click.version_option(__version__, message="%(version)s")
def main() -> None:
    """Watch Kafka replication between two sites."""
