"""What is remembered of audits when the agent was away."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mirrorwatch.domain.report import Health
from mirrorwatch.state import Database
from tests.sources.audit.agent import DAY, HOUR, MINUTE, Agent, diary_of
from tests.support.audits import NIGHT
from tests.support.watch import wait_until


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
    leave(tmp_path, database, outcome="stopped")
    agent = Agent(tmp_path, database, now=NIGHT + 3.1 * HOUR)
    assert agent.outcome == "stopped"
    assert "was stopped together with the agent" in agent.verdict().reason


def test_one_whose_agent_was_killed_is_not_tried_again(
    tmp_path: Path, database: Database
) -> None:
    leave(tmp_path, database, outcome="running", ended_at=None)
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
