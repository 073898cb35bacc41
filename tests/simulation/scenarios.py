"""What the scenarios of all checks have in common."""

import struct
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from mirrorwatch.domain.copies.pair import EventKind
from mirrorwatch.domain.report import Health
from mirrorwatch.domain.skips.model import SkipsObservation
from tests.simulation.cluster import Kind, Log, Record
from tests.simulation.mirrormaker import MirrorSettings
from tests.simulation.world import World

__all__ = [
    "EXPIRED",
    "HOUR",
    "MINUTE",
    "OFFSETS",
    "SYNCS",
    "codes",
    "drop",
    "drop_thirds",
    "expect_dropped",
    "expired",
    "filtered_flow",
    "health",
    "healths",
    "late_sync",
    "looking_each_second",
    "lose_both",
    "lose_copies",
    "move",
    "named",
    "proof",
    "reason",
    "restart",
    "running",
    "told",
    "transact",
]

MINUTE, HOUR = 60.0, 3600.0

EXPIRED = "position.expired-unread"

OFFSETS, SYNCS = "mm2-offsets.summit.internal", "mm2-offset-syncs.ldf.internal"


def proof(value: object) -> object:
    """Return a value that is tried by `make night` alone: another one of the
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


def codes(world: World, check: str) -> set[str]:
    """Return the codes of a check's findings."""
    return {*world.agent.verdicts[check].codes}


def told(
    world: World, code: str, topic: str = "a", number: str = "records"
) -> int:
    """Return a number of the finding of a code and topic; 0 without one."""
    return sum(
        int(finding.numbers.get(number) or 0)
        for finding in world.agent.verdicts[code.partition(".")[0]].findings
        if finding.code == code and finding.subject.get("topic") == topic
    )


def named(world: World, kind: EventKind) -> list[tuple[int, int]]:
    """Return the ranges of source offsets, last ones included, of all that
    skips found of a kind.
    """
    (seen,) = (
        found
        for found in world.agent.observations
        if isinstance(found, SkipsObservation)
    )
    return [
        each
        for event, _ in seen.events
        if event.kind is kind
        for each in event.ranges
    ]


def expired(world: World, topic: str = "a") -> tuple[int, int]:
    """Return how many records of a topic are said to have expired unread, and
    at most how many more.
    """
    most = told(world, EXPIRED, topic, "records_at_most")
    return told(world, EXPIRED, topic), most


def expect_dropped(world: World, topic: str, count: int) -> None:
    """Make sure that so many records are lost, and told to be dropped."""
    assert world.oracle.lost() == count
    assert health(world, "skips") is Health.CRITICAL
    assert told(world, "skips.dropped", topic) == count


def late_sync(
    world: World, topic: str, upstream: int, downstream: int
) -> None:
    """Write an offset sync that MirrorMaker held back."""
    name = topic.encode()
    key = struct.pack(f">h{len(name)}si", len(name), name, 0)
    pair = struct.pack(">qq", upstream, downstream)
    world.source.append(SYNCS, 0, pair, key)


def lose_copies(world: World, topic: str, count: int) -> None:
    """Truncate the target's log of a topic's partition 0 by so many."""
    log = world.target.log(world.remote(topic), 0)
    assert log is not None
    world.oracle.uncopy(log.truncate(log.end - count))


def lose_both(world: World, topic: str, there: int, here: int) -> int:
    """Truncate both logs of a topic's partition 0; return the end before."""
    log = world.source.log(topic, 0)
    assert log is not None
    end = log.end
    log.truncate(end - there)
    lose_copies(world, topic, here)
    return end


def drop(world: World, topic: str, count: int) -> None:
    """Let a transform drop the next records of a topic's partition 0."""
    left = [count]

    def drops(name: str, partition: int, _: Record) -> bool:
        if name == topic and partition == 0 and left[0]:
            left[0] -= 1
            return True
        return False

    world.mirror.drops = drops


def move(world: World, topic: str, to: int) -> None:
    """Let one record of a topic be copied to another partition."""
    left = [1]

    def to_log(name: str, copies: Log, _: Record) -> Log:
        other = world.target.log(world.remote(topic), to)
        if name == topic and left[0] and other not in {None, copies}:
            left[0] = 0
            assert other is not None
            return other
        return copies

    # A transform does that; no other record is touched.
    vars(world.mirror)["_to_log"] = to_log


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


def transact(world: World, topic: str, records: int) -> None:
    """Write a committed transaction: its marker is the last offset."""
    log = world.source.log(topic, 0)
    assert log is not None
    now = world.source.milliseconds()
    for _ in range(records):
        log.append(Record(None, b"in a transaction", now))
    log.append(Record(None, None, now, Kind.MARKER))
