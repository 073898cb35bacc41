"""The agent's own time, whatever the wall clock does."""

import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from mirrorwatch.clock import (
    MOST_KEPT,
    SLEW,
    Clock,
    elapsed_seconds,
    shifted,
)
from mirrorwatch.state import Database
from mirrorwatch.state.documents import VerdictStore
from tests.support.full_report import a_full_report

BEGIN = datetime(2026, 11, 21, 12, tzinfo=UTC)
TICK = timedelta(seconds=15)
STEPS = [timedelta(hours=-1), timedelta(seconds=-37), timedelta(days=1)]
STEPPED = pytest.mark.parametrize("step", STEPS, ids=["-1h", "-37s", "+1d"])


class Machine:
    """A machine with both clocks."""

    def __init__(self) -> None:
        self.passed = timedelta()
        self.step = timedelta()

    def wall(self) -> datetime:
        return BEGIN + self.passed + self.step

    def monotonic(self) -> float:
        return 1e5 + self.passed.total_seconds()

    def clock(self) -> Clock:
        return Clock(self.wall, self.monotonic)


def test_without_a_step_it_is_the_wall_clock() -> None:
    machine = Machine()
    clock = machine.clock()
    for _ in range(1000):
        machine.passed += TICK
        assert clock.watch() == timedelta()
        assert clock() == clock.label() == machine.wall()
    assert (clock.offset, clock.steps) == (timedelta(), 0)


@STEPPED
def test_a_step_is_noted_once_and_moves_labels_only(step: timedelta) -> None:
    machine = Machine()
    clock = machine.clock()
    machine.step = step
    before = clock()
    assert clock.watch() == step
    assert clock() == before
    assert clock.label() == machine.wall()
    machine.passed += TICK
    assert clock.watch() == timedelta()
    assert abs(clock() - before - TICK) <= SLEW * TICK
    assert clock.steps == 1


@pytest.mark.slow
@STEPPED
def test_it_follows_slowly_and_arrives(step: timedelta) -> None:
    machine = Machine()
    clock = machine.clock()
    machine.step = step
    before, tick = clock(), timedelta(minutes=1)
    for _ in range(round(1.1 * abs(step) / SLEW / tick) + 100):
        machine.passed += tick
        clock.watch()
        now = clock()
        assert timedelta() < now - before <= (1 + SLEW) * tick
        assert abs(clock.label() - machine.wall()) < timedelta(seconds=1)
        before = now
    assert abs(clock.offset) < timedelta(milliseconds=1)


@STEPPED
@pytest.mark.parametrize("runs", [True, False])
def test_a_restart_carries_it_on(step: timedelta, runs: bool) -> None:
    machine, store = Machine(), VerdictStore(Database(None))
    clock = machine.clock()
    machine.step = step
    if runs:
        clock.watch()
    last = clock()
    store.save((), clock.label(), clock.offset)
    machine.passed += TICK
    again = machine.clock()
    store.resume(again)
    # What the first one kept is not from the future. That the clock went
    # forward while none ran cannot be told from a long absence.
    assert again() >= last
    if runs or step < timedelta():
        assert again() - last <= TICK
    assert abs(again.label() - machine.wall()) < timedelta(seconds=1)


def test_a_clock_that_was_wrong_by_years_is_believed_again() -> None:
    machine, store = Machine(), VerdictStore(Database(None))
    machine.step = -timedelta(days=20_000)
    clock = machine.clock()
    machine.step = timedelta()
    assert clock.watch() > MOST_KEPT
    store.save((), clock.label(), clock.offset)
    again = machine.clock()
    store.resume(again)
    assert again() == machine.wall()


def test_every_time_in_a_report_is_moved_and_nothing_else() -> None:
    report = a_full_report(BEGIN)
    hour = timedelta(hours=1)
    later = a_full_report(BEGIN + hour)
    assert shifted(report, hour) == replace(
        later, verdicts=shifted(later.verdicts, hour)
    )
    assert shifted(shifted(report, hour), -hour) == report
    assert shifted(report, timedelta()) is report


def test_a_suspended_machine_is_a_pause_and_no_step(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if not hasattr(time, "CLOCK_BOOTTIME"):
        # Elsewhere it is whatever Python's monotonic clock is.
        assert elapsed_seconds() <= time.monotonic()
        return
    machine = Machine()
    monkeypatch.setattr(
        time,
        "clock_gettime",
        lambda which: {time.CLOCK_BOOTTIME: machine.monotonic()}[which],
    )
    stands = machine.monotonic()
    monkeypatch.setattr(time, "monotonic", lambda: stands)
    clock = Clock(machine.wall)
    before = clock()
    machine.passed += timedelta(hours=8)
    assert clock.watch() == timedelta()
    assert clock() == before + timedelta(hours=8)
    assert (clock.offset, clock.steps) == (timedelta(), 0)
