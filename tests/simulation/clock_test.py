"""Worlds whose clock is stepped."""

from datetime import timedelta

import pytest

from mirrorwatch.domain.report import Health, Report
from mirrorwatch.domain.skips.check import SkipsLimits
from tests.simulation.scenarios import (
    MINUTE,
    drop,
    health,
    healths,
    proof,
    reason,
    restart,
    running,
    told,
)
from tests.simulation.world import CANARY, World

pytestmark = pytest.mark.slow


STEPPED = pytest.mark.parametrize(
    "step",
    [
        pytest.param(timedelta(hours=-1), id="-1h"),
        pytest.param(
            timedelta(seconds=-37), id="-37s", marks=pytest.mark.long
        ),
        pytest.param(timedelta(days=1), id="+1d", marks=pytest.mark.long),
    ],
)


@STEPPED
@pytest.mark.parametrize("restarts", [proof(value=False), True])
def test_a_clock_that_is_stepped_stops_nothing(
    step: timedelta, restarts: bool
) -> None:
    with running("a", interval=15) as world:
        reports: list[Report] = []
        world.agent.on_report = reports.append
        ticks, probes = world.agent.ticks, sent(world)
        before = {v.check: v.health for v in world.agent.verdicts.values()}
        since = world.schedule.elapsed
        world.schedule.step = step
        world.run(10 * MINUTE)
        if restarts:
            restart(world)
            since = world.schedule.elapsed + 3 * MINUTE
        world.run(10 * MINUTE)
        assert world.agent.ticks > ticks + 70
        assert sent(world) > probes + 100
        assert [s for s in world.agent.sayings if s.at > since] == []
        assert before == {
            v.check: v.health for v in world.agent.verdicts.values()
        }
        # What leaves the process is labelled with what the wall clock says.
        label = world.schedule.agent_now() - reports[-1].at
        assert abs(label) < timedelta(seconds=30)
        assert reports[0].agent.clock_steps == 1
        left = reports[-1].agent.clock_offset - step
        assert abs(left) <= max(abs(step) / 50, timedelta(seconds=15))


@STEPPED
@pytest.mark.parametrize("restarts", [proof(value=False), True])
def test_a_clock_that_is_stepped_ends_no_stall(
    step: timedelta, restarts: bool
) -> None:
    with running("a") as world:
        world.mirror.frozen = True
        world.run_until(
            lambda: health(world, "lag") is Health.CRITICAL, 20 * MINUTE
        )
        since = world.schedule.elapsed + 1
        world.schedule.step = step
        world.run(10 * MINUTE)
        if restarts:
            restart(world)
            world.run(10 * MINUTE)
        assert health(world, "lag") is Health.CRITICAL, reason(world, "lag")
        if not restarts:
            assert healths(world, "lag", since) == []
        world.mirror.frozen = False
        world.run(10 * MINUTE)
        assert health(world, "lag") is Health.OK, reason(world, "lag")


@STEPPED
@pytest.mark.parametrize("restarts", [proof(value=False), True])
def test_a_clock_that_is_stepped_takes_no_loss_back(
    step: timedelta, restarts: bool
) -> None:
    with running("a") as world:
        drop(world, "a", 5)
        world.run_until(
            lambda: health(world, "skips") is Health.CRITICAL, 10 * MINUTE
        )
        began, since = world.schedule.elapsed, world.agent.verdicts["skips"]
        world.schedule.step = step
        world.run(10 * MINUTE)
        if restarts:
            restart(world)
        # Told for its window, by the agent's own time.
        window = SkipsLimits().lost_window.total_seconds()
        world.run(began + window - 5 * MINUTE - world.schedule.elapsed)
        assert health(world, "skips") is Health.CRITICAL, reason(
            world, "skips"
        )
        assert told(world, "skips.dropped") == 5
        if not restarts:
            assert healths(world, "skips", began + 1) == []
            moved = world.agent.verdicts["skips"].since - since.since
            assert abs(moved - step) <= abs(step) / 20 + timedelta(minutes=1)


@STEPPED
def test_a_clock_that_is_stepped_while_the_agent_is_away(
    step: timedelta,
) -> None:
    with running("a") as world:
        drop(world, "a", 5)
        world.run_until(
            lambda: health(world, "skips") is Health.CRITICAL, 10 * MINUTE
        )
        world.agent.kill()
        world.schedule.step = step
        world.run(5)
        world.agent.start()
        world.run(10 * MINUTE)
        for check in ("canary", "position", "lag"):
            assert health(world, check) is Health.OK, reason(world, check)
        # A day forward is a day of absence, as far as anyone can know.
        if step < timedelta():
            assert health(world, "skips") is Health.CRITICAL


def sent(world: World) -> int:
    log = world.source.log(CANARY, 0)
    assert log is not None
    return log.end
