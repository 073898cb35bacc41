"""Makes changes at a site, all or none."""

import fcntl
import json
import os
from collections.abc import (
    Callable,
    Collection,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import timedelta
from difflib import unified_diff
from pathlib import Path
from typing import Any

from .exceptions import PromotionError, ServerLostError
from .item import Item, Product, hide, hide_in

__all__ = [
    "PlannedChange",
    "PushJournal",
    "make_plan",
    "open_journal",
    "push",
    "render",
    "render_change",
    "roll_back",
]


@dataclass(frozen=True, slots=True)
class PlannedChange:
    """One item that is not there yet, or not as it should be."""

    wanted: Item
    """What it shall be."""

    there: Item | None
    """What is there: a copy, or nothing."""

    @property
    def verb(self) -> str:
        """What is done to it."""
        return "create" if self.there is None else "change"

    def __str__(self) -> str:
        return f"{self.verb} {self.wanted}"


def make_plan(
    wanted: Iterable[Item], there: Sequence[Item], site: str
) -> list[PlannedChange]:
    """Compare what should be at a site with what is.

    Parameters
    ----------
    wanted
        What should be there.
    there
        Everything that is there.
    site
        Its name, for messages.

    Raises
    ------
    PromotionError
        Raised if something is in the way that was not copied by this
        program: that is never touched.
    """
    changes, foreign = [], []
    for item in wanted:
        same = [i for i in there if (i.kind, i.name) == (item.kind, item.name)]
        copies = [i for i in same if i.marked]
        if len(copies) > 1:
            raise PromotionError(
                f"{site} has two copies of {item}: delete one there"
            )
        if same and not copies:
            foreign.append(item)
        elif not copies or copies[0].content != item.content:
            changes.append(PlannedChange(item, copies[0] if copies else None))
    if foreign:
        told = "\n".join(f"  {item}" for item in foreign)
        raise PromotionError(
            f"Nothing was copied to {site}, as these are there and carry no "
            f"mark of a copy, so they are somebody's own:\n{told}\n"
            "Rename or delete them there, or leave them out with --only."
        )
    return changes


@dataclass(frozen=True, slots=True)
class PushStep:
    """One change that was begun; whether it was done is not known."""

    wanted: Item
    """What was to be there."""

    before: Item | None
    """What was there."""


class PushJournal:
    """The steps of one push to one site.

    Parameters
    ----------
    path
        Where they are kept. There is no file when nothing is to be undone.

    Notes
    -----
    It holds scripts, which may hold tokens: only its owner may read it.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._steps = _load(path)

    @property
    def steps(self) -> tuple[PushStep, ...]:
        """What was begun, in order."""
        return tuple(self._steps)

    def begin(self, change: PlannedChange) -> None:
        """Note a change before it is made.

        Raises
        ------
        PromotionError
            Raised if it cannot be written, so nothing must be changed.
        """
        self._steps.append(PushStep(change.wanted, change.there))
        rows = [asdict(step) for step in self._steps]
        new = self.path.with_suffix(".new")
        try:
            with os.fdopen(
                os.open(new, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600),
                "w",
                encoding="utf-8",
            ) as file:
                json.dump(rows, file, ensure_ascii=False)
                file.flush()
                os.fsync(file.fileno())
            new.replace(self.path)
        except OSError as e:
            raise PromotionError(
                f"{self.path}: cannot be written ({e.strerror}), so nothing "
                "more is changed: what is half done could not be undone"
            ) from e

    def forget(self) -> None:
        """Note that nothing is to be undone any more."""
        self._steps.clear()
        self.path.unlink(missing_ok=True)


@contextmanager
def open_journal(
    folder: Path, site: str, *, look: bool = False
) -> Iterator[PushJournal]:
    """Open the journal of a site, for one process at a time.

    Parameters
    ----------
    folder
        Where journals are kept; made if it is missing.
    site
        Whose it is.
    look
        Whether only to look: nothing is made, and nobody is waited for.

    Raises
    ------
    PromotionError
        Raised if another push to this site is running, or if the folder
        cannot be used.
    """
    path = folder / f"{site}.json"
    if look:
        yield PushJournal(path)
        return
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = (folder / f"{site}.lock").open("w")
    except OSError as e:
        raise PromotionError(f"{folder}: cannot be used: {e.strerror}") from e
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as e:
            raise PromotionError(
                f"Another push to {site} is running on this machine: let it "
                "end first"
            ) from e
        yield PushJournal(path)


def _load(path: Path) -> list[PushStep]:
    try:
        rows = json.loads(path.read_text("utf-8"))
        return [_read(row) for row in rows]
    except FileNotFoundError:
        return []
    except (OSError, ValueError, TypeError, KeyError) as e:
        raise PromotionError(
            f"{path}: a push was cut off, and what it did cannot be read: "
            "look what is half done, then delete this file"
        ) from e


def _read(row: dict[str, Any]) -> PushStep:
    before = row["before"]
    return PushStep(Item(**row["wanted"]), Item(**before) if before else None)


FIRST_PAUSE_SECONDS = 1.0
LONGEST_PAUSE_SECONDS = 15.0
"""A server that is started again is back within seconds, or not soon."""

Site = Mapping[str, Product]
"""The servers of a site by the kind of item that each keeps."""

Wait = Callable[[float], object]
"""Waits for so many seconds."""


def push(
    changes: Sequence[PlannedChange],
    site: Site,
    journal: PushJournal,
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
    journal: PushJournal,
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


def _undo(step: PushStep, site: Site, tell: Callable[[str], object]) -> None:
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


def _kept(error: PromotionError, journal: PushJournal) -> PromotionError:
    return PromotionError(
        f"{error}. So the site is half changed. What was there before is "
        f"kept in {journal.path}, and the next push to this site puts it "
        "back first. If it cannot be put back, mend it by hand and delete "
        "that file."
    )


def render(item: Item, secrets: Collection[str]) -> str:
    """Return an item as text: what is not a script as JSON.

    Parameters
    ----------
    item
        What to show.
    secrets
        Values that must not be shown, beside those that look secret.
    """
    rest = {k: v for k, v in item.content.items() if k != "script"}
    text = json.dumps(
        hide_in(rest), indent=2, sort_keys=True, ensure_ascii=False
    )
    return hide(f"{text}\n{item.content.get('script', '')}", secrets)


def render_change(
    change: PlannedChange, site: str, secrets: Collection[str]
) -> list[str]:
    """Return the lines of a unified diff.

    Parameters
    ----------
    change
        What changes.
    site
        Where.
    secrets
        Values that must not be shown, beside those that look secret.
    """
    old = render(change.there, secrets) if change.there else ""
    new = render(change.wanted, secrets)
    name = f"{site}: {change.wanted}"
    lines = list(
        unified_diff(
            old.splitlines(),
            new.splitlines(),
            f"a {name}" if change.there else "nothing",
            f"b {name}",
            lineterm="",
        )
    )
    if not lines:
        lines = [f"--- a {name}", f"+++ b {name}", " (differs in secrets)"]
    return lines
