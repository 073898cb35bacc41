"""The agent's own code in a simulated world, and what it said."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Self

import structlog

from mirrorwatch.clock import Clock
from mirrorwatch.config import Config
from mirrorwatch.daemon import PAUSE, Agent
from mirrorwatch.domain.report import Health, Observation, Report, Verdict
from mirrorwatch.exceptions import MirrorwatchError
from mirrorwatch.factory import build_agent
from mirrorwatch.ports import WokenWorker
from mirrorwatch.sinks.history import HistorySink
from mirrorwatch.sinks.log import LogSink
from mirrorwatch.sources.canary.producer import AckWorker
from mirrorwatch.state import Database

from .schedule import Schedule, Task

__all__ = ["Saying", "SimAgent"]

QUIET = structlog.wrap_logger(
    structlog.ReturnLogger(),
    processors=[],
    wrapper_class=structlog.make_filtering_bound_logger(50),
)


SHORT = 5.0
"""Seconds below which a worker's interval is a poll and no rhythm."""

SELDOM = 10.0
"""Seconds that a poll is apart from the next, at most."""


@dataclass(frozen=True, slots=True)
class Saying:
    """A verdict that is not the one before."""

    at: float
    check: str
    health: Health
    reason: str
    codes: tuple[str, ...]


class SimAgent:
    """Runs the agent: workers and ticks as `mirrorwatch.daemon` would.

    Parameters
    ----------
    schedule
        Gives the time, and runs the threads.
    config
        The agent's configuration.
    state
        Its state file.
    coarse
        How much longer than in reality a thread waits between two polls.
    on_report
        Takes each report.
    keeps_charts
        Whether reports are kept for charts, and logged. Of the verdicts, only
        that of the latency of probes depends on it, and it takes a tenth of a
        world's time.
    """

    def __init__(
        self,
        schedule: Schedule,
        config: dict[str, Any],
        state: Path,
        *,
        coarse: Callable[[Task | None], float] = lambda _: 1.0,
        on_report: Callable[[Report], object] = lambda _: None,
        keeps_charts: bool = True,
    ) -> None:
        self._keeps_charts = keeps_charts
        self._coarse = coarse
        self._schedule = schedule
        self._mapping = config
        self._config = Config.from_mapping(config)
        self.state = state
        self.on_report = on_report
        self._tasks: list[Task] = []
        self.agent: Agent | None = None
        self.sayings: list[Saying] = []
        self.verdicts: dict[str, Verdict] = {}
        self.observations: tuple[Observation, ...] = ()
        self.ticks = 0
        self.restarts = -1
        self.started_at = 0.0
        self.frozen_until = 0.0
        """Until when the process gets no time of a processor."""

    def another(self, state: Path) -> Self:
        """Return one of the same configuration with another state file."""
        return type(self)(
            self._schedule,
            self._mapping,
            state,
            coarse=self._coarse,
            keeps_charts=self._keeps_charts,
        )

    @property
    def running(self) -> bool:
        return self.agent is not None

    def start(self) -> None:
        """Start a process on the state file."""
        assert self.agent is None
        self.restarts += 1
        self.started_at = self._schedule.elapsed
        self._tasks = [self._schedule.spawn("agent", self._start)]

    def kill(self) -> None:
        """Kill the process, wherever its threads are."""
        for task in self._tasks:
            self._schedule.kill(task)
        self._tasks = []
        if self.agent is not None:
            self.agent.database.close()
        self.agent = None

    def health(self, check: str) -> Health | None:
        verdict = self.verdicts.get(check)
        return None if verdict is None else verdict.health

    def _start(self) -> None:
        database = Database(self.state)
        # No power fails in a world, and nobody else reads the file: processes
        # are killed, and what was not committed goes with their connection.
        for pragma in (
            "synchronous=OFF",
            "journal_mode=MEMORY",
            "locking_mode=EXCLUSIVE",
        ):
            database._connection.execute(f"PRAGMA {pragma}")  # noqa: SLF001
        agent = build_agent(
            self._config,
            database=database,
            clock=Clock(self._schedule.agent_now, self._schedule.monotonic),
            logger=QUIET,
            serve=False,
            audits=False,
        )
        if not self._keeps_charts:
            agent.pipeline._sinks = [  # noqa: SLF001
                (sink, queue)
                for sink, queue in agent.pipeline._sinks  # noqa: SLF001
                if not isinstance(sink, HistorySink | LogSink)
            ]
        self.agent = agent
        spawn = self._schedule.spawn
        for worker in agent.workers:
            if isinstance(worker, AckWorker):
                continue  # these producers acknowledge in the canary's polls
            self._tasks.append(spawn(worker.name, partial(self._work, worker)))
        self._tasks.append(spawn("ticks", partial(self._tick, agent)))

    def _work(self, worker: Any) -> float:
        began = self._schedule.elapsed
        try:
            worker.step()
            pause = worker.interval
        except MirrorwatchError:
            pause = max(PAUSE, worker.interval)
        seconds: float = pause.total_seconds()
        if self._schedule.elapsed + seconds <= began:
            seconds = 0.25
            if worker.name.startswith("canary "):
                # It waits in its next look, coarse nearly the 2 s after which
                # it takes itself to be away: both together are less.
                return self._rest(0.05)
        if isinstance(worker, WokenWorker):
            # Nobody ends a rest here: it looks itself whether there is news.
            seconds = min(seconds, 1.0)
        # What looks each second may look more seldom; what has the tick's
        # interval must not.
        if seconds < SHORT:
            coarse = self._coarse(self._schedule.current)
            seconds = min(seconds * coarse, SELDOM)
        return self._rest(seconds)

    def _tick(self, agent: Agent) -> float:
        report = agent.pipeline.tick()
        self.ticks += 1
        self._note(report)
        self.on_report(report)
        return self._rest(agent.interval.total_seconds())

    def _rest(self, seconds: float) -> float:
        return max(seconds, self.frozen_until - self._schedule.elapsed)

    def _note(self, report: Report) -> None:
        self.observations = report.observations
        for verdict in report.verdicts:
            before = self.verdicts.get(verdict.check)
            self.verdicts[verdict.check] = verdict
            if before is None or before.health is not verdict.health:
                self.sayings.append(
                    Saying(
                        self._schedule.elapsed,
                        verdict.check,
                        verdict.health,
                        verdict.reason,
                        verdict.codes,
                    )
                )
