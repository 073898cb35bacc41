"""Worlds in which `skips` was wrong once, one by one."""

from typing import Any

import pytest

from mirrorwatch.domain.copies.pair import EventKind
from mirrorwatch.domain.report import Health
from tests.simulation.cluster import Record
from tests.simulation.mirrormaker import MirrorSettings
from tests.simulation.scenarios import (
    HOUR,
    MINUTE,
    codes,
    drop,
    drop_thirds,
    expect_dropped,
    expired,
    filtered_flow,
    health,
    healths,
    late_sync,
    looking_each_second,
    lose_both,
    lose_copies,
    named,
    proof,
    reason,
    restart,
    running,
    told,
)
from tests.simulation.world import World

pytestmark = pytest.mark.slow


def told_for(window: str) -> dict[str, Any]:
    """Return a flow in which losses are reported for less than an hour."""
    return {"limits": {"losses": {"critical": window}}}


def test_a_skip_stays_told_whatever_is_repeated() -> None:
    shorter = told_for("30m")
    with running("a", partitions=40, rate=0.2, flow=shorter) as world:
        drop(world, "a", 5)
        world.run_until(
            lambda: health(world, "skips") is Health.CRITICAL, 10 * MINUTE
        )
        since = world.schedule.elapsed
        for _ in range(8):
            world.mirror.kill()
            world.mirror.start()
            world.run(2 * MINUTE)
        assert world.oracle.repeats > 200
        # It may have become so at this very moment.
        assert set(healths(world, "skips", since)) <= {Health.CRITICAL}
        assert health(world, "skips") is Health.CRITICAL
        assert told(world, "skips.dropped") == 5
        restart(world)
        world.run(2 * MINUTE)
        assert health(world, "skips") is Health.CRITICAL
        assert told(world, "skips.dropped") == 5
        world.run(30 * MINUTE)
        assert health(world, "skips") is Health.OK, reason(world, "skips")


def test_repeats_alone_are_no_loss() -> None:
    with running("a", partitions=40, rate=0.2) as world:
        for _ in range(8):
            world.mirror.kill()
            world.mirror.start()
            world.run(2 * MINUTE)
        assert world.oracle.repeats > 200
        assert health(world, "skips") is Health.WARNING
        world.run(12 * MINUTE)
        assert health(world, "skips") is Health.OK, reason(world, "skips")
        assert Health.CRITICAL not in healths(world, "skips")


def test_a_jump_over_very_many_records_is_unverifiable(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # In the world as in reality, but a hundred times smaller.
    monkeypatch.setattr("mirrorwatch.sources.copies._LARGEST", 5_000)
    with running("a") as world:
        world.mirror.stop()
        world.produce("a", 0, 20_000)
        key = ("a", 0)
        world.mirror.committed[key] += 20_000
        world.mirror.start()
        world.run(10 * MINUTE)
        assert told(world, "skips.unverifiable") == 20_000
        assert "skips.dropped" not in codes(world, "skips")


def write_foreign(world: World, until: float) -> None:
    """Let another producer write to the target each 20 seconds."""

    def write() -> None:
        if world.schedule.elapsed < until:
            world.target.append("a", 0, b"foreign")

    world.schedule.every(lambda: 20.0, write)


@pytest.mark.parametrize(
    "drops",
    [pytest.param(0, marks=pytest.mark.long), proof(1), 30],
)
def test_drops_beside_another_producer_are_not_ok(drops: int) -> None:
    with running("a", flow=told_for("20m")) as world:
        until = world.schedule.elapsed + 15 * MINUTE
        write_foreign(world, until)
        world.run(5 * MINUTE)
        since = world.schedule.elapsed
        drop(world, "a", drops)
        world.run(15 * MINUTE)
        assert world.oracle.lost() == drops
        assert Health.OK not in healths(world, "skips", since)
        assert "skips.foreign-producer" in codes(world, "skips")
        worst = Health.CRITICAL if drops > 10 else Health.WARNING
        assert max(healths(world, "skips")) is worst or drops == 1
        restart(world)
        world.run(5 * MINUTE)
        assert health(world, "skips") is not Health.OK
        world.run(25 * MINUTE)
        assert health(world, "skips") is Health.OK, reason(world, "skips")


def test_as_many_records_of_others_as_drops_hide_nothing() -> None:
    """Both sides went on alike then, as where nothing was dropped."""
    with running("a") as world:
        write_foreign(world, world.schedule.elapsed + 5 * MINUTE)
        world.run(5 * MINUTE)
        for _ in range(3):
            world.target.append("a", 0, b"foreign")
        drop(world, "a", 3)
        world.run(15 * MINUTE)
        assert world.oracle.lost() == 3
        assert health(world, "skips") is Health.WARNING
        assert told(world, "skips.unverifiable") == 3


@pytest.mark.parametrize("dies", [True, False])
def test_a_mirror_that_died_after_it_went_back_in_a_truncated_log(
    dies: bool,
) -> None:
    # It went back without a commit: when it is started again, it goes on at
    # its old position, as the log is long enough by then.
    with running("a", rate=0.05) as world:
        log = world.source.log("a", 0)
        assert log is not None
        log.truncate(log.end - 20)
        world.run(50)
        if dies:
            world.mirror.kill()
        world.run(10 * MINUTE)
        world.mirror.start()
        world.run(10 * MINUTE)
        lost = world.oracle.lost()
        assert (lost > 0) is dies
        if dies:
            assert health(world, "skips") is Health.CRITICAL
            assert told(world, "skips.dropped") == lost
        else:
            assert health(world, "skips") is Health.OK


@pytest.mark.parametrize("policy", ["compact", proof("delete")])
def test_copies_of_what_a_truncated_log_had_hide_nothing(policy: str) -> None:
    # It is longer again before its end is believed. What came below the
    # committed position, to offsets that had been copied, never is.
    settings = MirrorSettings(flush=10.0, lag_max=10, syncs_at_flush=False)
    with running("a", mirror=settings, interval=15, minutes=5) as world:
        log = world.source.log("a", 0)
        assert log is not None
        world.source.topics["a"].configs["cleanup.policy"] = policy
        world.run(7)
        world.mirror.kill()
        committed = world.mirror.committed["a", 0]
        copied = world.target.topics["a"].logs[0].end
        assert committed + 1 < copied <= log.end
        log.truncate(committed - 4)
        world.produce("a", 0, 60)
        world.run(2 * MINUTE)
        world.mirror.start()
        world.run(5 * MINUTE)
        assert world.oracle.lost() == 5
        ranges = named(world, EventKind.UNVERIFIABLE)
        assert ranges == [(committed - 4, committed)]
        assert health(world, "skips") is Health.WARNING
        assert Health.CRITICAL not in healths(world, "skips")


@pytest.mark.parametrize("runs", [True, proof(value=False)])
def test_what_is_copied_again_of_a_truncated_log_is_no_doubt(
    runs: bool,
) -> None:
    # It asks where the logs part while it runs, and goes on there. Else the
    # copies that it had not committed are its own, or of others.
    settings = MirrorSettings(flush=10.0, lag_max=10, syncs_at_flush=False)
    with running("a", mirror=settings, interval=15, minutes=5) as world:
        log = world.source.log("a", 0)
        assert log is not None
        world.run(7)
        if runs:
            log.truncate(log.end - 20)
            world.produce("a", 0, 60)
        else:
            world.mirror.kill()
            for _ in range(3):
                world.target.append("a", 0, b"foreign")
        world.run(MINUTE)
        world.mirror.start()
        world.run(5 * MINUTE)
        assert world.oracle.lost() == 0
        assert told(world, "skips.foreign-producer")
        assert told(world, "skips.unverifiable") == 0
        assert Health.CRITICAL not in healths(world, "skips")


@pytest.mark.parametrize("side", ["source", "target"])
def test_one_stale_end_takes_nothing_back(side: str) -> None:
    with running("a", interval=5, minutes=5) as world:
        drop(world, "a", 5)
        world.run_until(
            lambda: health(world, "skips") is Health.CRITICAL, 10 * MINUTE
        )
        since = world.schedule.elapsed
        topic = getattr(world, side).topics["a"]
        topic.stale_ends[0] = 10
        world.run(11)  # two looks
        topic.stale_ends.clear()
        world.run(5 * MINUTE)
        assert health(world, "skips") is Health.CRITICAL, reason(
            world, "skips"
        )
        assert Health.CRITICAL not in healths(world, "position", since)


@pytest.mark.parametrize("side", ["source", "target"])
def test_what_is_dropped_beside_one_stale_end_is_told(side: str) -> None:
    with running("a", interval=5, minutes=5) as world:
        topic = getattr(world, side).topics["a"]
        topic.stale_ends[0] = 10
        drop(world, "a", 5)
        world.run(11)  # two looks
        topic.stale_ends.clear()
        world.run(5 * MINUTE)
        expect_dropped(world, "a", 5)


@pytest.mark.parametrize(
    "what", ["agent is away", proof("producers rest"), proof("mirror dies")]
)
def test_copies_that_are_lost_with_the_end_of_the_target_are_told(
    what: str,
) -> None:
    with running("a", interval=15, minutes=10) as world:
        if what == "producers rest":
            world.quiet = True
            world.run(2 * MINUTE)
        if what == "agent is away":
            world.agent.kill()
        if what == "mirror dies":
            world.mirror.kill()
        copies = world.target.topics["a"].logs[0].end
        lose_copies(world, "a", 400)
        world.run(MINUTE)
        if what == "agent is away":
            world.agent.start()
        world.run(MINUTE)
        world.mirror.start()
        world.run(5 * MINUTE)
        # What was not committed is copied again.
        # What was copied after the last survey is only known as dropped.
        dropped = told(world, "skips.dropped")
        assert dropped <= 40 * (what != "producers rest")
        found = told(world, "skips.truncated") + dropped
        assert found == world.oracle.lost()
        ranges = named(world, EventKind.TRUNCATED)
        assert what == "mirror dies" or (
            ranges == [(copies - 400, copies - 1 - dropped)]
        )
        assert health(world, "skips") is Health.CRITICAL
        # Copied again, it is lost no longer.
        world.mirror.stop()
        world.mirror.forget(("a", 0))
        world.mirror.start()
        world.run(15 * MINUTE)
        assert world.oracle.lost() == 0
        assert health(world, "skips") is not Health.CRITICAL


def test_a_low_end_of_the_target_is_not_believed_at_once() -> None:
    with running("a", interval=5, minutes=5) as world:
        world.quiet = True
        world.run(2 * MINUTE)
        copies = world.target.topics["a"]
        copies.stale_ends[0] = copies.logs[0].end - 50
        world.run(25)
        copies.stale_ends.clear()
        world.quiet = False
        world.run(5 * MINUTE)
        assert healths(world, "skips", 5 * MINUTE) == []


@pytest.mark.parametrize("quiet", [True, proof(value=False)])
def test_an_end_of_the_target_that_stays_low_is_no_loss(quiet: bool) -> None:
    with running("a", minutes=5) as world:
        world.quiet = quiet
        world.run(2 * MINUTE)
        copies = world.target.topics["a"]
        copies.stale_ends[0] = copies.logs[0].end - 200
        world.run(2 * MINUTE)
        assert Health.CRITICAL not in healths(world, "skips")
        world.run(2 * MINUTE)
        # What comes behind that end nobody can compare.
        assert health(world, "skips") is Health.UNKNOWN
        assert "skips.pending" in codes(world, "skips")
        copies.stale_ends.clear()
        world.quiet = False
        drop(world, "a", 5)
        world.run(5 * MINUTE)
        expect_dropped(world, "a", 5)


@pytest.mark.parametrize("left", [380, proof(100)])
@pytest.mark.parametrize("minutes", [1, proof(0), proof(5)])
def test_copies_that_are_lost_as_the_source_is_truncated_are_told(
    left: int, minutes: float
) -> None:
    # A power cut at both sites, and nobody has written since.
    with running("a", interval=15, minutes=10) as world:
        world.quiet = True
        world.run(2 * MINUTE)
        end = lose_both(world, "a", 400 - left, 400)
        world.run(minutes * MINUTE)
        world.quiet = False
        world.run(5 * MINUTE)
        assert world.oracle.lost() == left
        assert told(world, "skips.truncated") == left
        # Counted, and not named.
        first, *_ = named(world, EventKind.TRUNCATED)
        assert first == (end - 400, end - 401 + left)


@pytest.mark.parametrize(
    ("there", "here", "dies"),
    [(400, 300, False), (20, 400, True)],
)
def test_what_both_sides_lost_or_is_copied_again_is_no_loss(
    there: int, here: int, dies: bool
) -> None:
    # A mirror that was down begins anew, as its position is beyond the end.
    with running("a", interval=15, minutes=10) as world:
        world.quiet = True
        world.run(2 * MINUTE)
        if dies:
            world.mirror.kill()
        lose_both(world, "a", there, here)
        world.run(MINUTE)
        world.quiet = False
        world.mirror.start()
        world.run(10 * MINUTE)
        assert world.oracle.lost() == 0
        assert Health.CRITICAL not in healths(world, "skips")


@pytest.mark.parametrize("brokers", [3, proof(2)])
def test_copies_that_a_leader_does_not_have_that_is_cut_off_are_no_loss(
    brokers: int,
) -> None:
    # It was asked alone, and what the mirror committed was beyond its end.
    with running("a", interval=5, minutes=5) as world:
        world.target.brokers = list(range(1, brokers + 1))
        world.quiet = True
        world.run(2 * MINUTE)
        copies = world.target.topics["a"]
        copies.stale_ends[0] = copies.logs[0].end
        world.produce("a", 0, 60)
        world.run(4 * MINUTE)
        assert Health.CRITICAL not in healths(world, "skips")
        copies.stale_ends.clear()
        world.quiet = False
        world.run(3 * MINUTE)
        assert health(world, "skips") is Health.OK, reason(world, "skips")


def test_a_stale_end_as_a_commit_comes_is_no_skip() -> None:
    # Nothing but the commit and the end at the target tells of these copies.
    settings = MirrorSettings(syncs_at_flush=False, refresh=60)
    with running("a", mirror=settings, interval=5, minutes=2) as world:
        world.source.create("b", 1)
        world.produce("b", 0, 50)
        world.run(5 * MINUTE)
        for _ in range(3):
            before = world.mirror.committed["b", 0]
            copies = world.target.topics["b"]
            copies.stale_ends[0] = copies.logs[0].end
            world.produce("b", 0, 30)
            world.run_until(
                lambda last=before: world.mirror.committed["b", 0] > last,  # type: ignore[misc]
                2 * MINUTE,
                look=1,
            )
            world.run(10)
            copies.stale_ends.clear()
            world.run(2 * MINUTE)
        assert world.oracle.lost() == 0
        assert Health.CRITICAL not in healths(world, "skips")
        assert health(world, "skips") is Health.OK, reason(world, "skips")


def test_a_topic_without_a_leader_at_first_keeps_its_head() -> None:
    settings = MirrorSettings(latest=True, refresh=60)
    with running("a", mirror=settings) as world:
        new = world.source.create("b", 1)
        world.target.create("b", 1)
        new.logs[0].leader = None
        world.run(2 * MINUTE)
        new.logs[0].leader = 1
        world.produce("b", 0, 20)
        world.run(3 * MINUTE)
        world.traffic("b", per_second=1)
        world.run(10 * MINUTE)
        if world.oracle.lost():
            assert health(world, "skips") is Health.CRITICAL, world.describe()


@pytest.mark.parametrize("transactional", [False, True])
@pytest.mark.parametrize("emits", [False, True])
def test_a_mirror_without_syncs_is_not_called_ok(
    emits: bool, transactional: bool
) -> None:
    settings = MirrorSettings(exactly_once=transactional, emits_syncs=emits)
    silent = {"canary": {"enabled": False}}
    with World(1, mirror=settings, flow=silent) as world:
        world.source.create("a", 1)
        world.mirror.start()
        world.agent.start()
        world.run(10 * MINUTE)
        since = world.schedule.elapsed
        world.traffic("a", per_second=1)
        world.run(10 * MINUTE)
        if emits:
            assert set(healths(world, "skips", since)) <= {Health.OK}
        else:
            # What is copied meanwhile, and markers, take the room that dropped
            # records would leave.
            assert health(world, "skips") is Health.UNKNOWN
            assert "skips.no-syncs" in codes(world, "skips")


@pytest.mark.parametrize(
    "seconds", [proof(2), proof(9), 16, proof(23), proof(30)]
)
def test_what_expired_unread_is_not_said_to_be_unverifiable(
    seconds: int,
) -> None:
    # Seen on real brokers: records copied since the last sync expired with
    # those that follow, and the mirror was back before the new log start
    # had been read, which is each half a minute.
    with looking_each_second() as world:
        world.run(2.5)  # copies that nothing but the target's end shows
        world.mirror.kill()
        world.run(26)
        world.expire("a", 0, 0)
        world.run(seconds)
        world.mirror.start()
        world.run(MINUTE)
        lost = world.oracle.lost()
        assert lost > 30
        assert expired(world) == (lost, 0)
        assert told(world, "skips.unverifiable") == 0, reason(world, "skips")
        assert told(world, "skips.dropped") == 0


@pytest.mark.long
def test_what_a_filter_drops_is_no_alarm_and_all_else_is() -> None:
    flow = filtered_flow("f")
    with running("f", "a", flow=flow, interval=15) as world:
        drop_thirds(world, "f", "a", at=0)
        since = world.schedule.elapsed
        world.run(10 * MINUTE)
        assert set(healths(world, "skips", since)) <= {Health.OK}
        assert health(world, "skips") is Health.OK, reason(world, "skips")
        (ok,) = world.agent.verdicts["skips"].findings
        assert ok.numbers["filtered_records"]
        drop_thirds(world, "f", "a", at=50)
        world.run(5 * MINUTE)
        assert health(world, "skips") is Health.CRITICAL
        assert told(world, "skips.dropped") == 1
        restart(world)
        world.run(10 * MINUTE)
        assert told(world, "skips.dropped") == 1
        assert world.agent.verdicts["skips"].evidence[
            "filtered_records"
        ] == pytest.approx(world.oracle.lost() - 1, abs=20)
        world.run(HOUR)
        assert health(world, "skips") is Health.OK, reason(world, "skips")
        for check in ("lag", "position", "canary", "retention"):
            bad = {Health.WARNING, Health.CRITICAL}
            assert not bad & set(healths(world, check, since)), check


@pytest.mark.long
def test_more_than_a_filter_may_drop_is_an_alarm() -> None:
    flow = filtered_flow({"pattern": "f", "at_most": "40%"})
    with running("f", "a", flow=flow) as world:
        drop_thirds(world, "f", "a", at=0)
        since = world.schedule.elapsed
        world.run(HOUR)
        assert set(healths(world, "skips", since)) <= {Health.OK}
        world.mirror.drops = lambda name, *_: name == "f"
        world.run(20 * MINUTE)
        world.mirror.drops = lambda *_: False
        world.run(10 * MINUTE)
        assert health(world, "skips") is Health.CRITICAL
        before = told(world, "skips.filter-exceeded", "f")
        assert before
        restart(world)
        world.run(20 * MINUTE)
        assert told(world, "skips.filter-exceeded", "f") == before
        world.run(HOUR)
        assert health(world, "skips") is Health.OK, reason(world, "skips")


def test_the_head_of_a_topic_that_is_copied_at_once_is_watched() -> None:
    # It has copies when the agent sees it for the first time.
    settings = MirrorSettings(refresh=10)
    with running("a", mirror=settings, interval=60) as world:
        drop(world, "b", 20)
        world.run(2)  # past a look
        world.source.create("b", 1)
        world.produce("b", 0, 50)
        world.run(10 * MINUTE)
        expect_dropped(world, "b", 20)


def test_a_drop_that_no_sync_follows_is_told() -> None:
    # The mirror may not write to its offset-syncs topic: it logs that, and
    # goes on. Only what it committed shows what is not there.
    with running("a") as world:
        world.source.create("b", 1)
        world.produce("b", 0, 50)
        world.run(15 * MINUTE)
        world.mirror.syncs_fail = True
        drop(world, "b", 5)
        world.produce("b", 0, 25)
        world.run(10 * MINUTE)
        expect_dropped(world, "b", 5)


@pytest.mark.parametrize("what", ["offset set", "agent away", "nothing"])
def test_what_is_committed_while_the_copies_are_away_is_not_ok(
    what: str,
) -> None:
    # Nothing was read, as nothing was there: `skips` stayed ok (12000000234).
    with running("a", minutes=5) as world:
        world.quiet = True
        world.run(2 * MINUTE)
        world.mirror.may_create = False
        world.target.delete("a")
        world.quiet = False
        world.run(2 * MINUTE)
        world.mirror.stop()
        if what == "agent away":
            world.agent.kill()
        if what != "nothing":
            last = world.mirror.committed["a", 0]
            world.mirror.set_offset(("a", 0), last + 100)
        if what == "agent away":
            world.run(MINUTE)
            world.agent.start()
        world.run(5 * MINUTE)
        if what == "nothing":
            assert health(world, "skips") is Health.OK, reason(world, "skips")
            return
        assert world.oracle.lost() == 100
        assert health(world, "skips") is Health.UNKNOWN
        assert "skips.pending" in codes(world, "skips")
        world.mirror.may_create = True
        world.mirror.start()
        world.run(5 * MINUTE)
        assert health(world, "skips") is Health.OK, reason(world, "skips")
        assert health(world, "position") is Health.CRITICAL
        assert "position.target-recreated" in codes(world, "position")


def test_what_is_committed_while_the_ends_are_read_is_no_skip() -> None:
    settings = MirrorSettings(flush=2, syncs_at_flush=False, lag_max=100_000)
    with running("a", rate=20, mirror=settings, tails=0.5) as world:
        world.run(10 * MINUTE)
        assert set(healths(world, "skips", 10 * MINUTE)) <= {Health.OK}
        assert world.oracle.lost() == 0


def test_the_start_of_a_recreated_topic_is_missed() -> None:
    # The mirror goes on at the position of the former one, in the middle.
    with running("a") as world:
        world.source.create("b", 1)
        world.produce("b", 0, 100)
        world.run(15 * MINUTE)
        world.mirror.stop()
        world.source.delete("b")
        world.source.create("b", 1)
        world.produce("b", 0, 400)
        world.run(MINUTE)
        world.mirror.start()
        world.run(10 * MINUTE)
        assert world.oracle.lost() == 100
        assert told(world, "position.recreated", "b") == 100
        # They are position's to tell; what is dropped later is not.
        drop(world, "b", 7)
        world.produce("b", 0, 30)
        world.run(10 * MINUTE)
        assert health(world, "skips") is Health.CRITICAL
        assert told(world, "skips.dropped", "b") == 7


@pytest.mark.parametrize("restarts", [proof(value=False), True])
@pytest.mark.parametrize(
    "for_seconds", [pytest.param(5, marks=pytest.mark.long), 20]
)
def test_a_stale_end_behind_the_last_sync_is_no_skip(
    for_seconds: int, restarts: bool
) -> None:
    # Before 3.7 no sync comes at a flush: what follows the last one is known
    # by the end of the target and by what was committed.
    settings = MirrorSettings(syncs_at_flush=False)
    with running("a", mirror=settings) as world:
        world.source.create("b", 1)
        world.produce("b", 0, 50)
        world.run(15 * MINUTE)
        since = world.schedule.elapsed
        for _ in range(3):
            world.target.topics["b"].stale_ends[0] = 20
            if restarts:
                restart(world)
            world.run(for_seconds)
            world.target.topics["b"].stale_ends.clear()
            world.run(7 * MINUTE + 3)
        assert world.oracle.lost() == 0
        found = set(healths(world, "skips", since))
        assert found <= {Health.OK, Health.UNKNOWN}, reason(world, "skips")
        assert health(world, "skips") is Health.OK


def test_what_is_dropped_of_a_recreated_topic_is_told() -> None:
    with running("a") as world:
        world.source.create("b", 1)
        world.produce("b", 0, 100)
        world.run(15 * MINUTE)
        world.mirror.stop()
        world.source.delete("b")
        world.mirror.forget(("b", 0))
        world.source.create("b", 1)
        world.produce("b", 0, 40)
        world.mirror.start()
        world.run(10)
        drop(world, "b", 20)
        world.produce("b", 0, 360)
        world.run(10 * MINUTE)
        expect_dropped(world, "b", 20)


@pytest.mark.parametrize("remade", [True, proof(value=False)])
def test_a_new_partition_of_a_recreated_target_missed_none_of_its_copies(
    remade: bool,
) -> None:
    # Both happened while the agent was away: what the former topic had of the
    # partition was told to be skipped (dense world 1000058).
    settings = MirrorSettings(refresh=MINUTE)
    with running("a", mirror=settings) as world:
        world.agent.kill()
        world.source.grow("a", 2)
        world.run(3 * MINUTE)
        if remade:
            world.target.delete("a")
        world.run(3 * MINUTE)
        world.agent.start()
        world.run(5 * MINUTE)
        assert world.oracle.lost() == 0
        assert health(world, "skips") is Health.OK
        left = [10]

        def drops(name: str, partition: int, _: Record) -> bool:
            left[0] -= name == "a" and partition == 1
            return name == "a" and partition == 1 and left[0] >= 0

        world.mirror.drops = drops
        world.run(5 * MINUTE)
        assert world.oracle.lost() == 10
        assert told(world, "skips.dropped") == 10


def test_a_late_sync_of_a_former_topic_hides_no_drop() -> None:
    # MirrorMaker writes those that it held back when the new one is there.
    settings = MirrorSettings(refresh=60)
    with running("a", mirror=settings, interval=5, minutes=2) as world:
        world.source.create("b", 1)
        world.produce("b", 0, 100)
        world.run(5 * MINUTE)
        world.mirror.stop()
        world.source.delete("b")
        world.target.delete("b")
        world.mirror.forget(("b", 0))
        world.source.create("b", 1)
        world.produce("b", 0, 40)
        world.mirror.start()
        world.run(MINUTE)
        late_sync(world, "b", 99, 99)
        world.run(15)
        drop(world, "b", 20)
        world.produce("b", 0, 60)
        world.run(10 * MINUTE)
        expect_dropped(world, "b", 20)
        # Else it seems truncated at the target, up to that sync.
        assert named(world, EventKind.SKIPPED) == [(40, 59)]


def test_a_tail_of_a_filtered_topic_is_no_lag_after_a_restart() -> None:
    with running(
        "f",
        "a",
        flow=filtered_flow("f"),
        mirror=MirrorSettings(tells_transforms=True),
    ) as world:
        world.mirror.drops = lambda name, *_: name == "f"
        world.run(8 * MINUTE)
        assert health(world, "lag") is Health.OK, reason(world, "lag")
        since = world.schedule.elapsed
        restart(world)
        world.run(4 * MINUTE)
        assert health(world, "skips") is Health.OK, reason(world, "skips")
        starting = {Health.UNKNOWN}
        for check in ("lag", "skips"):
            assert set(healths(world, check, since)) - starting == {Health.OK}
