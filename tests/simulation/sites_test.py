"""Worlds of real sites: one of each without a fault, and one with a loss."""

from typing import Any

import pytest

from mirrorwatch.domain.report import Health
from tests.simulation.cluster import Kind
from tests.simulation.episodes import Step, do
from tests.simulation.mirrormaker import MirrorSettings
from tests.simulation.scenarios import (
    MINUTE,
    codes,
    drop,
    expect_dropped,
    expired,
    health,
    healths,
    proof,
    reason,
    running,
    told,
)
from tests.simulation.world import Site, World

pytestmark = pytest.mark.slow

SEGMENT = 50

SITES: dict[str, dict[str, Any]] = {
    "transactions": {"site": Site(transactional=True)},
    "transactions read committed": {
        "site": Site(transactional=True),
        "mirror": MirrorSettings(committed=True),
    },
    "ten tasks": {
        "mirror": MirrorSettings(tasks=10),
        "partitions": 10,
        "rate": 0.2,
    },
    "two brokers": {"site": Site(brokers=2)},
    "segments": {"site": Site(segment=SEGMENT)},
    "source ahead": {"site": Site(clocks=(60, 0))},
    "source behind": {"site": Site(clocks=(-60, 0))},
    "target ahead": {"site": Site(clocks=(0, 60))},
    "target behind": {"site": Site(clocks=(0, -60))},
}

each = pytest.mark.parametrize(
    "name",
    [proof(n) if n in {"source behind", "target ahead"} else n for n in SITES],
)


def happen(
    world: World, *deeds: str, amount: float = 0.0, seconds: float = MINUTE
) -> None:
    """Do what may happen to a site, a minute apart."""
    for what in deeds:
        do(world, Step(world.schedule.elapsed, what, "a", 0, amount))
        world.run(seconds)


@each
def test_a_site_without_a_fault_is_well(name: str) -> None:
    with running("a", **SITES[name]) as world:
        log = world.source.log("a", 0)
        assert log is not None
        world.expire("a", 0, log.end // 2)
        assert log.start > 0
        world.run(15 * MINUTE)
        assert world.oracle.lost() == 0
        assert [s for s in world.agent.sayings if s.at > 5 * MINUTE] == []
        assert {v.health for v in world.agent.verdicts.values()} <= {
            Health.OK,
            Health.OFF,
        }, world.describe()


@each
def test_what_is_dropped_at_a_site_is_found(name: str) -> None:
    with running("a", **SITES[name]) as world:
        drop(world, "a", 5)
        world.run(10 * MINUTE)
        expect_dropped(world, "a", 5)


def test_producers_commit_and_abort_by_the_clock_of_their_site() -> None:
    with World(1, site=Site(transactional=True, clocks=(60, -60))) as world:
        (log,) = world.source.create("a", 1).logs
        world.traffic("a", per_second=1)
        world.run(5 * MINUTE)
        found = {record.kind for _, record in log.span(0, log.end)}
        assert found == {Kind.DATA, Kind.ABORTED, Kind.MARKER}
        apart = world.source.milliseconds() - world.target.milliseconds()
        assert apart == 120_000


def test_retention_deletes_whole_segments_and_what_was_unread_is_told() -> (
    None
):
    with running("a", site=Site(segment=SEGMENT)) as world:
        log = world.source.log("a", 0)
        assert log is not None
        world.mirror.stop()
        world.run(5 * MINUTE)
        world.expire("a", 0, SEGMENT + 1)
        assert log.start % SEGMENT == 0
        assert SEGMENT < log.end - log.start <= 2 * SEGMENT
        world.run(MINUTE)
        world.mirror.start()
        world.run(10 * MINUTE)
        assert expired(world) == (world.oracle.lost(), 0)


@pytest.mark.parametrize("side", ["source", "target"])
@pytest.mark.parametrize("behind", [proof(0), 20])
def test_a_lost_broker_loses_no_record(side: str, behind: int) -> None:
    site = Site(brokers=2)
    with running("a", partitions=2, interval=5, site=site) as world:
        logs = getattr(world, side).topics["a"].logs
        since = world.schedule.elapsed
        happen(world, f"{side} broker is lost", amount=behind, seconds=1)
        assert {log.leader for log in logs} == {1, None}
        world.run(MINUTE)
        assert {log.leader for log in logs} == {1}
        happen(world, "brokers are complete", amount=behind)
        assert {log.leader for log in logs} == {1, 2}
        world.run(5 * MINUTE)
        assert world.oracle.lost() == 0
        for check in ("skips", "position", "lag"):
            assert health(world, check) is Health.OK, reason(world, check)
            assert Health.CRITICAL not in healths(world, check, since)
        assert "canary.lost" not in codes(world, "canary")


def test_what_is_dropped_as_a_broker_is_lost_is_found() -> None:
    with running("a", partitions=2, site=Site(brokers=2)) as world:
        happen(world, "source broker is lost", amount=20)
        drop(world, "a", 5)
        happen(world, "brokers are complete", amount=20)
        world.run(5 * MINUTE)
        expect_dropped(world, "a", 5)


def test_a_dead_worker_stops_its_tasks_alone_and_repeats_their_records() -> (
    None
):
    with running("a", **SITES["ten tasks"]) as world:
        happen(world, "worker dies")
        copies = world.oracle.copies.copy()
        world.run(MINUTE)
        stopped = {
            p
            for p in range(10)
            if copies["a", p] == (world.oracle.copies["a", p])
        }
        assert stopped == {2, 5, 8}
        repeats = world.oracle.repeats
        happen(world, "tasks move", "worker is back")
        world.run(5 * MINUTE)
        assert world.oracle.repeats > repeats
        assert world.oracle.lost() == 0
        assert Health.CRITICAL not in healths(world, "skips")
        assert health(world, "tasks") is Health.OK, reason(world, "tasks")
        drop(world, "a", 5)
        world.run(5 * MINUTE)
        assert told(world, "skips.dropped") == 5
