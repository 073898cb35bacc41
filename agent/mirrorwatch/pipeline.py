"""One tick: observe, judge, publish."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta

from structlog.typing import FilteringBoundLogger

from .clock import Clock, shifted
from .domain.checks import FlowLimits, judge
from .domain.report import (
    Flow,
    MaintenanceWindow,
    Observation,
    Verdict,
    keep_since,
)
from .exceptions import SinkError, SourceError, StateError
from .ports import (
    AgentState,
    QueueingSink,
    Report,
    Sink,
    Source,
    WatchedSource,
)
from .state.documents import VerdictStore

__all__ = ["Pipeline"]


class Pipeline:
    """Makes one report a tick and hands it to every sink.

    Parameters
    ----------
    flows
        Every configured flow.
    limits
        Limits of each flow, by its name.
    sources
        What is observed. None of them waits.
    sinks
        Where reports go.
    verdicts
        Keeps verdicts over a restart.
    windows
        Returns the maintenance that is in force at a time.
    move_windows
        Moves maintenance when the wall clock is stepped: it lasts as long.
    clock
        Gives the time. Facts are seen in the agent's own time, and labelled
        with the wall clock's before they are judged and published.
    logger
        Where failures are logged, each of them once.
    """

    def __init__(
        self,
        *,
        flows: Sequence[Flow],
        limits: Mapping[str, FlowLimits],
        sources: Sequence[Source],
        sinks: Sequence[Sink],
        verdicts: VerdictStore,
        windows: Callable[
            [datetime], tuple[MaintenanceWindow, ...]
        ] = lambda _: (),
        move_windows: Callable[[timedelta, datetime], None] = lambda *_: None,
        clock: Clock,
        logger: FilteringBoundLogger,
    ) -> None:
        self._flows = tuple(flows)
        self._limits = limits
        # Found out once: the look at a protocol's methods takes longer than
        # what most sources do.
        self._sources = [
            (s, s if isinstance(s, WatchedSource) else None) for s in sources
        ]
        self._sinks = [
            (s, s if isinstance(s, QueueingSink) else None) for s in sinks
        ]
        self._queues = [s for s in sinks if isinstance(s, QueueingSink)]
        self._store = verdicts
        self._read_windows = windows
        self._move_windows = move_windows
        self._clock = clock
        self._logger = logger
        self._windows: tuple[MaintenanceWindow, ...] = ()
        self._before: tuple[Verdict, ...] | None = None
        self._last_tick: timedelta | None = None
        self._sinks_up: dict[str, bool] = {}
        self._logged: dict[str, str] = {}

    def tick(self) -> Report:
        """Observe, judge, publish.

        Returns
        -------
        Report
            What every sink was given.
        """
        step = self._clock.watch()
        now, offset = self._clock(), self._clock.offset
        at = now + offset
        if step:
            self._note_step(step, at)
        found, sources_up = self._observe(now)
        seen = tuple(shifted(fact, offset) for fact in found)
        if self._before is None:
            self._before = self._load(at)
        judged = shifted(judge(self._limits, seen, at), -offset)
        self._before = keep_since(judged, self._before)
        report = Report(
            at=at,
            flows=self._flows,
            observations=seen,
            verdicts=shifted(self._before, offset),
            agent=AgentState(
                sources_up=sources_up,
                sinks_up=dict(self._sinks_up),
                spooled_points={
                    s.name: s.spooled_points for s in self._queues
                },
                lost_points={s.name: s.lost_points for s in self._queues},
                last_tick=self._last_tick,
                clock_offset=offset,
                clock_steps=self._clock.steps,
            ),
            maintenance=self._in_force(at),
        )
        self._publish(report)
        self._save(self._before, at)
        self._last_tick = self._clock() - now
        return report

    def close(self) -> None:
        """Let every sink publish what it holds."""
        for sink, _ in self._sinks:
            sink.close()

    def _observe(
        self, now: datetime
    ) -> tuple[list[Observation], dict[str, bool]]:
        seen: list[Observation] = []
        up: dict[str, bool] = {}
        for source, watched in self._sources:
            try:
                seen.extend(source.observe(now))
            except SourceError as e:
                self._log_once(source.name, "Source unavailable", e)
                up[source.name] = False
            else:
                self._logged.pop(source.name, None)
                # One with workers returns what still holds of what they left.
                up[source.name] = watched.up if watched else True
        return seen, up

    def _publish(self, report: Report) -> None:
        for sink, queue in self._sinks:
            try:
                sink.publish(report)
            except SinkError as e:
                self._log_once(sink.name, "Sink unavailable", e)
                self._sinks_up[sink.name] = False
            else:
                self._logged.pop(sink.name, None)
                # That a report was queued proves nothing of its server.
                up = queue.up if queue else True
                if up is not None:
                    self._sinks_up[sink.name] = up

    def _note_step(self, step: timedelta, at: datetime) -> None:
        self._logger.warning(
            "Wall clock was stepped: ages and intervals do not follow it",
            step_seconds=step.total_seconds(),
            offset_seconds=self._clock.offset.total_seconds(),
        )
        try:
            self._move_windows(step, at)
        except StateError as e:
            self._log_once("maintenance", "State unavailable", e)
        self._windows = shifted(self._windows, step)

    def _in_force(self, now: datetime) -> tuple[MaintenanceWindow, ...]:
        try:
            self._windows = self._read_windows(now)
        except StateError as e:
            # What was announced stays in force until its end.
            self._log_once("maintenance", "State unavailable", e)
        else:
            self._logged.pop("maintenance", None)
        names = {flow.name for flow in self._flows}
        return tuple(
            window
            for window in self._windows
            if window.flow in names and window.holds(now)
        )

    def _load(self, now: datetime) -> tuple[Verdict, ...]:
        try:
            return self._store.load(now)
        except StateError as e:
            self._log_once("verdicts", "State unavailable", e)
            return ()

    def _save(self, verdicts: tuple[Verdict, ...], now: datetime) -> None:
        try:
            self._store.save(verdicts, now, self._clock.offset)
        except StateError as e:
            self._log_once("verdicts", "State unavailable", e)
        else:
            self._logged.pop("verdicts", None)

    def _log_once(
        self, who: str, event: str, error: SourceError | SinkError | StateError
    ) -> None:
        """Log a failure when it begins, and again when it is another."""
        if self._logged.get(who) != str(error):
            self._logged[who] = str(error)
            self._logger.warning(event, **error.to_logging_context())
