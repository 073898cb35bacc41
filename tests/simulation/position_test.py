"""Worlds in which `position` was wrong once, one by one."""

import pytest

from mirrorwatch.domain.position import model as position_model
from mirrorwatch.domain.report import Health
from tests.simulation.mirrormaker import MirrorSettings
from tests.simulation.scenarios import (
    EXPIRED,
    HOUR,
    MINUTE,
    OFFSETS,
    SYNCS,
    codes,
    drop_thirds,
    expired,
    filtered_flow,
    health,
    healths,
    late_sync,
    proof,
    reason,
    restart,
    running,
    told,
    transact,
)
from tests.simulation.world import World

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("restarts", [proof(value=False), True])
def test_expired_unread(restarts: bool) -> None:
    with running("a") as world:
        world.mirror.kill()
        world.run(10 * MINUTE)
        log = world.source.log("a", 0)
        assert log is not None
        log.expire(log.end - 200)
        if restarts:
            restart(world)
        world.run(10 * MINUTE)
        world.mirror.start()
        world.run(10 * MINUTE)
        assert world.oracle.lost() > 0
        assert health(world, "position") is Health.CRITICAL
        assert expired(world) == (world.oracle.lost(), 0)


@pytest.mark.parametrize("crashes", [proof(value=False), True])
def test_copies_of_expired_records_hide_no_later_loss(crashes: bool) -> None:
    # Seen on real brokers: they were taken for records of another producer,
    # and where others write, the target's end counts no copies.
    with running("a") as world:
        for _ in range(2):
            if crashes:
                world.mirror.kill()
            else:
                world.mirror.stop()
            world.run(MINUTE)
            log = world.source.log("a", 0)
            assert log is not None
            log.expire(log.end - 20)
            world.run(MINUTE)
            world.mirror.start()
            world.run(10 * MINUTE)
        lost = world.oracle.lost()
        assert lost > 150
        assert expired(world) == (lost, 0)


def test_what_two_tasks_copied_does_not_lessen_what_expired() -> None:
    # Each record of the last 40 s is there twice, so that by the target's
    # end the mirror was further on than it was.
    with running("a") as world:
        world.mirror.rebalance()
        world.run(40)
        world.mirror.kill()
        world.run(10 * MINUTE)
        world.expire("a", 0, 200)
        world.run(10 * MINUTE)
        sure, most = expired(world)
        assert sure == 0
        assert 0 <= most - world.oracle.lost() < 150
        world.mirror.start()
        world.run(10 * MINUTE)
        lost = world.oracle.lost()
        assert lost > 900
        sure, most = expired(world)
        assert most == 0
        doubtful = told(world, "skips.unverifiable")
        assert sure <= lost <= sure + doubtful <= lost + 150


def test_what_expired_is_counted_once_one_task_is_left() -> None:
    with running("a") as world:
        world.mirror.rebalance()
        world.run(40)
        world.mirror.fence()
        world.run(5 * MINUTE)
        world.mirror.kill()
        world.run(10 * MINUTE)
        world.expire("a", 0, 200)
        world.run(5 * MINUTE)
        world.mirror.start()
        world.run(10 * MINUTE)
        lost = world.oracle.lost()
        assert lost > 900
        assert expired(world) == (lost, 0)


def test_expired_unread_before_the_first_start() -> None:
    with World(1) as world:
        world.source.create("a", 1)
        world.traffic("a", per_second=2)
        world.mirror.start()
        world.run(30 * MINUTE)
        world.mirror.kill()
        world.run(10 * MINUTE)
        log = world.source.log("a", 0)
        assert log is not None
        log.expire(log.end - 200)
        world.agent.start()
        world.run(5 * MINUTE)
        assert health(world, "position") is Health.CRITICAL
        world.mirror.start()
        world.run(10 * MINUTE)
        assert health(world, "position") is Health.CRITICAL
        assert expired(world) == (world.oracle.lost(), 0)


def test_all_that_expired_before_the_first_start_is_told() -> None:
    with World(1) as world:
        world.source.create("a", 1)
        world.produce("a", 0, 500)
        world.mirror.start()
        world.run(10 * MINUTE)
        world.mirror.kill()
        world.produce("a", 0, 300)
        world.expire("a", 0, 0)
        world.agent.start()
        world.run(5 * MINUTE)
        assert health(world, "position") is Health.WARNING
        code = "position.unverifiable"
        assert told(world, code, number="records_at_most") == 300
        world.mirror.start()
        world.traffic("a", per_second=1)
        world.run(10 * MINUTE)
        assert world.oracle.lost() == 300
        assert expired(world) == (300, 0)


@pytest.mark.parametrize("rate", [proof(2.0), 20.0])
def test_what_expired_never_becomes_less(rate: float) -> None:
    settings = MirrorSettings(syncs_at_flush=False, batch=50, poll=2.0)
    counts: list[int] = []
    with running("a", rate=rate, mirror=settings) as world:
        world.agent.on_report = lambda _: counts.append(told(world, EXPIRED))
        world.run(30)  # copies that are not yet committed
        world.mirror.kill()
        world.run(10 * MINUTE)
        world.expire("a", 0, 500)
        world.run(10 * MINUTE)
        before = counts[-1]
        world.mirror.start()
        world.run(10 * MINUTE)
        assert counts == sorted(counts), list(dict.fromkeys(counts))
        assert before == counts[-1] == world.oracle.lost()


def test_a_late_sync_ends_no_range_that_expired() -> None:
    # Of a copy made before them, by a producer that was cut off meanwhile.
    settings = MirrorSettings(syncs_at_flush=False)
    with running("a", mirror=settings) as world:
        world.mirror.kill()
        world.run(5 * MINUTE)
        world.expire("a", 0, 200)
        world.run(5 * MINUTE)
        since, lost = world.schedule.elapsed, world.oracle.lost()
        assert expired(world) == (lost, 0)
        last = world.target.topics["a"].logs[0].end - 1
        late_sync(world, "a", last, last)
        world.run(2 * MINUTE)
        world.mirror.start()
        world.run(5 * MINUTE)
        assert healths(world, "position", since) == []
        assert expired(world) == (lost, 0)


@pytest.mark.parametrize("seen", [50, proof(0)])
@pytest.mark.parametrize("restarts", [proof(value=False), True])
def test_expired_unread_beside_another_producer(
    seen: int, restarts: bool
) -> None:
    with running("a") as world:
        for _ in range(seen):
            world.target.append("a", 0, b"foreign")
        world.run(15 * MINUTE)
        world.mirror.kill()
        world.run(20 * MINUTE)
        for _ in range(4000):
            world.target.append("a", 0, b"foreign")
        world.expire("a", 0, 200)
        if restarts:
            restart(world)
        world.run(20 * MINUTE)
        assert health(world, "position") is Health.CRITICAL, world.describe()
        assert expired(world)[0] == 0
        world.mirror.start()
        world.run(15 * MINUTE)
        # Any record of the other producer may be a copy of one that is gone.
        doubtful = told(world, "skips.unverifiable")
        assert expired(world)[0] == 0
        assert 0 <= doubtful - world.oracle.lost() <= 120


def test_many_records_of_others_soon_after_a_crash_hide_nothing() -> None:
    # More than there was to copy, and before the mirror missed a commit.
    with running("a") as world:
        world.mirror.kill()
        world.run(MINUTE / 2)
        for _ in range(4000):
            world.target.append("a", 0, b"foreign")
        world.run(10 * MINUTE)
        world.expire("a", 0, 200)
        world.run(10 * MINUTE)
        lost = world.oracle.lost()
        assert lost > 900
        assert health(world, "position") is Health.CRITICAL
        assert expired(world)[0] == 0
        assert lost <= sum(expired(world)) <= lost + 120


@pytest.mark.parametrize("foreign", [1, proof(65), proof(800)])
@pytest.mark.parametrize("restarts", [proof(value=False), True])
def test_producers_that_moved_to_the_target_hide_nothing_that_expired(
    foreign: int, restarts: bool
) -> None:
    # As many records as were lost looked like their copies.
    with running("a", rate=0.2, interval=15) as world:
        world.mirror.kill()
        world.run(2 * MINUTE)
        if restarts:
            restart(world)
        for _ in range(foreign):
            world.target.append("a", 0, b"foreign")
        world.run(5 * MINUTE)
        world.expire("a", 0, 20)
        world.run(5 * MINUTE)
        lost = world.oracle.lost()
        assert health(world, "position") is Health.CRITICAL
        sure, most = expired(world)
        assert sure <= lost <= sure + most <= lost + 15
        world.mirror.start()
        world.run(HOUR / 2)
        sure, most = expired(world)
        doubtful = most + told(world, "skips.unverifiable")
        assert sure <= lost <= sure + doubtful <= lost + 15


@pytest.mark.parametrize("flush", [proof(60.0), 300.0])
def test_copies_after_a_long_rest_are_believed_before_they_are_committed(
    flush: float,
) -> None:
    mirror = MirrorSettings(flush=flush, syncs_at_flush=False)
    with World(1, mirror=mirror) as world:
        world.source.create("a", 1)
        world.mirror.start()
        world.agent.start()
        world.run(10 * MINUTE)
        for _ in range(5):
            world.produce("a", count=50)
            world.run(10)
            world.expire("a", 0, 0)
            world.run(12 * MINUTE)
        assert world.oracle.copies["a", 0] == 250
        assert world.oracle.lost() == 0
        assert Health.CRITICAL not in healths(world, "position")


def test_another_producer_is_no_loss() -> None:
    with running("a") as world:
        for _ in range(5):
            for _ in range(50):
                world.target.append("a", 0, b"foreign")
            world.run(10 * MINUTE)
            world.expire("a", 0, 500)
        world.mirror.kill()
        world.run(MINUTE)
        world.mirror.start()
        world.run(10 * MINUTE)
        assert world.oracle.lost() == 0
        assert Health.CRITICAL not in healths(world, "position")


def test_more_resets_than_are_kept_apart_stay_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # A thousand are; as many partitions would take a minute.
    monkeypatch.setattr(position_model, "KEPT", 100)
    with running("a", partitions=120, rate=0.2, interval=60) as world:
        world.mirror.kill()
        world.run(10 * MINUTE)
        for log in world.source.topics["a"].logs:
            log.expire(log.end - 10)
        world.run(10 * MINUTE)
        world.mirror.start()
        world.run(10 * MINUTE)
        lost = world.oracle.lost()
        assert expired(world) == (lost, 0)
        restart(world)
        world.run(5 * MINUTE)
        assert expired(world) == (lost, 0)


@pytest.mark.parametrize("name", [OFFSETS, SYNCS])
@pytest.mark.parametrize("restarts", [proof(value=False), True])
def test_offsets_topic_unseen_for_some_looks_is_no_loss(
    name: str, restarts: bool
) -> None:
    with running("a", interval=5, minutes=5) as world:
        cluster = world.target if name == OFFSETS else world.source
        if restarts:
            world.agent.kill()
        kept = cluster.topics.pop(name)
        if restarts:
            world.agent.start()
        world.run(40)
        cluster.topics[name] = kept
        world.run(3 * MINUTE)
        assert not {Health.WARNING, Health.CRITICAL} & set(
            healths(world, "position")
        )
        for check in ("position", "skips", "lag"):
            assert health(world, check) is Health.OK, reason(world, check)


@pytest.mark.parametrize("kept", [proof(value=False), True])
def test_an_offsets_topic_that_stays_away_is_told(kept: bool) -> None:
    with running("a") as world:
        world.mirror.kill()
        topic = world.target.topics.pop(OFFSETS)
        world.run(3 * MINUTE)
        assert health(world, "position") is Health.CRITICAL
        assert "position.offsets-deleted" in codes(world, "position")
        if kept:
            world.target.topics[OFFSETS] = topic
            world.run(MINUTE)
            assert health(world, "position") is Health.OK
            return
        world.target.create(OFFSETS, 1)
        world.run(MINUTE)
        assert "position.offsets-deleted" in codes(world, "position")


@pytest.mark.parametrize("away", [1.0, 90.0])
@pytest.mark.parametrize("agent", ["runs", "is restarted"])
def test_what_a_deleted_topic_held_uncopied_is_told(
    away: float, agent: str
) -> None:
    with running("a", interval=15) as world:
        world.mirror.stop()
        world.run(5 * MINUTE)
        if agent == "is restarted":
            world.agent.kill()
        lost = world.source.topics["a"].logs[0].end
        lost -= world.mirror.committed["a", 0] + 1
        world.source.delete("a")
        world.run(away)
        world.source.create("a", 1)
        if agent == "is restarted":
            world.agent.start()
        world.mirror.start()
        world.run(3 * MINUTE)
        assert health(world, "position") is Health.WARNING
        most = told(world, "position.recreated", number="old_records_at_most")
        # A survey is 15 s old, at most, and what is kept of it 30 s.
        older = 60 if agent == "is restarted" else 0
        least = lost - 30 - older
        assert least <= most <= lost


def test_what_a_deleted_topic_held_since_the_last_look_is_not_known() -> None:
    with running("a", interval=15) as world:
        world.agent.kill()
        world.run(10)
        world.mirror.stop()
        world.run(MINUTE)
        world.source.delete("a")
        world.run(MINUTE)
        world.source.create("a", 1)
        world.agent.start()
        world.mirror.start()
        world.run(3 * MINUTE)
        assert health(world, "position") is Health.WARNING
        (found,) = (
            each
            for each in world.agent.verdicts["position"].findings
            if each.code == "position.recreated"
        )
        assert found.numbers["old_records_at_most"] is None


@pytest.mark.parametrize("restarts", [proof(value=False), True])
def test_expired_unread_of_a_filtered_topic(restarts: bool) -> None:
    with running("f", "a", flow=filtered_flow("f")) as world:
        drop_thirds(world, "f", "a", at=0)
        world.run(5 * MINUTE)
        world.mirror.kill()
        world.run(10 * MINUTE)
        world.expire("f", 0, 200)
        if restarts:
            restart(world)
        world.run(5 * MINUTE)
        world.mirror.start()
        world.run(10 * MINUTE)
        unread = sum(loss.gone for loss in world.oracle.losses)
        assert unread > 0
        assert health(world, "position") is Health.CRITICAL
        # What was dropped just before or behind them may be among them.
        assert unread <= sum(expired(world, "f")) <= unread + 2
        assert Health.CRITICAL not in healths(world, "skips")


def test_what_expires_unread_while_a_topic_is_denied_is_told() -> None:
    with running("a") as world:
        world.source.denied.add("a")
        world.run(2 * MINUTE)
        world.mirror.kill()
        world.run(2 * MINUTE)
        world.expire("a", 0, 5)
        world.mirror.start()
        world.run(5 * MINUTE)
        lost = world.oracle.lost()
        assert lost > 0
        world.source.denied.clear()
        world.run(5 * MINUTE)
        # Whether it is compacted is not known yet.
        assert told(world, "skips.unverifiable") == lost


def test_a_topic_that_was_denied_for_a_while_is_no_alarm() -> None:
    with running("a") as world:
        since = world.schedule.elapsed
        world.source.denied.add("a")
        world.run(10 * MINUTE)
        for check in ("position", "skips"):
            assert health(world, check) is Health.UNKNOWN, check
            assert f"{check}.hidden-topics" in codes(world, check)
        world.source.denied.clear()
        world.run(10 * MINUTE)
        for check in ("position", "skips"):
            assert health(world, check) is Health.OK, reason(world, check)
            assert Health.CRITICAL not in healths(world, check, since), check


@pytest.mark.parametrize(
    ("latest", "zombie"),
    [
        (True, True),
        pytest.param(False, True, marks=pytest.mark.long),
        (False, False),
        pytest.param(True, False, marks=pytest.mark.long),
    ],
)
def test_a_recreated_topic_whose_first_syncs_fail(
    latest: bool, zombie: bool
) -> None:
    # How many copies lie before the first sync says nothing: some were made
    # before the agent saw the new topic, and some twice.
    settings = MirrorSettings(latest=latest, lag_max=10, refresh=60)
    with running("a", mirror=settings, rate=1.0, minutes=7) as world:
        world.mirror.syncs_fail = True
        world.source.delete("a")
        world.run(1)
        world.source.create("a", 1)
        world.produce("a", 0, 5)
        world.run(5)
        if zombie:
            world.mirror.rebalance()
        world.run(80)
        world.mirror.syncs_fail = False
        world.run(40)
        world.mirror.fence()
        world.run(5 * MINUTE)
        lost = world.oracle.lost()
        assert (lost > 0) is latest
        assert told(world, "position.recreated") == lost
        health_now = Health.CRITICAL if latest else Health.WARNING
        assert health(world, "position") is health_now


def test_a_topic_recreated_at_both_sides_while_the_agent_is_away() -> None:
    # Copies of the new topic, at offsets as low, were taken for late ones of
    # the old topic, and the rest of it for never copied.
    with running("a") as world:
        world.agent.kill()
        world.run(MINUTE)
        world.source.delete("a")
        world.target.delete("a")
        world.run(20)
        world.source.create("a", 1)
        world.run(10 * MINUTE)
        since = world.schedule.elapsed
        world.agent.start()
        world.run(10 * MINUTE)
        assert world.oracle.lost() == 0
        assert Health.CRITICAL not in healths(world, "position", since)
        assert "position.recreated" in codes(world, "position")


def test_a_leader_that_is_cut_off_truncates_nothing() -> None:
    # For a minute the old one answers with the end that its log had.
    with running("a", interval=5, minutes=10) as world:
        source = world.source.topics["a"]
        source.stale_ends[0] = source.logs[0].end
        world.run(MINUTE)
        source.stale_ends.clear()
        world.run(10 * MINUTE)
        assert set(healths(world, "position", MINUTE * 5)) <= {Health.OK}
        assert set(healths(world, "skips", MINUTE * 5)) <= {Health.OK}


def resumed(world: World, *, away: float, cut: int | None, new: int) -> int:
    """Have a mirror resume in a log that was truncated while it was away, by
    so many records or all; return how many records were lost.
    """
    world.mirror.stop()
    world.run(away)
    log = world.source.log("a", 0)
    assert log is not None
    log.truncate(0 if cut is None else log.end - cut)
    world.produce("a", 0, new)
    world.run(8)
    world.mirror.start()
    world.run(10 * MINUTE)
    return world.oracle.lost()


@pytest.mark.parametrize("latest", [True, False])
def test_what_is_left_out_of_a_truncated_log_is_said_alike(
    latest: bool,
) -> None:
    """Before anybody sees its end, it has grown and the mirror has resumed."""
    with running(
        "a", minutes=8, mirror=MirrorSettings(latest=latest)
    ) as world:
        lost = resumed(world, away=MINUTE, cut=400, new=10)
        assert (lost > 0) is latest
        # Its records below the end that was seen may be of either log.
        assert told(world, "position.truncated") <= lost
        assert "position.truncated" in codes(world, "position")
        assert health(world, "position") is not Health.OK


@pytest.mark.parametrize("latest", [True, False])
def test_what_an_altering_mirror_left_out_of_a_truncated_log_is_not_ok(
    latest: bool,
) -> None:
    """No copy looks like its record: only the position shows it."""
    with running(
        "a", minutes=8, mirror=MirrorSettings(latest=latest, alters=True)
    ) as world:
        lost = resumed(world, away=10, cut=None, new=5)
        assert (lost > 0) is latest
        assert "position.truncated" in codes(world, "position")
        assert health(world, "position") is not Health.OK
        assert told(world, "skips.unverifiable") <= lost


def test_a_marker_that_expires_while_the_agent_is_away_is_no_loss() -> None:
    with running("a") as world:
        world.source.create("x", 1)
        world.run(12 * MINUTE)
        transact(world, "x", 5)
        world.run(10 * MINUTE)
        assert health(world, "position") is Health.OK
        world.agent.kill()
        world.run(MINUTE)
        world.expire("x", 0, 0)  # retention empties the idle log
        world.agent.start()
        world.run(10 * MINUTE)
        assert world.oracle.lost() == 0
        assert health(world, "position") is not Health.CRITICAL, reason(
            world, "position"
        )


def test_a_transaction_that_expires_while_the_agent_is_away_is_lost() -> None:
    with running("a") as world:
        world.source.create("x", 1)
        world.run(12 * MINUTE)
        transact(world, "x", 5)
        world.run(2 * MINUTE)
        world.mirror.kill()
        transact(world, "x", 5)
        world.run(5 * MINUTE)
        world.agent.kill()
        world.run(MINUTE)
        world.expire("x", 0, 0)
        world.agent.start()
        world.run(10 * MINUTE)
        assert world.oracle.lost() == 5
        assert health(world, "position") is Health.CRITICAL
        assert told(world, EXPIRED, "x") == 6


def test_what_nobody_saw_before_it_expired_is_in_doubt() -> None:
    with running("a") as world:
        world.source.create("x", 1)
        world.run(12 * MINUTE)
        transact(world, "x", 5)
        world.run(2 * MINUTE)
        world.agent.kill()
        world.mirror.kill()
        transact(world, "x", 5)
        world.expire("x", 0, 0)
        world.run(MINUTE)
        world.agent.start()
        world.mirror.start()
        world.run(10 * MINUTE)
        assert world.oracle.lost() == 5
        assert health(world, "position") is Health.WARNING
        code = "position.unverifiable"
        assert told(world, code, "x", "records_at_most") == 6


@pytest.mark.parametrize("added", ["topic", "partition"])
def test_what_expires_before_the_mirror_may_create_its_copies_is_lost(
    added: str,
) -> None:
    with running("a") as world:
        world.mirror.may_create = False
        if added == "topic":
            world.source.create("b", 1)
            world.traffic("b", per_second=2)
            topic, partition = "b", 0
        else:
            world.source.grow("a", 2)
            topic, partition = "a", 1
        world.run(10 * MINUTE)
        assert health(world, "position") is Health.OK
        world.expire(topic, partition, 200)
        world.run(2 * MINUTE)
        lost = world.oracle.lost()
        assert lost > 900
        # Nothing is added to it once the mirror begins, and a restart of the
        # agent takes nothing away.
        restart(world)
        world.mirror.may_create = True
        world.run(20 * MINUTE)
        assert world.oracle.lost() == lost
        found = world.agent.verdicts["position"].findings[0]
        assert (found.code, found.health) == (EXPIRED, Health.CRITICAL)
        assert found.subject == {"topic": topic, "partition": partition}
        assert expired(world, topic) == (lost, 0)
        assert Health.CRITICAL not in healths(world, "skips")


@pytest.mark.parametrize("passes", [False, True])
def test_what_a_filter_dropped_may_expire(passes: bool) -> None:
    with running(
        "f",
        "a",
        flow=filtered_flow("f"),
        mirror=MirrorSettings(tells_transforms=True),
    ) as world:
        world.mirror.drops = lambda name, *_: name == "f"
        world.run(10 * MINUTE)
        assert health(world, "retention") is Health.OK
        world.expire("f", 0, 500)  # what skips cannot judge yet is kept
        if passes:
            world.mirror.drops = lambda *_: False
        world.run(5 * MINUTE)
        assert Health.CRITICAL not in healths(world, "position"), reason(
            world, "position"
        )


def test_a_topic_recreated_with_fewer_partitions_is_settled() -> None:
    with running("a") as world:
        world.source.create("b", 2)
        world.traffic("b", per_second=1)
        world.run(30 * MINUTE)
        world.source.delete("b")
        world.run(5)
        world.source.create("b", 1)
        world.run(3 * HOUR)
        assert "position.recreated" not in codes(world, "position")
        assert health(world, "position") is Health.OK


def test_a_recreated_topic_without_a_leader_keeps_its_old_position() -> None:
    with running("a") as world:
        world.source.create("b", 2)
        world.traffic("b", per_second=1)
        world.run(30 * MINUTE)
        world.mirror.kill()
        world.source.delete("b")
        world.run(5)
        world.source.create("b", 2)
        log = world.source.log("b", 1)
        assert log is not None
        log.leader = None
        world.run(10 * MINUTE)
        assert health(world, "position") is Health.CRITICAL
        log.leader = 1
        world.run(HOUR)
        code = "position.recreated"
        assert told(world, code, "b", "records_at_risk")
