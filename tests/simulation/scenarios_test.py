"""Worlds in which the agent was wrong once, one by one."""

import json
import re
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import pytest

from mirrorwatch.domain.position import model as position_model
from mirrorwatch.domain.report import Health, Report
from mirrorwatch.domain.skips.check import SkipsLimits
from tests.simulation.cluster import Record
from tests.simulation.mirrormaker import MirrorSettings
from tests.simulation.world import CANARY, World

MINUTE, HOUR = 60.0, 3600.0

pytestmark = pytest.mark.slow


def proof(value: object) -> object:
    """Return a value that is tried by `make proof` alone: another one of the
    same test is tried by every run.
    """
    return pytest.param(value, marks=pytest.mark.long)


@contextmanager
def running(
    *topics: str,
    partitions: int = 1,
    rate: float = 2.0,
    minutes: float = 15,
    **more: Any,
) -> Iterator[World]:
    """A world that has run for a quarter of an hour, and in which all is well.

    Its ticks are as rare as a real agent's may be: most of a test is ticks.
    """
    with World(1, **{"interval": 30, **more}) as world:
        for topic in topics:
            world.source.create(topic, partitions)
            world.traffic(topic, per_second=rate)
        world.mirror.start()
        world.agent.start()
        world.run(minutes * MINUTE)
        yield world


def told_for(window: str) -> dict[str, Any]:
    """Return a flow in which losses are reported for less than an hour."""
    return {"limits": {"skips": {"lost_window": window}}}


def restart(world: World) -> None:
    world.agent.kill()
    world.run(5)
    world.agent.start()


def health(world: World, check: str) -> Health | None:
    return world.agent.health(check)


def reason(world: World, check: str) -> str:
    return world.agent.verdicts[check].reason


def healths(world: World, check: str, since: float = 0.0) -> list[Health]:
    return [
        s.health
        for s in world.agent.sayings
        if s.check == check and s.at >= since
    ]


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
        assert f"{world.oracle.lost():,} records expired" in reason(
            world, "position"
        )


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
        assert reason(world, "position").startswith(f"{lost:,} records exp")


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
        assert "Mirrorwatch cannot see a, which" in reason(world, "lag")


def test_lag_of_a_topic_that_is_deleted_is_known_again_at_once() -> None:
    with running("a") as world:
        world.source.delete("a")
        world.run(MINUTE)
        assert health(world, "lag") is Health.OK


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
        found = re.match(
            r"At most ([\d,]+) records exp", reason(world, "position")
        )
        assert found
        most = int(found[1].replace(",", ""))
        assert 0 <= most - world.oracle.lost() < 150
        world.mirror.start()
        world.run(10 * MINUTE)
        assert world.oracle.lost() > 900
        assert f"At most {most:,} records expired" in reason(world, "position")


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
        assert reason(world, "position").startswith(f"{lost:,} records exp")


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
        assert f"{world.oracle.lost():,} records expired" in reason(
            world, "position"
        )


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
        assert "Up to 300 records may have expired" in reason(
            world, "position"
        )
        assert "a[0] offsets [500, 800)" in reason(world, "position")
        world.mirror.start()
        world.traffic("a", per_second=1)
        world.run(10 * MINUTE)
        assert world.oracle.lost() == 300
        assert "Up to 300 records" in reason(world, "position")


def expired(reason: str) -> int:
    """Return how many records are said to have expired."""
    found = re.search(r"([\d,]+) records? expired", reason)
    return int(found[1].replace(",", "")) if found else 0


@pytest.mark.parametrize("rate", [2.0, 20.0])
def test_what_expired_never_becomes_less(rate: float) -> None:
    settings = MirrorSettings(syncs_at_flush=False, batch=50, poll=2.0)
    told: list[tuple[float, str]] = []
    with running("a", rate=rate, mirror=settings) as world:

        def note(report: Report) -> None:
            (said,) = (v for v in report.verdicts if v.check == "position")
            told.append((world.schedule.elapsed, said.reason))

        world.agent.on_report = note
        world.run(30)  # copies that are not yet committed
        world.mirror.kill()
        world.run(10 * MINUTE)
        world.expire("a", 0, 500)
        world.run(10 * MINUTE)
        before = expired(told[-1][1])
        world.mirror.start()
        started = world.schedule.elapsed
        world.run(10 * MINUTE)
        counts = [expired(reason) for _, reason in told]
        assert counts == sorted(counts), list(dict.fromkeys(counts))
        assert before == counts[-1] == world.oracle.lost()
        soon = [r for at, r in told if at > started + 30]
        assert not any("Start MirrorMaker" in r for r in soon)


def test_a_late_sync_ends_no_range_that_expired() -> None:
    # Of a copy made before them, by a producer that was cut off meanwhile.
    settings = MirrorSettings(syncs_at_flush=False)
    with running("a", mirror=settings) as world:
        world.mirror.kill()
        world.run(5 * MINUTE)
        world.expire("a", 0, 200)
        world.run(5 * MINUTE)
        since, lost = world.schedule.elapsed, world.oracle.lost()
        told = f"{lost} records expired at summit"
        assert reason(world, "position").startswith(told)
        last = world.target.topics["a"].logs[0].end - 1
        late_sync(world, "a", last, last)
        world.run(2 * MINUTE)
        world.mirror.start()
        world.run(5 * MINUTE)
        assert healths(world, "position", since) == []
        assert reason(world, "position").startswith(told)


def late_sync(
    world: World, topic: str, upstream: int, downstream: int
) -> None:
    """Write an offset sync that MirrorMaker held back."""
    name = topic.encode()
    key = struct.pack(f">h{len(name)}si", len(name), name, 0)
    pair = struct.pack(">qq", upstream, downstream)
    world.source.append(SYNCS, 0, pair, key)


def drop(world: World, topic: str, count: int) -> None:
    """Let a transform drop the next records of a topic's partition 0."""
    left = [count]

    def drops(name: str, partition: int, _: Record) -> bool:
        if name == topic and partition == 0 and left[0]:
            left[0] -= 1
            return True
        return False

    world.mirror.drops = drops


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
        assert "5 records of a" in reason(world, "skips")
        restart(world)
        world.run(2 * MINUTE)
        assert health(world, "skips") is Health.CRITICAL
        assert "5 records of a" in reason(world, "skips")
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


def test_a_jump_over_very_many_records_is_a_loss(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # In the world as in reality, but a hundred times smaller.
    monkeypatch.setattr("mirrorwatch.sources.skips._LARGEST", 5_000)
    with running("a") as world:
        world.mirror.stop()
        world.produce("a", 0, 20_000)
        key = ("a", 0)
        world.mirror.committed[key] += 20_000
        world.mirror.start()
        world.run(10 * MINUTE)
        for check in ("skips",):
            assert health(world, check) is Health.CRITICAL, reason(
                world, check
            )


def write_foreign(world: World, until: float) -> None:
    """Let another producer write to the target each 20 seconds."""

    def write() -> None:
        if world.schedule.elapsed < until:
            world.target.append("a", 0, b"foreign")

    world.schedule.every(lambda: 20.0, write)


@pytest.mark.parametrize("drops", [0, proof(1), 30])
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
        verdict = world.agent.verdicts["skips"]
        told = [verdict.reason, *map(str, verdict.evidence.values())]
        assert any("records of a at the target are not" in t for t in told)
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
        assert reason(world, "skips").startswith("3 records of a partition 0")
        assert "cannot be verified" in reason(world, "skips")


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
        assert reason(world, "position").startswith("At most ")
        world.mirror.start()
        world.run(15 * MINUTE)
        lost = world.oracle.lost()
        assert health(world, "position") is Health.CRITICAL, world.describe()
        # What was copied since the last commit may be in it.
        assert lost <= expired(reason(world, "position")) <= lost + 120


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
        assert reason(world, "position").startswith("At most ")
        assert lost <= expired(reason(world, "position")) <= lost + 120


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
        for _ in range(2):
            lost = world.oracle.lost()
            assert health(world, "position") is Health.CRITICAL
            assert reason(world, "position").startswith("At most ")
            assert lost <= expired(reason(world, "position")) <= lost + 15
            world.mirror.start()
            world.run(HOUR / 2)


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
            assert f"{lost} records" in reason(world, "skips")
        else:
            assert health(world, "skips") is Health.OK


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
        assert world.oracle.lost() == 5
        assert health(world, "skips") is Health.CRITICAL
        assert "5 records of a" in reason(world, "skips")


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
        assert f"{lost:,} records expired" in reason(world, "position")
        restart(world)
        world.run(5 * MINUTE)
        assert f"{lost:,} records expired" in reason(world, "position")


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


LONG = pytest.mark.long
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
        assert "5 records of a" in reason(world, "skips")
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
        assert "a[0] stuck at offset" in reason(world, "lag")


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


OFFSETS, SYNCS = "mm2-offsets.summit.internal", "mm2-offset-syncs.ldf.internal"


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
        assert "was deleted" in reason(world, "position")
        if kept:
            world.target.topics[OFFSETS] = topic
            world.run(MINUTE)
            assert health(world, "position") is Health.OK
            return
        world.target.create(OFFSETS, 1)
        world.run(MINUTE)
        assert "was replaced" in reason(world, "position")


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


def test_a_mirror_without_syncs_is_known_by_its_probes() -> None:
    settings = MirrorSettings(emits_syncs=False)
    with World(1, mirror=settings) as world:
        world.source.create("a", 1)
        world.traffic("a", per_second=1)
        world.mirror.start()
        world.agent.start()
        world.run(30 * MINUTE)
        assert health(world, "canary") is Health.OK, reason(world, "canary")


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
            assert "emit.offset-syncs.enabled" in reason(world, "skips")


@pytest.mark.parametrize("reachable", [False, None])
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
        said = reason(world, "position")
        if agent == "is restarted":
            assert "mirrorwatch had not seen its end" in said
        else:
            found = re.search(r"up to ([\d,]+) records seen", said)
            assert found is not None, said
            # A survey is 15 s old, at most.
            assert lost - 30 <= int(found[1].replace(",", "")) <= lost


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
            lambda: "3 probes confirmed lost" in reason(world, "canary"),
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
        assert "3 probes confirmed lost" in reason(world, "canary")


def test_a_probe_whose_copy_is_read_late_is_not_lost() -> None:
    # What the mirror committed is known before its copies are read.
    with running("a", interval=15) as world:
        since = world.schedule.elapsed
        world.target.throttled.add(CANARY)
        world.run(3 * MINUTE)
        world.target.throttled.clear()
        world.run(5 * MINUTE)
        told = [s.reason for s in world.agent.sayings if s.at > since]
        assert not [said for said in told if "confirmed lost" in said]
        assert health(world, "canary") is Health.WARNING
        assert "none was lost" in reason(world, "canary")


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


@contextmanager
def looking_each_second() -> Iterator[World]:
    """A world as small as one on real brokers, in which all is well."""
    fast = MirrorSettings(flush=5.0)
    with World(1, mirror=fast, interval=1, coarse=1) as world:
        world.source.create("a", 1)
        world.traffic("a", per_second=2, every=1)
        world.mirror.start()
        world.agent.start()
        world.run(2 * MINUTE)
        yield world


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
        assert "overdue" in reason(world, "canary")
        world.mirror.frozen = False
        world.run(MINUTE)
        assert health(world, "canary") in {Health.OK, Health.WARNING}


@pytest.mark.parametrize("seconds", [2, proof(9), 16, proof(23), proof(30)])
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
        assert reason(world, "position").startswith(f"{lost:,} records exp")
        evidence = world.agent.verdicts["skips"].evidence
        assert evidence["unverifiable_offsets"] == 0, reason(world, "skips")
        assert evidence["skipped_records"] == 0


def test_a_killed_mirror_is_not_said_to_run() -> None:
    with running("a") as world:
        world.mirror.kill()
        world.run(10 * MINUTE)
        assert health(world, "tasks") is not Health.OK, reason(world, "tasks")


def test_a_renamed_connector_leaves_nothing_critical() -> None:
    with running("a") as world:
        # Connect leaves task configs behind when a connector is deleted.
        old = "connector-Old"
        assigned = {
            "connector.class": world.mirror.properties()["connector.class"],
            "source.cluster.alias": "summit",
            "target.cluster.alias": "ldf",
        }
        configs, status = (
            "mm2-configs.summit.internal",
            "mm2-status.summit.internal",
        )

        def write(topic: str, key: str, value: object) -> None:
            body = None if value is None else json.dumps(value).encode()
            world.target.append(topic, 0, body, key.encode())

        write(configs, old, {"properties": assigned})
        write(
            configs,
            "task-Old-0",
            {"properties": assigned | {"task.assigned.partitions": "a-0"}},
        )
        write(configs, "commit-Old", {"tasks": 1})
        said = {"state": "RUNNING", "worker_id": "w", "generation": 1}
        write(status, "status-connector-Old", said)
        write(status, "status-task-Old-0", said)
        world.run(5 * MINUTE)
        write(configs, old, None)
        write(status, "status-connector-Old", None)
        write(status, "status-task-Old-0", None)
        world.run(10 * MINUTE)
        assert health(world, "tasks") is Health.OK, reason(world, "tasks")


def test_an_idle_mirror_is_said_to_run() -> None:
    with running("a", flow={"canary": {"enabled": False}}) as world:
        world.source.delete("a")
        world.run(2 * HOUR)
        assert healths(world, "tasks", 60) == []
        assert health(world, "tasks") is Health.OK, reason(world, "tasks")


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


def drop_thirds(world: World, filtered: str, other: str, at: int) -> None:
    """Let a transform drop every third record of one topic, and one record of
    another.
    """
    seen = [0]

    def drops(name: str, partition: int, record: Record) -> bool:
        del partition
        seen[0] += name == other
        if name == filtered:
            return int(record.value or b"0") % 3 == 0
        return name == other and seen[0] == at

    world.mirror.drops = drops


def filtered_flow(*patterns: object) -> dict[str, Any]:
    return {"topics": {"filtered": list(patterns)}}


def test_what_a_filter_drops_is_no_alarm_and_all_else_is() -> None:
    flow = filtered_flow("f")
    with running("f", "a", flow=flow, interval=15) as world:
        drop_thirds(world, "f", "a", at=0)
        since = world.schedule.elapsed
        world.run(10 * MINUTE)
        assert set(healths(world, "skips", since)) <= {Health.OK}
        assert health(world, "skips") is Health.OK, reason(world, "skips")
        assert "on 1 filtered topic, as configured" in reason(world, "skips")
        drop_thirds(world, "f", "a", at=50)
        world.run(5 * MINUTE)
        assert health(world, "skips") is Health.CRITICAL
        assert "1 record of a partition 0" in reason(world, "skips")
        restart(world)
        world.run(10 * MINUTE)
        assert "1 record of a partition 0" in reason(world, "skips")
        told = world.agent.verdicts["skips"].evidence
        assert told["skipped_records"] == 1
        assert told["filtered_records"] == pytest.approx(
            world.oracle.lost() - 1, abs=20
        )
        world.run(HOUR)
        assert health(world, "skips") is Health.OK, reason(world, "skips")
        for check in ("lag", "position", "canary", "retention"):
            bad = {Health.WARNING, Health.CRITICAL}
            assert not bad & set(healths(world, check, since)), check


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
        told = expired(reason(world, "position"))
        assert unread <= told <= unread + 2, reason(world, "position")
        assert Health.CRITICAL not in healths(world, "skips")


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
        assert "topics.filtered allows 40%" in reason(world, "skips")
        before = reason(world, "skips")
        restart(world)
        world.run(20 * MINUTE)
        assert reason(world, "skips") == before
        world.run(HOUR)
        assert health(world, "skips") is Health.OK, reason(world, "skips")


@pytest.mark.parametrize("interval", [60, 600])
def test_a_long_interval_of_ticks_makes_nothing_unknown(interval: int) -> None:
    with running("a", interval=interval) as world:
        since = world.schedule.elapsed
        world.run(HOUR)
        for check in ("skips", "position", "lag", "canary"):
            assert health(world, check) is Health.OK, reason(world, check)
            assert not healths(world, check, since), check


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
        assert health(world, "position") is Health.CRITICAL
        assert expired(reason(world, "position")) == lost


def test_a_topic_that_was_denied_for_a_while_is_no_alarm() -> None:
    with running("a") as world:
        since = world.schedule.elapsed
        world.source.denied.add("a")
        world.run(10 * MINUTE)
        world.source.denied.clear()
        world.run(10 * MINUTE)
        for check in ("position", "skips"):
            assert health(world, check) is Health.OK, reason(world, check)
            assert Health.CRITICAL not in healths(world, check, since), check


def test_the_head_of_a_topic_that_is_copied_at_once_is_watched() -> None:
    # It has copies when the agent sees it for the first time.
    settings = MirrorSettings(refresh=10)
    with running("a", mirror=settings, interval=60) as world:
        drop(world, "b", 20)
        world.run(2)  # past a look
        world.source.create("b", 1)
        world.produce("b", 0, 50)
        world.run(10 * MINUTE)
        assert world.oracle.lost() == 20
        assert health(world, "skips") is Health.CRITICAL
        assert "20 records of b" in reason(world, "skips")


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
        assert world.oracle.lost() == 5
        assert health(world, "skips") is Health.CRITICAL
        assert "5 records of b" in reason(world, "skips")


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
        assert "100 records of the new topic were never copied" in reason(
            world, "position"
        )
        # They are position's to tell; what is dropped later is not.
        drop(world, "b", 7)
        world.produce("b", 0, 30)
        world.run(10 * MINUTE)
        assert health(world, "skips") is Health.CRITICAL
        assert "7 records of b" in reason(world, "skips")


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
        told = set(healths(world, "skips", since))
        assert told <= {Health.OK, Health.UNKNOWN}, reason(world, "skips")
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
        assert world.oracle.lost() == 20
        assert health(world, "skips") is Health.CRITICAL
        assert "20 records of b" in reason(world, "skips")


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
        assert world.oracle.lost() == 20
        assert health(world, "skips") is Health.CRITICAL
        assert "20 records of b" in reason(world, "skips")
