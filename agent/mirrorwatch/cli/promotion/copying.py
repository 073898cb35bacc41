"""What `diff` and `push` have in common: what would change at a site."""

from collections.abc import Collection, Sequence

import click
from rich.console import Console
from rich.text import Text

from ...config.sites import OURS, SitesConfig
from ...domain.promotion.leftovers import find_leftovers
from ...exceptions import ConfigError
from ...promotion.item import Item
from ...promotion.plan import Change, make_plan
from ...promotion.render import render, render_change
from ...promotion.sites import GROUPS, OpenSite, translation
from ...promotion.translate import select, translate
from .options import opened

__all__ = ["Copying"]

STYLES = {"+": "green", "-": "red", "@": "cyan"}


class Copying:
    """What is copied from one site to others.

    Parameters
    ----------
    sites
        What the sites file says.
    group
        ``dashboards`` or ``alerts``.
    source
        Name of the site to copy from.
    targets
        Names of those to copy to.
    only
        Names or patterns of what is meant.
    kind
        The one kind that is meant.

    Raises
    ------
    ConfigError
        Raised if a site is not known or has none of the servers.
    """

    def __init__(
        self,
        sites: SitesConfig,
        group: str,
        *,
        source: str,
        targets: Sequence[str],
        only: Collection[str],
        kind: str | None,
    ) -> None:
        if source in targets:
            raise ConfigError(f"--to {source}: is the site to copy from")
        self.source = opened(source, sites, group)
        self.targets = [
            opened(name, sites, group) for name in dict.fromkeys(targets)
        ]
        self._sites, self._only, self._kind = sites, only, kind
        self._kinds = {
            target.name: self._shared(group, target) for target in self.targets
        }
        self._items = self.source.list(
            [k for k in GROUPS[group] if k in self.source.servers]
        )

    def plan(self, target: OpenSite) -> list[Change]:
        """Return what has to be done at a site.

        Raises
        ------
        ConfigError
            Raised if the map of sites does not know a value.
        PromotionError
            Raised if something of somebody else is in the way.
        """
        kinds = self._kinds[target.name]
        values = translation(self.source, target, self._sites)
        wanted = translate(
            self._chosen(kinds), values, target.name, self.secrets(target)
        )
        return make_plan(wanted, target.list(kinds), target.name)

    def secrets(self, target: OpenSite) -> set[str]:
        """Return what must not be shown of a copy."""
        return {*self.source.secrets, *target.secrets}

    def show(self, changes: Sequence[Change], target: OpenSite) -> None:
        """Print what would change at a site, and what a person must see."""
        secrets = self.secrets(target)
        values = translation(self.source, target, self._sites)
        console = Console(highlight=False, soft_wrap=True)
        for change in changes:
            for line in render_change(change, target.name, secrets):
                console.print(Text(line, style=STYLES.get(line[:1], "")))
            if self.source.name == OURS:
                continue  # it speaks of mirrorwatch, and means it
            text = render(change.wanted, secrets)
            for left in find_leftovers(text, values, self.source.hosts):
                click.echo(
                    f"note: {change.wanted} still says {left!r}, which is "
                    f"{self.source.name}'s: is that meant?",
                    err=True,
                )

    def _chosen(self, kinds: Collection[str]) -> list[Item]:
        here = [item for item in self._items if item.kind in kinds]
        return select(here, self.source.name, self._only, self._kind)

    def _shared(self, group: str, target: OpenSite) -> list[str]:
        """Return the kinds that both sites keep."""
        kinds = [
            kind
            for kind in GROUPS[group]
            if kind in self.source.servers and kind in target.servers
        ]
        if not kinds or self._kind not in {None, *kinds}:
            raise ConfigError(
                f"{self.source.name} and {target.name} have no "
                f"{self._kind or group} in common: see their servers in the "
                "sites file"
            )
        missing = set(self.source.servers) - set(target.servers)
        if missing and self._kind is None:
            names = ", ".join(sorted(missing))
            told = f"left out, as {target.name} has no server for it: {names}"
            click.echo(told, err=True)
        return kinds
