"""Random logs with what a mirror made of them by three nights."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

from .logs import Record, millis

__all__ = ["KINDS", "ThreeNights", "three_nights"]

KINDS = ("plain", "odd", "equal", "constant", "stamped", "compacted")
"""Records of their own; with timestamps that no calendar has; equal ones; ones
that never change; timestamps of the target; compacted logs."""

MOST = 24
"""Most records of a log."""

ODD = (0, -1, 1_764_000_000_000_000, 9_000_000_000_000_000)
"""Timestamps that producers wrote: the first moment, none, microseconds, and
the last thousand years that Spark knows."""


@dataclass(repr=False)
class ThreeNights:
    """Both logs, what was planned each night, and what went wrong."""

    kind: str
    source: list[Record] = field(default_factory=list)
    target: list[Record] = field(default_factory=list)
    nights: list[dict[str, Any]] = field(default_factory=list)
    removed: dict[str, set[int]] = field(default_factory=dict)
    """What compaction took away, by side."""

    def __repr__(self) -> str:
        def shown(log: Sequence[Record]) -> str:
            return " ".join(
                f"{n}:{r.key!r}{r.value!r}@{r.timestamp % 10**8}"
                for n, r in enumerate(log)
            )

        nights = "\n  ".join(
            str({k: v for k, v in night.items() if not isinstance(v, bool)})
            for night in self.nights
        )
        return (
            f" source {shown(self.source)}\n target {shown(self.target)}\n"
            f"  {nights}\n removed {self.removed} dropped {self.dropped}"
        )

    dropped: set[int] = field(default_factory=set)
    """Source offsets that were not copied, or copied altered."""

    added: int = 0
    """Target records that are no first copies."""

    def least(self) -> tuple[int, int]:
        """Return how many records are missing and too many, all in all."""
        logs = [
            Counter(
                replace(r, timestamp=0) if self.kind == "stamped" else r
                for r in log
            )
            for log in (self.source, self.target)
        ]
        source, target = logs
        return (source - target).total(), (target - source).total()

    def lost_keys(self) -> set[int]:
        """Return the source offsets of newest records that were dropped."""
        newest = {r.key: n for n, r in enumerate(self.source)}
        return {*newest.values()} & self.dropped


def three_nights(random: Random, kind: str) -> ThreeNights:
    """Return logs of one kind, with their nights."""
    world = ThreeNights(kind)
    count = random.randrange(MOST)
    world.source = [_record(random, kind, n) for n in range(count)]
    faulty = random.choice((0.0, 0.1, 0.3))
    copied = [0]
    for number in range(count):
        deed = "copy"
        if random.random() < faulty:
            deed = random.choice(("drop", "double", "alter", "add", "kill"))
        _copy(world, random, number, deed)
        copied.append(len(world.target))
    _plan(world, random, copied)
    if kind == "compacted":
        _compact(world, random)
    return world


def _record(random: Random, kind: str, number: int) -> Record:
    own = b"%d" % number
    values = (b"0",) if kind == "constant" else (b"0", b"1", b"", None)
    alike = kind in ("equal", "constant")
    at = millis(9999 - (0 if alike else number) - random.choice((0, 0, 5000)))
    if kind == "constant":
        at = millis(0)
    if kind == "odd" and random.random() < 0.3:
        at = random.choice(ODD)
    key = None if alike else random.choice((None, b"", b"k"))
    if kind == "compacted":
        key = random.choice((b"a", b"b", b"c"))
    return Record(
        key=key, value=random.choice(values) if alike else own, timestamp=at
    )


def _copy(world: ThreeNights, random: Random, number: int, deed: str) -> None:
    if world.kind == "compacted" and deed != "copy":
        # Of what else befalls a key the newest record hides most.
        deed = "drop"
    record = world.source[number]
    strange = Record(
        value=b"?%d" % random.randrange(10**9), timestamp=millis(1)
    )
    altered = replace(record, value=b"!%d" % random.randrange(10**9))
    copies = {
        "drop": [],
        "double": [record, record],
        "alter": [altered],
        "add": [record, strange],
    }.get(deed, [record])
    if deed in ("drop", "alter"):
        world.dropped.add(number)
    world.added += {"double": 1, "alter": 1, "add": 1}.get(deed, 0)
    if deed == "kill":
        # It goes on from what it had committed; a filter drops again.
        first = random.randrange(number + 1)
        again = [
            world.source[n]
            for n in range(first, number + 1)
            if n not in world.dropped
        ]
        world.added += len(again)
        copies = copies + again
    if world.kind == "stamped":
        now = millis(9000 - number)
        copies = [replace(r, timestamp=now, appended=True) for r in copies]
    world.target += copies


def _plan(world: ThreeNights, random: Random, copied: Sequence[int]) -> None:
    count = len(world.source)
    seen = sorted(random.randint(0, count) for _ in range(2))
    cuts, position = [(0, 0)], 0
    for night, end in enumerate((*seen, count)):
        last = night == len(seen)
        position = end if last else random.randint(position, end)
        there = copied[position]
        cut = (end, there)
        if world.kind in ("stamped", "compacted") and not last:
            # By offset syncs.
            at = random.randint(cuts[-1][0], position)
            cut = (at, copied[at])
        elif not last:
            cut = (
                random.randint(cuts[-1][0], end),
                random.randint(min(cuts[-1][1], there), there),
            )
        cut = (cut[0], max(cut[1], cuts[-1][1]))
        there = max(there, cut[1])
        world.nights.append(
            {
                "source": (cuts[-1][0], cut[0]),
                "target": (cuts[-1][1], cut[1]),
                "retained": ((0, end), (0, there)),
                "position": position,
                "timestamps": world.kind != "stamped",
                "compacted": world.kind == "compacted",
                "exact_start": len(cuts) > 1,
            }
        )
        cuts.append(cut)


def _compact(world: ThreeNights, random: Random) -> None:
    """Remove what a newer record replaced that the first night could see."""
    first = world.nights[0]["retained"]
    for side, log, (_, end) in zip(
        ("source", "target"), (world.source, world.target), first, strict=True
    ):
        newest = {log[n].key: n for n in range(end)}
        world.removed[side] = {
            n
            for n in range(end)
            if n != newest[log[n].key] and random.random() < 0.5
        }
