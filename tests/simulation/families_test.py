"""Mirrors of each family in simulated worlds: a clean one, and lossy ones."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from mirrorwatch.domain.report import Health
from tests.simulation.episodes import Step, do
from tests.simulation.families import FAMILIES, KEPT_MIRUS
from tests.simulation.mirrormaker import MirrorSettings
from tests.simulation.world import World

MINUTE = 60.0

pytestmark = pytest.mark.slow

OTHERS = [kind for kind in FAMILIES if kind != "mirrormaker2"]

BY_TOPIC = ["mirrormaker1", "brooklin", "group", "mirus"]
"""Mirrors of which both sides of a topic are compared while it rests."""

BY_COPIES = ["opaque", "redpanda-migrator", KEPT_MIRUS]
"""Mirrors whose newest copies show what they skip."""

KEPT = {"linked", *BY_COPIES}
"""Mirrors that keep the partition of a record."""

CHECKS = ("lag", "retention", "position", "skips", "topics", "tasks")


@contextmanager
def running(kind: str, **more: Any) -> Iterator[World]:
    """A world in which all is well, and whose producers rest."""
    # Mirus goes on at the log's end, if it is not told otherwise.
    more = {"earliest": kind in {"mirus", KEPT_MIRUS}} | more
    settings = MirrorSettings(
        emits_syncs=False, keeps_partitions=kind in KEPT, **more
    )
    with World(
        1,
        kind=kind,
        mirror=settings,
        flow={"canary": {"enabled": False}},
        interval=30,
    ) as world:
        # Whether copies prove that partitions are kept, they do not at once.
        world.source.create("a", 1 if kind in BY_COPIES else 2)
        world.traffic("a", per_second=1)
        world.mirror.start()
        world.agent.start()
        world.run(3 * MINUTE)
        rest(world)
        yield world


def rest(world: World) -> None:
    """Let producers write nothing until both sides are compared."""
    world.quiet = True
    world.run(6 * MINUTE)
    world.quiet = False


def drop(world: World, count: int) -> None:
    """Let the mirror leave out its next records of a partition."""
    left = [count]

    def drops(name: str, partition: int, _: object) -> bool:
        del name
        if partition or not left[0]:
            return False
        left[0] -= 1
        return True

    world.mirror.drops = drops


def expire_unread(world: World, *, seen: bool = True) -> int:
    """Let records expire while the mirror is down; return how many."""
    world.mirror.stop()
    world.produce("a", 0, 100)
    world.run(2 * MINUTE)
    if not seen:
        world.agent.kill()
    before = world.oracle.lost()
    world.expire("a", 0, 30)
    if seen:
        world.run(8 * MINUTE)
    return world.oracle.lost() - before


def health(world: World, check: str) -> Health | None:
    return world.agent.health(check)


def reason(world: World, check: str) -> str:
    return world.agent.verdicts[check].reason


@pytest.mark.parametrize("hides", [True, False])
@pytest.mark.parametrize("kind", BY_COPIES)
def test_a_record_of_others_hides_no_drop_while_the_source_is_away(
    kind: str, hides: bool
) -> None:
    with running(kind) as world:
        world.run(MINUTE)
        world.source.reachable = False
        world.run(20)
        if hides:
            drop(world, 1)
            world.run(MINUTE)
            world.target.append("a", 0, b"foreign")
        world.run(MINUTE)
        world.source.reachable = True
        world.run(6 * MINUTE)
        assert world.oracle.lost() == hides
        expected = Health.WARNING if hides else Health.OK
        assert health(world, "skips") is expected, reason(world, "skips")


@pytest.mark.parametrize("kind", OTHERS)
def test_a_clean_world_is_silent(kind: str) -> None:
    with running(kind) as world:
        world.run(10 * MINUTE)
        world.mirror.stop()
        world.run(20)
        world.mirror.start()
        world.agent.kill()
        world.run(20)
        world.agent.start()
        world.run(5 * MINUTE)
        rest(world)
        told = [s for s in world.agent.sayings if s.check in CHECKS]
        alarms = {Health.WARNING, Health.CRITICAL}
        assert [s for s in told if s.health in alarms] == []
        assert world.oracle.lost() == world.oracle.repeats == 0
        assert health(world, "lag") is Health.OK
        off = Health.OFF if kind == "linked" else Health.OK
        assert health(world, "skips") is off, reason(world, "skips")


@pytest.mark.parametrize("kind", BY_TOPIC)
def test_what_is_dropped_is_counted_by_topic_at_rest(kind: str) -> None:
    with running(kind) as world:
        drop(world, 7)
        world.run(3 * MINUTE)
        rest(world)
        assert world.oracle.lost() == 7
        assert health(world, "skips") is Health.CRITICAL
        assert "At least 7 records of a are missing" in reason(world, "skips")
        assert health(world, "position") is Health.OK


def test_what_expires_before_it_is_read_cannot_be_verified() -> None:
    with running("mirrormaker1") as world:
        drop(world, 7)
        world.run(MINUTE)
        world.source.throttled.add("a")
        rest(world)
        assert world.oracle.lost() == 7
        assert health(world, "skips") is Health.UNKNOWN
        assert "could not be read to" in reason(world, "skips")
        # It moves on, and so is not compared anew.
        world.quiet = False
        world.run(MINUTE)
        world.expire("a", 0, 0)
        world.source.throttled.discard("a")
        world.run(2 * MINUTE)
        assert health(world, "skips") is Health.WARNING
        assert "7 records of a cannot be verified" in reason(world, "skips")


@pytest.mark.parametrize("kind", BY_COPIES)
def test_what_is_dropped_is_counted_between_newest_copies(kind: str) -> None:
    with running(kind) as world:
        drop(world, 7)
        world.run(5 * MINUTE)
        assert world.oracle.lost() == 7
        assert health(world, "skips") is Health.CRITICAL
        assert "7 records of a partition 0" in reason(world, "skips")


@pytest.mark.parametrize("kind", BY_COPIES)
@pytest.mark.parametrize("committed", [True, False])
def test_aborted_records_that_are_not_copied_are_no_skip(
    committed: bool, kind: str
) -> None:
    # Nothing says how the mirror reads.
    with running(kind, committed=committed) as world:
        do(world, Step(0, "transaction", "a", 0, 1))
        world.run(5 * MINUTE)
        assert world.oracle.lost() == 0
        assert health(world, "skips") is Health.OK, reason(world, "skips")
        drop(world, 3)
        world.run(5 * MINUTE)
        assert health(world, "skips") is Health.CRITICAL
        assert "3 records of a partition 0" in reason(world, "skips")


def test_copies_that_look_alike_prove_nothing() -> None:
    with running("opaque") as world:
        world.quiet = True
        world.run(2 * MINUTE)
        drop(world, 2)
        # Five records that are the same.
        do(world, Step(world.schedule.elapsed, "transaction", "a"))
        world.run(10 * MINUTE)
        assert world.oracle.lost() == 2
        for check in ("lag", "position", "skips"):
            assert health(world, check) is Health.UNKNOWN
            assert "look like its newest copy" in reason(world, check)
        # The next one proves what it is of.
        world.quiet = False
        world.run(5 * MINUTE)
        assert health(world, "lag") is Health.OK
        assert health(world, "skips") is Health.CRITICAL
        assert "2 records of a partition 0" in reason(world, "skips")


@pytest.mark.parametrize("has_headers", [True, False])
def test_headers_or_commits_tell_of_copies_that_look_alike(
    has_headers: bool,
) -> None:
    with running("redpanda-migrator", writes_offsets=has_headers) as world:
        world.quiet = True
        world.run(2 * MINUTE)
        drop(world, 2)
        # Five records that are the same.
        do(world, Step(world.schedule.elapsed, "transaction", "a"))
        world.run(10 * MINUTE)
        assert world.oracle.lost() == 2
        assert health(world, "lag") is Health.OK
        assert health(world, "position") is Health.OK
        assert health(world, "skips") is Health.CRITICAL
        assert "2 records of a partition 0" in reason(world, "skips")
        doubt = str(world.agent.verdicts["skips"].evidence)
        assert ("look like its newest copy" in doubt) is not has_headers


@pytest.mark.parametrize("kind", OTHERS)
def test_what_expires_unread_is_counted(kind: str) -> None:
    with running(kind) as world:
        lost = expire_unread(world)
        assert lost > 70
        assert health(world, "position") is Health.CRITICAL
        told = f"{lost} records expired at summit before"
        assert reason(world, "position").startswith(told)
        world.mirror.start()
        world.run(5 * MINUTE)
        assert world.oracle.lost() == lost
        assert reason(world, "position").startswith(told)


def test_mirus_resumes_at_the_end_and_all_that_it_skipped_is_counted() -> None:
    with running("mirus", earliest=False) as world:
        expired = expire_unread(world)
        assert "resumes at the log end" in reason(world, "position")
        world.mirror.start()
        world.run(2 * MINUTE)
        rest(world)
        lost = world.oracle.lost()
        assert lost > expired
        told = f"{lost} records of a are missing at ldf"
        assert told in reason(world, "position")


def test_copies_show_at_once_what_mirus_skipped_to_the_end() -> None:
    with running(KEPT_MIRUS, earliest=False) as world:
        expired = expire_unread(world)
        assert "resumes at the log end" in reason(world, "position")
        world.mirror.start()
        world.quiet = False
        world.run(5 * MINUTE)
        lost = world.oracle.lost()
        assert lost > expired
        assert reason(world, "position").startswith(f"{lost} records expired")


@pytest.mark.parametrize(
    ("kind", "aborts"),
    [("mirrormaker1", True), ("mirrormaker1", False), ("opaque", True)],
)
def test_what_a_mirror_of_committed_records_leaves_is_no_lag(
    kind: str, aborts: bool
) -> None:
    # Nothing says that it reads so: its position stands for ever.
    with running(kind, committed=True) as world:
        world.quiet = True
        world.run(3 * MINUTE)
        since = world.schedule.elapsed
        do(world, Step(since, "transaction begins", "a"))
        world.run(MINUTE)
        ends = "transaction aborts" if aborts else "transaction commits"
        do(world, Step(since, ends, "a"))
        world.run(20 * MINUTE)
        told = [s for s in world.agent.sayings if s.at > since]
        assert [s for s in told if s.health is Health.CRITICAL] == []
        assert health(world, "lag") is Health.OK, reason(world, "lag")


@pytest.mark.parametrize("kind", BY_COPIES)
@pytest.mark.parametrize("are_read", [True, False])
def test_few_that_expire_just_before_a_mirror_goes_on_are_told(
    are_read: bool, kind: str
) -> None:
    """Where it went on, the first copy after them shows; if nobody reads that,
    since more were copied meanwhile, what expired may be up to the log start.
    """
    with running(kind) as world:
        world.quiet = True
        world.mirror.stop()
        world.produce("a", 0, 20)
        world.run(MINUTE)
        world.expire("a", 0, 15)
        world.produce("a", 0, 0 if are_read else 50)
        world.mirror.start()
        world.run(5 * MINUTE)
        assert world.oracle.lost() == 5
        said = reason(world, "position")
        if are_read:
            assert health(world, "position") is Health.CRITICAL, said
            assert "5 records expired at summit" in said
        else:
            assert health(world, "position") is Health.WARNING, said
            assert "Up to 5 records may have expired" in said


@pytest.mark.parametrize("kind", OTHERS)
def test_what_expires_unseen_is_not_ok(kind: str) -> None:
    with running(kind) as world:
        lost = expire_unread(world, seen=False)
        world.mirror.start()
        world.run(2 * MINUTE)
        world.agent.start()
        rest(world)
        assert lost > 70
        found = [reason(world, c) for c in ("position", "skips")]
        assert any(f"{lost} records" in said for said in found), found
        bad = {health(world, c) for c in ("position", "skips")}
        assert bad & {Health.WARNING, Health.CRITICAL}


SILENT = ["mirrormaker1", "linked", "opaque"]
"""Mirrors that do not say which topics they copy, one of each sort."""

OF_TOPICS = ("lag", "retention", "position", "skips", "topics", "configs")


def all_of(world: World) -> dict[str, Health | None]:
    found = {check: health(world, check) for check in OF_TOPICS}
    return {c: h for c, h in found.items() if h is not Health.OFF}


@pytest.mark.parametrize("kind", SILENT)
def test_of_a_topic_that_is_denied_nothing_is_known(kind: str) -> None:
    with running(kind) as world:
        world.source.denied.add("a")
        for _ in range(2):
            world.run(2 * MINUTE)
            for check, said in all_of(world).items():
                assert said is Health.UNKNOWN, check
                assert "lacks DESCRIBE on topic a at summit" in reason(
                    world, check
                )
            world.agent.kill()
            world.run(5)
            world.agent.start()
        world.source.denied.clear()
        world.run(3 * MINUTE)
        rest(world)
        assert set(all_of(world).values()) == {Health.OK}, world.describe()


@pytest.mark.parametrize("kind", SILENT)
def test_a_topic_that_was_deleted_is_not_denied(kind: str) -> None:
    with running(kind) as world:
        world.source.create("b", 1)
        world.traffic("b", per_second=1)
        world.run(11 * MINUTE)
        since = world.schedule.elapsed
        world.source.delete("a")
        world.run(5 * MINUTE)
        assert [
            s.reason
            for s in world.agent.sayings
            if s.at > since and "lacks DESCRIBE" in s.reason
        ] == []
        assert health(world, "topics") is Health.OK


@pytest.mark.parametrize("chosen", [True, False])
def test_a_topic_that_an_agent_never_saw_is_denied(chosen: bool) -> None:
    """By its name alone, it may be the target's own."""
    flow: dict[str, Any] = {"canary": {"enabled": False}}
    if chosen:
        flow["topics"] = {"include": ["[ab]"]}
    with World(1, kind="mirrormaker1", flow=flow, interval=30) as world:
        for topic in ("a", "b"):
            world.source.create(topic, 1)
            world.traffic(topic, per_second=1)
        world.mirror.start()
        world.run(3 * MINUTE)
        world.source.denied.add("a")
        world.agent.start()
        world.run(3 * MINUTE)
        expected = Health.UNKNOWN if chosen else Health.OK
        assert health(world, "topics") is expected, reason(world, "topics")


@pytest.mark.parametrize("kind", ["mirus", *SILENT])
def test_a_topic_that_the_mirror_may_not_read_has_stopped(kind: str) -> None:
    with running(kind) as world:
        world.source.create("b", 1)
        world.traffic("b", per_second=1)
        world.run(11 * MINUTE)
        world.source.denied_to_mirror.add("a")
        world.run(10 * MINUTE)
        assert health(world, "lag") is Health.CRITICAL
        assert "Replication of a has stopped" in reason(world, "lag")
