"""The reports of audits, for whoever looks at the page."""

import re
from pathlib import Path

from starlette.requests import Request
from starlette.responses import FileResponse, PlainTextResponse, Response

from ..domain.audit.observation import AuditObservation
from ..exceptions import WebError
from ..ports import Report
from .board import Board

__all__ = ["AuditReports"]

LATEST = "latest"

RUN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,199}", re.ASCII)
"""Names that audits give their runs. None leads out of the folder."""


class AuditReports:
    """Shows the reports that audits have left.

    Parameters
    ----------
    board
        Holds the last report of the agent.
    folder
        Where audits leave their results; `None` if nowhere.
    """

    def __init__(self, board: Board, folder: Path | None) -> None:
        self._board = board
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
                "This agent has no folder with reports of audits: see audit "
                "and audit.out in its configuration"
            )
        if run == LATEST:
            run = _latest(self._board.report)
        runs = (self._folder / "runs").resolve()
        if RUN.fullmatch(run):
            file = (runs / run / "report.html").resolve()
            # A link in there could still lead out of it.
            if file.is_relative_to(runs) and file.is_file():
                return file
        raise WebError(
            f"There is no report of an audit {run!r}: it may still run, or "
            "have failed"
        )


def _latest(report: Report | None) -> str:
    seen = () if report is None else report.observations
    told = [
        (audit.night.ended_at, audit.report)
        for audit in seen
        if isinstance(audit, AuditObservation)
        and audit.night is not None
        and audit.report is not None
    ]
    if not told:
        raise WebError("No audit has left a report yet")
    return max(told)[1]
