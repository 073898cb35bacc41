"""What earlier runs proved is reported by the next one."""

from contextlib import suppress
from datetime import timedelta

import pytest

from mirrorwatch.domain.canary.check import CanaryLimits, judge_canary
from mirrorwatch.domain.canary.model import Loss
from mirrorwatch.domain.report import Health
from mirrorwatch.exceptions import StateError
from mirrorwatch.sources.canary.worker import (
    CanarySource,
    CanaryState,
    CanaryWorker,
)
from tests.sources.canary.worker_test import SECOND, SETTINGS, World
from tests.support.builders import FLOW, NOON

A_LOSS = Loss(
    flow=FLOW.name,
    partition=0,
    sequence=3,
    source_offset=7,
    sent_at=NOON - 90 * SECOND,
    proved_at=NOON - 60 * SECOND,
    proof="The committed position is 50",
)


@pytest.mark.parametrize("seconds", [0, 120])
def test_a_proved_loss_is_told_before_anything_can_be_written(
    monkeypatch: pytest.MonkeyPatch, seconds: int
) -> None:
    """In the first tick after a start, and for as long as the disk is full."""
    world = World(monkeypatch)
    world.run(3 * SECOND)
    store = world.worker._keeper._store  # noqa: SLF001

    def refuse(*_: object) -> None:
        raise StateError("database or disk is full")

    monkeypatch.setattr(store, "save", refuse)
    # The agent is started again.
    world.state = CanaryState()
    worker = CanaryWorker(
        settings=SETTINGS,
        source={},
        target={},
        store=store,
        state=world.state,
        tick=5 * SECOND,
        clock=lambda: world.now,
    )
    monkeypatch.setattr(worker._receiver, "stop", lambda: None)  # noqa: SLF001
    source = CanarySource(
        settings=SETTINGS,
        state=world.state,
        losses=[A_LOSS],  # read from the state file
        lost_window=timedelta(hours=1),
    )
    end = world.now + seconds * SECOND
    while world.now < end:
        world.survey()
        with suppress(StateError):
            worker.step()
        world.now += SECOND
    seen = next(iter(source.observe(world.now)), None)
    verdict = judge_canary(FLOW.name, seen, CanaryLimits(), world.now)
    assert verdict.health is Health.CRITICAL, verdict.reason
