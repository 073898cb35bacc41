"""The report as a few structured log lines."""

from collections import Counter

from structlog.typing import FilteringBoundLogger

from ..domain.canary.model import canaries
from ..domain.report import Health, Verdict
from ..ports import Report

__all__ = ["LogSink"]


class LogSink:
    """Logs one line a tick, and one for each verdict that changed.

    Parameters
    ----------
    logger
        Logger that receives the lines.
    """

    name = "log"

    def __init__(self, *, logger: FilteringBoundLogger) -> None:
        self._logger = logger
        self._before: dict[tuple[str, str], Health] = {}

    def publish(self, report: Report) -> None:
        for verdict in report.verdicts:
            self._log_change(verdict)
        self._before = {(v.flow, v.check): v.health for v in report.verdicts}
        health = {f.name: report.health_of(f.name).label for f in report.flows}
        self._logger.debug(
            "Tick finished",
            health=health,
            verdicts=dict(Counter(v.health.label for v in report.verdicts)),
            observations=len(report.observations),
            arrivals=sum(
                len(c.arrivals) for c in canaries(report.observations)
            ),
        )

    def close(self) -> None:
        """Do nothing: every line is out when it is written."""

    def _log_change(self, verdict: Verdict) -> None:
        before = self._before.get((verdict.flow, verdict.check))
        troubled = verdict.health > Health.OK
        # The first verdict is news only if something is wrong.
        if before is verdict.health or (before is None and not troubled):
            return
        # That nothing is known at first is no trouble yet.
        starting = before is None and verdict.health is Health.UNKNOWN
        calm = starting or not troubled
        log = self._logger.info if calm else self._logger.warning
        log(
            "Verdict changed",
            flow=verdict.flow,
            check=verdict.check,
            health=verdict.health.label,
            before=None if before is None else before.label,
            reason=verdict.reason,
        )
