"""Results of audits, as plain files in a local folder.

The audit's own store is read and written by Spark, which a daemon has not.
Where the folder is local, each run leaves the same as one JSON file beside it:

``<out>/runs/<id>/result.json``
    ``{"schema_version": 1, "value": {...}}``, where the value is a
    `FinishedAudit` as `codec` writes it. It is written last, and is what
    makes a run count.
``<out>/latest.json``
    The same of the nightly run with the newest ranges. Ad hoc runs never
    write it.
"""

import os
from collections.abc import Iterator
from pathlib import Path

from ..domain.audit import FinishedAudit
from ..exceptions import AuditError
from .versioned import from_versioned, to_versioned

__all__ = ["latest_audit", "read_audit", "read_audits", "write_audit"]


def write_audit(folder: Path, audit: FinishedAudit) -> None:
    """Write the files of a run, each whole or not at all.

    Raises
    ------
    AuditError
        Raised if a file cannot be written or read.
    """
    text = to_versioned(audit)
    result = audit.result
    try:
        _write(folder / "runs" / result.id / "result.json", text)
        latest = latest_audit(folder)
        if result.nightly and (
            latest is None or latest.result.end <= result.end
        ):
            _write(folder / "latest.json", text)
    except OSError as e:
        raise AuditError(f"Cannot write results to {folder}: {e}") from e


def latest_audit(folder: Path) -> FinishedAudit | None:
    """Return the nightly audit with the newest ranges; `None` before one.

    Raises
    ------
    AuditError
        Raised if the file cannot be read.
    """
    return _read(folder / "latest.json")


def read_audit(folder: Path, run: str) -> FinishedAudit | None:
    """Return a run by its name; `None` if it was not finished.

    Raises
    ------
    AuditError
        Raised if the file cannot be read.
    """
    return _read(folder / "runs" / run / "result.json")


def read_audits(folder: Path) -> Iterator[FinishedAudit]:
    """Return all finished runs.

    Raises
    ------
    AuditError
        Raised if a file cannot be read.
    """
    for file in sorted(folder.glob("runs/*/result.json")):
        audit = _read(file)
        if audit is not None:
            yield audit


def _read(file: Path) -> FinishedAudit | None:
    try:
        text = file.read_text(encoding="utf-8")
    except FileNotFoundError:
        return None
    except (OSError, UnicodeError) as e:
        raise AuditError(f"Cannot read {file}: {e}") from e
    return from_versioned(FinishedAudit, text, str(file))


def _write(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    new = file.with_name(f".{file.name}.new")
    with new.open("w", encoding="utf-8") as stream:
        stream.write(text)
        stream.flush()
        # The night after goes on from what this says, over a loss of power.
        os.fsync(stream.fileno())
    new.replace(file)
