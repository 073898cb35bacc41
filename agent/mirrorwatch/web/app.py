"""The addresses that the agent answers at."""

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import Protocol

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import (
    FileResponse,
    HTMLResponse,
    Response,
)
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from ..clock import shifted
from ..exceptions import StateError, WebError
from ..ports import Report
from ..state.events import EventStore
from ..state.history import Bucket, History
from ..threads import Latest
from .audits import AuditInbox, AuditNights, AuditReports
from .details import details_document
from .events import MOST_EVENTS, events_document, parse_since
from .headers import JsonAnswer, takes_gzip
from .history import HistoryQuery, history_document
from .login import STRANGER
from .runbook import runbook_html
from .status import Freshness, status_document
from .topics import TopicsQuery, topics_document

__all__ = ["LatestReport", "MetricsRenderer", "create_app"]

STATIC = Path(__file__).parent / "static"

RECENT = timedelta(minutes=5)


class MetricsRenderer(Protocol):
    """Makes the text for Prometheus."""

    def __call__(
        self, accept: str | None, *, packed: bool
    ) -> tuple[bytes, str]:
        """Return the metrics, compressed by gzip if wanted, and their content
        type, for an ``Accept`` header.
        """
        ...


class LatestReport(Latest[Report | None]):
    """A sink that holds the last report, for anyone who looks at the page."""

    name = "web"

    def __init__(self) -> None:
        super().__init__(None)

    def publish(self, report: Report) -> None:
        self.set(report)

    def close(self) -> None:
        """Do nothing: what is shown last stays true of its time."""


def create_app(
    latest: Latest[Report | None],
    history: History,
    events: EventStore,
    exposition: MetricsRenderer,
    *,
    interval: timedelta,
    clock: Callable[[], datetime],
    audits: Path | None = None,
    inbox: AuditInbox | None = None,
) -> Starlette:
    """Return the page and the API.

    Parameters
    ----------
    latest
        Holds the last report.
    history
        History behind the charts.
    events
        Events of all flows.
    exposition
        Makes the text for Prometheus.
    interval
        Time between ticks.
    clock
        Gives the agent's own time.
    audits
        Folder with the results of audits, if there is one here.
    inbox
        Takes results of audits that run elsewhere.

    Notes
    -----
    Starlette and not FastAPI: a few addresses do not repay the
    11 MiB that the latter adds to an agent that is to stay below 100 MiB.
    """
    pages = _Pages(
        latest=latest,
        history=history,
        events=events,
        exposition=exposition,
        interval=interval,
        clock=clock,
    )
    return Starlette(
        routes=[
            Route("/", pages.page),
            Route("/api/status", pages.status),
            Route("/api/events", pages.events),
            Route("/api/history", pages.history),
            Route("/api/topics", pages.topics),
            Route("/api/details", pages.details),
            Route("/api/audits", AuditNights(audits).show),
            Route(
                "/api/audit/results",
                (inbox or AuditInbox()).take,
                methods=["POST"],
            ),
            Route("/runbook", pages.runbook),
            Route("/audit/{run}", AuditReports(latest, audits).show),
            Route("/metrics", pages.metrics),
            Route("/healthz", pages.healthz),
            Route("/readyz", pages.readyz),
            Mount("/static", StaticFiles(directory=STATIC)),
        ],
    )


class _Pages:
    """Endpoints of the web server: one method for each address.

    They run in the web server's own thread; each takes milliseconds.
    """

    def __init__(
        self,
        *,
        latest: Latest[Report | None],
        history: History,
        events: EventStore,
        exposition: MetricsRenderer,
        interval: timedelta,
        clock: Callable[[], datetime],
    ) -> None:
        self._latest = latest
        self._history = history
        self._events = events
        self._exposition = exposition
        self._interval = interval
        self._clock = clock

    async def page(self, request: Request) -> Response:
        return FileResponse(STATIC / "index.html")

    async def runbook(self, request: Request) -> Response:
        return HTMLResponse(runbook_html())

    async def status(self, request: Request) -> Response:
        report, offset = self._labelled()
        now = self._clock() + offset
        freshness = Freshness.of(report, now, self._interval)
        recent = self._recent(report, now - offset)
        return JsonAnswer(
            status_document(report, recent, freshness, now),
            status_code=503 if report is None else 200,
        )

    async def history(self, request: Request) -> Response:
        report, offset = self._labelled()
        now = self._clock() + offset
        try:
            query = HistoryQuery.parse(request.query_params, now)
        except WebError as e:
            return JsonAnswer({"error": str(e)}, status_code=400)
        if missing := _missing(query.flow, report):
            return missing
        asked = shifted(query, -offset)
        try:
            series = self._history.series(
                asked.flow, asked.start, asked.end, asked.points
            )
        except StateError as e:
            return JsonAnswer({"error": str(e)}, status_code=503)
        return JsonAnswer(
            history_document(query.flow, shifted(series, offset))
        )

    async def events(self, request: Request) -> Response:
        _, offset = self._labelled()
        now = self._clock() + offset
        try:
            since = parse_since(request.query_params, now)
            found = self._events.read(since - offset, MOST_EVENTS)
        except WebError as e:
            return JsonAnswer({"error": str(e)}, status_code=400)
        except StateError as e:
            return JsonAnswer({"error": str(e)}, status_code=503)
        return JsonAnswer(
            events_document(shifted(event, offset) for event in found)
        )

    async def topics(self, request: Request) -> Response:
        try:
            query = TopicsQuery.parse(request.query_params)
        except WebError as e:
            return JsonAnswer({"error": str(e)}, status_code=400)
        report, offset = self._labelled()
        now = self._clock() + offset
        missing = query.flow is not None and _missing(query.flow, report)
        if missing:
            return missing
        freshness = Freshness.of(report, now, self._interval)
        return JsonAnswer(
            topics_document(report, query, freshness, now),
            status_code=503 if report is None else 200,
        )

    async def details(self, request: Request) -> Response:
        report, offset = self._labelled()
        now = self._clock() + offset
        flow = request.query_params.get("flow")
        if flow is not None and (missing := _missing(flow, report)):
            return missing
        freshness = Freshness.of(report, now, self._interval)
        return JsonAnswer(
            details_document(report, flow, freshness, now),
            status_code=503 if report is None else 200,
        )

    async def metrics(self, request: Request) -> Response:
        packed = takes_gzip(request.headers.get("accept-encoding", ""))
        body, media_type = self._exposition(
            request.headers.get("accept"), packed=packed
        )
        headers = {
            # As a header, because a media type would have a charset added.
            "Content-Type": media_type,
            "Vary": "Accept, Accept-Encoding",
        }
        if packed:
            headers["Content-Encoding"] = "gzip"
        return Response(body, headers=headers)

    async def healthz(self, request: Request) -> Response:
        report, offset = self._labelled()
        freshness = Freshness.of(
            report, self._clock() + offset, self._interval
        )
        code = 200 if freshness.is_fresh else 503
        if STRANGER in request.scope:
            return JsonAnswer({"status": freshness.status}, status_code=code)
        age = freshness.age
        return JsonAnswer(
            {
                "status": freshness.status,
                "age_seconds": None if age is None else age.total_seconds(),
                "limit_seconds": freshness.limit.total_seconds(),
                "clock_offset_seconds": offset.total_seconds(),
                "clock_steps": report.agent.clock_steps if report else 0,
                "problems": list(report.agent.problems) if report else [],
            },
            status_code=code,
        )

    async def readyz(self, request: Request) -> Response:
        ready = self._latest.get() is not None
        return JsonAnswer(
            {"status": "ready" if ready else "starting"},
            status_code=200 if ready else 503,
        )

    def _labelled(self) -> tuple[Report | None, timedelta]:
        """Return the last report, and how far its labels are ahead of the
        agent's own time.
        """
        report = self._latest.get()
        return report, report.agent.clock_offset if report else timedelta()

    def _recent(
        self, report: Report | None, now: datetime
    ) -> Mapping[str, Bucket]:
        """Return the last minutes of each flow; verdicts do without them."""
        flows = () if report is None else report.flows
        try:
            return {
                flow.name: self._history.summary(flow.name, now - RECENT, now)
                for flow in flows
            }
        except StateError:
            return {}


def _missing(flow: str, report: Report | None) -> Response | None:
    """Return the answer to a question about a flow that there is not."""
    names = [] if report is None else [f.name for f in report.flows]
    if flow in names:
        return None
    error = f"Unknown flow {flow!r}; known flows: {names}"
    return JsonAnswer({"error": error}, status_code=404)
