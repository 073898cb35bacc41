"""The command group: loads a command when it is called, maps errors."""

import importlib
from typing import Any

import click

from .. import __version__
from ..exceptions import ConfigError, MirrorwatchError

__all__ = ["main"]

COMMANDS = {
    "alerts": "mirrorwatch_promotion.cli:alerts_command",
    "audit": "mirrorwatch.cli.audit:command",
    "check-config": "mirrorwatch.cli.check_config:command",
    "dashboards": "mirrorwatch_promotion.cli:dashboards_command",
    "demo": "mirrorwatch_lab.cli:demo_command",
    "influx": "mirrorwatch.cli.influx:command",
    "lab": "mirrorwatch_lab.cli:lab_command",
    "maintenance": "mirrorwatch.cli.maintenance:command",
    "notify": "mirrorwatch.cli.notify:command",
    "once": "mirrorwatch.cli.once:command",
    "run": "mirrorwatch.cli.run:command",
    "status": "mirrorwatch.cli.status:command",
}
"""Module and name of each click command."""

EXIT_FAILED = 1
"""Something failed at run time."""

EXIT_USAGE = 2
"""The command line or the configuration is wrong; retrying will not help."""


class Commands(click.Group):
    """Import a command only when it is wanted: `--help` stays quick, and the
    daemon never loads the lab.
    """

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(COMMANDS)

    def get_command(
        self, ctx: click.Context, cmd_name: str
    ) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        name, _, attribute = COMMANDS[cmd_name].partition(":")
        module = importlib.import_module(name)
        command: click.Command = getattr(module, attribute)
        return command

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except ConfigError as e:
            click.echo(f"Error: {e}", err=True)
            ctx.exit(EXIT_USAGE)
        except MirrorwatchError as e:
            click.echo(f"Error: {e}", err=True)
            ctx.exit(EXIT_FAILED)


@click.group(
    cls=Commands,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Exit status: 0 fine, 1 failed at run time, 2 usage or "
    "configuration, 3 ran and found replication unhealthy, 4 `diff` found a "
    "difference.",
)
@click.version_option(__version__, message="%(version)s")
def main() -> None:
    """Watch Kafka replication between two sites."""
