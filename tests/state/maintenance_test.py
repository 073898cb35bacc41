"""Announced maintenance in the state file."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from mirrorwatch.exceptions import StateError
from mirrorwatch.state import Database
from mirrorwatch.state.maintenance import MaintenanceStore
from tests.support.builders import NOON

HOUR = timedelta(hours=1)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state.db"


@pytest.fixture
def store(path: Path) -> Iterator[MaintenanceStore]:
    database = Database(path)
    yield MaintenanceStore(database)
    database.close()


def test_a_window_is_in_force_from_its_begin_to_its_end(
    store: MaintenanceStore,
) -> None:
    (window,) = store.announce(["a"], NOON, NOON + HOUR, "upgrade")
    assert store.in_force(NOON) == (window,)
    assert store.in_force(NOON + HOUR - timedelta.resolution) == (window,)
    assert store.in_force(NOON + HOUR) == ()
    assert store.in_force(NOON - timedelta.resolution) == ()


def test_it_lasts_as_long_though_the_wall_clock_is_stepped(
    store: MaintenanceStore,
) -> None:
    store.announce(["a"], NOON, NOON + HOUR, "upgrade")
    day, half = timedelta(days=1), NOON + HOUR / 2
    store.announce(["b"], half + day, half + day + HOUR, "after the step")
    store.move(day, half + day)
    windows = {window.flow: window for window in store.in_force(half + day)}
    assert windows["a"].until == NOON + HOUR + day
    assert windows["b"].until == half + day + HOUR


def test_announced_again_it_goes_on_to_the_new_end(
    store: MaintenanceStore,
) -> None:
    store.announce(["a"], NOON, NOON + HOUR, "upgrade")
    half = NOON + HOUR / 2
    (window,) = store.announce(["a"], half, half + HOUR, "takes longer")
    assert (window.since, window.until) == (NOON, half + HOUR)
    assert store.in_force(half) == (window,)


def test_only_the_flows_that_are_named_end(store: MaintenanceStore) -> None:
    store.announce(["a", "b"], NOON, NOON + HOUR, "upgrade")
    (ended,) = store.end(["b", "c"], NOON + HOUR / 2)
    assert ended.flow == "b"
    assert [w.flow for w in store.in_force(NOON + HOUR / 2)] == ["a"]
    assert store.end(["b"], NOON + HOUR / 2) == ()


def test_what_another_process_announces_is_seen_at_once(
    store: MaintenanceStore, path: Path
) -> None:
    beside = Database(path, beside=True)
    MaintenanceStore(beside).announce(["a"], NOON, NOON + HOUR, "upgrade")
    beside.close()
    assert [w.reason for w in store.in_force(NOON)] == ["upgrade"]


def test_there_is_no_working_beside_no_agent(path: Path) -> None:
    with pytest.raises(StateError, match="mirrorwatch has not run"):
        Database(path, beside=True)
    assert not path.exists()
