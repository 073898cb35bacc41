"""What is read of audits, whoever started them."""

from pathlib import Path

import pytest

from mirrorwatch.domain.report import Health
from mirrorwatch.exceptions import StateError
from mirrorwatch.state import Database
from mirrorwatch.state.audits import write_audit
from tests.sources.audit.agent import DAY, HOUR, MINUTE, Agent
from tests.support.audits import (
    NIGHT,
    a_count,
    a_finding,
    a_finished,
    a_result,
)


def test_an_agent_that_starts_none_judges_those_of_others(
    tmp_path: Path, database: Database
) -> None:
    agent = Agent(tmp_path, database, act=None, now=NIGHT + HOUR)
    assert agent.verdict().health is Health.UNKNOWN
    write_audit(tmp_path / "out", a_finished(a_result(at=NIGHT)))
    agent.look(NIGHT + HOUR + MINUTE)
    assert agent.verdict().health is Health.OK
    agent.look(NIGHT + DAY + 3 * HOUR)
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
    agent.look(NIGHT + 2 * HOUR)
    assert agent.verdict().health is Health.OK


def test_a_broken_result_is_unknown_until_a_good_one_comes(
    tmp_path: Path, database: Database
) -> None:
    agent = Agent(tmp_path, database)
    agent.run(NIGHT)
    broken = tmp_path / "out" / "runs" / "nightly-2026-11-22"
    broken.mkdir()
    (broken / "result.json").write_text("{")
    agent.look(NIGHT + HOUR)
    verdict = agent.verdict()
    assert verdict.health is Health.UNKNOWN
    assert "The newest audit cannot be read: " in verdict.reason
    agent.look(NIGHT + 2 * HOUR)
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
    agent.look(NIGHT + HOUR + MINUTE)
    assert agent.seen.report == result.id
    assert agent.verdict().evidence["report"] == f"/audit/{result.id}"
