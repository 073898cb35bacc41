"""Results of audits, as plain files in a folder.

``<out>/runs/<id>/result.json``
    ``{"schema_version": 4, "value": {...}}``, where the value is a
    `FinishedAudit` as `to_json` writes it. It is what makes a run count.
``<out>/runs/<id>/report.html``
    The report for a person.
"""

import json
import os
import re
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import unquote

from ..clock import utc_now
from ..domain.audit.plan import earlier_pieces, nights_by_day
from ..domain.audit.result import AuditResult, FinishedAudit
from ..exceptions import AuditError
from .documents import from_json, to_json

__all__ = [
    "SCHEMA_VERSION",
    "ResultFolder",
    "ResultsSeen",
    "from_versioned",
    "keep_posted",
    "latest_audit",
    "latest_of",
    "local_path",
    "read_audit",
    "read_audits",
    "read_document",
    "read_named",
    "to_document",
    "to_url",
    "to_versioned",
    "write_file",
]


T = TypeVar("T")

SCHEMA_VERSION = 4
"""Of everything that audits keep: documents, digests and carries. Raise it
with each change of one of them."""


def to_versioned(value: Any) -> str:
    """Return a dataclass of the domain on one line, with the version."""
    return f'{{"schema_version":{SCHEMA_VERSION},"value":{to_json(value)}}}'


def to_document(result: AuditResult) -> str:
    """Return a result as other programs read it: as `result.json` has it, and
    whether it is clean.
    """
    document = {"clean": result.clean, **json.loads(to_json(result))}
    return json.dumps(document, indent=2)


def from_versioned(kind: type[T], text: str, where: str) -> T:
    """Read what `to_versioned` wrote.

    Parameters
    ----------
    kind
        Dataclass of the value.
    text
        The document.
    where
        Origin of the document, for errors.

    Raises
    ------
    AuditError
        Raised if it was written by another version, or is something else.
    """
    try:
        document = json.loads(text)
        version = document["schema_version"]
        if version != SCHEMA_VERSION:
            raise AuditError(
                f"{where} has version {version!r}, and this mirrorwatch reads "
                f"version {SCHEMA_VERSION}: use the one that wrote it, or "
                "another folder (audit.out)"
            )
        return from_json(kind, json.dumps(document["value"]))
    # cattrs raises a group of errors, one for each field.
    except (ValueError, TypeError, KeyError, ExceptionGroup) as e:
        raise AuditError(f"{where} is not what an audit keeps there") from e


def latest_audit(folder: Path) -> FinishedAudit | None:
    """Return the nightly audit with the newest ranges; `None` before one.

    Raises
    ------
    AuditError
        Raised if a file cannot be read.
    """
    runs = [file.parent.name for file in folder.glob("runs/*/result.json")]
    return latest_of(runs, partial(read_audit, folder))


def latest_of(
    runs: Iterable[str], read: Callable[[str], FinishedAudit | None]
) -> FinishedAudit | None:
    """Return the nightly audit with the newest ranges among runs.

    Parameters
    ----------
    runs
        Names of runs.
    read
        Reads one; `None` if it was not finished.
    """
    for day in nights_by_day(runs):
        finished = [audit for run in day if (audit := read(run)) is not None]
        if finished:
            return max(finished, key=lambda audit: audit.result.end)
    return None


def read_named(folder: Path, run: str | None) -> list[FinishedAudit]:
    """Return a run by its name, or all pieces of the last night: one that was
    missed is made up for in several.

    Parameters
    ----------
    folder
        The folder of all runs.
    run
        Its name; `None` for the last night.

    Returns
    -------
    list
        The pieces in their order; nothing if there is no such run.

    Raises
    ------
    AuditError
        Raised if a file cannot be read.
    """
    last = latest_audit(folder) if run is None else read_audit(folder, run)
    if last is None:
        return []
    names = earlier_pieces(last.result.id) if run is None else []
    pieces = [read_audit(folder, name) for name in names]
    return [*(piece for piece in pieces if piece is not None), last]


def read_audit(folder: Path, run: str) -> FinishedAudit | None:
    """Return a run by its name; `None` if it was not finished.

    Raises
    ------
    AuditError
        Raised if the file cannot be read.
    """
    return read_document(FinishedAudit, folder / "runs" / run / "result.json")


def read_audits(folder: Path) -> Iterator[FinishedAudit]:
    """Return all finished runs.

    Raises
    ------
    AuditError
        Raised if a file cannot be read.
    """
    for file in sorted(folder.glob("runs/*/result.json")):
        audit = read_document(FinishedAudit, file)
        if audit is not None:
            yield audit


WHOLE = 20
"""Whole nights that are read, the newest ones: what is older is of no concern
any more."""

MOST = 100
"""Runs that are read at most: pieces of nights are many."""

Version = tuple[int, int]
"""Time of the last change, and size."""


@dataclass(frozen=True, slots=True)
class ResultsSeen:
    """Nightly results in a folder."""

    results: tuple[AuditResult, ...] = ()
    """Results, the last written first."""

    problems: tuple[str, ...] = ()
    """Reasons why results cannot be read, the newest first."""


class ResultFolder:
    """Folder of all runs, of which the newest nights are read.

    Parameters
    ----------
    folder
        ``audit.out``; it need not exist yet.

    Notes
    -----
    Results of every audit are there, whatever ran it: the agent, another one,
    or a cluster. So there is one truth, and it survives the agent. A result
    is read once; one that cannot be read is tried again with every look: a
    mounted folder may fail for a moment.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._known: dict[tuple[str, Version], FinishedAudit] = {}

    def look(self) -> ResultsSeen:
        """Return the newest nights.

        Raises
        ------
        AuditError
            Raised if the folder cannot be read.
        """
        known: dict[tuple[str, Version], FinishedAudit] = {}
        results: list[AuditResult] = []
        problems: list[str] = []
        versions = self._list()
        newest_first = sorted(
            versions, key=lambda r: versions[r], reverse=True
        )
        for run in newest_first:
            if _is_enough(results, problems):
                break
            key = run, versions[run]
            try:
                audit = self._known.get(key) or read_audit(self._folder, run)
            except AuditError as e:
                which = "An earlier" if known or problems else "The latest"
                problems.append(f"{which} audit result cannot be read: {e}")
                continue
            if audit is None:
                continue  # deleted since it was listed
            known[key] = audit
            if audit.result.nightly:
                results.append(audit.result)
        # Replaced as a whole: two requests may be answered at once.
        self._known = known
        return ResultsSeen(tuple(results), tuple(problems))

    def has_report(self, run: str) -> bool:
        """Return whether a run left a report for people."""
        try:
            return (self._folder / "runs" / run / "report.html").is_file()
        except OSError:
            return False

    def _list(self) -> dict[str, Version]:
        found = {}
        try:
            for folder in (self._folder / "runs").iterdir():
                if folder.name.startswith("adhoc-"):
                    continue  # a window that somebody asked for, no night
                try:
                    facts = (folder / "result.json").stat()
                except (FileNotFoundError, NotADirectoryError):
                    continue  # one that still runs, or was given up
                found[folder.name] = (facts.st_mtime_ns, facts.st_size)
        except FileNotFoundError:
            return {}  # before the first audit
        except OSError as e:
            raise AuditError(f"Audit results cannot be read: {e}") from e
        return found


def _is_enough(
    results: Sequence[AuditResult], problems: Sequence[str]
) -> bool:
    """Return whether the results have the last night of every flow."""
    whole = [r for r in results if not r.more]
    return len(whole) >= WHOLE or len(results) + len(problems) >= MOST


def keep_posted(folder: Path, audit: FinishedAudit, keep: timedelta) -> None:
    """Keep a result that was posted, once however often that is done, and
    delete posted ones that are old.

    Parameters
    ----------
    folder
        Folder of all runs.
    audit
        The result.
    keep
        Time for which posted results are kept. Runs with other files are not
        touched.

    Raises
    ------
    AuditError
        Raised if the folder cannot be used.
    """
    file = folder / "runs" / audit.result.id / "result.json"
    if read_audit(folder, audit.result.id) != audit:
        write_file(file, to_versioned(audit))
    oldest = (utc_now() - keep).timestamp()
    try:
        for run in (folder / "runs").iterdir():
            if (
                run != file.parent
                and [each.name for each in run.iterdir()] == [file.name]
                and (run / file.name).stat().st_mtime < oldest
            ):
                shutil.rmtree(run)
    except OSError as e:
        raise AuditError(f"Cannot use {folder}: {e}") from e


def read_document(kind: type[T], file: Path) -> T | None:
    """Return what `to_versioned` made; `None` if there is no file.

    Raises
    ------
    AuditError
        Raised if the file cannot be read.
    """
    try:
        text = file.read_text(encoding="utf-8")
    except FileNotFoundError:
        return None
    except (OSError, UnicodeError) as e:
        raise AuditError(f"Cannot read {file}: {e}") from e
    return from_versioned(kind, text, str(file))


def write_file(file: Path, text: str) -> None:
    """Write a text, whole or not at all.

    Raises
    ------
    AuditError
        Raised if it cannot be written.
    """
    new = file.with_name(f".{file.name}.new")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with new.open("w", encoding="utf-8") as stream:
            stream.write(text)
            stream.flush()
            # What is known of a night must survive a loss of power.
            os.fsync(stream.fileno())
        new.replace(file)
    except OSError as e:
        raise AuditError(f"Cannot write {file}: {e}") from e


def to_url(folder: str) -> str:
    """Return a folder, as a user wrote it, as Hadoop wants it: a URL in which
    nothing is percent-encoded, for Hadoop decodes nothing. A path without a
    scheme is on this machine, whatever file system Hadoop would take it for.
    """
    local = local_path(folder)
    return folder.rstrip("/") if local is None else f"file://{local}"


_LOCAL_URL = re.compile(r"file:(?://[^/]*)?(?P<path>.*)", re.DOTALL)


def local_path(folder: str) -> Path | None:
    """Return a folder of this machine, as a user wrote it, as a path; `None`
    if it is elsewhere.
    """
    if url := _LOCAL_URL.fullmatch(folder):
        return Path(unquote(url["path"]))
    if "://" in folder:
        return None
    return Path(folder).expanduser().absolute()
