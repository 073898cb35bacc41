"""Worlds in which the canary was wrong once, one by one."""

import pytest

from mirrorwatch.domain.finding import Health, Scalar
from tests.simulation.mirrormaker import MirrorSettings
from tests.simulation.scenarios import (
    MINUTE,
    drop,
    health,
    healths,
    looking_each_second,
    move,
    proof,
    reason,
    restart,
    running,
)
from tests.simulation.world import CANARY, World

pytestmark = pytest.mark.slow


def codes(world: World) -> tuple[str, ...]:
    return world.agent.verdicts["canary"].codes


def lost(world: World) -> Scalar:
    """Return how many probes the agent says are lost."""
    return next(
        (
            found.numbers["records"]
            for found in world.agent.verdicts["canary"].findings
            if found.code == "canary.lost"
        ),
        0,
    )


def test_a_mirror_without_syncs_is_known_by_its_probes() -> None:
    settings = MirrorSettings(emits_syncs=False)
    with World(1, mirror=settings) as world:
        world.source.create("a", 1)
        world.traffic("a", per_second=1)
        world.mirror.start()
        world.agent.start()
        world.run(30 * MINUTE)
        assert health(world, "canary") is Health.OK, reason(world, "canary")


@pytest.mark.parametrize("reachable", [False, proof(None)])
def test_an_agent_that_starts_without_the_target_alarms_nobody(
    reachable: bool | None,
) -> None:
    with running("a", interval=5) as world:
        world.mirror.frozen = True
        world.run(5)
        world.agent.kill()
        world.mirror.frozen = False
        world.run(2 * MINUTE)  # what was outstanding has arrived
        world.target.reachable = reachable
        since = world.schedule.elapsed
        world.agent.start()
        world.run(2 * MINUTE)
        assert health(world, "canary") is Health.UNKNOWN
        world.target.reachable = True
        world.run(3 * MINUTE)
        told = [s for s in world.agent.sayings if s.at >= since]
        assert [s for s in told if s.health >= Health.WARNING] == []
        assert health(world, "canary") is Health.OK, reason(world, "canary")


def test_a_canary_topic_with_fewer_partitions_is_not_overdue() -> None:
    with World(1) as world:
        world.source.delete(CANARY)
        world.source.create(CANARY, 3)
        world.mirror.start()
        world.agent.start()
        world.run(20 * MINUTE)
        assert health(world, "canary") is Health.OK
        world.source.delete(CANARY)
        world.target.delete(CANARY)
        world.run(30)
        world.source.create(CANARY, 1)
        world.run(15 * MINUTE)
        world.mirror.stop()
        world.mirror.committed.clear()
        world.mirror.start()
        world.run(30 * MINUTE)
        assert health(world, "canary") is Health.OK, reason(world, "canary")


def test_a_lost_probe_is_told_for_its_window() -> None:
    with running("a") as world:
        drop(world, CANARY, 3)
        world.run_until(
            lambda: lost(world) == 3,
            10 * MINUTE,
        )
        since = world.schedule.elapsed
        world.run(30 * MINUTE)
        restart(world)
        world.run(25 * MINUTE)
        told = set(healths(world, "canary", since))
        assert told <= {Health.CRITICAL, Health.UNKNOWN}
        assert health(world, "canary") is Health.CRITICAL
        world.run(10 * MINUTE)
        assert health(world, "canary") is Health.OK, reason(world, "canary")


def test_a_probe_is_lost_that_no_order_of_copies_proves() -> None:
    # Where the mirror may change the order, only what it committed does.
    flow = {"mirror": {"max_in_flight": 5}}
    with running("a", flow=flow, minutes=5) as world:
        drop(world, CANARY, 3)
        world.run(5 * MINUTE)
        assert health(world, "canary") is Health.CRITICAL
        assert lost(world) == 3


def test_a_probe_whose_copy_is_read_late_is_not_lost() -> None:
    # What the mirror committed is known before its copies are read.
    with running("a", interval=15) as world:
        since = world.schedule.elapsed
        world.target.throttled.add(CANARY)
        world.run(3 * MINUTE)
        assert "canary.unread" in codes(world)
        world.target.throttled.clear()
        world.run(5 * MINUTE)
        told = [
            s
            for s in world.agent.sayings
            if s.at > since and s.check == "canary"
        ]
        # Neither lost, nor overdue, nor late: the agent did not read.
        assert {said.health for said in told} == {Health.UNKNOWN, Health.OK}
        assert health(world, "canary") is Health.OK, reason(world, "canary")


def test_probes_on_partitions_that_are_gone_are_not_overdue() -> None:
    canary = {"topic": CANARY, "interval": "10s", "create": False}
    # What was overtaken is settled only by an agent that looks all along.
    with World(1, flow={"canary": canary}, coarse=1) as world:
        world.source.delete(CANARY)
        world.source.create(CANARY, 3)
        world.mirror.start()
        world.agent.start()
        world.run(10 * MINUTE)
        world.mirror.stop()
        world.run(5 * MINUTE)
        assert health(world, "canary") is Health.CRITICAL
        world.source.delete(CANARY)
        world.target.delete(CANARY)
        world.run(MINUTE)
        world.source.create(CANARY, 1)
        world.mirror.committed.clear()
        world.mirror.start()
        world.run(15 * MINUTE)
        assert health(world, "canary") is Health.OK, reason(world, "canary")
        restart(world)
        world.run(2 * MINUTE)
        assert health(world, "canary") is Health.OK, reason(world, "canary")


def test_losses_are_proved_again_after_one_probe_in_another_partition() -> (
    None
):
    with World(1) as world:
        world.source.delete(CANARY)
        world.source.create(CANARY, 2)
        world.mirror.start()
        world.agent.start()
        world.run(20 * MINUTE)
        assert health(world, "canary") is Health.OK
        move(world, CANARY, to=1)
        world.run(MINUTE)
        since = world.schedule.elapsed
        world.run(55 * MINUTE)
        # No moment of it is ok.
        assert healths(world, "canary", since) == []
        assert health(world, "canary") is Health.UNKNOWN
        assert "canary.unverifiable" in codes(world)
        world.run(10 * MINUTE)
        assert health(world, "canary") is Health.OK, reason(world, "canary")
        drop(world, CANARY, 3)
        world.run(5 * MINUTE)
        assert health(world, "canary") is Health.CRITICAL
        assert lost(world) == 3


@pytest.mark.parametrize("kind", ["group", "mirus"])
def test_keys_are_chosen_for_the_partitions_of_the_target(kind: str) -> None:
    # A probe was taken for lost whose copy was where no ledger is.
    settings = MirrorSettings(
        emits_syncs=False, keeps_partitions=False, flush=10
    )
    with World(1, kind=kind, mirror=settings) as world:
        world.target.create(CANARY, 3)
        world.mirror.start()
        world.agent.start()
        world.run(20 * MINUTE)
        assert health(world, "canary") is Health.UNKNOWN
        assert "canary.unverifiable" in codes(world)
        told = {s.health for s in world.agent.sayings if s.check == "canary"}
        assert told == {Health.UNKNOWN}
        drop(world, CANARY, 3)
        world.run(10 * MINUTE)
        assert lost(world) == 3


def test_a_stopped_mirror_is_told_while_probes_are_in_other_partitions() -> (
    None
):
    with World(1, coarse=1) as world:
        world.source.delete(CANARY)
        world.source.create(CANARY, 2)
        world.mirror.start()
        world.agent.start()
        world.run(12 * MINUTE)
        move(world, CANARY, to=1)
        world.run(5 * MINUTE)
        assert health(world, "canary") is Health.UNKNOWN
        world.mirror.frozen = True
        world.run(5 * MINUTE)
        assert health(world, "canary") is Health.CRITICAL
        assert codes(world)[0] == "canary.overdue"


def test_probes_are_overdue_though_the_agent_got_no_time() -> None:
    # Seen on real brokers: nothing more arrives, so that the library has no
    # other end of the partition to tell, and it was "still being read".
    with looking_each_second() as world:
        world.mirror.frozen = True
        world.run(10)
        world.agent.frozen_until = world.schedule.elapsed + 12
        world.run(3 * MINUTE)
        assert health(world, "canary") is Health.CRITICAL, reason(
            world, "canary"
        )
        assert codes(world)[0] == "canary.overdue"
        world.mirror.frozen = False
        world.run(MINUTE)
        assert health(world, "canary") in {Health.OK, Health.WARNING}


def test_what_was_on_its_way_to_a_source_that_hung_is_no_other_agents() -> (
    None
):
    """A broker that was frozen takes what producers have given up since."""
    with running("a") as world:
        world.source.reachable = None
        world.run(3 * MINUTE)
        assert world.source.stalled != []
        world.source.reachable = True
        world.run(MINUTE)
        assert world.source.stalled == []
        said = world.agent.verdicts["canary"]
        assert said.code == "canary.late"
        assert "canary.cloned" not in said.codes
        world.run(15 * MINUTE)
        assert world.oracle.lost() == 0
        assert health(world, "canary") is Health.OK


@pytest.mark.parametrize("drops", [proof(0), 4])
def test_an_older_state_file_that_is_restored_hides_and_repeats_nothing(
    drops: int,
) -> None:
    with running("a") as world:
        world.agent.kill()
        before = world.agent.state.read_bytes()
        world.agent.start()
        world.run(20 * MINUTE)
        since = world.schedule.elapsed
        world.agent.kill()
        world.agent.state.write_bytes(before)
        world.agent.start()
        # The first probes sent now have the numbers of others before.
        drop(world, CANARY, drops)
        world.run(10 * MINUTE)
        assert world.oracle.lost() == drops
        if drops:
            assert lost(world) == 4
        else:
            assert Health.WARNING not in healths(world, "canary", since)
            assert health(world, "canary") is Health.OK


@pytest.mark.parametrize("copied", [False, True])
def test_a_second_agent_is_no_replication_loop_and_duplicates_nothing(
    copied: bool,
) -> None:
    with running("a") as world:
        path = world.agent.state.with_name("second.db")
        if copied:
            world.agent.kill()
            path.write_bytes(world.agent.state.read_bytes())
            world.agent.start()
        second = world.agent.another(path)
        since = world.schedule.elapsed
        world.run(3.7)
        second.start()
        world.run(10 * MINUTE)
        agents = (world.agent, second)
        for agent in agents:
            assert all(
                said.health <= Health.UNKNOWN
                or (copied and "canary.cloned" in said.codes)
                for said in agent.sayings
                if said.check == "canary" and said.at >= since
            )
            worst = Health.WARNING if copied else Health.OK
            assert agent.health("canary") is worst
        drop(world, CANARY, 4)
        world.run(5 * MINUTE)
        found = [agent.verdicts["canary"].evidence for agent in agents]
        second.kill()
        assert world.oracle.lost() == 4
        assert sum(int(each["lost"] or 0) for each in found) == 4
