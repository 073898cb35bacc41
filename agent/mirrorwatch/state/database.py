"""The state file: SQLite in WAL mode, one writer at a time."""

import fcntl
import sqlite3
import struct
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import RLock
from typing import Any, TextIO, TypeVar

from cattrs import BaseValidationError

from ..exceptions import StateError, StateInUseError, StateUnusableError

__all__ = ["Database"]

T = TypeVar("T")

LAYOUT = 4
"""Version of the layout, kept as ``PRAGMA user_version``. Raise it with each
change of a table or document: a file of another version is set aside."""

APPLICATION = 0x4D697257

TABLES = (
    """
CREATE TABLE documents (
    kind TEXT, flow TEXT, body TEXT NOT NULL,
    PRIMARY KEY (kind, flow)) WITHOUT ROWID
""",
    """
CREATE TABLE queue (
    id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL,
    points INTEGER NOT NULL, body BLOB NOT NULL)
""",
    # Finds the oldest entry of one queue without reading the others.
    "CREATE INDEX queue_name ON queue (name, id)",
)

UNDECODABLE = (
    ArithmeticError,
    AttributeError,
    BaseValidationError,
    LookupError,
    RecursionError,
    TypeError,
    ValueError,
    struct.error,
    zlib.error,
)
"""Exceptions raised by decoding a row that was damaged after it was
written."""

SET_ASIDE = (
    "CREATE TABLE IF NOT EXISTS set_aside ("
    "id INTEGER PRIMARY KEY, place TEXT, error TEXT, row TEXT)"
)

DAMAGE = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}
DAMAGE |= {sqlite3.SQLITE_IOERR_SHORT_READ}
"""SQLite error codes of a corrupt file."""

MOST_ASIDE = 1000
"""Rows that are kept for whoever looks into it."""


class Database:
    """The state file.

    Parameters
    ----------
    path
        File, created with its folder if missing; `None` for memory only.
    beside
        Work beside the agent that owns the file: the file must exist and have
        the layout of this version, and nobody is locked out.
    problem
        Reason why this is not the file that it should be, if it is not.

    Raises
    ------
    StateInUseError
        Raised if another agent uses the file.
    StateUnusableError
        Raised if the file is damaged, foreign, or of another layout.
    StateError
        Raised if the file cannot be opened or written.

    Notes
    -----
    ``synchronous=FULL``: a committed transaction survives a loss of power.
    One connection behind a lock serves all threads, because transactions are
    short and SQLite has one writer anyway. Stores that need rows create their
    tables with ``CREATE TABLE IF NOT EXISTS``.
    """

    def __init__(
        self,
        path: Path | None,
        *,
        beside: bool = False,
        problem: str | None = None,
    ) -> None:
        self._lock = RLock()
        self._path = path
        self._problem = problem
        self._files: dict[Path, tuple[int, int]] = {}
        self._owned: TextIO | None = None
        self._in_transaction = False
        self._after_commit: list[Callable[[], None]] = []
        self.set_aside: Counter[str] = Counter()
        """Rows that could not be decoded since the start, by table."""

        try:
            if path is not None and beside:
                _require(path)
            elif path is not None:
                path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                self._owned = _lock(path)
                if path.exists() and not path.stat().st_size:
                    self._problem = problem or (
                        f"State file {path} was empty, and a fresh one is used"
                    )
                _keep_private(path)
            self._connection = sqlite3.connect(
                path or ":memory:",
                check_same_thread=False,
                isolation_level=None,
                timeout=10,
            )
        except (OSError, sqlite3.Error) as e:
            self._unlock()
            raise StateError(f"Cannot open the state file {path}: {e}") from e
        try:
            with self._explained("open"):
                # First of all: what is not ours stays as it is.
                if path is not None and not beside:
                    self._check_content()
                self._connection.execute("PRAGMA journal_mode=WAL")
                self._connection.execute("PRAGMA synchronous=FULL")
            self._check_layout(beside=beside)
            if path is not None and not beside:
                for file in (path, _lock_of(path)):
                    self._files[file] = _identity(file)
        except OSError as e:
            self.close()
            raise StateError(f"Cannot open the state file {path}: {e}") from e
        except BaseException:
            self.close()
            raise

    @property
    def lasts(self) -> bool:
        """The state outlives the process: it is in a file, not in memory."""
        return self._path is not None

    def problems(self) -> tuple[str, ...]:
        """Return why what is kept here may not outlast the agent."""
        gone = [
            f"{file} was deleted or replaced while the agent runs: its state "
            "is lost at its end, and another could start. Restart it"
            for file, opened in self._files.items()
            if not _is_still(file, opened)
        ]
        return (*filter(None, [self._problem]), *gone)

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """Run statements that are committed together or not at all.

        One within another is a part of that one.

        Raises
        ------
        StateError
            Raised if the file cannot be read or written.
        """
        with self._lock:
            if self._in_transaction:
                yield self._connection
                return
            self._in_transaction = True
            try:
                with self._explained("use"):
                    self._connection.execute("BEGIN IMMEDIATE")
                    try:
                        yield self._connection
                        self._connection.execute("COMMIT")
                    except BaseException:
                        # SQLite may have rolled back itself, as on a full
                        # disk.
                        with suppress(sqlite3.Error):
                            self._connection.execute("ROLLBACK")
                        raise
                    for call in self._after_commit:
                        call()
            finally:
                self._in_transaction = False
                self._after_commit.clear()

    def decode(
        self, table: str, key: Mapping[str, Any], read: Callable[[], T]
    ) -> T | None:
        """Decode a row, or set it aside: it is not tried again.

        Parameters
        ----------
        table
            The row's table: a constant, never input.
        key
            Columns that name the row.
        read
            Decodes it.

        Returns
        -------
        T or None
            `None` if it cannot be decoded: the row is in the table
            ``set_aside`` then, and no longer where it was.
        """
        try:
            return read()
        except UNDECODABLE as e:
            self.set_row_aside(table, key, type(e).__name__)
            return None

    def set_row_aside(
        self, table: str, key: Mapping[str, Any], error: str = ""
    ) -> None:
        """Move a row that cannot be decoded out of the way."""
        where = " AND ".join(f"{column} = ?" for column in key)
        values = tuple(key.values())
        with self.transaction() as sql:
            sql.execute(SET_ASIDE)
            row = sql.execute(
                f"SELECT * FROM {table} WHERE {where}",  # noqa: S608
                values,
            ).fetchone()
            sql.execute(
                "INSERT INTO set_aside (place, error, row) VALUES (?, ?, ?)",
                (table, error, repr(row)),
            )
            sql.execute(
                f"DELETE FROM {table} WHERE {where}",  # noqa: S608
                values,
            )
            sql.execute(
                "DELETE FROM set_aside WHERE id <= "
                "(SELECT max(id) FROM set_aside) - ?",
                (MOST_ASIDE,),
            )
        self.set_aside[table] += 1

    def after_commit(self, call: Callable[[], None]) -> None:
        """Call a function, within a transaction, once that is committed.

        So what is counted in memory never differs from what is kept. It must
        not use the file, nor wait for a thread that does.
        """
        self._after_commit.append(call)

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._connection.close()
            self._unlock()

    def _unlock(self) -> None:
        if self._owned is not None:
            self._owned.close()

    @contextmanager
    def _explained(self, verb: str) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as e:
            text = f"Cannot {verb} the state file {self._path}: {e}"
            code = getattr(e, "sqlite_errorcode", 0)
            if code in DAMAGE or code & 0xFF in DAMAGE:
                raise StateUnusableError(text) from e
            raise StateError(text) from e

    def _check_content(self) -> None:
        (found,) = self._connection.execute("PRAGMA quick_check(1)").fetchone()
        if found != "ok":
            raise StateUnusableError(
                f"State file {self._path} is damaged: {found}"
            )
        if not self._is_new() and self._pragma("application_id") != (
            APPLICATION
        ):
            raise StateUnusableError(
                f"{self._path} is a database of another program"
            )

    def _check_layout(self, *, beside: bool) -> None:
        with self.transaction() as sql:
            if not beside and self._is_new():
                for table in TABLES:
                    sql.execute(table)
            elif (layout := self._pragma("user_version")) != LAYOUT:
                raise StateUnusableError(
                    f"State file {self._path} has layout {layout}, this "
                    f"mirrorwatch uses {LAYOUT}. Use the version of the agent "
                    "that runs on it"
                )
            if not beside:
                # In any case: a file that cannot be written is found out.
                sql.execute(f"PRAGMA user_version = {LAYOUT}")
                sql.execute(f"PRAGMA application_id = {APPLICATION}")

    def _is_new(self) -> bool:
        tables = "SELECT name FROM sqlite_master WHERE type = 'table'"
        return self._connection.execute(tables).fetchone() is None

    def _pragma(self, name: str) -> int:
        (found,) = self._connection.execute(f"PRAGMA {name}").fetchone()
        return int(found)


def _identity(file: Path) -> tuple[int, int]:
    found = file.stat()
    return found.st_dev, found.st_ino


def _is_still(file: Path, opened: tuple[int, int]) -> bool:
    try:
        return _identity(file) == opened
    except OSError:
        return False


def _require(path: Path) -> None:
    if not path.exists():
        raise StateError(
            f"State file {path} does not exist: mirrorwatch has not run with "
            "this configuration (state.path) on this machine"
        )


def _lock_of(path: Path) -> Path:
    if path.is_file():  # two agents may know it by different links
        path = path.resolve()
    return path.with_name(f"{path.name}.lock")


def _keep_private(path: Path) -> None:
    """Make the file, readable by its owner only; SQLite's own follow it."""
    path.touch(mode=0o600)
    # Nobody may change a file of another user, and some file systems none.
    with suppress(OSError):
        path.chmod(0o600)


def _lock(path: Path) -> TextIO:
    """Lock a second agent out; the lock ends with the process.

    Two would number their probes alike, and each would call the other's
    arrivals duplicates.
    """
    place = _lock_of(path)
    place.touch(mode=0o600)
    lock = place.open("w")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as e:
        lock.close()
        raise StateInUseError(
            f"Another mirrorwatch uses the state file {path}. Stop it, or "
            "set another state.path"
        ) from e
    return lock
