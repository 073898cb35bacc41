"""Worlds for `topics`, `configs`, `retention` and `heartbeats`, one by one.

In each something is wrong for a time, or seems to be: what is said of it, and
that it ends.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from mirrorwatch.domain.report import Health, Report
from tests.simulation.mirrormaker import HEARTBEATS, MirrorSettings
from tests.simulation.scenarios import (
    MINUTE,
    codes,
    health,
    healths,
    reason,
    restart,
    running,
)
from tests.simulation.topics_episodes import Addition
from tests.simulation.topics_judge import FactsJudge
from tests.simulation.world import World

pytestmark = pytest.mark.slow

OK, UNKNOWN = Health.OK, Health.UNKNOWN
WARNING, CRITICAL = Health.WARNING, Health.CRITICAL

NO_CANARY: dict[str, Any] = {"canary": {"enabled": False}}

EVERY = 60.0
"""Seconds between two readings of configs."""


@contextmanager
def judged(
    *topics: str,
    chosen: bool = False,
    other_beats: bool = False,
    **mirror: Any,
) -> Iterator[World]:
    """A world in which all is well, and in which all reports are judged."""
    added = Addition(every=EVERY, chosen=chosen, other_beats=other_beats)
    with running(
        *(topics or ("a",)),
        rate=0.5,
        minutes=0,
        tails=20.0,
        flow=NO_CANARY | added.flow(),
        mirror=MirrorSettings(refresh=MINUTE, **mirror),
    ) as world:
        added.begin(world)
        world.run(5 * MINUTE)
        facts = FactsJudge(world, 30, every=EVERY, chosen=chosen)

        def take(report: Report) -> None:
            why = facts.take(report)
            assert why is None, why

        world.agent.on_report = take
        yield world


def test_nothing_is_said_of_a_world_in_which_all_is_well() -> None:
    with judged(heartbeats=5.0, other_beats=True) as world:
        began = world.schedule.elapsed
        restart(world)
        world.run(20 * MINUTE)
        for rule in ("topics", "configs", "retention", "heartbeats"):
            assert set(healths(world, rule, began)) <= {UNKNOWN, OK}
            assert health(world, rule) is OK, reason(world, rule)


def test_a_topic_that_is_not_created_is_missed_after_two_refreshes() -> None:
    with judged() as world:
        world.mirror.may_create = False
        world.source.create("b", 1)
        world.run(2 * MINUTE)
        assert health(world, "topics") is OK
        world.run(1.5 * MINUTE)
        assert health(world, "topics") is CRITICAL
        assert "topics.missing" in codes(world, "topics")
        # It was missed before, and is missed at once again.
        restart(world)
        world.run(2 * MINUTE)
        assert CRITICAL in healths(world, "topics", world.agent.started_at)
        world.mirror.may_create = True
        world.run(3 * MINUTE)
        assert health(world, "topics") is OK


def test_a_topic_that_is_created_late_is_not_missed() -> None:
    with judged() as world:
        began = world.schedule.elapsed
        for name in "bcd":
            world.source.create(name, 2)
            world.run(1.5 * MINUTE)
        assert healths(world, "topics", began) == []


def test_partitions_that_are_not_added_are_missed() -> None:
    with judged() as world:
        world.mirror.may_create = False
        world.source.grow("a", 2)
        world.run(4 * MINUTE)
        assert health(world, "topics") is WARNING
        world.mirror.may_create = True
        world.run(3 * MINUTE)
        assert health(world, "topics") is OK


@pytest.mark.parametrize("chosen", [True, False])
def test_a_topic_that_the_mirror_does_not_want(*, chosen: bool) -> None:
    with judged("a", "b", chosen=chosen) as world:
        world.mirror.stop()
        world.mirror.settings.include = "a"
        world.mirror.start()
        world.run(2 * MINUTE)
        assert health(world, "topics") is (CRITICAL if chosen else OK)
        assert ("topics.filtered" in codes(world, "topics")) is chosen
        world.mirror.stop()
        world.mirror.settings.include = ".*"
        world.mirror.start()
        world.run(2 * MINUTE)
        assert health(world, "topics") is OK


def test_a_topic_that_the_agent_may_not_see_is_not_said_to_be_alike() -> None:
    with judged("a", "b") as world:
        world.mirror.may_create = False
        world.source.denied.add("b")
        world.target.delete("b")
        world.run(3 * MINUTE)
        for check in ("topics", "configs"):
            assert health(world, check) is UNKNOWN
            assert f"{check}.hidden-topics" in codes(world, check)
        world.source.denied.clear()
        world.run(5 * MINUTE)
        assert health(world, "topics") is CRITICAL
        assert health(world, "configs") is OK
        world.mirror.may_create = True
        world.run(3 * MINUTE)
        assert health(world, "topics") is OK


def test_a_copy_that_the_agent_may_not_see_is_not_said_to_be_missing() -> None:
    with judged("a", "b") as world:
        world.target.denied.add("b")
        world.run(5 * MINUTE)
        assert health(world, "topics") is UNKNOWN
        assert "topics.hidden-topics" in codes(world, "topics")
        world.target.denied.clear()
        world.run(2 * MINUTE)
        assert health(world, "topics") is OK


@pytest.mark.parametrize("synced", [True, False])
@pytest.mark.parametrize("side", ["source", "target"])
def test_a_config_that_differs(side: str, *, synced: bool) -> None:
    with judged("a", syncs_configs=synced) as world:
        began = world.schedule.elapsed
        cluster = world.source if side == "source" else world.target
        cluster.configure("a", "retention.ms", "3600000")
        world.run(5 * MINUTE)
        if synced:
            # It was put right before it was due.
            assert healths(world, "configs", began) == []
            alike = [
                c.topics["a"].configs for c in (world.source, world.target)
            ]
            assert alike[0] == alike[1]
            return
        assert health(world, "configs") is WARNING
        assert "configs.differ" in codes(world, "configs")
        restart(world)
        world.run(2 * MINUTE)
        assert health(world, "configs") is WARNING
        cluster.configure("a", "retention.ms", None)
        world.run(2 * MINUTE)
        assert health(world, "configs") is OK


def test_a_config_that_the_mirror_may_not_change_is_told_once_due() -> None:
    with judged() as world:
        began = world.schedule.elapsed
        world.mirror.may_configure = False
        world.source.configure("a", "cleanup.policy", "compact,delete")
        world.run(2 * MINUTE)
        assert healths(world, "configs", began) == []
        world.run(4 * MINUTE)
        assert health(world, "configs") is WARNING
        assert "configs.differ" in codes(world, "configs")
        world.mirror.may_configure = True
        world.run(3 * MINUTE)
        assert health(world, "configs") is OK


@pytest.mark.parametrize("side", ["source", "target"])
def test_configs_that_are_denied_are_not_known(side: str) -> None:
    with judged() as world:
        cluster = world.source if side == "source" else world.target
        cluster.denied_configs.add("a")
        world.run(3 * MINUTE)
        assert health(world, "configs") is UNKNOWN
        retention = UNKNOWN if side == "source" else OK
        assert health(world, "retention") is retention
        cluster.denied_configs.clear()
        world.run(2 * MINUTE)
        assert health(world, "configs") is OK
        assert health(world, "retention") is OK


def test_a_cluster_that_is_silent_for_long_leaves_nothing_ok() -> None:
    with judged(heartbeats=5.0, other_beats=True) as world:
        world.target.reachable = False
        world.run(10 * MINUTE)
        for check in ("topics", "configs", "retention", "heartbeats"):
            assert health(world, check) is UNKNOWN, reason(world, check)
        world.target.reachable = True
        world.run(5 * MINUTE)
        for check in ("topics", "configs", "retention", "heartbeats"):
            assert health(world, check) is OK, reason(world, check)


def test_a_mirror_that_is_too_slow_for_the_retention() -> None:
    with judged() as world:
        began = world.schedule.elapsed
        world.source.configure("a", "retention.ms", str(40 * 60_000))
        world.run(5 * MINUTE)
        # One record each 20 s, of ten that are written.
        world.mirror.slowness = 20
        world.run(9 * MINUTE)
        assert healths(world, "retention", began) == []
        world.run(6 * MINUTE)
        assert health(world, "retention") is WARNING
        world.run(12 * MINUTE)
        assert health(world, "retention") is CRITICAL
        assert "retention.expiring" in codes(world, "retention")
        assert OK not in after_restart(world, "retention", 4 * MINUTE)
        assert health(world, "retention") is CRITICAL
        world.mirror.slowness = 1
        world.run(3 * MINUTE)
        assert health(world, "retention") is OK


def test_a_mirror_that_stands_for_a_while_loses_nothing_soon() -> None:
    with judged() as world:
        began = world.schedule.elapsed
        world.source.configure("a", "retention.ms", str(60 * 60_000))
        world.run(5 * MINUTE)
        world.mirror.kill()
        world.run(10 * MINUTE)
        world.mirror.start()
        world.run(5 * MINUTE)
        assert healths(world, "retention", began) == []


def after_restart(world: World, check: str, seconds: float) -> list[Health]:
    """Restart the agent; return what it says of a check for so long."""
    restart(world)
    world.run(seconds)
    return healths(world, check, world.agent.started_at)


def test_a_worker_that_writes_no_heartbeats() -> None:
    with judged(heartbeats=5.0) as world:
        world.mirror.beats = False
        world.run(3 * MINUTE)
        assert health(world, "heartbeats") is WARNING
        assert OK not in after_restart(world, "heartbeats", 1.5 * MINUTE)
        world.mirror.beats = True
        world.run(2 * MINUTE)
        assert health(world, "heartbeats") is OK


def test_heartbeats_that_are_not_copied() -> None:
    with judged(other_beats=True) as world:
        world.mirror.frozen = True
        world.run(4 * MINUTE)
        assert health(world, "heartbeats") is WARNING
        assert "heartbeats.late" in codes(world, "heartbeats")
        # It is no less late for that.
        assert OK not in after_restart(world, "heartbeats", 1.5 * MINUTE)
        world.mirror.frozen = False
        world.run(3 * MINUTE)
        assert health(world, "heartbeats") is OK


def test_heartbeats_that_nobody_writes_are_not_late() -> None:
    with judged(other_beats=True) as world:
        began = world.schedule.elapsed
        world.other_beats = False
        world.run(9 * MINUTE)
        assert healths(world, "heartbeats", began) == []
        world.run(3 * MINUTE)
        assert health(world, "heartbeats") is UNKNOWN
        world.other_beats = True
        world.run(2 * MINUTE)
        assert healths(world, "heartbeats", began) == [UNKNOWN, OK]
        assert world.target.topics[f"summit.{HEARTBEATS}"].logs[0].end


def test_a_topic_that_is_not_listed_once_is_not_new() -> None:
    with running("a") as world:
        world.mirror.kill()
        world.source.create("b", 1)
        world.traffic("b", per_second=1)
        world.run(40 * MINUTE)
        assert health(world, "topics") is Health.CRITICAL
        assert "topics.missing" in codes(world, "topics")
        since = world.schedule.elapsed
        world.source.hidden.add("b")  # one broker that has just started
        world.run(30)
        world.source.hidden.clear()
        world.run(10 * MINUTE)
        assert Health.OK not in healths(world, "topics", since), reason(
            world, "topics"
        )


def test_a_topic_that_is_deleted_is_missed_no_more() -> None:
    with running("a") as world:
        world.mirror.kill()
        world.source.create("b", 1)
        world.traffic("b", per_second=1)
        world.run(40 * MINUTE)
        assert health(world, "topics") is CRITICAL
        world.source.delete("b")
        world.run(2 * MINUTE)
        assert health(world, "topics") is OK
        since = world.schedule.elapsed
        world.source.create("b", 1)
        world.run(15 * MINUTE)
        assert set(healths(world, "topics", since)) <= {OK}
