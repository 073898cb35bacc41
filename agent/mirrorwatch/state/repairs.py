"""What was written again of an audit's findings, beside its result.

``<out>/runs/<id>/repaired.json``
    `RepairDiary`, as `to_versioned` writes it.
"""

import fcntl
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from ..domain.audit.repair import RepairDiary
from ..exceptions import AuditError
from .audits import read_document, write_document

__all__ = ["opened_diary"]


@contextmanager
def opened_diary(
    folder: Path, run: str
) -> Iterator[tuple[RepairDiary, Callable[[RepairDiary], None]]]:
    """Hold the diary of a run for one repair.

    Parameters
    ----------
    folder
        Folder of all runs.
    run
        Name of the run.

    Returns
    -------
    tuple
        The diary, and what keeps a new one in its place.

    Raises
    ------
    AuditError
        Raised if another repair holds it, or if it cannot be used.
    """
    file = folder / "runs" / run / "repaired.json"
    try:
        lock = file.with_suffix(".lock").open("w")
    except OSError as e:
        raise AuditError(f"Cannot use the folder {file.parent}: {e}") from e
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as e:
            raise AuditError(f"Another repair of {run} is running") from e
        diary = read_document(RepairDiary, file) or RepairDiary()
        yield diary, lambda new: write_document(file, new)
