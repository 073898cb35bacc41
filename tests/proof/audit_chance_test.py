"""Three nights of random logs, against what plain lists tell.

Spark takes seconds for one audit, and no longer for hundreds of topics: so a
seed is three nights of many topics, of every kind.
"""

import os
from collections.abc import Iterator
from random import Random

import pytest
from pyspark.sql import SparkSession

from tests.support.audit_spark import SPARK, Audited, Cases, small_spark
from tests.support.three_nights import KINDS, ThreeNights, three_nights

pytestmark = [*SPARK, pytest.mark.long, pytest.mark.timeout(3600)]

SEEDS = range(
    int(os.environ.get("MIRRORWATCH_AUDIT_FIRST_SEED", "0")),
    int(os.environ.get("MIRRORWATCH_AUDIT_FIRST_SEED", "0"))
    + int(os.environ.get("MIRRORWATCH_AUDIT_SEEDS", "5")),
)
"""Each is 20 worlds of each of six kinds."""

WORLDS = 20


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    with small_spark() as session:
        yield session


def offsets(nights: list[Audited], topic: str, kinds: set[str]) -> list[int]:
    """Return the source offsets of some kinds of findings, of all nights."""
    return [
        n
        for night in nights
        for finding in night.findings(topic)
        if finding.kind in kinds
        for first, last in finding.source_offsets
        for n in range(first, last + 1)
    ]


def counted(nights: list[Audited], topic: str, kinds: set[str]) -> int:
    return sum(
        finding.count
        for night in nights
        for finding in night.findings(topic)
        if finding.kind in kinds
    )


MISSING, SURPLUS = (
    {"dropped", "corrupted"},
    {"duplicated", "extra", "corrupted"},
)


def wrong(nights: list[Audited], topic: str, world: ThreeNights) -> str:
    """Return what an audit said that is not so; nothing if all is."""
    if any(night.unverifiable(topic) for night in nights):
        return "unverifiable"
    named = offsets(nights, topic, MISSING)
    if world.kind == "compacted":
        return wrong_of_keys(nights, topic, world)
    missing = counted(nights, topic, MISSING)
    surplus = counted(nights, topic, SURPLUS)
    least = world.least()
    if world.kind in ("equal", "constant"):
        most = len(world.dropped), world.added
        fits = all(
            low <= found <= high
            for low, found, high in zip(
                least, (missing, surplus), most, strict=True
            )
        )
        # A later copy may make good a loss that was reported, but what was
        # reported as one too many must not excuse a later loss.
        fits &= missing - surplus >= len(world.source) - len(world.target)
        return "" if fits else f"{missing}, {surplus} of {least} to {most}"
    sides = zip(*(night.counts(topic) for night in nights), strict=True)
    said = (sorted(named), missing, surplus, *(sum(side) for side in sides))
    whole = len(world.source), len(world.target)
    true = (sorted(world.dropped), *least, *whole)
    return "" if said == true else f"{said}, and not {true}"


def wrong_of_keys(
    nights: list[Audited], topic: str, world: ThreeNights
) -> str:
    """Return what is not so of a compacted log: what a newer record of a key
    replaced may be told as lost, or not. An old one that the source has
    removed may be told as the altered newest one.
    """
    named = {*offsets(nights, topic, MISSING)}
    if (
        counted(nights, topic, {"duplicated", "extra"})
        or not named <= world.dropped
    ):
        return f"falsely {named}"
    return "" if world.lost_keys() <= named else f"only {named}"


@pytest.mark.parametrize(
    "seed",
    SEEDS,
    ids=lambda seed: f"seed-{seed}-of-{WORLDS * len(KINDS)}-worlds",
)
def test_three_nights_find_what_a_plain_reading_finds(
    spark: SparkSession, seed: int
) -> None:
    random = Random(seed)  # noqa: S311 - chance that can be had again
    cases = Cases()
    worlds: dict[str, ThreeNights] = {}
    for number in range(WORLDS * len(KINDS)):
        world = three_nights(random, KINDS[number % len(KINDS)])
        topic = cases.add(
            f"{world.kind}.{number}",
            world.source,
            world.target,
            *world.nights,
            removed=world.removed,
        )
        worlds[topic] = world
    nights = cases.audit(spark)
    failed = {
        topic: (said, world)
        for topic, world in worlds.items()
        if (said := wrong(nights, topic, world)) or nights[-1].carry(topic)
    }
    assert not failed, "\n".join(
        f"{topic}: {said}\n{world}" for topic, (said, world) in failed.items()
    )
