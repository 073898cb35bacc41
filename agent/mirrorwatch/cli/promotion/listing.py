"""`mirrorwatch dashboards list`, and of alerts."""

import json

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from ...config.sites import SitesConfig
from ...promotion.sites import GROUPS
from ...promotion.translate import select
from .options import chosen, from_option, opened, sites_option

__all__ = ["make_list"]


def make_list(group: str) -> click.Command:
    """Return the command that lists what a site has."""

    @click.command(
        "list",
        epilog=f"Example: mirrorwatch {group} list --sites sites.yaml "
        "--from teststand",
    )
    @sites_option
    @from_option
    @chosen(group)
    @click.option("--json", "as_json", is_flag=True, help="Print JSON.")
    def command(
        sites: SitesConfig,
        source: str,
        only: tuple[str, ...],
        kind: str | None,
        *,
        as_json: bool,
    ) -> None:
        """List what a site has, and which of it are copies."""
        site = opened(source, sites, group)
        items = select(
            site.list(list(GROUPS[group])), source, only, kind, unique=False
        )
        if as_json:
            rows = [
                {
                    "kind": item.kind,
                    "name": item.name,
                    "title": item.title,
                    "copied": item.marked,
                }
                for item in items
            ]
            click.echo(json.dumps(rows, indent=2, ensure_ascii=False))
            return
        table = Table("kind", "name", "title", "copied", box=None)
        for item in items:
            cells = (item.kind, item.name, item.title)
            copied = "yes" if item.marked else ""
            # Text, as names are full of square brackets.
            table.add_row(*map(Text, (*cells, copied)))
        Console(highlight=False).print(table)

    return command
