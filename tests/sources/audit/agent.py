"""What starts audits in an agent, and reads what they leave."""

from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path

import structlog

from mirrorwatch.config.audit import to_trigger
from mirrorwatch.domain.audit.check import AuditLimits, judge_audit
from mirrorwatch.domain.audit.flow_result import AuditObservation
from mirrorwatch.domain.report import Verdict
from mirrorwatch.sources.audit.job import JobSettings
from mirrorwatch.sources.audit.worker import (
    AuditAttempts,
    AuditStarter,
    AuditWatch,
    AuditWorker,
    Schedule,
)
from mirrorwatch.state import Database
from mirrorwatch.state.audits import ResultFolder
from mirrorwatch.state.documents import DocumentStore
from tests.support.audit import NIGHT
from tests.support.audit_run import audit_command
from tests.support.clock import clock_of
from tests.support.stage import SetClock
from tests.support.watch import wait_until

__all__ = ["DAY", "HOUR", "MINUTE", "Agent", "diary_of"]

FLOW = "summit->ldf"
HOUR = timedelta(hours=1)
MINUTE = timedelta(minutes=1)
DAY = timedelta(days=1)
SCHEDULE = Schedule(to_trigger("0 2 * * *"))
LIMITS = AuditLimits(timeout=6 * HOUR)


def diary_of(database: Database) -> DocumentStore[AuditAttempts]:
    return DocumentStore(database, "", "audit_diary", AuditAttempts)


class Agent:
    """What starts audits in an agent, at a time that is set by hand."""

    def __init__(
        self,
        folder: Path,
        database: Database,
        *,
        act: str | None = "clean",
        now: datetime = NIGHT - MINUTE,
        problems: tuple[str, ...] = (),
    ) -> None:
        self.folder = folder
        self.clock = SetClock(now)
        self.at(now)
        starter = None
        if act is not None:
            starter = AuditStarter(
                settings=JobSettings(
                    command=audit_command(folder, act),
                    memory=2048,
                    secrets=("hunter2",),
                ),
                schedule=SCHEDULE,
                timeout=LIMITS.timeout,
                store=diary_of(database),
                clock=clock_of(self.clock),
                logger=structlog.get_logger(),
            )
        self.worker = AuditWorker(
            stores={FLOW: DocumentStore(database, FLOW, "audits", AuditWatch)},
            folder=ResultFolder(folder / "out"),
            starter=starter,
            schedule=SCHEDULE,
            problems=problems,
            clock=clock_of(self.clock),
        )
        self.worker.step()

    def at(self, now: datetime) -> None:
        """Set the clock, also that of the audits it starts."""
        self.clock.now = now
        (self.folder / "now").write_text(now.isoformat())

    @property
    def seen(self) -> AuditObservation:
        (seen,) = self.worker.observe(self.clock.now)
        return seen

    @property
    def outcome(self) -> str | None:
        attempt = self.seen.attempt
        return None if attempt is None else attempt.outcome

    def verdict(self) -> Verdict:
        return judge_audit(FLOW, self.seen, LIMITS, self.clock.now)

    def look(self, now: datetime) -> None:
        """Let it look what there is to do, and what there is to read."""
        self.at(now)
        self.worker.step()

    def step_until(self, condition: Callable[[], bool]) -> None:
        def step() -> bool:
            self.worker.step()
            return condition()

        wait_until(step, what=lambda: self.seen)

    def run(self, now: datetime) -> str | None:
        """Let an audit begin and end."""
        self.look(now)
        if self.outcome == "running":
            self.step_until(lambda: self.outcome != "running")
        return self.outcome
