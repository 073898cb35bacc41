"""Worlds in which `lag` was wrong once, one by one."""

import pytest

from mirrorwatch.domain.report import Health
from tests.simulation.cluster import Record
from tests.simulation.episodes import Step, do
from tests.simulation.mirrormaker import MirrorSettings
from tests.simulation.scenarios import (
    HOUR,
    MINUTE,
    codes,
    health,
    healths,
    looking_each_second,
    proof,
    reason,
    restart,
    running,
    told,
    transact,
)
from tests.simulation.world import CANARY, World

pytestmark = pytest.mark.slow


def test_lag_of_a_topic_that_is_hidden_is_not_ok_for_a_moment() -> None:
    off = {"canary": {"enabled": False}}
    with running("a", flow=off, interval=5) as world:
        world.mirror.kill()
        world.run(5 * MINUTE)
        assert health(world, "lag") is Health.CRITICAL
        since = world.schedule.elapsed
        world.source.denied.add("a")
        world.run(5 * MINUTE)
        assert healths(world, "lag", since) == [Health.UNKNOWN]
        assert "lag.hidden-topics" in codes(world, "lag")


def test_lag_of_a_topic_that_is_deleted_is_known_again_at_once() -> None:
    with running("a") as world:
        world.source.delete("a")
        world.run(MINUTE)
        assert health(world, "lag") is Health.OK


def test_a_partition_that_has_not_begun_hides_no_stopped_mirror() -> None:
    with running("a") as world:
        world.source.create("b", 1)
        world.target.create("b", 1)
        world.mirror.frozen = True
        world.traffic("b", per_second=1)
        world.run(20 * MINUTE)
        assert health(world, "lag") is Health.CRITICAL, reason(world, "lag")


def test_a_new_partition_hides_no_stopped_mirror() -> None:
    with running("a", flow={"canary": {"enabled": False}}) as world:
        world.source.grow("a", 2)
        world.run(MINUTE)
        world.mirror.frozen = True
        world.run(5 * MINUTE)
        assert health(world, "lag") is Health.CRITICAL, reason(world, "lag")
        found = world.agent.verdicts["lag"].findings[0]
        assert found.code == "lag.stopped"
        assert found.subject == {"topic": "a", "partition": 0}


def test_an_allow_list_is_no_lag() -> None:
    settings = MirrorSettings(include=r"a,mirrorwatch\..*")
    with World(1, mirror=settings) as world:
        for topic in ("a", "b"):
            world.source.create(topic, 1)
            world.traffic(topic, per_second=1)
        world.mirror.start()
        world.agent.start()
        world.run(40 * MINUTE)
        for check in ("lag", "skips", "position", "topics", "retention"):
            assert health(world, check) in {Health.OK, Health.OFF}, reason(
                world, check
            )


@pytest.mark.parametrize(
    "tells", [True, pytest.param(False, marks=pytest.mark.long)]
)
def test_a_long_flush_interval_is_no_lag(tells: bool) -> None:
    settings = MirrorSettings(
        flush=300, tells_flush=tells, syncs_at_flush=True
    )
    with World(1, mirror=settings) as world:
        world.source.create("a", 1)
        world.traffic("a", per_second=0.2)
        world.mirror.start()
        world.agent.start()
        world.run(HOUR)
        assert set(healths(world, "lag")) <= {Health.OK, Health.UNKNOWN}
        assert len(healths(world, "lag")) <= 2


@pytest.mark.parametrize("restarts", [proof(value=False), True])
def test_a_long_flush_interval_hides_no_stopped_mirror(restarts: bool) -> None:
    settings = MirrorSettings(flush=300, tells_flush=False)
    with running("a", mirror=settings) as world:
        world.mirror.frozen = True
        if restarts:
            restart(world)
        world.run(14 * MINUTE)
        assert health(world, "lag") is Health.CRITICAL, reason(world, "lag")


@pytest.mark.parametrize("back", [False, True])
def test_a_mirror_stays_stopped_where_its_copies_are_deleted(
    back: bool,
) -> None:
    with running("a", flow={"canary": {"enabled": False}}) as world:
        world.mirror.stop()
        world.run(5 * MINUTE)
        assert health(world, "lag") is Health.CRITICAL
        since = world.schedule.elapsed
        world.target.delete("a")
        if back:
            world.run(MINUTE)
            world.target.create("a", 1)
        world.run(5 * MINUTE)
        assert healths(world, "lag", since) == []


def test_how_long_lag_stood_survives_a_restart() -> None:
    with running("a") as world:
        world.mirror.frozen = True
        world.run_until(
            lambda: health(world, "lag") is Health.CRITICAL, 20 * MINUTE
        )
        restart(world)
        world.run(MINUTE)
        assert health(world, "lag") in {Health.CRITICAL, Health.UNKNOWN}
        world.run(MINUTE)
        assert health(world, "lag") is Health.CRITICAL, reason(world, "lag")
        assert health(world, "tasks") is Health.UNKNOWN


@pytest.mark.parametrize("rate", [0.1, 2.0])
def test_a_restart_of_the_agent_makes_no_lag(rate: float) -> None:
    with running("a", rate=rate, partitions=3) as world:
        since = world.schedule.elapsed
        for _ in range(6):
            restart(world)
            world.run(4 * MINUTE)
        assert Health.CRITICAL not in healths(world, "lag", since)
        assert health(world, "lag") is Health.OK, reason(world, "lag")


@pytest.mark.parametrize(
    ("seconds", "cut"), [(40, None), (40, "source"), (40, "target"), (600, "")]
)
def test_an_agent_that_got_no_time_finds_nothing_stopped(
    seconds: int, cut: str | None
) -> None:
    # Seen on real brokers: frozen, and its link cut on waking. Positions
    # were as old as that, and the ends of the source were not.
    with looking_each_second() as world:
        since = world.schedule.elapsed
        world.agent.frozen_until = since + seconds
        world.run(seconds + 0.5)
        if cut:
            cluster = getattr(world, cut)
            cluster.reachable = False
            world.run(8)
            cluster.reachable = True
        world.run(20)
        well = {Health.OK, Health.UNKNOWN}
        for check in ("lag", "retention", "position", "skips"):
            assert set(healths(world, check, since)) <= well, check
            assert health(world, check) is Health.OK


def test_a_mirror_that_stopped_while_the_agent_got_no_time_is_told() -> None:
    with looking_each_second() as world:
        world.agent.frozen_until = world.schedule.elapsed + 60
        world.run(10)
        world.mirror.frozen = True
        world.run(55)
        assert health(world, "lag") is Health.CRITICAL, reason(world, "lag")


def test_records_beyond_all_bounds_blind_nothing() -> None:
    with running("a") as world:
        deep = b"[" * 200_000
        for kind in ("configs", "status", "offsets"):
            name = f"mm2-{kind}.summit.internal"
            world.target.append(name, 0, deep, b"connector-x")
            world.target.append(name, 0, b"{}", deep)
        world.source.append(CANARY, 0, deep)
        # A producer took microseconds for milliseconds.
        log = world.source.log("a", 0)
        assert log is not None
        for _ in range(3):
            log.append(Record(None, b"x", 1_760_000_000_000_000))
        world.mirror.frozen = True
        world.run_until(
            lambda: health(world, "lag") is Health.CRITICAL, 20 * MINUTE
        )
        world.mirror.frozen = False
        world.run(10 * MINUTE)
        for check in ("lag", "position", "skips", "tasks", "retention"):
            assert health(world, check) is Health.OK, reason(world, check)


@pytest.mark.parametrize("interval", [60, proof(600)])
def test_a_long_interval_of_ticks_makes_nothing_unknown(interval: int) -> None:
    with running("a", interval=interval) as world:
        since = world.schedule.elapsed
        world.run(HOUR)
        for check in ("skips", "position", "lag", "canary"):
            assert health(world, check) is Health.OK, reason(world, check)
            assert not healths(world, check, since), check


def test_time_to_loss_is_not_known_where_a_partition_has_no_leader() -> None:
    with running("a", partitions=2) as world:
        assert health(world, "retention") is Health.OK
        log = world.source.log("a", 1)
        assert log is not None
        log.leader = None
        world.run(MINUTE)
        assert health(world, "retention") is Health.UNKNOWN
        assert "retention.unknown-partitions" in codes(world, "retention")
        log.leader = 1
        world.run(MINUTE)
        assert health(world, "retention") is Health.OK


@pytest.mark.parametrize("restarts", [proof(value=False), True])
def test_time_to_loss_of_a_topic_whose_configs_are_denied_is_not_known(
    restarts: bool,
) -> None:
    with running("a", "b") as world:
        world.source.denied_configs.add("a")
        if restarts:
            restart(world)
        world.run(6 * MINUTE)
        since = world.schedule.elapsed
        world.source.create("c", 1)
        world.mirror.frozen = True
        world.run(HOUR)
        assert healths(world, "retention", since) == []
        assert health(world, "retention") is Health.UNKNOWN
        assert "retention.configs-unreadable" in codes(world, "retention")
        world.source.denied_configs.clear()
        world.run(6 * MINUTE)
        assert health(world, "retention") is Health.OK
        # One that is new is read before anybody misses it.
        since = world.schedule.elapsed
        world.source.create("d", 1)
        world.run(2 * MINUTE)
        assert healths(world, "retention", since) == []


def write_old_records(world: World, topic: str, hours: float) -> None:
    """Write records that expire in so many hours, by their timestamps: as a
    mirror does that copies what was written days ago.
    """
    log = world.source.log(topic, 0)
    assert log is not None
    week, left = 7 * 24 * HOUR, hours * HOUR
    written = world.source.milliseconds() - round(1000 * (week - left))
    for n in range(5):
        log.append(Record(b"k", b"old %d" % n, written + n))


def test_old_records_that_wait_are_lost_sooner_than_new_ones() -> None:
    off = {"canary": {"enabled": False}}
    with running("a", rate=0.002, flow=off) as world:
        world.quiet = world.mirror.frozen = True
        world.run(MINUTE)
        write_old_records(world, "a", 4)
        world.run(4 * MINUTE)
        assert health(world, "retention") is Health.CRITICAL
        left = told(world, "retention.expiring", number="seconds") / HOUR
        assert left == pytest.approx(3.9, abs=0.1)
        since = world.schedule.elapsed
        restart(world)
        world.run(5 * MINUTE)
        assert Health.OK not in healths(world, "retention", since)
        assert health(world, "retention") is Health.CRITICAL
        world.quiet = world.mirror.frozen = False
        world.run(5 * MINUTE)
        assert health(world, "retention") is Health.OK


def test_old_records_that_are_copied_at_once_are_not_about_to_be_lost() -> (
    None
):
    """It is known by its commits alone, once a minute, how far the mirror is:
    so some of them always wait.
    """
    off = {"canary": {"enabled": False}}
    settings = MirrorSettings(emits_syncs=False)
    with running("a", rate=0.002, flow=off, mirror=settings) as world:
        world.schedule.every(
            lambda: 5, lambda: write_old_records(world, "a", 4)
        )
        for seconds in (200, 215, 230, 245):
            world.run(seconds)
            restart(world)
        world.run(5 * MINUTE)
        assert Health.CRITICAL not in healths(world, "retention")
        assert health(world, "retention") is Health.OK


@pytest.mark.parametrize("syncs", [proof(value=True), False])
def test_a_mirror_falls_behind_between_its_commits_too(*, syncs: bool) -> None:
    settings = MirrorSettings(batch=8, emits_syncs=syncs)
    off = {"canary": {"enabled": False}}
    with running(
        "a", rate=10, interval=15, minutes=20, mirror=settings, flow=off
    ) as world:
        since = world.schedule.elapsed
        assert health(world, "lag") is Health.WARNING
        assert told(world, "lag.falling-behind")
        world.run(5 * MINUTE)
        assert healths(world, "lag", since) == []
        # One that stops then is stopped.
        world.mirror.frozen = True
        world.run(4 * MINUTE)
        assert health(world, "lag") is Health.CRITICAL
        assert "lag.stopped" in codes(world, "lag")


def test_a_topic_that_may_not_be_read_leaves_others_known() -> None:
    """Behind its last record, and that of another one, are markers alone."""
    with running("a", "b", minutes=5) as world:
        world.quiet = True
        world.run(3 * MINUTE)
        world.source.unreadable.add("a")
        since = world.schedule.elapsed
        for topic in ("a", "b"):
            do(world, Step(since, "transaction", topic))
        world.run(10 * MINUTE)
        assert healths(world, "lag", since) == [Health.UNKNOWN]
        assert codes(world, "lag") == {"lag.unreadable", "lag.ok"}
        world.source.unreadable.clear()
        world.run(2 * MINUTE)
        assert health(world, "lag") is Health.OK


def test_a_stopped_mirror_is_seen_without_reading_its_topics() -> None:
    with running("a", minutes=5) as world:
        world.source.unreadable.add("a")
        world.mirror.stop()
        world.run(5 * MINUTE)
        assert health(world, "lag") is Health.CRITICAL
        assert "lag.stopped" in codes(world, "lag")


@pytest.mark.parametrize("by_time", [True, False])
def test_a_log_that_is_shortened_by_time_is_not_taken_for_full(
    by_time: bool,
) -> None:
    limits = {"retention": {"critical": "60s", "warning": "2m"}}
    flow = {"canary": {"enabled": False}, "limits": limits}
    with running("a", minutes=25, flow=flow) as world:
        world.source.configure("a", "retention.bytes", "1000000")
        kept = 20 * MINUTE if by_time else HOUR
        world.source.configure("a", "retention.ms", str(int(kept * 1000)))
        log = world.source.log("a", 0)
        assert log is not None
        log.expire(round(5 * MINUTE * 2))
        world.run(2 * MINUTE)
        world.mirror.stop()
        since = world.schedule.elapsed
        # A burst, at whose rate all of the log would be gone within a minute.
        world.traffic("a", per_second=100)
        world.run(3 * MINUTE)
        found = healths(world, "retention", since)
        if by_time:
            assert health(world, "retention") is Health.OK
            assert len(found) <= 2, found
        else:
            assert health(world, "retention") is Health.CRITICAL
            assert "retention.expiring" in codes(world, "retention")


def test_a_marker_that_expired_before_the_agent_came_is_no_lag() -> None:
    with World(1, interval=30) as world:
        world.source.create("a", 1)
        world.source.create("x", 1)
        world.traffic("a", per_second=2)
        world.mirror.start()
        world.run(5 * MINUTE)
        transact(world, "x", 5)
        world.run(5 * MINUTE)
        world.expire("x", 0, 0)  # retention empties the idle log
        world.agent.start()
        world.run(20 * MINUTE)
        assert world.oracle.lost() == 0
        assert health(world, "lag") is Health.OK, reason(world, "lag")
        assert health(world, "retention") is Health.OK


def test_what_expired_unread_in_a_transactional_topic_is_no_lag() -> None:
    with running("a") as world:
        world.source.create("x", 1)
        world.run(12 * MINUTE)
        transact(world, "x", 5)
        world.run(2 * MINUTE)
        world.mirror.kill()
        transact(world, "x", 5)
        world.run(5 * MINUTE)
        world.expire("x", 0, 0)
        world.run(MINUTE)
        world.mirror.start()
        world.run(10 * MINUTE)
        assert world.oracle.lost() == 5
        assert health(world, "lag") is Health.OK, reason(world, "lag")
        assert health(world, "position") is Health.CRITICAL


def test_a_restart_makes_no_topic_new_that_was_never_copied() -> None:
    with running("a") as world:
        world.source.denied_to_mirror.add("b")
        world.source.create("b", 1)
        world.target.create("b", 1)
        world.traffic("b", per_second=1)
        world.run(40 * MINUTE)
        assert health(world, "lag") is Health.CRITICAL
        assert told(world, "lag.never-copied", "b")
        since = world.schedule.elapsed
        restart(world)
        world.run(15 * MINUTE)
        assert Health.OK not in healths(world, "lag", since), reason(
            world, "lag"
        )


def test_a_topic_that_is_new_after_a_restart_is_not_due_yet() -> None:
    with running("a") as world:
        world.agent.kill()
        world.source.denied_to_mirror.add("b")
        world.source.create("b", 1)
        world.target.create("b", 1)
        world.traffic("b", per_second=1)
        world.run(30 * MINUTE)
        world.agent.start()
        since = world.schedule.elapsed
        world.run(15 * MINUTE)
        assert set(healths(world, "lag", since)) <= {Health.UNKNOWN, Health.OK}
        assert health(world, "lag") is Health.OK


def test_a_topic_that_was_copied_while_the_agent_was_away_has_begun() -> None:
    with running("a") as world:
        world.source.denied_to_mirror.add("b")
        world.source.create("b", 1)
        world.target.create("b", 1)
        world.traffic("b", per_second=1)
        world.run(40 * MINUTE)
        assert told(world, "lag.never-copied", "b")
        world.agent.kill()
        world.source.denied_to_mirror.clear()
        world.run(5 * MINUTE)
        world.agent.start()
        world.run(5 * MINUTE)
        assert set(healths(world, "lag", world.agent.started_at)) <= {
            Health.UNKNOWN,
            Health.OK,
        }
        assert health(world, "lag") is Health.OK
