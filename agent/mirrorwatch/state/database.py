"""The state file: SQLite in WAL mode, one writer at a time."""

import fcntl
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import RLock
from typing import TextIO

from ..exceptions import StateError

__all__ = ["Database"]


class Database:
    """The state file.

    Parameters
    ----------
    path
        File, made with its folder if missing; `None` for memory only.
    beside
        Whether to work beside the agent that the file belongs to: the file
        must be there, and nobody is kept out.

    Raises
    ------
    StateError
        Raised if the file cannot be opened.

    Notes
    -----
    ``synchronous=FULL``: a committed transaction survives a loss of power.
    One connection behind a lock serves all threads, because transactions are
    short and SQLite has one writer anyway. Whoever keeps data here makes its
    own tables with ``CREATE TABLE IF NOT EXISTS``.
    """

    def __init__(self, path: Path | None, *, beside: bool = False) -> None:
        self._lock = RLock()
        self._path = path
        self._only: TextIO | None = None
        try:
            if path is not None and beside:
                _require(path)
            elif path is not None:
                path.parent.mkdir(parents=True, exist_ok=True)
                self._only = _lock(path)
            self._connection = sqlite3.connect(
                path or ":memory:",
                check_same_thread=False,
                isolation_level=None,
                timeout=10,
            )
            self._connection.execute("PRAGMA journal_mode=WAL")
            self._connection.execute("PRAGMA synchronous=FULL")
        except (OSError, sqlite3.Error) as e:
            raise StateError(f"Cannot open the state file {path}: {e}") from e

    @property
    def lasts(self) -> bool:
        """Whether what is kept here outlives the process."""
        return self._path is not None

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """Run statements that are committed together or not at all.

        Raises
        ------
        StateError
            Raised if the file cannot be read or written.
        """
        with self._lock:
            try:
                self._connection.execute("BEGIN IMMEDIATE")
                try:
                    yield self._connection
                except BaseException:
                    self._connection.execute("ROLLBACK")
                    raise
                self._connection.execute("COMMIT")
            except sqlite3.Error as e:
                raise StateError(
                    f"Cannot use the state file {self._path}: {e}"
                ) from e

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._connection.close()
            if self._only is not None:
                self._only.close()


def _require(path: Path) -> None:
    if not path.exists():
        raise StateError(
            f"State file {path} does not exist: mirrorwatch has not run with "
            "this configuration (state.path) on this machine"
        )


def _lock(path: Path) -> TextIO:
    """Keep a second agent out; the lock ends with the process.

    Two would number their probes alike, and each would call the other's
    arrivals duplicates.
    """
    lock = path.with_name(f"{path.name}.lock").open("w")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as e:
        lock.close()
        raise StateError(
            f"Another mirrorwatch uses the state file {path}. Stop it, or "
            "set another state.path"
        ) from e
    return lock
