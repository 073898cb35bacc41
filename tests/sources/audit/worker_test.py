"""When audits are started, and what becomes of them."""

from pathlib import Path

import pytest

from mirrorwatch.domain.report import Health
from mirrorwatch.state import Database
from mirrorwatch.state.audits import write_audit
from tests.sources.audit.agent import DAY, HOUR, Agent
from tests.support.audits import NIGHT, a_finished, a_result


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
    assert "Of 1,000 records of 1 topic none is missing" in verdict.reason
    # Not twice.
    (tmp_path / "started").unlink()
    agent.look(NIGHT + HOUR)
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
    agent.look(NIGHT + 4 * HOUR)
    assert "is late: it has run for 4 h" in agent.verdict().reason
    # The next night comes while it runs.
    (tmp_path / "started").unlink()
    agent.look(NIGHT + DAY)
    assert not (tmp_path / "started").exists()
    agent.at(NIGHT + 6.1 * HOUR)
    agent.step_until(lambda: agent.outcome != "running")
    assert agent.outcome == "timeout"
    assert agent.verdict().health is Health.WARNING
    assert "had not ended after 6 h" in agent.verdict().reason
