"""Starts audits, reads their results, and hands both to the ticks."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta, tzinfo
from functools import lru_cache
from typing import Protocol

from structlog.typing import FilteringBoundLogger

from ...clock import Clock, shifted
from ...domain.audit.flow_result import (
    Attempt,
    AuditObservation,
    FlowResult,
    Outcome,
    flow_result_of,
    join,
    last_audit,
)
from ...exceptions import AuditError, AuditRefusedError
from ...state.audits import ResultFolder, ResultsSeen
from ...state.documents import DocumentStore
from .job import AuditProcess, JobSettings

__all__ = [
    "AuditAttempts",
    "AuditStarter",
    "AuditWatch",
    "AuditWorker",
    "Schedule",
]


WINDOWS = (
    timedelta(hours=1),
    timedelta(days=1),
    timedelta(days=32),
    timedelta(days=366 * 4 + 1),
)
"""Windows searched backwards for the last due time: neither a schedule that
recurs every minute nor one of a 29 February takes long to find."""

STEP = timedelta(microseconds=1)

SHIFT = timedelta(hours=3)
"""More than any clock was ever put forward or back."""


class Trigger(Protocol):
    """APScheduler's triggers, of which it publishes no types."""

    def get_next_fire_time(
        self, previous_fire_time: datetime | None, now: datetime
    ) -> datetime | None:
        """Return the first time from ``now`` on."""
        ...


class Schedule:
    """Returns when an audit was due last, and when it is next.

    Parameters
    ----------
    trigger
        Knows the times on the clock, as if that were in UTC; whole minutes.
    zone
        Time zone of the clock. Times are given in it, so that each is on
        the day that its audit is named after.

    Notes
    -----
    APScheduler's trigger has time zones of its own, but in 3.11 it passes
    over a night when clocks are put forward: asked just after midnight of
    2024-03-31 in Berlin, it names the 2nd of April. Here a time that the clock
    leaves out comes as much later, and one that comes twice counts once.
    """

    def __init__(self, trigger: Trigger, zone: tzinfo = UTC) -> None:
        self._trigger = trigger
        self._zone = zone
        # Asked at every tick, and the same for a minute.
        self._find_last = lru_cache(maxsize=16)(self._search)

    def next(self, after: datetime) -> datetime | None:
        """Return the first time after another; `None` if there is none."""
        after = after.astimezone(UTC)
        return next((at for at in self._times(after) if at > after), None)

    def last(self, until: datetime) -> datetime | None:
        """Return the newest time up to another; `None` if there is none."""
        until = until.astimezone(UTC)
        return self._find_last(until.replace(second=0, microsecond=0))

    def _search(self, until: datetime) -> datetime | None:
        for window in WINDOWS:
            found = None
            for at in self._times(until - window):
                if at > until:
                    break
                found = at
            if found is not None:
                return found
        return None

    def _times(self, begin: datetime) -> Iterator[datetime]:
        """Yield all times from a little before another."""
        clock = begin.astimezone(self._zone).replace(tzinfo=UTC) - SHIFT
        while True:
            at = self._trigger.get_next_fire_time(None, clock)
            if at is None:
                return
            yield at.replace(tzinfo=self._zone)
            clock = at + STEP


GRACE = timedelta(hours=3)
"""Time after the schedule until an audit should have ended, and until which
one is started: half of the default time-out."""

FOUND = {0, 3}
"""Exit statuses of an audit that came to its end; 3 means findings."""

KILLED = 128 + 9

TRY_AGAIN = timedelta(minutes=5)
"""Retry interval after a refused audit: each try takes Java half a minute of
processor time, beside the audit that is running."""


@dataclass(frozen=True, kw_only=True, slots=True)
class AuditAttempts:
    """Stored state of the audits that the agent started."""

    since: datetime | None = None
    """Time when the agent was first asked to start any."""

    attempt: Attempt | None = None
    """The last one."""


class AuditStarter:
    """Starts, watches and stops audits.

    Parameters
    ----------
    settings
        Settings of the audit's process.
    schedule
        Schedule of the audits.
    name
        Format of the time when one was due that names it.
    timeout
        Timeout of a running audit.
    store
        Store of the attempts.
    clock
        Gives the time.
    logger
        Logger of starts and ends.

    Notes
    -----
    One that was stopped with the agent is started again if there is time, as
    is one that was refused because another audit was running. One that was
    under way when the agent was killed is not: it may be why.
    """

    def __init__(
        self,
        *,
        settings: JobSettings,
        schedule: Schedule,
        name: str = "%Y-%m-%d",
        timeout: timedelta,
        store: DocumentStore[AuditAttempts],
        clock: Clock,
        logger: FilteringBoundLogger,
    ) -> None:
        self._settings = settings
        self._schedule = schedule
        self._name = name
        self._timeout = timeout
        self._store = store
        self._clock = clock
        self._logger = logger
        self._attempts: AuditAttempts | None = None
        self._job: AuditProcess | None = None
        self._begun = clock()
        self._timed_out = False

    @property
    def attempt(self) -> Attempt | None:
        """The last audit that was started."""
        attempt = self._attempts.attempt if self._attempts else None
        if attempt is None or self._job is None:
            return attempt
        # However the wall clock was stepped since.
        return replace(attempt, began_at=self._clock.label(self._begun))

    @property
    def is_running(self) -> bool:
        return self._job is not None

    def step(self, compared: datetime | None = None) -> int | None:
        """Start one that is due, stop one that takes too long.

        Parameters
        ----------
        compared
            Until when all was compared, no matter by which audit.

        Returns
        -------
        int or None
            Exit status of one that has just ended; `settle` it then.

        Raises
        ------
        AuditError
            Raised if one cannot be started.
        StateError
            Raised if the state file cannot be used.
        """
        # When it is due is a time of the wall clock; how long it takes is not.
        now = self._clock.label()
        attempts = self._attempts or self._open(now)
        if self._job is None:
            due = self._schedule.last(now)
            if due is not None and self._is_wanted(
                due, attempts, now, compared
            ):
                self._start(attempts, due, now)
            return None
        if self._clock() - self._begun > self._timeout:
            self._timed_out = True
            self._job.ask_to_stop()
        return self._job.poll()

    def settle(self, status: int, *, has_result: bool) -> None:
        """Note how one ended.

        Parameters
        ----------
        status
            Its exit status.
        has_result
            The audit left a result.
        """
        output = self._job.output if self._job is not None else ()
        # It may have come to its end just before it was stopped.
        if self._timed_out and status not in FOUND:
            self._end("timeout", output)
        elif status not in FOUND:
            is_refused = status == AuditRefusedError.STATUS
            how: Outcome = "refused" if is_refused else "failed"
            self._end(how, output, _last_words(status, output))
        elif not has_result:
            why = "it wrote no result to audit.out"
            self._end("failed", output, why)
        else:
            self._end("finished", ())

    def close(self) -> None:
        """Stop the one that runs."""
        if self._job is not None:
            self._job.stop()
            self._end("stopped", self._job.output)

    def _open(self, now: datetime) -> AuditAttempts:
        attempts = self._store.load()
        attempt = attempts.attempt
        if attempt is not None and attempt.outcome == "running":
            attempt = replace(attempt, outcome="abandoned", ended_at=now)
        attempts = replace(
            attempts, since=attempts.since or now, attempt=attempt
        )
        self._store.save(attempts)
        self._attempts = attempts
        return attempts

    def _is_wanted(
        self,
        due: datetime,
        attempts: AuditAttempts,
        now: datetime,
        compared: datetime | None,
    ) -> bool:
        last = attempts.attempt
        if attempts.since is None or due < attempts.since:
            return False
        if now - due > GRACE:
            return False
        if last is None or last.due != due:
            return last is None or last.due < due
        if last.outcome == "refused" and last.ended_at is not None:
            # The one that was running may have been of this night.
            is_over = compared is not None and compared >= due - CLOCKS
            return now - last.ended_at >= TRY_AGAIN and not is_over
        return last.outcome == "stopped"

    def _start(
        self, attempts: AuditAttempts, due: datetime, now: datetime
    ) -> None:
        # Written first: one that takes the agent with it is not tried again.
        begun = replace(attempts, attempt=Attempt(due=due, began_at=now))
        self._store.save(begun)
        self._attempts = begun
        self._begun = self._clock()
        self._timed_out = False
        # Named after the day that it was due, by the schedule's own zone,
        # even if midnight is over.
        night = ("--date", due.strftime(self._name))
        try:
            self._job = AuditProcess(self._settings, night)
        except AuditError as e:
            self._end("failed", (), str(e))
            raise
        self._logger.info("Audit started", due=due.isoformat())

    def _end(
        self, outcome: Outcome, output: Sequence[str], error: str = ""
    ) -> None:
        attempts, attempt = self._attempts, self.attempt
        self._job = None
        if attempts is None or attempt is None:
            return
        attempt = replace(
            attempt,
            outcome=outcome,
            ended_at=self._clock.label(),
            error=error,
            output=tuple(output),
        )
        self._attempts = replace(attempts, attempt=attempt)
        if outcome in {"finished", "stopped"}:
            self._logger.info("Audit ended", outcome=outcome)
        else:
            self._logger.warning("Audit ended", outcome=outcome, error=error)
        self._store.save(self._attempts)


def _last_words(status: int, output: Sequence[str]) -> str:
    if status == KILLED:
        return "it was killed"
    said = [line for line in output if line.startswith("Error: ")]
    words = (said or list(output) or [""])[-1].removeprefix("Error: ")
    return words or f"it exited with status {status}"


LOOK_EVERY = timedelta(seconds=15)
"""Polling interval of the results folder: others may write to it."""

CLOCKS = timedelta(minutes=1)
"""By how much an audit elsewhere may begin before it is due here."""


AHEAD = timedelta(hours=1)
"""By how much the clock of an audit may be ahead."""


@dataclass(frozen=True, kw_only=True, slots=True)
class AuditWatch:
    """Stored begin of the watch over the audits of one flow."""

    since: datetime | None = None
    """Time when the agent was first asked to watch them."""


class AuditWorker:
    """Knows the last audit of every flow.

    Parameters
    ----------
    stores
        Store of the begin of the watch over each flow, by its name.
    folder
        Folder of the results; `None` if no folder of this machine.
    starter
        Starts audits; `None` if the agent does not.
    schedule
        Schedule of the audits.
    problems
        Reasons that keep the agent from starting audits or reading results.
    clock
        Gives the time.
    """

    name = "audit"

    interval = timedelta(seconds=1)

    def __init__(
        self,
        *,
        stores: Mapping[str, DocumentStore[AuditWatch]],
        folder: ResultFolder | None,
        starter: AuditStarter | None,
        schedule: Schedule,
        problems: Sequence[str] = (),
        clock: Clock,
    ) -> None:
        self._stores = stores
        self._folder = folder
        self._starter = starter
        self._schedule = schedule
        self._problems = tuple(problems)
        self._clock = clock
        self._since: dict[str, datetime] = {}
        self._looked_at: datetime | None = None
        self._look = ResultsSeen()
        self._nights: dict[str, FlowResult | None] = {}
        self._reports: dict[str, str | None] = {}
        self._ahead: dict[str, list[FlowResult]] = {}
        # Replaced as a whole: the tick reads it in another thread.
        self._published: tuple[AuditObservation, ...] = ()

    @property
    def is_running(self) -> bool:
        """An audit that the agent started is running."""
        return self._starter is not None and self._starter.is_running

    def step(self) -> None:
        now = self._clock()
        for flow in self._stores.keys() - self._since.keys():
            self._since[flow] = self._load(flow, self._clock.label())
        last = self._looked_at
        if last is None or now - last >= LOOK_EVERY:
            self._read(now)
        if self._starter is not None:
            status = self._starter.step(self._compared())
            if status is not None:
                self._read(now)
                self._starter.settle(status, has_result=self._has_result())
        self._publish()

    def observe(self, now: datetime) -> Sequence[AuditObservation]:
        # Audits are due and end by the wall clock, here and elsewhere.
        offset = self._clock.offset
        due = self._schedule.last(now + offset - GRACE)
        next_due = self._schedule.next(now + offset)
        looked_at = self._looked_at or now
        seen_all = [
            replace(
                seen,
                at=looked_at + offset,
                next_due=next_due,
                # Of one before the agent watched, only others can know.
                overdue=due
                if due and (due >= seen.since or seen.night is not None)
                else None,
            )
            for seen in self._published
        ]
        return shifted(seen_all, -offset)

    def close(self) -> None:
        if self._starter is not None:
            self._starter.close()

    def _load(self, flow: str, now: datetime) -> datetime:
        since = self._stores[flow].load().since
        if since is None:
            since = now
            self._stores[flow].save(AuditWatch(since=since))
        return since

    def _read(self, now: datetime) -> None:
        if self._folder is not None:
            try:
                self._look = self._folder.look()
            except AuditError as e:
                # Its results still hold.
                self._look = replace(self._look, problems=(str(e),))
        for flow in self._stores:
            night = self._nights[flow] = join(self._last(flow))
            run = night.shown if night is not None else ""
            shown = self._folder is not None and self._folder.has_report(run)
            self._reports[flow] = run if run and shown else None
        self._looked_at = now

    def _last(self, flow: str) -> Sequence[FlowResult]:
        """Return the runs that are the last audit of a flow. Runs of the
        future wait: each would hide all others until then.
        """
        latest = self._clock.label() + AHEAD
        runs = [
            run
            for result in self._look.results
            if (run := flow_result_of(result, flow)) is not None
        ]
        self._ahead[flow] = [run for run in runs if run.end > latest]
        runs = [run for run in runs if run.end <= latest]
        if not runs:
            return ()
        newest = max(run.end for run in runs)
        since = self._schedule.last(newest + CLOCKS)
        if since is not None:
            # The first of several pieces may have begun before it was due.
            since -= CLOCKS
        return last_audit(runs, since)

    def _compared(self) -> datetime | None:
        """Return until when all flows were compared; `None` if one was not."""
        ends = [
            night.end
            for night in self._nights.values()
            if night is not None and not night.more
        ]
        return min(ends) if ends and len(ends) == len(self._stores) else None

    def _has_result(self) -> bool:
        attempt = self._starter.attempt if self._starter is not None else None
        return attempt is not None and any(
            night is not None and night.ended_at >= attempt.began_at
            for night in self._nights.values()
        )

    def _publish(self) -> None:
        now = self._clock.label()
        attempt = self._starter.attempt if self._starter is not None else None
        self._published = tuple(
            AuditObservation(
                flow=flow,
                at=now,
                since=since,
                night=self._nights.get(flow),
                attempt=attempt,
                report=self._reports.get(flow),
                problems=(
                    *self._problems,
                    *self._look.problems,
                    *map(_yet_to_come, self._ahead.get(flow, ())),
                ),
            )
            for flow, since in self._since.items()
        )


def _yet_to_come(night: FlowResult) -> str:
    end = f"{night.end.astimezone(UTC):%Y-%m-%d %H:%M} UTC"
    return (
        f"audit {night.shown} does not count: it compared records up to "
        f"{end}, which is in the future"
    )
