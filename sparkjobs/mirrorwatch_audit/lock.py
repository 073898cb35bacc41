"""Keeps a second audit away from the same folder."""

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from mirrorwatch.exceptions import AuditError
from mirrorwatch.state.audit_folder import local_path

__all__ = ["only_one"]


@contextmanager
def only_one(folder: str) -> Iterator[None]:
    """Hold the folder of all runs for one audit.

    Two at once would go on from the same ends, and each would write over
    what the other keeps. The lock ends with the process, however that ends.

    Raises
    ------
    AuditError
        Raised if another audit holds it.

    Notes
    -----
    Object stores have no locks: where the folder is not on this machine, the
    scheduler must not start two.
    """
    path = local_path(folder)
    if path is None:
        yield
        return
    with _locked(path):
        yield


def _locked(folder: Path) -> TextIO:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = (folder / "audit.lock").open("w")
    except OSError as e:
        raise AuditError(f"Cannot use the folder {folder}: {e}") from e
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as e:
        lock.close()
        raise AuditError(
            f"Another audit is running on {folder}: wait for it, or give this "
            "one a folder of its own with --out"
        ) from e
    return lock
