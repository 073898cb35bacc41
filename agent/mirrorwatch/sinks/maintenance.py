"""Compares flows before and after maintenance: the sink."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from structlog.typing import FilteringBoundLogger

from ..domain.notices.maintenance import (
    FlowSnapshot,
    LatencySummary,
    MaintenanceOutcome,
    take_snapshot,
    to_document,
    to_message,
)
from ..domain.report import Health
from ..domain.samples import Sampler, samples
from ..exceptions import SinkError, StateError
from ..ports import Report
from ..state.history import History
from ..state.maintenance import MaintenanceStore, Open
from ..state.queue import Outbox

__all__ = ["PATIENCE", "MaintenanceSink"]

RECENT = timedelta(minutes=5)
"""The stretch whose latency is compared, as on the page."""

PATIENCE = timedelta(minutes=2)
"""How long an agent that was started again meanwhile, maybe by the same work,
waits until all is known that is to be compared: it knows little at first."""


class MaintenanceSink:
    """Compares flows before and after maintenance, and notifies of it.

    Parameters
    ----------
    store
        Keeps what was announced.
    history
        Knows the latency of the last minutes.
    outbox
        Where messages wait, if anybody is notified.
    page
        Address of the status page.
    sampler
        Makes the samples of a report.
    logger
        Logs the begin and what changed.
    """

    name = "maintenance"

    def __init__(
        self,
        store: MaintenanceStore,
        history: History,
        *,
        outbox: Outbox | None,
        page: str,
        sampler: Sampler = samples,
        logger: FilteringBoundLogger,
    ) -> None:
        self._store = store
        self._history = history
        self._outbox = outbox
        self._page = page
        self._sampler = sampler
        self._logger = logger
        self._previous: Report | None = None
        self._first_at: datetime | None = None

    def publish(self, report: Report) -> None:
        previous, self._previous = self._previous, report
        # The wall clock may be set back after a start.
        self._first_at = min(self._first_at or report.at, report.at)
        flows = {flow.name for flow in report.flows}
        try:
            opened = [o for o in self._store.open() if o.window.flow in flows]
            over = [o for o in opened if report.at >= o.window.until]
            for begun in opened:
                # An agent that was started later saw nothing of before.
                if (
                    begun.before is None
                    and begun.window.holds(report.at)
                    and begun.window.since >= self._first_at
                ):
                    self._begin(begun, report, previous)
            if over and all(self._may_compare(o, report) for o in over):
                self._finish(over, report)
        except StateError as e:
            raise SinkError(str(e), sink=self.name) from e

    def close(self) -> None:
        """Do nothing: what was noted is committed."""

    def _begin(
        self, begun: Open, report: Report, previous: Report | None
    ) -> None:
        """Note how a flow was in the last report before maintenance."""
        window = begun.window
        if previous is not None and previous.at <= window.since:
            report = previous
        self._store.begin(begun.number, self._snapshot(report, window.flow))
        self._logger.info(
            "Maintenance started, notifications are silenced",
            flow=window.flow,
            until=window.until.isoformat(),
            reason=window.reason,
        )

    def _may_compare(self, ended: Open, report: Report) -> bool:
        """Return whether as much is known of a flow as is to be had."""
        started = self._first_at or report.at
        return (
            started <= ended.window.since
            or report.at - max(started, ended.window.until) >= PATIENCE
            or not any(
                verdict.health is Health.UNKNOWN
                for verdict in report.verdicts
                if verdict.flow == ended.window.flow
            )
        )

    def _finish(self, over: Sequence[Open], report: Report) -> None:
        outcomes = [
            MaintenanceOutcome(
                window=ended.window,
                before=ended.before,
                after=self._snapshot(report, ended.window.flow),
            )
            for ended in over
        ]
        afters = [
            (ended.number, outcome.after)
            for ended, outcome in zip(over, outcomes, strict=True)
        ]
        message = to_message(outcomes, self._page, report.at)
        self._store.finish(afters, [message], self._outbox)
        for outcome in outcomes:
            self._logger.info("Maintenance has ended", **to_document(outcome))

    def _snapshot(self, report: Report, flow: str) -> FlowSnapshot:
        now = report.own_at
        recent = self._history.summary(flow, now - RECENT, now)
        latency = LatencySummary(
            median=recent.quantile(0.5), p99=recent.quantile(0.99)
        )
        return take_snapshot(report, flow, latency, self._sampler)
