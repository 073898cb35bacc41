"""The reports of audits, for anyone who looks at the page."""

import re
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import (
    FileResponse,
    PlainTextResponse,
    Response,
)

from ..domain.audit.flow_result import AuditObservation, flow_result_of
from ..exceptions import AuditError, WebError
from ..ports import Report
from ..state.audits import read_audit
from ..threads import Latest
from .details import night_document
from .headers import JsonAnswer

__all__ = ["AuditNights", "AuditReports"]


LATEST = "latest"

RUN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,199}", re.ASCII)
"""Names that audits give their runs. None leads out of the folder."""


class AuditReports:
    """Shows the reports that audits have left.

    Parameters
    ----------
    latest
        Holds the last report of the agent.
    folder
        Folder of the audits' results; `None` if there is none.
    """

    def __init__(
        self, latest: Latest[Report | None], folder: Path | None
    ) -> None:
        self._latest = latest
        self._folder = folder

    def show(self, request: Request) -> Response:
        """Return the report of a run.

        Notes
        -----
        It is not async, so it runs in a thread: the folder may be on another
        machine that does not answer.
        """
        try:
            file = self._find(request.path_params["run"])
        except WebError as e:
            return PlainTextResponse(f"{e}.\n", status_code=404)
        return FileResponse(file, media_type="text/html")

    def _find(self, run: str) -> Path:
        if self._folder is None:
            raise WebError(
                "No folder for audit reports is configured: see audit and "
                "audit.out"
            )
        if run == LATEST:
            run = _latest(self._latest.get())
        runs = (self._folder / "runs").resolve()
        if RUN.fullmatch(run):
            file = (runs / run / "report.html").resolve()
            # A link in there could still lead out of it.
            if file.is_relative_to(runs) and file.is_file():
                return file
        raise WebError(
            f"No report of audit {run!r}: it is still running, or has failed"
        )


def _latest(report: Report | None) -> str:
    seen = () if report is None else report.observations
    reports = [
        (audit.night.ended_at, audit.report)
        for audit in seen
        if isinstance(audit, AuditObservation)
        and audit.night is not None
        and audit.report is not None
    ]
    if not reports:
        raise WebError("No audit has written a report yet")
    return max(reports)[1]


NIGHTS = 14
"""Newest nightly runs that are listed: two weeks, if one runs a night."""

Version = tuple[int, int, str]
"""Time of the last change, size and name of a run."""

Nights = tuple[dict[str, Any], ...]


class AuditNights:
    """Returns the sums of the last nightly audits.

    Parameters
    ----------
    folder
        Folder of the audits' results; `None` if there is none.
    """

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._known: dict[Version, Nights] = {}

    def show(self, request: Request) -> Response:
        """Return the nights of all flows, the newest first.

        Notes
        -----
        It is not async, so it runs in a thread: the folder may be on another
        machine that does not answer.
        """
        if self._folder is None:
            return JsonAnswer({"nights": [], "problems": []})
        try:
            versions = _newest_first(self._folder / "runs")
        except OSError as e:
            error = f"Audit results cannot be read: {e}"
            return JsonAnswer({"error": error}, status_code=503)
        known, problems, left = {}, [], NIGHTS
        for version in versions:
            if not left:
                break
            found = self._known.get(version)
            try:
                if found is None:
                    found = _read(self._folder, version[2])
            except AuditError as e:
                problems.append(str(e))
                left -= 1
                continue
            known[version] = found
            # Those of windows have no nights: they take no place.
            left -= bool(found)
        # Replaced as a whole: two requests may be answered at once.
        self._known = known
        nights = [night for of_run in known.values() for night in of_run]
        return JsonAnswer({"nights": nights, "problems": problems})


def _newest_first(runs: Path) -> list[Version]:
    found = []
    folders = list(runs.iterdir()) if runs.is_dir() else []
    for folder in folders:
        result = folder / "result.json"
        if result.is_file():
            facts = result.stat()
            found.append((facts.st_mtime_ns, facts.st_size, folder.name))
    return sorted(found, reverse=True)


def _read(folder: Path, run: str) -> Nights:
    audit = read_audit(folder, run)
    if audit is None or not audit.result.nightly:
        return ()
    result = audit.result
    has_report = (folder / "runs" / run / "report.html").is_file()
    flows = {topic.flow for topic in result.topics}
    flows |= {gap.flow for gap in result.unverifiable}
    flows |= {shared.flow for shared in result.shared}
    return tuple(
        {
            "flow": flow,
            "run": run,
            "report": f"/audit/{run}" if has_report else None,
        }
        | night_document(night)
        for flow in sorted(flows)
        if (night := flow_result_of(result, flow)) is not None
    )
