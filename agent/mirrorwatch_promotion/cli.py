"""`mirrorwatch dashboards push`, and of alerts."""

import json
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import ExitStack
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from mirrorwatch.cli.options import DURATION
from mirrorwatch.config.sinks import default_state
from mirrorwatch.exceptions import ConfigError

from .config import OURS, SitesConfig
from .exceptions import PromotionError
from .item import Item, write_folder
from .push import (
    PlannedChange,
    PushJournal,
    make_plan,
    open_journal,
    push,
    render,
    render_change,
    roll_back,
)
from .sites import GROUPS, OpenSite, open_site, translation
from .translate import select, translate
from .values import find_leftovers

__all__ = [
    "EXIT_DIFFERENT",
    "Copying",
    "alerts_command",
    "chosen",
    "dashboards_command",
    "from_option",
    "make_diff",
    "make_group",
    "make_list",
    "make_pull",
    "make_push",
    "opened",
    "sites_option",
    "to_option",
]


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

    def plan(self, target: OpenSite) -> list[PlannedChange]:
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

    def show(self, changes: Sequence[PlannedChange], target: OpenSite) -> None:
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


Plan = tuple[OpenSite, list[PlannedChange]]
"""What is done at one site."""


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
    @click.option(
        "--dry-run", is_flag=True, help="Show what would be done, and end."
    )
    @click.option(
        "--wait",
        "patience",
        type=DURATION,
        default="1m",
        show_default=True,
        help="How long to wait for a server that is lost half-way, to undo "
        "what was done.",
    )
    @click.option(
        "--journal",
        type=click.Path(path_type=Path),
        default=lambda: default_state().with_name("promotion"),
        metavar="FOLDER",
        help="Where is kept what must be undone.  "
        "[default: beside the agent's state file]",
    )
    def command(  # noqa: PLR0917 - click gives them by keyword
        sites: SitesConfig,
        source: str,
        targets: tuple[str, ...],
        only: tuple[str, ...],
        kind: str | None,
        patience: timedelta,
        journal: Path,
        *,
        yes: bool,
        dry_run: bool,
    ) -> None:
        """Copy from one site to others.

        Shows what changes, then asks. What is at the other site and was not
        copied by mirrorwatch is never touched. If it fails half-way, what
        was done at that site is undone.
        """
        copying = Copying(
            sites, group, source=source, targets=targets, only=only, kind=kind
        )
        with ExitStack() as stack:
            journals = {
                target.name: stack.enter_context(
                    open_journal(
                        journal, f"{target.name}-{group}", look=dry_run
                    )
                )
                for target in copying.targets
            }
            for target in copying.targets:
                _undo_old(
                    target, journals[target.name], patience, dry_run=dry_run
                )
            plans = [(t, copying.plan(t)) for t in copying.targets]
            for target, changes in plans:
                copying.show(changes, target)
            count = sum(len(changes) for _, changes in plans)
            if not count or dry_run:
                click.echo(f"{count} to change" if count else "nothing to do")
                return
            if not yes:
                click.confirm(f"Make these {count} changes?", abort=True)
            # Before anything is written anywhere.
            for target, changes in plans:
                if copying.plan(target) != changes:
                    raise PromotionError(
                        f"{target.name} was changed meanwhile: look again"
                    )
            _push_all(plans, journals, patience)

    return command


def _push_all(
    plans: Sequence[Plan],
    journals: Mapping[str, PushJournal],
    patience: timedelta,
) -> None:
    for number, (target, changes) in enumerate(plans):
        try:
            push(
                changes,
                target.servers,
                journals[target.name],
                partial(_tell, target.name),
                patience=patience,
                wait=time.sleep,
            )
        except PromotionError as e:
            others = _others(plans[:number], plans[number + 1 :])
            raise PromotionError(f"{e}{others}") from e


def _others(done: Sequence[Plan], left: Sequence[Plan]) -> str:
    """Say what became of the other sites.

    Notes
    -----
    What was done at a site stays done: it is whole, and a second attempt does
    the rest. To undo it would touch a site where nothing is wrong.
    """
    told = ""
    for what, plans in (
        (" Done before, and kept so", done),
        (" Not begun", left),
    ):
        if names := ", ".join(site.name for site, changes in plans if changes):
            told += f"{what}: {names}."
    return told


def _undo_old(
    target: OpenSite,
    journal: PushJournal,
    patience: timedelta,
    *,
    dry_run: bool,
) -> None:
    """Undo first what an earlier push has left half done."""
    if not journal.steps:
        return
    what = f"{target.name}: an earlier push was cut off"
    if dry_run:
        raise PromotionError(
            f"{what}; the next one that is no --dry-run undoes it first"
        )
    click.echo(f"{what}; what it did is undone first")
    roll_back(
        target.servers,
        journal,
        partial(_tell, target.name),
        patience=patience,
        wait=time.sleep,
    )


def _tell(site: str, what: str) -> None:
    click.echo(f"{site}: {what}")


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
        Which of them.
    what
        What it is about, for its help.
    short
        The same in a word or two, for the list of all commands.
    """
    makers = (make_list, make_diff, make_push, make_pull)
    return click.Group(
        group,
        commands=[make(group) for make in makers],
        help=f"Copy {what} from site to site.\n\n"
        "The users' own as well as those that come with mirrorwatch (the "
        "site `ours`). A map in the sites file says what each site calls "
        "its databases, sources, prefixes, handlers and endpoints.",
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
