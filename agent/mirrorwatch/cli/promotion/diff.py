"""`mirrorwatch dashboards diff`, and of alerts."""

import click

from ...config.sites import SitesConfig
from .copying import Copying
from .options import chosen, from_option, sites_option, to_option

__all__ = ["EXIT_DIFFERENT", "make_diff"]

EXIT_DIFFERENT = 4
"""There are differences: nothing failed, and nothing is wrong with
replication."""


def make_diff(group: str) -> click.Command:
    """Return the command that shows what `push` would change."""

    @click.command(
        "diff",
        epilog=f"Example: mirrorwatch {group} diff --sites sites.yaml "
        "--from teststand --to summit",
    )
    @sites_option
    @from_option
    @to_option
    @chosen(group)
    def command(
        sites: SitesConfig,
        source: str,
        targets: tuple[str, ...],
        only: tuple[str, ...],
        kind: str | None,
    ) -> None:
        """Show what differs at a site from what would be copied to it.

        Secrets are never shown. Exit status 0 if nothing differs, 4 if
        something does.
        """
        copying = Copying(
            sites, group, source=source, targets=targets, only=only, kind=kind
        )
        different = False
        for target in copying.targets:
            changes = copying.plan(target)
            copying.show(changes, target)
            different = different or bool(changes)
        if different:
            click.get_current_context().exit(EXIT_DIFFERENT)

    return command
