"""When audits are started, and what becomes of them."""

import os
import shutil
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mirrorwatch.config.audit import to_trigger
from mirrorwatch.domain.audit.result import AuditResult
from mirrorwatch.domain.report import Health
from mirrorwatch.exceptions import AuditError
from mirrorwatch.sources.audit.worker import Schedule
from mirrorwatch.state import Database, audits
from mirrorwatch.state.audits import read_audit
from tests.sources.audit.agent import DAY, HOUR, MINUTE, Agent, diary_of
from tests.support.audit import (
    NIGHT,
    a_count,
    a_finding,
    a_finished,
    a_result,
    write_audit,
)
from tests.support.findings import find
from tests.support.watch import wait_until

pytestmark = pytest.mark.slow


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
    assert verdict.codes == ("audit.ok",)
    find(verdict, "audit.ok", records=1000, topics=1)
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
    again = Agent(tmp_path, database, act="findings", now=NIGHT + HOUR)
    assert again.outcome == "finished"
    assert again.verdict().findings == told.findings


def test_a_folder_that_cannot_be_read_for_a_moment_is_unknown(
    tmp_path: Path, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = Agent(tmp_path, database, act=None, now=NIGHT)
    assert see(agent, a_result(a_finding(), at=NIGHT)) is Health.CRITICAL

    def refuse(_: Path) -> object:
        raise OSError("Stale file handle")

    monkeypatch.setattr(Path, "iterdir", refuse)
    agent.look(NIGHT + HOUR)
    # The last night still holds.
    assert agent.verdict().codes == ("audit.dropped", "audit.unreadable")
    monkeypatch.undo()
    agent.look(NIGHT + 2 * HOUR)
    assert agent.verdict().codes == ("audit.dropped",)


def error_of(agent: Agent) -> str:
    attempt = agent.seen.attempt
    assert attempt is not None
    return attempt.error


def test_one_that_fails_says_why_and_tells_no_secret(
    tmp_path: Path, database: Database
) -> None:
    agent = Agent(tmp_path, database, act="fail")
    assert agent.run(NIGHT) == "failed"
    verdict = agent.verdict()
    assert verdict.health is Health.WARNING
    assert verdict.code == "audit.failed"
    assert "**********, and no broker" in error_of(agent)
    assert "hunter2" not in str(verdict)


def test_one_that_leaves_no_result_is_never_taken_for_a_clean_one(
    tmp_path: Path, database: Database
) -> None:
    write_audit(tmp_path / "out", a_finished(a_result(at=NIGHT - DAY)))
    agent = Agent(tmp_path, database, act="nothing")
    assert agent.verdict().health is Health.OK
    assert agent.run(NIGHT) == "failed"
    assert "no result" in error_of(agent)
    assert agent.verdict().code == "audit.failed"
    assert agent.verdict().health is Health.WARNING


@pytest.mark.parametrize(
    ("act", "words"),
    [
        ("killed", "it was killed"),
        ("flood", "the end"),
    ],
)
def test_one_that_dies_is_a_failure(
    tmp_path: Path, database: Database, act: str, words: str
) -> None:
    agent = Agent(tmp_path, database, act=act)
    assert agent.run(NIGHT) == "failed"
    assert words in error_of(agent)
    assert agent.verdict().code == "audit.failed"


def test_one_that_hangs_is_late_then_stopped_and_no_second_starts_beside_it(
    tmp_path: Path, database: Database
) -> None:
    agent = Agent(tmp_path, database, act="hang")
    agent.at(NIGHT)
    agent.step_until((tmp_path / "pids").exists)
    agent.look(NIGHT + 4 * HOUR)
    find(agent.verdict(), "audit.late", seconds=4 * 3600)
    # The next night comes while it runs.
    (tmp_path / "started").unlink()
    agent.look(NIGHT + DAY)
    assert not (tmp_path / "started").exists()
    agent.at(NIGHT + 6.1 * HOUR)
    agent.step_until(lambda: agent.outcome != "running")
    assert agent.outcome == "timeout"
    assert agent.verdict().health is Health.WARNING
    assert agent.verdict().code == "audit.failed"


def test_one_that_ended_before_it_was_stopped_has_ended(
    tmp_path: Path, database: Database
) -> None:
    agent = Agent(tmp_path, database)
    agent.look(NIGHT)
    os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOWAIT)
    agent.look(NIGHT + 6.1 * HOUR)
    agent.step_until(lambda: agent.outcome != "running")
    assert agent.outcome == "finished"


AT = datetime(2026, 11, 21, 12, 30, 15, tzinfo=UTC)
ONE_MINUTE = timedelta(minutes=1)
SANTIAGO = ZoneInfo("America/Santiago")


def utc(*when: int) -> datetime:
    return datetime(*when, tzinfo=UTC)  # type: ignore[arg-type, misc]


@pytest.mark.parametrize(
    ("crontab", "last", "following"),
    [
        ("0 2 * * *", utc(2026, 11, 21, 2), utc(2026, 11, 22, 2)),
        ("* * * * *", utc(2026, 11, 21, 12, 30), utc(2026, 11, 21, 12, 31)),
        ("0 0 29 2 *", utc(2024, 2, 29), utc(2028, 2, 29)),
        ("0 3 * * 1", utc(2026, 11, 16, 3), utc(2026, 11, 23, 3)),
    ],
)
def test_the_last_and_the_next_time(
    crontab: str, last: datetime, following: datetime
) -> None:
    schedule = Schedule(to_trigger(crontab))
    assert schedule.last(AT) == last
    assert schedule.next(AT) == following


def test_an_audit_is_due_at_its_minute_and_not_before() -> None:
    schedule = Schedule(to_trigger("0 2 * * *"), SANTIAGO)
    due = utc(2026, 11, 21, 5)
    assert schedule.last(due) == due
    assert schedule.next(due) == due + timedelta(days=1)
    assert schedule.last(due - timedelta(seconds=1)) == due - timedelta(days=1)
    # The day that it is named after is that of its own zone.
    late = Schedule(to_trigger("30 23 * * *"), SANTIAGO)
    last = late.last(utc(2026, 11, 21, 2, 45))
    assert last is not None
    assert f"{last:%Y-%m-%d}" == "2026-11-20"


@given(
    st.sampled_from(["0 2 * * *", "30 2 * * *", "0 0 * * *", "15 4 * * mon"]),
    st.sampled_from(["UTC", "Europe/Berlin", "America/Santiago"]),
    st.integers(0, 3 * 366 * 24 * 60),
)
def test_no_time_lies_between_the_last_and_the_next(
    crontab: str, zone: str, minutes: int
) -> None:
    schedule = Schedule(to_trigger(crontab), ZoneInfo(zone))
    at = utc(2024, 1, 1, 12) + minutes * ONE_MINUTE
    last, following = schedule.last(at), schedule.next(at)
    assert last is not None
    assert following is not None
    assert last <= at < following
    assert schedule.next(last) == following


@pytest.mark.parametrize("crontab", ["0 0 * * *", "30 2 * * *", "0 3 * * *"])
@pytest.mark.parametrize("zone", ["Europe/Berlin", "America/Santiago"])
def test_every_day_of_a_year_has_its_night(crontab: str, zone: str) -> None:
    schedule = Schedule(to_trigger(crontab), ZoneInfo(zone))
    at = utc(2024, 1, 1, 12)
    days: list[date] = []
    while len(days) < 366:
        following = schedule.next(at)
        assert following is not None
        at = following
        days.append(at.date())
        assert schedule.last(at + ONE_MINUTE / 2) == at
    first = days[0]
    assert days == [first + timedelta(days=n) for n in range(366)]


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


def run_again(agent: Agent, night: AuditResult, at: datetime) -> None:
    """Run a night again, as `audit run --date` does."""
    again = replace(night, began_at=at, ended_at=at + 5 * MINUTE)
    write_audit(agent.folder / "out", a_finished(again))
    agent.look(at + 6 * MINUTE)


def test_an_old_night_run_again_makes_up_for_none_that_was_missed(
    tmp_path: Path, database: Database
) -> None:
    agent = Agent(tmp_path, database, act=None)
    night = a_result(at=NIGHT)
    run_again(agent, night, NIGHT)
    assert agent.verdict().health is Health.OK
    run_again(agent, night, NIGHT + DAY + 4 * HOUR)
    verdict = agent.verdict()
    assert verdict.health is Health.WARNING
    assert verdict.code == "audit.missed"


def test_an_old_night_run_again_forgives_no_failure(
    tmp_path: Path, database: Database
) -> None:
    agent = Agent(tmp_path, database, act="fail")
    assert agent.run(NIGHT) == "failed"
    run_again(agent, a_result(at=NIGHT - DAY), NIGHT + HOUR)
    assert agent.verdict().health is Health.WARNING
    assert agent.outcome == "failed"


def test_an_older_night_run_again_hides_nothing_of_the_last_one(
    tmp_path: Path, database: Database
) -> None:
    agent = Agent(tmp_path, database, act=None)
    older, last = a_result(at=NIGHT - DAY), a_result(a_finding(), at=NIGHT)
    run_again(agent, older, NIGHT - DAY)
    run_again(agent, last, NIGHT)
    assert agent.verdict().health is Health.CRITICAL
    run_again(agent, older, NIGHT + DAY + HOUR)
    assert agent.verdict().health is Health.CRITICAL


def test_pieces_of_a_night_that_began_before_it_was_due_are_one_audit(
    tmp_path: Path, database: Database
) -> None:
    agent = Agent(tmp_path, database, act=None, now=NIGHT)
    # Another machine's clock, which is slow, started them.
    first = a_result(a_finding(), at=NIGHT - MINUTE / 2)
    second = replace(a_result(at=NIGHT + MINUTE / 3), id=f"{first.id}-2")
    for piece in (first, second):
        write_audit(tmp_path / "out", a_finished(piece))
        agent.look(piece.ended_at + MINUTE)
        assert agent.verdict().health is Health.CRITICAL
    last = a_result(at=NIGHT + DAY)
    write_audit(tmp_path / "out", a_finished(last))
    agent.look(last.ended_at + MINUTE)
    assert agent.verdict().health is Health.OK


def see(agent: Agent, result: AuditResult) -> Health:
    write_audit(agent.folder / "out", a_finished(result))
    agent.look(result.ended_at + MINUTE)
    return agent.verdict().health


YEAR = timedelta(days=365)


def test_a_night_of_the_future_counts_for_none_and_hides_none(
    tmp_path: Path, database: Database
) -> None:
    agent = Agent(tmp_path, database, act=None)
    assert see(agent, a_result(at=NIGHT)) is Health.OK
    future = a_result(at=NIGHT + YEAR)
    write_audit(tmp_path / "out", a_finished(future))
    agent.look(NIGHT + HOUR)
    assert agent.verdict().health is Health.UNKNOWN
    assert agent.verdict().code == "audit.unreadable"
    found = a_result(a_finding(), at=NIGHT + DAY)
    assert see(agent, found) is Health.CRITICAL
    agent.look(NIGHT + 2 * DAY + 3 * HOUR)
    assert "audit.missed" in agent.verdict().codes
    # The verdict says so as long as it is there, after a restart, too.
    late = Agent(tmp_path, database, act=None, now=NIGHT + 3 * DAY)
    assert see(late, a_result(at=NIGHT + 3 * DAY)) is Health.UNKNOWN
    shutil.rmtree(tmp_path / "out" / "runs" / future.id)
    late.look(NIGHT + 3 * DAY + HOUR)
    assert late.verdict().health is Health.OK


def test_nights_of_a_clock_that_was_put_back_are_of_the_future(
    tmp_path: Path, database: Database
) -> None:
    ahead = Agent(tmp_path, database, act=None, now=NIGHT + YEAR)
    assert see(ahead, a_result(at=NIGHT + YEAR)) is Health.OK
    agent = Agent(tmp_path, database, act=None, now=NIGHT)
    found = a_result(a_finding(), at=NIGHT + HOUR)
    assert see(agent, found) is Health.CRITICAL
    # By then they count again.
    agent.look(NIGHT + YEAR + HOUR)
    assert agent.verdict().health is Health.OK


def test_a_clock_that_is_a_little_ahead_makes_no_night_of_the_future(
    tmp_path: Path, database: Database
) -> None:
    agent = Agent(tmp_path, database, act=None)
    write_audit(tmp_path / "out", a_finished(a_result(at=NIGHT + HOUR)))
    agent.look(NIGHT + MINUTE)
    assert agent.verdict().health is Health.OK


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
    assert verdict.code == "audit.unreadable"
    agent.look(NIGHT + 2 * HOUR)
    assert agent.verdict().health is Health.UNKNOWN
    assert agent.run(NIGHT + DAY) == "finished"
    assert agent.verdict().health is Health.OK


def unreadable(monkeypatch: pytest.MonkeyPatch, *runs: str) -> list[str]:
    """Let results not be read; returns what was tried."""
    tried = []

    def read(folder: Path, name: str) -> object:
        tried.append(name)
        if name in runs:
            raise AuditError(f"Cannot read {name}: Stale file handle")
        return read_audit(folder, name)

    monkeypatch.setattr(audits, "read_audit", read)
    return tried


def test_a_result_that_could_not_be_read_for_a_moment_is_read_later(
    tmp_path: Path, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = Agent(tmp_path, database, act=None, now=NIGHT)
    found = a_result(a_finding(), at=NIGHT)
    write_audit(tmp_path / "out", a_finished(found))
    unreadable(monkeypatch, found.id)
    agent.look(NIGHT + MINUTE)
    assert agent.verdict().health is Health.UNKNOWN
    monkeypatch.undo()
    agent.look(NIGHT + HOUR)
    assert agent.verdict().health is Health.CRITICAL


def test_a_result_that_cannot_be_read_is_unknown_however_many_are_newer(
    tmp_path: Path, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = Agent(tmp_path, database, act=None, now=NIGHT)
    old = a_result(a_finding(), at=NIGHT)
    write_audit(tmp_path / "out", a_finished(old))
    unreadable(monkeypatch, old.id)
    assert see(agent, a_result(at=NIGHT + DAY)) is Health.UNKNOWN
    told = agent.verdict().findings
    assert told[0].code == "audit.unreadable"
    assert old.id in told[0].title
    # Also by one that is started then.
    later = Agent(tmp_path, database, act=None, now=NIGHT + DAY + HOUR)
    assert later.verdict().findings == told
    shutil.rmtree(tmp_path / "out" / "runs" / old.id)
    later.look(NIGHT + DAY + 2 * HOUR)
    assert later.verdict().health is Health.OK


def test_a_result_that_cannot_be_read_is_tried_once_with_every_look(
    tmp_path: Path, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = Agent(tmp_path, database, act=None, now=NIGHT)
    result = a_result(at=NIGHT)
    write_audit(tmp_path / "out", a_finished(result))
    tried = unreadable(monkeypatch, result.id)
    for second in range(60):
        agent.look(NIGHT + MINUTE + second * MINUTE / 60)
        assert agent.verdict().health is Health.UNKNOWN
    assert tried == [result.id] * 4
    monkeypatch.undo()
    # One that was read is not read again.
    tried = unreadable(monkeypatch)
    agent.look(NIGHT + HOUR)
    agent.look(NIGHT + 2 * HOUR)
    assert tried == [result.id]
    assert agent.verdict().health is Health.OK


def test_a_piece_that_could_not_be_read_for_a_moment_is_not_forgotten(
    tmp_path: Path, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = Agent(tmp_path, database, act=None, now=NIGHT)
    first = replace(a_result(a_finding(), at=NIGHT), more=True)
    second = replace(a_result(at=NIGHT + MINUTE), id=f"{first.id}-2")
    write_audit(tmp_path / "out", a_finished(first))
    unreadable(monkeypatch, first.id)
    agent.look(NIGHT + MINUTE)
    # Not even while the other one is all that can be read.
    assert see(agent, second) is Health.UNKNOWN
    monkeypatch.undo()
    agent.look(NIGHT + HOUR)
    assert agent.verdict().health is Health.CRITICAL, agent.verdict().reason


def test_many_windows_since_hide_no_night_from_an_agent_that_was_down(
    tmp_path: Path, database: Database
) -> None:
    write_audit(tmp_path / "out", a_finished(a_result(at=NIGHT)))
    agent = Agent(tmp_path, database, act=None, now=NIGHT + HOUR)
    assert agent.verdict().health is Health.OK
    # While it is down, a night finds a loss, and somebody looks into it.
    found = a_result(a_finding(), at=NIGHT + DAY)
    write_audit(tmp_path / "out", a_finished(found))
    for n in range(1, 150):
        at = NIGHT + DAY + n * MINUTE
        window = replace(a_result(at=at, nightly=False), id=f"adhoc-{n}")
        write_audit(tmp_path / "out", a_finished(window))
    again = Agent(tmp_path, database, act=None, now=NIGHT + DAY + HOUR)
    assert again.verdict().health is Health.CRITICAL, again.verdict().reason


def test_an_agent_that_starts_reads_no_more_nights_than_it_needs(
    tmp_path: Path, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    nights = [a_result(at=NIGHT + n * DAY) for n in range(30)]
    for n, night in enumerate(nights):
        write_audit(tmp_path / "out", a_finished(night))
        file = tmp_path / "out" / "runs" / night.id / "result.json"
        os.utime(file, (n, n))
    tried = unreadable(monkeypatch)
    agent = Agent(tmp_path, database, act=None, now=NIGHT + 29 * DAY + HOUR)
    agent.look(NIGHT + 29 * DAY + 2 * HOUR)
    assert tried == [night.id for night in nights[:9:-1]]
    assert agent.verdict().health is Health.OK


def test_what_keeps_it_from_starting_is_unknown(
    tmp_path: Path, database: Database
) -> None:
    write_audit(tmp_path / "out", a_finished(a_result(at=NIGHT)))
    now = NIGHT + HOUR
    agent = Agent(
        tmp_path, database, act=None, now=now, problems=("No PySpark",)
    )
    assert agent.verdict().health is Health.UNKNOWN
    assert agent.verdict().codes == ("audit.unreadable", "audit.ok")


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


def is_gone(pid: int) -> bool:
    """Tell whether a process has ended, though nobody may have looked."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return True
    return text.rpartition(")")[2].split()[0] == "Z"


def leave(folder: Path, database: Database, **attempt: Any) -> None:
    """Leave an attempt in the diary as an earlier agent would have."""
    Agent(folder, database, act="nothing").run(NIGHT)
    diary = diary_of(database)
    kept = diary.load()
    assert kept.attempt is not None
    diary.save(replace(kept, attempt=replace(kept.attempt, **attempt)))


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
    leave(tmp_path, database, outcome="stopped")
    agent = Agent(tmp_path, database, now=NIGHT + 3.1 * HOUR)
    assert agent.outcome == "stopped"
    assert agent.verdict().code == "audit.failed"


def test_one_whose_agent_was_killed_is_not_tried_again(
    tmp_path: Path, database: Database
) -> None:
    leave(tmp_path, database, outcome="running", ended_at=None)
    agent = Agent(tmp_path, database, now=NIGHT + MINUTE)
    assert agent.outcome == "abandoned"
    assert agent.verdict().code == "audit.failed"
    # The next night is another matter.
    assert agent.run(NIGHT + DAY) == "finished"
    assert agent.verdict().health is Health.OK


@pytest.fixture
def beside(tmp_path: Path, database: Database) -> Agent:
    """An audit by hand has the folder when the night is due."""
    write_audit(tmp_path / "out", a_finished(a_result(at=NIGHT - DAY)))
    (tmp_path / "held").touch()
    agent = Agent(tmp_path, database)
    assert agent.run(NIGHT) == "refused"
    (tmp_path / "started").unlink()
    return agent


def is_started(agent: Agent) -> bool:
    return (agent.folder / "started").exists()


def test_a_night_is_run_once_an_audit_by_hand_is_over(beside: Agent) -> None:
    # The night may be run in time, so that nobody needs to look.
    assert beside.verdict().health is Health.OK
    beside.look(NIGHT + MINUTE)
    assert not is_started(beside)
    assert beside.run(NIGHT + 10 * MINUTE) == "refused"
    assert is_started(beside)
    (beside.folder / "held").unlink()
    assert beside.run(NIGHT + 20 * MINUTE) == "finished"
    assert beside.verdict().codes == ("audit.ok",)
    assert beside.verdict().evidence["to"] == "2026-11-21T02:20:00+00:00"
    (beside.folder / "started").unlink()
    beside.look(NIGHT + HOUR)
    assert not is_started(beside)


def test_a_night_that_was_run_by_hand_is_not_run_again(
    beside: Agent,
) -> None:
    by_hand = a_result(at=NIGHT + 5 * MINUTE)
    write_audit(beside.folder / "out", a_finished(by_hand))
    (beside.folder / "held").unlink()
    beside.look(NIGHT + 10 * MINUTE)
    beside.look(NIGHT + 20 * MINUTE)
    assert not is_started(beside)
    assert beside.verdict().health is Health.OK
    beside.look(NIGHT + 4 * HOUR)
    assert beside.verdict().health is Health.OK


def test_a_night_is_run_after_an_audit_by_hand_that_was_not_the_night(
    beside: Agent,
) -> None:
    # The first piece of the night, begun before that was due.
    made = a_result(at=NIGHT - 5 * MINUTE)
    write_audit(beside.folder / "out", a_finished(made))
    (beside.folder / "held").unlink()
    beside.look(NIGHT + 2 * MINUTE)
    assert beside.run(NIGHT + 10 * MINUTE) == "finished"


def test_a_night_that_was_kept_from_running_for_too_long_is_told(
    beside: Agent,
) -> None:
    beside.run(NIGHT + 2.9 * HOUR)
    (beside.folder / "started").unlink()
    beside.look(NIGHT + 3.1 * HOUR)
    assert not is_started(beside)
    verdict = beside.verdict()
    assert verdict.health is Health.WARNING
    assert verdict.code == "audit.failed"
    assert verdict.evidence["attempt"] == "refused"
    (beside.folder / "held").unlink()
    assert beside.run(NIGHT + DAY) == "finished"
    assert beside.verdict().health is Health.OK


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
    find(verdict, "audit.missed", seconds=4 * 3600)


def test_a_new_agent_misses_nothing_of_the_time_before_it(
    tmp_path: Path, database: Database
) -> None:
    agent = Agent(tmp_path, database, now=NIGHT + 4 * HOUR)
    assert agent.outcome is None
    assert agent.verdict().codes == ("audit.no-data",)
