"""Options that the commands share."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from ...config.sites import SitesConfig
from ...promotion.sites import GROUPS, OpenSite, open_site

__all__ = ["chosen", "from_option", "opened", "sites_option", "to_option"]

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]

sites_option = click.option(
    "--sites",
    "sites",
    type=click.Path(path_type=Path),
    envvar="MIRRORWATCH_SITES",
    show_envvar=True,
    required=True,
    metavar="FILE",
    callback=lambda _, __, path: SitesConfig.from_file(path),
    help="File of the sites (YAML).",
)
"""``--sites FILE``: the command gets the loaded `SitesConfig`."""

from_option = click.option(
    "--from",
    "source",
    required=True,
    metavar="SITE",
    help="Site to copy from; `ours` is what comes with mirrorwatch.",
)

to_option = click.option(
    "--to",
    "targets",
    required=True,
    multiple=True,
    metavar="SITE",
    help="Site to copy to; may be given several times.",
)


def chosen(group: str) -> Decorator:
    """Add ``--only`` and ``--kind``."""
    only = click.option(
        "--only",
        multiple=True,
        metavar="NAME",
        help="Name, title or pattern (*, ?) of what is meant; may be given "
        "several times. Default: everything.",
    )
    kind = click.option(
        "--kind",
        type=click.Choice(list(GROUPS[group])),
        help="The one kind that is meant. Default: all.",
    )
    return lambda function: only(kind(function))


def opened(name: str, sites: SitesConfig, group: str) -> OpenSite:
    """Return a site, which is closed when the command ends.

    Raises
    ------
    ConfigError
        Raised as by `open_site`.
    """
    site = open_site(name, sites, group)
    return click.get_current_context().with_resource(site)
