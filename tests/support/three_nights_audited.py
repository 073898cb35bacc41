"""Audits of worlds of three nights, and what in them is not so."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from random import Random

from pyspark.sql import SparkSession

from mirrorwatch_audit.digest.records import SIDES

from .audit_site import Site
from .audit_spark import Audited
from .logs import make_pair
from .three_nights import KINDS, ThreeNights, three_nights

__all__ = ["audited", "failures", "worlds_of", "wrong"]

WORLDS = 20


def worlds_of(
    seed: int, kinds: Sequence[str] = KINDS
) -> dict[str, ThreeNights]:
    """Return the worlds of a seed, by their topics: as many, if they are of
    some kinds only.
    """
    random = Random(seed)  # noqa: S311 - chance that can be had again
    found = {}
    for number in range(WORLDS * len(KINDS)):
        world = three_nights(random, kinds[number % len(kinds)])
        found[f"{world.kind}.{number}"] = world
    return found


def audited(
    spark: SparkSession, folder: Path, worlds: Mapping[str, ThreeNights]
) -> list[Audited]:
    """Run the three nights of worlds, as the command runs them: each goes on
    from what the one before kept.
    """
    site = Site(spark, folder)
    for topic, world in worlds.items():
        logs = {"source": world.source, "target": world.target}
        for side in SIDES:
            site.logs.write(side, logs[side], topic=topic)
            site.logs.remove(side, world.removed.get(side, ()), topic=topic)
    nights = []
    for number in range(3):
        site.days = number
        site.pairs = tuple(
            make_pair(**world.nights[number], topic=topic)
            for topic, world in worlds.items()
        )
        result = site.night().result
        carry = site.store.carry(result.id)
        assert carry is not None
        nights.append(Audited(result, carry))
    return nights


def failures(
    nights: list[Audited], worlds: Mapping[str, ThreeNights]
) -> dict[str, str]:
    """Return what an audit said that is not so, by topic."""
    return {
        topic: said or f"left {nights[-1].carry(topic)}"
        for topic, world in worlds.items()
        if (said := wrong(nights, topic, world)) or nights[-1].carry(topic)
    }


def _offsets(nights: list[Audited], topic: str, kinds: set[str]) -> list[int]:
    return [
        n
        for night in nights
        for finding in night.findings(topic)
        if finding.kind in kinds
        for first, last in finding.source_offsets
        for n in range(first, last + 1)
    ]


def _counted(nights: list[Audited], topic: str, kinds: set[str]) -> int:
    return sum(
        finding.count
        for night in nights
        for finding in night.findings(topic)
        if finding.kind in kinds
    )


_MISSING, _SURPLUS = (
    {"dropped", "corrupted"},
    {"duplicated", "extra", "corrupted"},
)


def wrong(nights: list[Audited], topic: str, world: ThreeNights) -> str:
    """Return what an audit said that is not so; nothing if all is."""
    if any(night.unverifiable(topic) for night in nights):
        return "unverifiable"
    named = _offsets(nights, topic, _MISSING)
    if world.kind == "compacted":
        return _wrong_of_keys(nights, topic, world)
    missing = _counted(nights, topic, _MISSING)
    surplus = _counted(nights, topic, _SURPLUS)
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
    # Told before its copy came: then that is neither too many nor counted.
    told = {*named} & {*world.late}
    sides = zip(*(night.counts(topic) for night in nights), strict=True)
    said = (sorted(named), missing, surplus, *(sum(side) for side in sides))
    never = world.dropped - {*world.late}
    whole = len(world.source), len(world.target) - len(told)
    true = (sorted(never | told), len(never | told), least[1], *whole)
    return "" if said == true else f"{said}, and not {true}"


def _wrong_of_keys(
    nights: list[Audited], topic: str, world: ThreeNights
) -> str:
    """Return what is not so of a compacted log: what a newer record of a key
    replaced may be told as lost, or not. An old one that the source has
    removed may be told as the altered newest one.
    """
    named = {*_offsets(nights, topic, _MISSING)}
    if (
        _counted(nights, topic, {"duplicated", "extra"})
        or not named <= world.dropped
    ):
        return f"falsely {named}"
    return "" if world.lost_keys() <= named else f"only {named}"
