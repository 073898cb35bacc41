"""Starts audits, reads their results, and tells both to the ticks."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from ...domain.audit import AuditResult
from ...domain.audit.night import Night, add_night, join, night_of
from ...domain.audit.observation import AuditObservation
from ...exceptions import AuditError
from ...state.document import DocumentStore
from .results import Look, ResultFolder
from .schedule import Schedule
from .starter import Starter

__all__ = ["AuditWorker", "FlowAudits"]

LOOK_EVERY = timedelta(seconds=15)
"""How often the folder is looked into: others may write to it."""

CLOCKS = timedelta(minutes=1)
"""By how much an audit elsewhere may begin before it is due here."""


@dataclass(frozen=True, kw_only=True, slots=True)
class FlowAudits:
    """What is remembered of the audits of one flow."""

    since: datetime | None = None
    """When the agent was first asked to watch them."""

    nights: tuple[Night, ...] = ()
    """The runs that are its last audit, the oldest first."""


class AuditWorker:
    """Knows the last audit of every flow.

    Parameters
    ----------
    stores
        Where the audits of each flow are remembered, by its name.
    folder
        Where results are; `None` if no folder of this machine.
    starter
        Starts audits; `None` if the agent does not.
    schedule
        When they are due.
    grace
        How long after that they should be over.
    problems
        What keeps the agent from starting audits or reading results.
    clock
        Gives the time.
    """

    name = "audit"

    interval = timedelta(seconds=1)

    def __init__(
        self,
        *,
        stores: Mapping[str, DocumentStore[FlowAudits]],
        folder: ResultFolder | None,
        starter: Starter | None,
        schedule: Schedule,
        grace: timedelta,
        problems: Sequence[str] = (),
        clock: Callable[[], datetime],
    ) -> None:
        self._stores = stores
        self._folder = folder
        self._starter = starter
        self._schedule = schedule
        self._grace = grace
        self._problems = tuple(problems)
        self._clock = clock
        self._flows: dict[str, FlowAudits] = {}
        self._looked_at: datetime | None = None
        self._look = Look()
        self._news: tuple[AuditResult, ...] = ()
        self._nights: dict[str, Night | None] = {}
        self._reports: dict[str, str | None] = {}
        # Replaced as a whole: the tick reads it in another thread.
        self._published: tuple[AuditObservation, ...] = ()

    def step(self) -> None:
        now = self._clock()
        for flow in self._stores.keys() - self._flows.keys():
            self._flows[flow] = self._load(flow, now)
        status = self._starter.step() if self._starter is not None else None
        last = self._looked_at
        if status is not None or last is None or now - last >= LOOK_EVERY:
            self._read()
            self._sum_up()
            self._looked_at = now
        if self._starter is not None and status is not None:
            self._starter.settle(status, has_result=self._has_result())
        self._publish(now)

    def observe(self, now: datetime) -> Sequence[AuditObservation]:
        due = self._schedule.last(now - self._grace)
        next_due = self._schedule.next(now)
        return [
            replace(
                seen,
                next_due=next_due,
                # Of one before the agent watched, only others can know.
                overdue=due
                if due and (seen.night or due >= seen.since)
                else None,
            )
            for seen in self._published
        ]

    def close(self) -> None:
        if self._starter is not None:
            self._starter.close()

    def _load(self, flow: str, now: datetime) -> FlowAudits:
        known = self._stores[flow].load()
        if known.since is None:
            known = replace(known, since=now)
            self._stores[flow].save(known)
        return known

    def _read(self) -> None:
        if self._folder is None:
            return
        try:
            self._look = self._folder.look()
        except AuditError as e:
            self._look = Look(problem=str(e))
        # Kept until it is written down: the folder tells news only once.
        self._news += self._look.results
        for result in sorted(self._news, key=lambda r: r.began_at):
            for flow in self._stores:
                night = night_of(result, flow)
                if night is not None:
                    self._take(flow, night)
        self._news = ()

    def _take(self, flow: str, night: Night) -> None:
        known = self._flows[flow]
        newest = max(n.began_at for n in (*known.nights, night))
        since = self._schedule.last(newest + CLOCKS)
        nights = add_night(known.nights, night, since)
        if nights != known.nights:
            new = replace(known, nights=nights)
            self._stores[flow].save(new)
            self._flows[flow] = new

    def _sum_up(self) -> None:
        for flow, known in self._flows.items():
            night = self._nights[flow] = join(known.nights)
            run = night.shown if night is not None else ""
            shown = self._folder is not None and self._folder.has_report(run)
            self._reports[flow] = run if shown else None

    def _has_result(self) -> bool:
        attempt = self._starter.attempt if self._starter is not None else None
        return attempt is not None and any(
            night.ended_at >= attempt.began_at
            for known in self._flows.values()
            for night in known.nights
        )

    def _publish(self, now: datetime) -> None:
        attempt = self._starter.attempt if self._starter is not None else None
        unreadable = self._look.problem
        self._published = tuple(
            AuditObservation(
                flow=flow,
                at=self._looked_at or now,
                since=known.since or now,
                night=self._nights.get(flow),
                attempt=attempt,
                report=self._reports.get(flow),
                problems=self._problems
                + ((unreadable,) if unreadable else ()),
            )
            for flow, known in self._flows.items()
        )
