"""When audits are started, what becomes of them, and what is remembered."""

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

import pytest
import structlog

from mirrorwatch.config.crontab import to_trigger
from mirrorwatch.domain.audit.observation import AuditObservation
from mirrorwatch.domain.checks import AuditLimits, judge_audit
from mirrorwatch.domain.verdicts import Health, Verdict
from mirrorwatch.exceptions import StateError
from mirrorwatch.sources.audit import (
    AuditWorker,
    Diary,
    FlowAudits,
    JobSettings,
    ResultFolder,
    Schedule,
    Starter,
)
from mirrorwatch.state import Database
from mirrorwatch.state.audits import write_audit
from mirrorwatch.state.document import DocumentStore
from tests.support.audit_job import audit_command
from tests.support.audits import (
    NIGHT,
    a_count,
    a_finding,
    a_finished,
    a_result,
)
from tests.support.stage import SetClock
from tests.support.watch import wait_until

FLOW = "summit->ldf"
HOUR = timedelta(hours=1)
MINUTE = timedelta(minutes=1)
DAY = timedelta(days=1)
SCHEDULE = Schedule(to_trigger("0 2 * * *"))
LIMITS = AuditLimits(timeout=6 * HOUR)


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
            starter = Starter(
                settings=JobSettings(
                    command=audit_command(folder, act),
                    memory=2048,
                    secrets=("hunter2",),
                ),
                schedule=SCHEDULE,
                timeout=LIMITS.timeout,
                grace=3 * HOUR,
                store=DocumentStore(database, "", "audit_diary", Diary),
                clock=self.clock,
                logger=structlog.get_logger(),
            )
        self.worker = AuditWorker(
            stores={FLOW: DocumentStore(database, FLOW, "audits", FlowAudits)},
            folder=ResultFolder(folder / "out"),
            starter=starter,
            schedule=SCHEDULE,
            grace=3 * HOUR,
            problems=problems,
            clock=self.clock,
        )
        self.worker.step()

    def at(self, now: datetime) -> None:
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

    def step_until(self, condition: Callable[[], bool]) -> None:
        def step() -> bool:
            self.worker.step()
            return condition()

        wait_until(step, what=lambda: self.seen)

    def run(self, now: datetime) -> str | None:
        """Let an audit begin and end."""
        self.at(now)
        self.worker.step()
        if self.outcome == "running":
            self.step_until(lambda: self.outcome != "running")
        return self.outcome


def is_gone(pid: int) -> bool:
    """Tell whether a process has ended, though nobody may have looked."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return True
    return text.rpartition(")")[2].split()[0] == "Z"


@pytest.fixture
def database() -> Database:
    return Database(None)


def test_an_audit_is_started_when_it_is_due_and_read_when_it_is_over(
    tmp_path: Path, database: Database
) -> None:
    agent = Agent(tmp_path, database)
    assert agent.outcome is None
    assert agent.verdict().health is Health.UNKNOWN
    assert agent.run(NIGHT) == "finished"
    assert (tmp_path / "started").read_text() == "--date 2026-11-21"
    verdict = agent.verdict()
    assert verdict.health is Health.OK
    assert "Of 1000 records of 1 topics none is missing" in verdict.reason
    # Not twice.
    (tmp_path / "started").unlink()
    agent.at(NIGHT + HOUR)
    agent.worker.step()
    assert not (tmp_path / "started").exists()


def test_findings_are_critical_and_a_restart_forgets_nothing(
    tmp_path: Path, database: Database
) -> None:
    agent = Agent(tmp_path, database, act="findings")
    assert agent.run(NIGHT) == "finished"
    told = agent.verdict()
    assert told.health is Health.CRITICAL
    agent.worker.close()
    # Even if the folder is gone.
    (tmp_path / "out").rename(tmp_path / "elsewhere")
    again = Agent(tmp_path, database, act="findings", now=NIGHT + HOUR)
    assert again.outcome == "finished"
    assert again.verdict().reason == told.reason


def test_one_that_fails_says_why_and_tells_no_secret(
    tmp_path: Path, database: Database
) -> None:
    agent = Agent(tmp_path, database, act="fail")
    assert agent.run(NIGHT) == "failed"
    verdict = agent.verdict()
    assert verdict.health is Health.WARNING
    assert "failed: the token is **********, and no broker" in verdict.reason
    assert "hunter2" not in str(verdict)


def test_one_that_leaves_no_result_is_never_taken_for_a_clean_one(
    tmp_path: Path, database: Database
) -> None:
    write_audit(tmp_path / "out", a_finished(a_result(at=NIGHT - DAY)))
    agent = Agent(tmp_path, database, act="nothing")
    assert agent.verdict().health is Health.OK
    assert agent.run(NIGHT) == "failed"
    assert "it left no result in audit.out" in agent.verdict().reason
    assert agent.verdict().health is Health.WARNING


@pytest.mark.parametrize(
    ("act", "words"),
    [("killed", "was the machine out of memory"), ("flood", "the end")],
)
def test_one_that_dies_is_a_failure(
    tmp_path: Path, database: Database, act: str, words: str
) -> None:
    agent = Agent(tmp_path, database, act=act)
    assert agent.run(NIGHT) == "failed"
    assert words in agent.verdict().reason


@pytest.mark.slow
def test_one_that_hangs_is_late_then_stopped_and_no_second_starts_beside_it(
    tmp_path: Path, database: Database
) -> None:
    agent = Agent(tmp_path, database, act="hang")
    agent.at(NIGHT)
    agent.step_until((tmp_path / "pids").exists)
    agent.at(NIGHT + 4 * HOUR)
    agent.worker.step()
    assert "is late: it has run for 4 h" in agent.verdict().reason
    # The next night comes while it runs.
    (tmp_path / "started").unlink()
    agent.at(NIGHT + DAY)
    agent.worker.step()
    assert not (tmp_path / "started").exists()
    agent.at(NIGHT + 6.1 * HOUR)
    agent.step_until(lambda: agent.outcome != "running")
    assert agent.outcome == "timeout"
    assert agent.verdict().health is Health.WARNING
    assert "had not ended after 6 h" in agent.verdict().reason


@pytest.mark.slow
def test_one_that_was_stopped_with_the_agent_is_started_again_in_time(
    tmp_path: Path, database: Database
) -> None:
    agent = Agent(tmp_path, database, act="hang")
    agent.at(NIGHT)
    agent.step_until((tmp_path / "pids").exists)
    agent.worker.close()
    for pid in (tmp_path / "pids").read_text().split():
        wait_until(lambda: is_gone(int(pid)))  # noqa: B023
    again = Agent(tmp_path, database, now=NIGHT + HOUR)
    again.step_until(lambda: again.outcome == "finished")
    assert again.verdict().health is Health.OK


def test_one_that_was_stopped_is_not_started_again_too_late(
    tmp_path: Path, database: Database
) -> None:
    diary = DocumentStore(database, "", "audit_diary", Diary)
    Agent(tmp_path, database, act="nothing").run(NIGHT)
    kept = diary.load()
    assert kept.attempt is not None
    stopped = replace(kept.attempt, outcome="stopped")
    diary.save(replace(kept, attempt=stopped))
    agent = Agent(tmp_path, database, now=NIGHT + 3.1 * HOUR)
    assert agent.outcome == "stopped"
    assert "was stopped together with the agent" in agent.verdict().reason


def test_one_whose_agent_was_killed_is_not_tried_again(
    tmp_path: Path, database: Database
) -> None:
    diary = DocumentStore(database, "", "audit_diary", Diary)
    Agent(tmp_path, database, act="nothing").run(NIGHT)
    kept = diary.load()
    assert kept.attempt is not None
    running = replace(kept.attempt, outcome="running", ended_at=None)
    diary.save(replace(kept, attempt=running))
    agent = Agent(tmp_path, database, now=NIGHT + MINUTE)
    assert agent.outcome == "abandoned"
    assert "was cut short when the agent was killed" in agent.verdict().reason
    # The next night is another matter.
    assert agent.run(NIGHT + DAY) == "finished"
    assert agent.verdict().health is Health.OK


def test_a_night_on_which_the_agent_was_down_is_missed(
    tmp_path: Path, database: Database
) -> None:
    agent = Agent(tmp_path, database)
    agent.run(NIGHT)
    agent.worker.close()
    later = Agent(tmp_path, database, now=NIGHT + DAY + 4 * HOUR)
    assert later.outcome == "finished"
    verdict = later.verdict()
    assert verdict.health is Health.WARNING
    assert "since the one that was due at 2026-11-22 02:00" in verdict.reason


def test_a_new_agent_misses_nothing_of_the_time_before_it(
    tmp_path: Path, database: Database
) -> None:
    agent = Agent(tmp_path, database, now=NIGHT + 4 * HOUR)
    assert agent.outcome is None
    assert "No audit of this flow has run yet" in agent.verdict().reason


def test_an_agent_that_starts_none_judges_those_of_others(
    tmp_path: Path, database: Database
) -> None:
    agent = Agent(tmp_path, database, act=None, now=NIGHT + HOUR)
    assert agent.verdict().health is Health.UNKNOWN
    write_audit(tmp_path / "out", a_finished(a_result(at=NIGHT)))
    agent.at(NIGHT + HOUR + MINUTE)
    agent.worker.step()
    assert agent.verdict().health is Health.OK
    agent.at(NIGHT + DAY + 3 * HOUR)
    agent.worker.step()
    assert agent.verdict().health is Health.WARNING
    # One who comes later must not take the old night for the last one.
    late = Agent(tmp_path, Database(None), act=None, now=agent.clock.now)
    assert late.verdict().health is Health.WARNING


def test_an_ad_hoc_audit_changes_nothing(
    tmp_path: Path, database: Database
) -> None:
    agent = Agent(tmp_path, database)
    agent.run(NIGHT)
    asked = a_result(a_finding(), at=NIGHT + HOUR, nightly=False)
    write_audit(tmp_path / "out", a_finished(asked))
    agent.at(NIGHT + 2 * HOUR)
    agent.worker.step()
    assert agent.verdict().health is Health.OK


def test_a_broken_result_is_unknown_until_a_good_one_comes(
    tmp_path: Path, database: Database
) -> None:
    agent = Agent(tmp_path, database)
    agent.run(NIGHT)
    broken = tmp_path / "out" / "runs" / "nightly-2026-11-22"
    broken.mkdir()
    (broken / "result.json").write_text("{")
    agent.at(NIGHT + HOUR)
    agent.worker.step()
    verdict = agent.verdict()
    assert verdict.health is Health.UNKNOWN
    assert "The newest audit cannot be read: " in verdict.reason
    agent.at(NIGHT + 2 * HOUR)
    agent.worker.step()
    assert agent.verdict().health is Health.UNKNOWN
    assert agent.run(NIGHT + DAY) == "finished"
    assert agent.verdict().health is Health.OK


def test_a_result_that_could_not_be_written_down_is_not_forgotten(
    tmp_path: Path, database: Database
) -> None:
    agent = Agent(tmp_path, database, act=None)
    write_audit(tmp_path / "out", a_finished(a_result(a_finding(), at=NIGHT)))
    agent.at(NIGHT + MINUTE)
    with database.transaction() as sql:
        sql.execute("ALTER TABLE document RENAME TO gone")
    with pytest.raises(StateError):
        agent.worker.step()
    with database.transaction() as sql:
        sql.execute("ALTER TABLE gone RENAME TO document")
    agent.worker.step()
    assert agent.verdict().health is Health.CRITICAL
    later = Agent(tmp_path, database, act=None, now=NIGHT + HOUR)
    assert later.verdict().health is Health.CRITICAL


def test_what_keeps_it_from_starting_is_unknown(
    tmp_path: Path, database: Database
) -> None:
    write_audit(tmp_path / "out", a_finished(a_result(at=NIGHT)))
    now = NIGHT + HOUR
    agent = Agent(
        tmp_path, database, act=None, now=now, problems=("No PySpark",)
    )
    assert agent.verdict().health is Health.UNKNOWN
    assert agent.verdict().reason == "No PySpark"


def test_the_report_is_offered_once_it_is_there(
    tmp_path: Path, database: Database
) -> None:
    result = a_result(at=NIGHT, topics=(a_count("t"),))
    write_audit(tmp_path / "out", a_finished(result))
    agent = Agent(tmp_path, database, act=None, now=NIGHT + HOUR)
    assert "report" not in agent.verdict().evidence
    run = tmp_path / "out" / "runs" / result.id
    (run / "report.html").write_text("<p>")
    agent.at(NIGHT + HOUR + MINUTE)
    agent.worker.step()
    assert agent.seen.report == result.id
    assert agent.verdict().evidence["report"] == f"/audit/{result.id}"
