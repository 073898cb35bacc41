"""Looks into the folder that audits leave their results in."""

from dataclasses import dataclass
from pathlib import Path

from ...domain.audit import AuditResult
from ...exceptions import AuditError
from ...state.audits import read_audit

__all__ = ["Look", "ResultFolder"]

FIRST = 20
"""Newest runs that are read when the agent starts: what is older is either
known from before, or of no concern any more."""

Version = tuple[int, int]
"""Time of the last change, and size."""


@dataclass(frozen=True, slots=True)
class Look:
    """What was new in the folder."""

    results: tuple[AuditResult, ...] = ()
    """Results of nightly audits, in no order."""

    problem: str | None = None
    """Why the newest result cannot be read."""


class ResultFolder:
    """Finds results that were not there, or were others, before.

    Parameters
    ----------
    folder
        ``audit.out``; it need not exist yet.

    Notes
    -----
    Whoever runs the audit leaves its results there: the agent itself, another
    one, or a cluster. So there is one truth, and it survives the agent.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._known: dict[str, Version] | None = None
        self._problem: str | None = None

    def look(self) -> Look:
        """Return what is new.

        Raises
        ------
        AuditError
            Raised if the folder cannot be read.
        """
        versions = self._list()
        newest_first = sorted(
            versions, key=lambda r: versions[r], reverse=True
        )
        known = self._known
        new = newest_first[:FIRST]
        if known is not None:
            new = [r for r in newest_first if known.get(r) != versions[r]]
        self._known = versions
        if new[:1] == newest_first[:1]:
            self._problem = None
        results = []
        for run in new:
            try:
                audit = read_audit(self._folder, run)
            except AuditError as e:
                # Others are newer if it is not the first: they count.
                if run == newest_first[0]:
                    self._problem = f"The newest audit cannot be read: {e}"
                continue
            if audit is not None and audit.result.nightly:
                results.append(audit.result)
        return Look(tuple(results), self._problem)

    def has_report(self, run: str) -> bool:
        """Tell whether a run left a report for people."""
        if not run:
            return False
        try:
            return (self._folder / "runs" / run / "report.html").is_file()
        except OSError:
            return False

    def _list(self) -> dict[str, Version]:
        found = {}
        try:
            for folder in (self._folder / "runs").iterdir():
                try:
                    facts = (folder / "result.json").stat()
                except (FileNotFoundError, NotADirectoryError):
                    continue  # one that still runs, or was given up
                found[folder.name] = (facts.st_mtime_ns, facts.st_size)
        except FileNotFoundError:
            return {}  # before the first audit
        except OSError as e:
            raise AuditError(
                f"The results of audits cannot be read: {e}. Give the agent's "
                "user the right to read the folder audit.out"
            ) from e
        return found
