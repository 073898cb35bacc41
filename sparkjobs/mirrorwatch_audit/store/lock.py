"""Only one audit at a time works on a folder of this machine.

Two at once would go on from the same ends, and each would write over what the
other keeps.
"""

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager

from mirrorwatch.exceptions import AuditError, AuditRefusedError
from mirrorwatch.state.audits import local_path

__all__ = ["only_one"]


@contextmanager
def only_one(folder: str) -> Iterator[None]:
    """Hold the folder of all runs for one audit; that ends with the process,
    however it ends. One that is elsewhere is not held.

    Parameters
    ----------
    folder
        The folder, as it was given.

    Raises
    ------
    AuditRefusedError
        Raised if another audit holds it.
    AuditError
        Raised if it cannot be used.
    """
    path = local_path(folder)
    if path is None:
        yield
        return
    try:
        path.mkdir(parents=True, exist_ok=True)
        lock = (path / "audit.lock").open("w")
    except OSError as e:
        raise AuditError(f"Cannot use the folder {path}: {e}") from e
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as e:
            raise AuditRefusedError(
                f"Another audit is running on {path}: wait for it, or give "
                "this one a folder of its own with --out"
            ) from e
        yield
