"""Makes changes at a site, all or none."""

from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta

from ..exceptions import PromotionError, ServerLostError
from .item import Item, Product
from .journal import Journal, Step
from .plan import Change

__all__ = ["Site", "push", "roll_back"]

FIRST_PAUSE_SECONDS = 1.0
LONGEST_PAUSE_SECONDS = 15.0
"""A server that is started again is back within seconds, or not soon."""

Site = Mapping[str, Product]
"""The servers of a site by the kind of item that each keeps."""

Wait = Callable[[float], object]
"""Waits for so many seconds."""


def push(
    changes: Sequence[Change],
    site: Site,
    journal: Journal,
    tell: Callable[[str], object],
    *,
    patience: timedelta,
    wait: Wait,
) -> None:
    """Make all changes at a site, or none of them.

    Parameters
    ----------
    changes
        What to do, in order.
    site
        Its servers.
    journal
        Where each step is noted before it is made. It must be empty.
    tell
        Says what was done, one line each time.
    patience
        How long a server that is lost half-way may stay away before the
        journal is kept for later.
    wait
        Waits between tries.

    Raises
    ------
    PromotionError
        Raised if it failed; says whether all is as it was before.
    """
    try:
        for change in changes:
            journal.begin(change)
            site[change.wanted.kind].put(change.wanted, change.there)
            tell(f"{change.verb}d {change.wanted}")
    except PromotionError as e:
        tell(f"{e}. What was done so far is undone")
        roll_back(site, journal, tell, patience=patience, wait=wait)
        raise PromotionError(f"{e}. All there is as it was before.") from e
    except KeyboardInterrupt:
        tell("Interrupted. What was done so far is undone")
        roll_back(site, journal, tell, patience=patience, wait=wait)
        raise
    journal.forget()


def roll_back(
    site: Site,
    journal: Journal,
    tell: Callable[[str], object],
    *,
    patience: timedelta,
    wait: Wait,
) -> None:
    """Undo what a journal tells, and forget it.

    Parameters
    ----------
    site
        Servers of the site.
    journal
        What was begun.
    tell
        Says what was undone.
    patience
        How long a server may stay away.
    wait
        Waits between tries.

    Raises
    ------
    PromotionError
        Raised if it cannot be done now. The journal is kept.
    """
    left, pause = patience.total_seconds(), FIRST_PAUSE_SECONDS
    while True:
        try:
            for step in reversed(journal.steps):
                _undo(step, site, tell)
        except ServerLostError as e:
            if left <= 0:
                raise _kept(e, journal) from e
            wait(min(pause, left))
            left -= pause
            pause = min(2 * pause, LONGEST_PAUSE_SECONDS)
        except PromotionError as e:
            raise _kept(e, journal) from e
        else:
            journal.forget()
            return


def _undo(step: Step, site: Site, tell: Callable[[str], object]) -> None:
    """Put one item back; does nothing where that is done already."""
    product = site.get(step.wanted.kind)
    if product is None:
        raise PromotionError(
            f"The sites file has no server any more for {step.wanted}"
        )
    copies = [i for i in product.list() if _same(i, step.wanted) and i.marked]
    there = copies[0] if copies else None
    if step.before is None:
        if there is not None:
            product.delete(there)
            tell(f"deleted {step.wanted} again")
    elif there is None or there.content != step.before.content:
        product.put(step.before, there)
        tell(f"put {step.wanted} back")


def _same(one: Item, other: Item) -> bool:
    return (one.kind, one.name) == (other.kind, other.name)


def _kept(error: PromotionError, journal: Journal) -> PromotionError:
    return PromotionError(
        f"{error}. So the site is half changed. What was there before is "
        f"kept in {journal.path}, and the next push to this site puts it "
        "back first. If it cannot be put back, mend it by hand and delete "
        "that file."
    )
