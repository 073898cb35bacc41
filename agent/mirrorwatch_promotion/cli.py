"""`mirrorwatch dashboards` and `mirrorwatch alerts`."""

import json
from collections.abc import Callable, Collection, Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import click

from mirrorwatch.exceptions import ConfigError

from .config import SitesConfig
from .exceptions import PromotionError
from .item import Item, write_folder
from .mapping import find_leftovers
from .plan import PlannedChange, make_plan, render_change
from .sites import GROUPS, OpenSite, map_between, open_site

__all__ = ["EXIT_DIFFERENT", "alerts_command", "dashboards_command"]


EXIT_DIFFERENT = 4

COLOURS = {"+": "green", "-": "red", "@": "cyan"}

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
        help="Name, title or pattern (*, ?); may be given several times. "
        "Default: everything.",
    )
    kind = click.option(
        "--kind",
        type=click.Choice(list(GROUPS[group])),
        help="One kind of items. Default: all.",
    )
    return lambda function: only(kind(function))


def opened(name: str, sites: SitesConfig, group: str) -> OpenSite:
    """Return a site, which is closed when the command ends."""
    site = open_site(name, sites, group)
    click.get_current_context().call_on_close(site.close)
    return site


def select(
    items: Sequence[Item], site: str, only: Collection[str], kind: str | None
) -> list[Item]:
    """Return the chosen items, with the templates of chosen tasks.

    Raises
    ------
    ConfigError
        Raised if a pattern fits nothing.
    """
    here = [item for item in items if kind in {None, item.kind}]
    for pattern in only:
        if not any(_fits(item, pattern) for item in here):
            known = ", ".join(sorted(i.title for i in here)) or "nothing"
            raise ConfigError(
                f"{site} has nothing called {pattern!r}; it has {known}"
            )
    picked = [i for i in here if not only or any(_fits(i, p) for p in only)]
    wanted = {item.content.get("template-id") for item in picked}
    return [
        item
        for item in items
        if item in picked or (item.kind == "template" and item.name in wanted)
    ]


def _fits(item: Item, pattern: str) -> bool:
    return fnmatchcase(item.name, pattern) or fnmatchcase(item.title, pattern)


class Copying:
    """Copies of one site's items for others.

    Parameters
    ----------
    sites
        The sites file.
    group
        ``dashboards`` or ``alerts``.
    source
        Name of the site to copy from.
    targets
        Names of those to copy to.
    only
        Names or patterns of the items.
    kind
        The one kind of items, if not all.

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
        self._only, self._kind = only, kind
        self._kinds = {
            target.name: self._shared(group, target) for target in self.targets
        }
        self._items = self.source.list(list(self.source.servers))

    def plan(self, target: OpenSite) -> list[PlannedChange]:
        """Return the changes at a site.

        Raises
        ------
        ConfigError
            Raised if one value has two replacements.
        PromotionError
            Raised if items cannot be told apart.
        """
        kinds = self._kinds[target.name]
        here = [item for item in self._items if item.kind in kinds]
        items = select(here, self.source.name, self._only, self._kind)
        values = map_between(self.source, target)
        wanted = map(values.apply_to, items)
        return make_plan(wanted, target.list(kinds), target.name)

    def show(self, changes: Sequence[PlannedChange], target: OpenSite) -> None:
        """Print the changes at a site, and values that stay in them."""
        secrets = {*self.source.secrets, *target.secrets}
        for change in changes:
            for line in render_change(change, target.name, secrets):
                click.secho(line, fg=COLOURS.get(line[:1]))
            text = "\n".join(_texts(change.wanted.content))
            names = find_leftovers(text, self.source.values, target.values)
            for name in names:
                click.echo(
                    f"note: {change.wanted} still has values.{name} of "
                    f"{self.source.name}",
                    err=True,
                )

    def _shared(self, group: str, target: OpenSite) -> list[str]:
        kinds = [k for k in self.source.servers if k in target.servers]
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


def _texts(node: Any) -> Iterator[str]:
    match node:
        case str():
            yield node
        case dict():
            for value in node.values():
                yield from _texts(value)
        case list():
            for value in node:
                yield from _texts(value)
        case _:
            pass


def make_push(group: str) -> click.Command:
    """Return the command that copies."""

    @click.command(
        "push",
        epilog=f"Example: mirrorwatch {group} push --sites sites.yaml "
        "--from teststand --to summit --only 'Dome*'",
    )
    @sites_option
    @from_option
    @to_option
    @chosen(group)
    @click.option("--yes", is_flag=True, help="Do not ask.")
    def command(*, yes: bool, sites: SitesConfig, **options: Any) -> None:
        """Copy from one site to others.

        Shows what changes, then asks. An item of the same name at the other
        site is replaced. Running it again changes nothing; after a failure it
        does the rest.
        """
        copying = Copying(sites, group, **options)
        plans = [(t, copying.plan(t)) for t in copying.targets]
        for target, changes in plans:
            copying.show(changes, target)
        count = sum(len(changes) for _, changes in plans)
        if not count:
            click.echo("nothing to do")
            return
        if not yes:
            click.confirm(f"Make these {count} changes?", abort=True)
        # Before anything is written anywhere.
        for target, changes in plans:
            if copying.plan(target) != changes:
                raise PromotionError(
                    f"{target.name} was changed meanwhile: look again"
                )
        for target, changes in plans:
            for change in changes:
                server = target.servers[change.wanted.kind]
                server.put(change.wanted, change.there)
                click.echo(f"{target.name}: {change.verb}d {change.wanted}")

    return command


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
    def command(sites: SitesConfig, **options: Any) -> None:
        """Show what differs at a site from what would be copied to it.

        Secrets are never shown. Exit status 0 if nothing differs, 4 if
        something does.
        """
        copying = Copying(sites, group, **options)
        different = False
        for target in copying.targets:
            changes = copying.plan(target)
            copying.show(changes, target)
            different = different or bool(changes)
        if different:
            click.get_current_context().exit(EXIT_DIFFERENT)

    return command


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
        """List what a site has."""
        site = opened(source, sites, group)
        items = select(site.list(list(GROUPS[group])), source, only, kind)
        if as_json:
            rows = [
                {"kind": item.kind, "name": item.name, "title": item.title}
                for item in items
            ]
            click.echo(json.dumps(rows, indent=2, ensure_ascii=False))
            return
        width = max((len(item.name) for item in items), default=0)
        for item in items:
            click.echo(f"{item.kind:10}  {item.name:{width}}  {item.title}")

    return command


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


def make_group(group: str, what: str, short: str) -> click.Group:
    """Return the command of ``dashboards`` or ``alerts``.

    Parameters
    ----------
    group
        Its name.
    what
        Items that it copies, for its help.
    short
        The same in a word or two, for the list of all commands.
    """
    makers = (make_list, make_diff, make_push, make_pull)
    return click.Group(
        group,
        commands=[make(group) for make in makers],
        help=f"Copy {what} from site to site.\n\n"
        "The users' own as well as those that come with mirrorwatch (the "
        "site `ours`). The sites file says which values differ between "
        "sites: databases, data sources, channels, addresses.",
        short_help=f"Copy {short} from site to site.",
        epilog=f"Example: mirrorwatch {group} push --sites sites.yaml "
        "--from teststand --to summit --only 'Dome*'",
    )


dashboards_command = make_group(
    "dashboards", "Chronograf's and Grafana's dashboards", "dashboards"
)


alerts_command = make_group(
    "alerts", "Kapacitor's tasks, templates and handlers", "alert rules"
)
