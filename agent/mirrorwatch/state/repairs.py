"""What was written again of an audit's findings, beside its result.

``<out>/runs/<id>/repaired.json``
    `RepairDiary`, as `to_versioned` writes it.
``<out>/runs/<id>/plan.json``
    What the run compared. Only read here.
"""

import fcntl
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from ..domain.audit.plan import Plan
from ..domain.audit.repair import RepairDiary, TargetEnds
from ..exceptions import AuditError
from .audits import read_document, write_document

__all__ = ["opened_diary", "read_target_ends"]


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


@dataclass(frozen=True, kw_only=True, slots=True)
class _Frozen:
    plan: Plan


def read_target_ends(folder: Path, run: str) -> TargetEnds:
    """Return up to where a run looked for copies; nothing if that is not in
    its folder.

    Raises
    ------
    AuditError
        Raised if a file cannot be read.
    """
    frozen = read_document(_Frozen, folder / "runs" / run / "plan.json")
    return {
        (pair.cluster, pair.target_topic, pair.partition): pair.retained.end
        for pair in (() if frozen is None else frozen.plan.pairs)
    }
