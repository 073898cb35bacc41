"""Only one audit at a time works on a folder of all runs.

Two at once would go on from the same ends, and each would write over what the
other keeps.
"""

import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from pathlib import Path
from threading import Event, Lock, Thread
from time import sleep
from typing import TextIO
from uuid import uuid4

from mirrorwatch.exceptions import AuditError, AuditRefusedError
from mirrorwatch.state.audits import local_path

from .store import HadoopFolder

__all__ = ["StillHeld", "leased", "only_one"]

StillHeld = Callable[[], None]
"""Raises `AuditError` if another audit may hold the folder by now."""

LOCK = "audit.lock"

RENEW_SECONDS = 60.0

LEASE = timedelta(minutes=10)
"""How old a lease is of which the holder was killed: many renewals may fail
before, and an hourly audit that comes after it is not kept waiting."""

WRITING_SECONDS = 5.0
"""Longest that a lease takes to write once it was seen that there is none:
some bytes, on a store that answers in a tenth of a second."""


@contextmanager
def only_one(folder: str, files: HadoopFolder) -> Iterator[StillHeld]:
    """Hold the folder of all runs for one audit.

    Parameters
    ----------
    folder
        The folder, as it was given.
    files
        The same.

    Yields
    ------
    StillHeld
        What is to be called before anything is kept there.

    Raises
    ------
    AuditRefusedError
        Raised if another audit holds it.
    AuditError
        Raised if it cannot be used.
    """
    path = local_path(folder)
    with leased(files) if path is None else _locked(path) as still_held:
        yield still_held


@contextmanager
def leased(
    files: HadoopFolder, *, renew_seconds: float = RENEW_SECONDS
) -> Iterator[StillHeld]:
    """Hold a folder that is not on this machine, by a file in it.

    Parameters
    ----------
    files
        The folder.
    renew_seconds
        How often the lease is renewed.

    Yields
    ------
    StillHeld
        What is to be called before anything is kept there.

    Raises
    ------
    AuditRefusedError
        Raised if another audit holds it.

    Notes
    -----
    The file is created where there is none, and written again every minute.
    One that was not for ten minutes is of an audit that was killed: it is
    taken over. HDFS creates a file for one only. Hadoop's file system for S3
    looks first and then writes, and the last one who writes has it: so it is
    read once more when all who looked before have written.

    An audit that hung, or whose machine was paused, finds its lease taken
    over when it goes on. So it looks again before it keeps anything.
    """
    own = uuid4().hex
    if not files.create(LOCK, own):
        if not _is_abandoned(files, own):
            raise _taken(files.url)
        files.delete(LOCK)
        if not files.create(LOCK, own):
            raise _taken(files.url)
    sleep(WRITING_SECONDS)
    if files.read(LOCK) != own:
        raise _taken(files.url)
    lease = _Lease(files, own)
    over = Event()
    renewing = Thread(
        target=lease.renew, args=(over, renew_seconds), daemon=True
    )
    renewing.start()
    try:
        yield lease.still_held
    finally:
        over.set()
        renewing.join()
        with suppress(AuditError):
            if files.read(LOCK) == own:
                files.delete(LOCK)


class _Lease:
    """A lease that this audit has."""

    def __init__(self, files: HadoopFolder, own: str) -> None:
        self._files = files
        self._own = own
        self._late = False
        self._whole = Lock()

    def still_held(self) -> None:
        with self._whole:
            held = self._files.read(LOCK) == self._own
        if self._late or not held:
            raise _lost(self._files.url)

    def renew(self, over: Event, every_seconds: float) -> None:
        """Write it again until it is `over`."""
        while not over.wait(every_seconds):
            # It may fail for a while: then it is as old as it is.
            with suppress(AuditError), self._whole:
                self._write_again()

    def _write_again(self) -> None:
        then = self._files.changed(LOCK)
        if self._files.read(LOCK) != self._own:
            return
        self._files.create(LOCK, self._own, anew=False)
        now = self._files.changed(LOCK)
        # Who paused just before it was written wrote over that of
        # another, who may have come to its end since.
        if then is None or now is None or now - then > LEASE:
            self._late = True


def _is_abandoned(files: HadoopFolder, own: str) -> bool:
    # Beside it, for another clock may be another time.
    probe = f"{LOCK}.{own}"
    files.create(probe, own)
    now, then = files.changed(probe), files.changed(LOCK)
    files.delete(probe)
    return now is not None and (then is None or now - then > LEASE)


@contextmanager
def _locked(path: Path) -> Iterator[StillHeld]:
    """Hold a folder of this machine; that ends with the process, however it
    ends.
    """
    with _open(path) as lock:

        def still_held() -> None:
            # Where the folder was removed and recreated, another audit
            # finds another file, and holds that.
            try:
                there = (path / LOCK).stat()
            except OSError as e:
                raise _lost(path) from e
            if not os.path.samestat(there, os.fstat(lock.fileno())):
                raise _lost(path)

        yield still_held


def _open(folder: Path) -> TextIO:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = (folder / LOCK).open("w")
    except OSError as e:
        raise AuditError(f"Cannot use the folder {folder}: {e}") from e
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as e:
        lock.close()
        raise _taken(folder) from e
    return lock


def _taken(folder: object) -> AuditRefusedError:
    return AuditRefusedError(
        f"Another audit is running on {folder}: wait for it, or give this "
        "one a folder of its own with --out"
    )


def _lost(folder: object) -> AuditError:
    return AuditError(
        f"This audit no longer holds {folder}: it stood still for "
        f"{LEASE // timedelta(minutes=1)} minutes or longer, or somebody "
        f"removed {LOCK}, and another audit may have used the folder since. "
        "Nothing more was kept of this one"
    )
