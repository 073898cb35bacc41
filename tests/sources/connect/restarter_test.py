"""Restarts of failed tasks: bounded, shown, and remembered."""

from datetime import datetime, timedelta

import pytest
import structlog
from structlog.testing import capture_logs

from mirrorwatch.domain.mirror_records import TaskState
from mirrorwatch.domain.tasks.model import RestartRules, Restarts
from mirrorwatch.exceptions import SourceError, StateError
from mirrorwatch.sources.connect import TaskRestarter
from mirrorwatch.state import Database
from mirrorwatch.state.documents import DocumentStore
from tests.support.builders import FLOW, NOON

RULES = RestartRules(enabled=True, most_per_hour=2)
MINUTE = timedelta(minutes=1)


class FakeApi:
    def __init__(self) -> None:
        self.asked: list[tuple[str, int | None]] = []
        self.refuses = False

    def restart(self, connector: str, task: int | None) -> None:
        self.asked.append((connector, task))
        if self.refuses:
            raise SourceError("status 409", source="connect", cluster="ldf")


def failed(task: int | None, at: datetime = NOON) -> TaskState:
    return TaskState(
        connector="c",
        task=task,
        state="FAILED",
        worker="w",
        trace="",
        generation=1,
        written_at=at,
    )


class World:
    def __init__(self, rules: RestartRules = RULES) -> None:
        self.rules, self.api = rules, FakeApi()
        self.database = Database(None)
        self.begin()

    def begin(self) -> None:
        """Start the agent, once more."""
        self.restarter = TaskRestarter(
            self.api,
            self.rules,
            DocumentStore(self.database, FLOW.name, "restarts", Restarts),
            structlog.get_logger(),
        )

    def at(self, minute: float, *states: TaskState) -> tuple[str, ...]:
        return self.restarter.restart(states, NOON + minute * MINUTE)


def test_a_restart_is_done_after_a_pause_logged_and_shown() -> None:
    world = World()
    with capture_logs() as log:
        assert world.at(0.5, failed(1)) == ()
        told = world.at(1, failed(1))
    assert world.api.asked == [("c", 1)]
    (said,) = told
    assert said == (
        "12:01:00 UTC: task 1 of c was started again by the agent "
        "(1 of 2 within an hour)"
    )
    assert [entry["event"] for entry in log] == ["Restarting a failed task"]
    assert world.at(62) == ()


def test_unless_it_is_wanted_nothing_is_done() -> None:
    world = World(RestartRules())
    assert not any(world.at(m, failed(1)) for m in range(60))
    assert world.api.asked == []


def test_each_task_has_bounds_of_its_own() -> None:
    world = World()
    for minute in range(60):
        world.at(minute, failed(0), failed(None))
    assert sorted(world.api.asked, key=str) == [
        *[("c", 0)] * 2,
        *[("c", None)] * 2,
    ]


def test_an_agent_that_starts_again_has_done_what_it_did() -> None:
    world = World()
    for minute in range(60):
        world.begin()
        told = world.at(minute, failed(0))
    assert world.api.asked == [("c", 0)] * 2
    assert len(told) == 2


def test_one_that_connect_refuses_counts_and_says_so() -> None:
    world = World()
    world.api.refuses = True
    told = world.at(1, failed(0))
    assert told[0].endswith("an hour), in vain: status 409")
    for minute in range(2, 60):
        world.at(minute, failed(0))
    assert len(world.api.asked) == 2


def test_what_cannot_be_kept_is_not_done() -> None:
    world = World()
    world.database.close()
    with pytest.raises(StateError):
        world.at(1, failed(0))
    assert world.api.asked == []
