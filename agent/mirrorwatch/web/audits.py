"""The reports of audits, for anyone who looks at the page."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import (
    FileResponse,
    PlainTextResponse,
    Response,
)

from ..domain.audit.flow_result import AuditObservation, flow_result_of
from ..domain.audit.result import AuditResult
from ..exceptions import AuditError, WebError
from ..ports import Report
from ..state.audits import ResultFolder
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


class AuditNights:
    """Returns the sums of the last nightly audits.

    Parameters
    ----------
    folder
        Folder of the audits' results; `None` if there is none.
    """

    def __init__(self, folder: Path | None) -> None:
        self._folder = None if folder is None else ResultFolder(folder)

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
            seen = self._folder.look()
        except AuditError as e:
            return JsonAnswer({"error": str(e)}, status_code=503)
        nights = [
            night
            for result in seen.results[:NIGHTS]
            for night in _nights(result, self._folder)
        ]
        return JsonAnswer({"nights": nights, "problems": seen.problems})


def _nights(
    result: AuditResult, folder: ResultFolder
) -> Iterator[dict[str, Any]]:
    report = f"/audit/{result.id}" if folder.has_report(result.id) else None
    flows = {topic.flow for topic in result.topics}
    flows |= {gap.flow for gap in result.unverifiable}
    flows |= {shared.flow for shared in result.shared}
    for flow in sorted(flows):
        night = flow_result_of(result, flow)
        if night is not None:
            about = {"flow": flow, "run": result.id, "report": report}
            yield about | night_document(night)
