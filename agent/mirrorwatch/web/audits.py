"""The reports of audits, for anyone who looks at the page."""

import hmac
import re
from asyncio import to_thread
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import (
    FileResponse,
    PlainTextResponse,
    Response,
)

from ..domain.audit.flow_result import AuditObservation, flow_result_of
from ..domain.audit.result import AuditResult, FinishedAudit
from ..exceptions import AuditError, WebError
from ..ports import Report
from ..state.audits import ResultFolder, from_versioned, keep_posted
from ..threads import Latest
from .details import night_document
from .headers import JsonAnswer

__all__ = ["AuditInbox", "AuditNights", "AuditReports"]


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


MOST_BYTES = 16 * 2**20
"""Largest result that is taken."""


class AuditInbox:
    """Takes results of audits that run elsewhere.

    Parameters
    ----------
    folder
        Folder of the audits' results; `None` if there is none.
    token
        Bearer token that is asked for; `None` if no result is taken.
    keep
        Time for which results are kept.
    """

    def __init__(
        self,
        folder: Path | None = None,
        token: str | None = None,
        keep: timedelta = timedelta(days=400),
    ) -> None:
        self._folder = folder
        self._token = token
        self._keep = keep

    async def take(self, request: Request) -> Response:
        """Keep a posted `result.json`, once however often it is posted."""
        folder, token = self._folder, self._token
        if folder is None or token is None:
            raise HTTPException(404, "No results are taken: see audit.post")
        _check_token(request, token)
        body = bytearray()
        async for chunk in request.stream():
            body += chunk
            if len(body) > MOST_BYTES:
                raise HTTPException(413, f"More than {MOST_BYTES} bytes")
        try:
            audit = await to_thread(
                from_versioned, FinishedAudit, body.decode(), "The result"
            )
        except (AuditError, UnicodeError) as e:
            raise HTTPException(400, str(e)) from e
        if not RUN.fullmatch(audit.result.id):
            raise HTTPException(400, "The result has no name of a run")
        try:
            await to_thread(keep_posted, folder, audit, self._keep)
        except AuditError as e:
            raise HTTPException(503, str(e)) from e
        return JsonAnswer({"run": audit.result.id})


def _check_token(request: Request, token: str) -> None:
    header = request.headers.get("authorization", "")
    scheme, _, given = header.partition(" ")
    same = hmac.compare_digest(given.strip().encode(), token.encode())
    if scheme.lower() != "bearer" or not same:
        raise HTTPException(
            401,
            "The token is wrong: see audit.post",
            headers={"WWW-Authenticate": "Bearer"},
        )


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
