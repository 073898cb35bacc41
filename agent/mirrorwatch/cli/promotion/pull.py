"""`mirrorwatch dashboards pull`, and of alerts."""

from pathlib import Path

import click

from ...config.sites import SitesConfig
from ...promotion.folder import write_folder
from ...promotion.sites import GROUPS
from ...promotion.translate import select
from .options import chosen, from_option, opened, sites_option

__all__ = ["make_pull"]


def make_pull(group: str) -> click.Command:
    """Return the command that writes what a site has into files."""

    @click.command(
        "pull",
        epilog=f"Example: mirrorwatch {group} pull --sites sites.yaml "
        "--from summit --into backup",
    )
    @sites_option
    @from_option
    @chosen(group)
    @click.option(
        "--into",
        type=click.Path(path_type=Path, file_okay=False),
        required=True,
        metavar="FOLDER",
        help="Folder to write to.",
    )
    def command(
        sites: SitesConfig,
        source: str,
        only: tuple[str, ...],
        kind: str | None,
        into: Path,
    ) -> None:
        """Write what a site has into files, one folder for each kind.

        Nothing in them is changed or hidden: scripts may hold tokens.
        """
        site = opened(source, sites, group)
        items = site.list(list(GROUPS[group]))
        for file in write_folder(select(items, source, only, kind), into):
            click.echo(file)

    return command
