"""What a push has done so far, on disk, so that it can be undone."""

import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ..exceptions import PromotionError
from .item import Item
from .plan import Change

__all__ = ["Journal", "Step", "open_journal"]


@dataclass(frozen=True, slots=True)
class Step:
    """One change that was begun; whether it was done is not known."""

    wanted: Item
    """What was to be there."""

    before: Item | None
    """What was there."""


class Journal:
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
    def steps(self) -> tuple[Step, ...]:
        """What was begun, in order."""
        return tuple(self._steps)

    def begin(self, change: Change) -> None:
        """Note a change before it is made.

        Raises
        ------
        PromotionError
            Raised if it cannot be written, so nothing must be changed.
        """
        self._steps.append(Step(change.wanted, change.there))
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
) -> Iterator[Journal]:
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
        yield Journal(path)
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
        yield Journal(path)


def _load(path: Path) -> list[Step]:
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


def _read(row: dict[str, Any]) -> Step:
    before = row["before"]
    return Step(Item(**row["wanted"]), Item(**before) if before else None)
