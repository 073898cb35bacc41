"""Pipeline of a tick: observe, judge, publish."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from copy import deepcopy
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from typing import TypeVar

from structlog.typing import FilteringBoundLogger

from .clock import Clock, shifted
from .domain.cause import find_cause
from .domain.checks import (
    MIRROR,
    MIRROR_NAME,
    FlowLimits,
    fill_in_mirror,
    judge,
)
from .domain.events.model import Event
from .domain.losses.model import LossesObservation
from .domain.position.model import PositionObservation
from .domain.report import (
    Cause,
    Finding,
    Flow,
    Health,
    MaintenanceWindow,
    Observation,
    Verdict,
    keep_since,
)
from .domain.skips.model import SkipsObservation
from .exceptions import (
    InternalError,
    SinkError,
    SourceError,
    StateError,
)
from .isolation import Isolation
from .ports import (
    AgentState,
    QueueingSink,
    Report,
    Sink,
    Source,
    WatchedSource,
)
from .secrets import hide_in, hide_secrets
from .state.documents import VerdictStore
from .state.events import EventStore
from .state.losses import LossStore

__all__ = ["Pipeline"]

T = TypeVar("T")

MIRROR_STATE = frozenset(
    {
        "lag",
        "skips",
        "retention",
        "position",
        "tasks",
        "heartbeats",
        "checkpoints",
        "failover",
    }
)

FEEDS = {
    "connect": {"tasks"},
    "groups": {"checkpoints", "failover"},
    "inspector": {"tasks"},
    "jmx": {"bottleneck"},
    "lag": {"lag", "retention"},
    "mirror group": MIRROR_STATE,
    "mirror zookeeper": MIRROR_STATE,
    "registrar": {"canary"},
    "survey": MIRROR_STATE | {"topics", "readers", "schemas"},
    "surveyor": {"canary"},
    "tail": MIRROR_STATE,
    "view": MIRROR_STATE | {"topics", "readers", "schemas"},
}
"""Checks that know nothing without a source or worker, by the first words of
its name; of others, the check of that name."""


def _split(part: str) -> tuple[str, str]:
    """Return what a source or worker reads, and of which flow or cluster."""
    name = part.removeprefix("source ").removeprefix("reading ")
    for kind in FEEDS:
        if name.startswith(f"{kind} "):
            return kind, name.removeprefix(f"{kind} ")
    kind, _, rest = name.partition(" ")
    return kind, rest


LATE_TICKS = 3
"""Ticks of which the latest counts: an agent that gets little CPU is late at
most of them."""


class Pipeline:
    """Makes one report a tick and hands it to every sink.

    Parameters
    ----------
    flows
        Every configured flow.
    limits
        Limits of each flow, by its name.
    sources
        Sources to observe. None of them waits.
    sinks
        Sinks of reports.
    verdicts
        Keeps verdicts over a restart.
    windows
        Returns the maintenance that is in force at a time.
    move_windows
        Moves maintenance when the wall clock is stepped: it lasts as long.
    clock
        Gives the time. Facts are seen in the agent's own time, and labelled
        with the wall clock's before they are judged and published.
    interval
        Time between ticks; `None` if nobody waits for one.
    isolation
        Lets sources, checks, sinks and workers fail each alone.
    logger
        Logger of failures, each of them once.
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
        interval: timedelta | None = None,
        isolation: Isolation | None = None,
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
        self._losses = {
            flow.name: LossStore(verdicts.database, flow.name)
            for flow in flows
        }
        self._mirrors = {
            flow: own.get(MIRROR) or MIRROR_NAME
            for flow, own in limits.items()
        }
        self.events = EventStore(verdicts.database, self._mirrors)
        self._read_windows = windows
        self._move_windows = move_windows
        self._clock = clock
        self._interval = interval
        self._began: datetime | None = None
        self._late: deque[timedelta] = deque(maxlen=LATE_TICKS)
        self._logger = logger
        self.isolation = isolation or Isolation(logger)

        self._windows: tuple[MaintenanceWindow, ...] = ()
        self._before: tuple[Verdict, ...] | None = None
        self._last_tick: timedelta | None = None
        self._sinks_up: dict[str, bool] = {}
        self._aside: dict[str, int] = {}
        self._unsaved: str | None = None
        self._known_problems: tuple[str, ...] = ()
        self._logged: dict[str, str] = {}

    def tick(self) -> Report:
        """Observe, judge, publish.

        Returns
        -------
        Report
            Report that every sink was given.
        """
        step = self._clock.watch()
        now, offset = self._clock(), self._clock.offset
        self._note_begin(now)
        at = now + offset
        if step:
            self._note_step(step, at)
        found, sources_up = self._observe(now)
        seen = tuple(shifted(fact, offset) for fact in found)
        if self._before is None:
            self._before = self._load(at)
        found_out = judge(self._limits, seen, at, self._judge(at))
        judged = map(
            _without_secrets, self._blame(self._acknowledge(found_out))
        )
        self._before = keep_since(
            shifted(tuple(judged), -offset), self._before
        )
        verdicts = shifted(self._before, offset)
        agent = AgentState(
            sources_up=sources_up,
            sinks_up=dict(self._sinks_up),
            spooled_points={s.name: s.spooled_points for s in self._queues},
            lost_points={s.name: s.lost_points for s in self._queues},
            last_tick=self._last_tick,
            tick_late=max(self._late, default=timedelta()),
            clock_offset=offset,
            clock_steps=self._clock.steps,
            internal_errors=self._internal_errors(),
            problems=self._problems(),
        )
        causes = tuple(self._find_causes(verdicts, seen, agent, at))
        losses = tuple(self._count_losses(found, now))
        events = self._find_events(shifted(causes, -offset), now)
        self._save(at)
        report = Report(
            at=at,
            flows=self._flows,
            observations=seen,
            verdicts=verdicts,
            agent=agent,
            causes=causes,
            maintenance=self._in_force(at),
            losses=shifted(losses, offset),
            events=shifted(events, offset),
            event_counts=deepcopy(self.events.counts),
            unacknowledged=self.events.unacknowledged,
        )
        self._publish(report)
        self._last_tick = self._clock() - now
        return report

    def close(self) -> None:
        """Let every sink publish what it holds."""
        for sink, _ in self._sinks:
            with suppress(InternalError):
                self.isolation.run(f"sink {sink.name}", sink.close)

    def _observe(
        self, now: datetime
    ) -> tuple[list[Observation], dict[str, bool]]:
        seen: list[Observation] = []
        up: dict[str, bool] = {}
        for source, watched in self._sources:
            try:
                found = self.isolation.run(
                    f"source {source.name}", partial(source.observe, now)
                )
            except SourceError as e:
                self._log_once(source.name, "Source unavailable", e)
                up[source.name] = False
            except InternalError:
                up[source.name] = False
            else:
                seen.extend(found)
                self._logged.pop(source.name, None)
                # One with workers returns what still holds of what they left.
                up[source.name] = watched.up if watched else True
        return seen, up

    def _judge(
        self, at: datetime
    ) -> Callable[[str, Callable[[], Verdict]], Verdict]:

        def run(name: str, work: Callable[[], Verdict]) -> Verdict:
            check, _, flow = name.partition(" ")
            try:
                return self.isolation.run(f"check {name}", work)
            except InternalError as e:
                return Verdict(
                    flow=flow,
                    check=check,
                    health=Health.UNKNOWN,
                    reason=str(e),
                    since=at,
                    findings=(
                        Finding(f"{check}.crashed", Health.UNKNOWN, str(e)),
                    ),
                )

        return run

    def _blame(self, verdicts: Iterable[Verdict]) -> tuple[Verdict, ...]:
        """Say of which checks the facts are missing because a part crashed.

        What is known to be wrong stays so.
        """
        failing = self.isolation.failing.items()
        reads = {
            flow.name: {flow.name, flow.source, flow.target}
            for flow in self._flows
        }
        named = set[str]().union(*reads.values())

        def blame(verdict: Verdict) -> Verdict:
            if verdict.health not in {Health.OK, Health.UNKNOWN}:
                return verdict
            for part, error in failing:
                kind, rest = _split(part)
                if verdict.check in FEEDS.get(kind, {kind}) and (
                    rest in reads[verdict.flow] or rest not in named
                ):
                    crashed = Finding(
                        f"{verdict.check}.crashed",
                        Health.UNKNOWN,
                        str(error),
                    )
                    return replace(
                        verdict,
                        health=Health.UNKNOWN,
                        reason=str(error),
                        findings=(crashed, *verdict.findings),
                    )
            return verdict

        return tuple(map(blame, verdicts)) if failing else tuple(verdicts)

    def _note_begin(self, now: datetime) -> None:
        if self._began is not None and self._interval is not None:
            late = now - self._began - self._interval
            self._late.append(max(late, timedelta()))
        self._began = now

    def _find_causes(
        self,
        verdicts: Sequence[Verdict],
        seen: Sequence[Observation],
        agent: AgentState,
        at: datetime,
    ) -> Iterator[Cause]:
        """Yield which part of each flow is at fault, where one stands out."""
        for flow in self._flows:
            work = partial(
                find_cause,
                flow,
                [v for v in verdicts if v.flow == flow.name],
                [fact for fact in seen if fact.flow == flow.name],
                agent,
                at,
            )
            with suppress(InternalError):
                found = self.isolation.run(f"cause {flow.name}", work)
                if found is not None:
                    yield _cause_as_shown(found, self._mirrors[flow.name])

    def _count_losses(
        self, found: Sequence[Observation], now: datetime
    ) -> Iterator[LossesObservation]:
        """Yield what each flow lost for good."""
        for flow, store in self._losses.items():
            name = f"losses {flow}"
            own = [fact for fact in found if fact.flow == flow]
            skips = next(_of_kind(SkipsObservation, own), None)
            position = next(_of_kind(PositionObservation, own), None)
            take = partial(store.take, skips, position, now)
            try:
                self.isolation.run(name, take)
            except StateError as e:
                self._log_once(name, "State unavailable", e)
            except InternalError:
                continue
            else:
                self._logged.pop(name, None)
            if store.ledger is None:
                continue
            observe = partial(store.ledger.observe, flow, skips, position, now)
            with suppress(InternalError):
                yield self.isolation.run(name, observe)

    def _acknowledge(self, verdicts: Iterable[Verdict]) -> tuple[Verdict, ...]:
        """Return verdicts without losses that somebody acknowledged."""
        verdicts = tuple(verdicts)
        work = partial(self.events.without_acknowledged, verdicts)
        return self._with_state("acknowledgements", work, verdicts)

    def _find_events(
        self, causes: Sequence[Cause], now: datetime
    ) -> tuple[Event, ...]:
        """Return the events of this tick."""
        take = partial(self.events.take, self._before or (), causes, now)
        return self._with_state("events", take, ())

    def _with_state(self, name: str, work: Callable[[], T], default: T) -> T:
        """Return the result of work on the state file, else a default."""
        try:
            found = self.isolation.run(name, work)
        except StateError as e:
            self._log_once(name, "State unavailable", e)
        except InternalError:
            pass
        else:
            self._logged.pop(name, None)
            return found
        return default

    def _internal_errors(self) -> dict[str, int]:
        aside = {
            f"state {table}": rows
            for table, rows in self._store.database.set_aside.items()
        }
        if aside != self._aside:
            self._aside = aside
            self._logger.warning(
                "Rows of the state file are undecodable and were set aside",
                rows=aside,
            )
        parts = [f"source {source.name}" for source, _ in self._sources]
        parts += [f"sink {sink.name}" for sink, _ in self._sinks]
        return dict.fromkeys(parts, 0) | self.isolation.errors | aside

    def _problems(self) -> tuple[str, ...]:
        unsaved = filter(None, [self._unsaved])
        problems = (*self._store.database.problems(), *unsaved)
        if problems != self._known_problems:
            self._known_problems = problems
            self._logger.warning("State file", problems=problems)
        return problems

    def _publish(self, report: Report) -> None:
        for sink, queue in self._sinks:
            try:
                self.isolation.run(
                    f"sink {sink.name}", partial(sink.publish, report)
                )
            except SinkError as e:
                self._log_once(sink.name, "Sink unavailable", e)
                self._sinks_up[sink.name] = False
            except InternalError:
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

    def _save(self, at: datetime) -> None:
        """Write all that a tick changed, together."""
        try:
            with self._store.database.transaction():
                self._store.save(self._before or (), at, self._clock.offset)
                self.events.save(at - self._clock.offset)
                for losses in self._losses.values():
                    losses.save()
        except StateError as e:
            # It is known meanwhile, and written by a later tick.
            self._log_once("state", "State unavailable", e)
            self._unsaved = str(e)
        else:
            self._logged.pop("state", None)
            self._unsaved = None

    def _log_once(
        self, who: str, event: str, error: SourceError | SinkError | StateError
    ) -> None:
        if self._logged.get(who) != str(error):
            self._logged[who] = str(error)
            self._logger.warning(event, **error.to_logging_context())


def _of_kind(kind: type[T], found: Iterable[Observation]) -> Iterator[T]:
    return (fact for fact in found if isinstance(fact, kind))


def _without_secrets(verdict: Verdict) -> Verdict:
    """Hide what a verdict quotes of the configuration.

    Sentences name topics and hosts, which may come from references.
    """
    return replace(
        verdict,
        reason=hide_secrets(verdict.reason),
        evidence=hide_in(verdict.evidence),
        findings=tuple(
            replace(
                finding,
                title=hide_secrets(finding.title),
                subject=hide_in(finding.subject),
                numbers=hide_in(finding.numbers),
            )
            for finding in verdict.findings
        ),
    )


def _cause_as_shown(cause: Cause, mirror: str) -> Cause:
    """Return a cause with the name of the mirror, without what the
    configuration hides.
    """

    def show(text: str) -> str:
        return hide_secrets(fill_in_mirror(text, mirror))

    return replace(
        cause,
        reason=show(cause.reason),
        headline=show(cause.headline),
        evidence=tuple(map(show, cause.evidence)),
        subject=hide_in(cause.subject),
    )
