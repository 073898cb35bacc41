"""`mirrorwatch dashboards push`, and of alerts."""

import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from datetime import timedelta
from functools import partial
from pathlib import Path

import click

from ...config.outputs import default_state
from ...config.sites import SitesConfig
from ...exceptions import PromotionError
from ...promotion.journal import Journal, open_journal
from ...promotion.plan import Change
from ...promotion.push import push, roll_back
from ...promotion.sites import OpenSite
from ..options import DURATION
from .copying import Copying
from .options import chosen, from_option, sites_option, to_option

__all__ = ["make_push"]

Plan = tuple[OpenSite, list[Change]]
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
    plans: Sequence[Plan], journals: Mapping[str, Journal], patience: timedelta
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
    target: OpenSite, journal: Journal, patience: timedelta, *, dry_run: bool
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
