"""Starts audits when they are due, one at a time."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from structlog.typing import FilteringBoundLogger

from ...domain.audit.observation import Attempt, Outcome
from ...exceptions import AuditError
from ...state.document import DocumentStore
from .job import Job, JobSettings
from .schedule import Schedule

__all__ = ["Diary", "Starter"]

LEAST_GRACE = timedelta(minutes=1)
"""How late one is started at least: the agent may have been busy."""

FOUND = {0, 3}
"""Exit statuses of an audit that came to its end; 3 tells of findings."""

KILLED = 128 + 9


@dataclass(frozen=True, kw_only=True, slots=True)
class Diary:
    """What the agent remembers of the audits that it started."""

    since: datetime | None = None
    """When it was first asked to start any."""

    attempt: Attempt | None = None
    """The last one."""


class Starter:
    """Starts, watches and stops audits.

    Parameters
    ----------
    settings
        What is started.
    schedule
        When.
    timeout
        How long it may run.
    grace
        How late it may be started.
    store
        Where the diary is kept.
    clock
        Gives the time.
    logger
        Where beginnings and ends are told.

    Notes
    -----
    One that was stopped with the agent is started again if there is time. One
    that was under way when the agent was killed is not: it may be why.
    """

    def __init__(
        self,
        *,
        settings: JobSettings,
        schedule: Schedule,
        timeout: timedelta,
        grace: timedelta,
        store: DocumentStore[Diary],
        clock: Callable[[], datetime],
        logger: FilteringBoundLogger,
    ) -> None:
        self._settings = settings
        self._schedule = schedule
        self._timeout = timeout
        self._grace = max(grace, LEAST_GRACE)
        self._store = store
        self._clock = clock
        self._logger = logger
        self._diary: Diary | None = None
        self._job: Job | None = None
        self._timed_out = False

    @property
    def attempt(self) -> Attempt | None:
        """The last audit that was started."""
        return self._diary.attempt if self._diary else None

    def step(self) -> int | None:
        """Start one that is due, stop one that takes too long.

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
        now = self._clock()
        diary = self._diary or self._open(now)
        if self._job is None:
            due = self._schedule.last(now)
            if due is not None and self._is_wanted(due, diary, now):
                self._start(diary, due, now)
            return None
        attempt = diary.attempt
        if attempt is not None and now - attempt.began_at > self._timeout:
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
            Whether it left a result.
        """
        output = self._job.output if self._job is not None else ()
        if self._timed_out:
            self._end("timeout", output)
        elif status not in FOUND:
            self._end("failed", output, _last_words(status, output))
        elif not has_result:
            why = "it left no result in audit.out"
            self._end("failed", output, why)
        else:
            self._end("finished", ())

    def close(self) -> None:
        """Stop the one that runs."""
        if self._job is not None:
            self._job.stop()
            self._end("stopped", self._job.output)

    def _open(self, now: datetime) -> Diary:
        diary = self._store.load()
        attempt = diary.attempt
        if attempt is not None and attempt.outcome == "running":
            attempt = replace(attempt, outcome="abandoned", ended_at=now)
        diary = replace(diary, since=diary.since or now, attempt=attempt)
        self._store.save(diary)
        self._diary = diary
        return diary

    def _is_wanted(self, due: datetime, diary: Diary, now: datetime) -> bool:
        last = diary.attempt
        if diary.since is None or due < diary.since:
            return False
        if now - due > self._grace:
            return False
        again = last is not None and last.outcome == "stopped"
        return last is None or last.due < due or (last.due == due and again)

    def _start(self, diary: Diary, due: datetime, now: datetime) -> None:
        # Written first: one that takes the agent with it is not tried again.
        begun = replace(diary, attempt=Attempt(due=due, began_at=now))
        self._store.save(begun)
        self._diary = begun
        self._timed_out = False
        # Named after the day that it was due, by the schedule's own zone,
        # even if midnight is over.
        night = ("--date", f"{due:%Y-%m-%d}")
        try:
            self._job = Job(self._settings, night)
        except AuditError as e:
            self._end("failed", (), str(e))
            raise
        self._logger.info("Audit started", due=due.isoformat())

    def _end(
        self, outcome: Outcome, output: Sequence[str], error: str = ""
    ) -> None:
        self._job = None
        diary = self._diary
        if diary is None or diary.attempt is None:
            return
        attempt = replace(
            diary.attempt,
            outcome=outcome,
            ended_at=self._clock(),
            error=error,
            output=tuple(output),
        )
        self._diary = replace(diary, attempt=attempt)
        if outcome in {"finished", "stopped"}:
            self._logger.info("Audit ended", outcome=outcome)
        else:
            self._logger.warning("Audit ended", outcome=outcome, error=error)
        self._store.save(self._diary)


def _last_words(status: int, output: Sequence[str]) -> str:
    """Return why it failed, as far as it said."""
    if status == KILLED:
        return "it was killed; was the machine out of memory?"
    said = [line for line in output if line.startswith("Error: ")]
    words = (said or list(output) or [""])[-1].removeprefix("Error: ")
    return words or f"it ended with status {status}"
