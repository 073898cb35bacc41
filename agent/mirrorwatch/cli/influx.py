"""`mirrorwatch influx`: sets up the InfluxDB server for the sink."""

import click

from ..config import Config
from ..exceptions import ConfigError
from .options import config_option

__all__ = ["command"]

EXIT_LEFT = 1
"""Something was left unchanged, so the server is not as configured."""


@click.group(
    "influx",
    epilog="Example: mirrorwatch influx setup --dry-run --config "
    "mirrorwatch.yaml",
)
def command() -> None:
    """Prepare the InfluxDB server that the agent writes to."""


@command.command(
    epilog="Example: INFLUX_TOKEN=... mirrorwatch influx setup --config "
    "mirrorwatch.yaml"
)
@config_option
@click.option(
    "--dry-run", is_flag=True, help="Show what would be done, and do nothing."
)
@click.option(
    "--shorten",
    is_flag=True,
    help="Also shorten a retention, which deletes points.",
)
def setup(config: Config, *, dry_run: bool, shorten: bool) -> None:
    """Create the database or bucket, its retention and its downsampling.

    As sinks.influxdb configures them. What exists is kept; run again, it
    does nothing. It needs an administrator's rights, which the agent should
    not have: where the token or the password comes from a variable, set that
    for this command alone. Exit status 1 if something was left unchanged.
    """
    # It takes 20 MB of memory, which other commands do not need.
    from ..influxdb_setup import open_setup  # noqa: PLC0415

    influxdb = config.sinks.influxdb
    if influxdb is None:
        raise ConfigError(f"{config.file}: sinks.influxdb is missing")
    left = 0
    with open_setup(influxdb) as steps:
        click.echo(f"InfluxDB {influxdb.form} at {influxdb.url}")
        for step in steps:
            if step.deletes and not shorten:
                left += 1
                click.echo(
                    f"left as it is, as points would be deleted (--shorten): "
                    f"{step.says}"
                )
            elif dry_run:
                click.echo(f"would {step.says}")
            else:
                step.do()
                click.echo(f"done: {step.says}")
    if not steps:
        click.echo("nothing to do: all is as configured")
    if left:
        click.get_current_context().exit(EXIT_LEFT)
