"""Random logs with what a mirror made of them by three nights."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

from .collisions import LONG, cancelled
from .logs import Record, millis

__all__ = ["KINDS", "ThreeNights", "three_nights"]

KINDS = ("plain", "odd", "equal", "constant", "stamped", "compacted")
"""Records of their own; with timestamps that no calendar has; equal ones; ones
that never change; timestamps of the target; compacted logs."""

MOST = 24

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

    late: dict[int, int] = field(default_factory=dict)
    """Those of `dropped` that were copied after all, beside what was copied
    before them."""

    owed: int | None = None
    """Before this one a record was doubled, and one that is equal to it is
    dropped from here on."""

    added: int = 0
    """Target records that are no first copies."""

    config_is_old: bool = False
    """Whether the target's topic is said to keep timestamps, though it did
    not when its records were written."""

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
        """Return the source offsets of newest records that were dropped.

        That of a tombstone is no loss where the key is not there anyway.
        """
        newest = {r.key: n for n, r in enumerate(self.source)}
        gone = self.removed.get("target", ())
        there = {r.key for n, r in enumerate(self.target) if n not in gone}
        return {
            n
            for key, n in newest.items()
            if self.source[n].value is not None or key in there
        } & self.dropped


def three_nights(random: Random, kind: str) -> ThreeNights:
    """Return logs of one kind, with their nights."""
    world = ThreeNights(kind)
    world.config_is_old = kind == "stamped" and random.random() < 0.5
    count = random.randrange(MOST)
    world.source = [_record(random, kind, n) for n in range(count)]
    faulty = random.choice((0.0, 0.1, 0.3))
    copied = [0]
    # Early, so that an earlier night tells it before one like it is dropped.
    doubled = None
    if kind in ("equal", "constant") and random.random() < 0.5:
        doubled = random.randrange(max(1, count // 3))
    for number in range(count):
        deed = "copy"
        if random.random() < faulty:
            deed = random.choice(
                ("drop", "double", "alter", "add", "kill", "late")
            )
        if number == doubled:
            deed = "double"
        elif _is_due(world, number):
            deed = "drop"
        _copy(world, random, number, deed)
        copied.append(len(world.target))
    world.late = {n: at for n, at in world.late.items() if at < count}
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
        if random.random() < 0.3:
            return Record(key=key, value=None, timestamp=at)
    if kind == "plain" and random.random() < 0.3:
        own = bytes([number]) + LONG[1:]
    return Record(
        key=key, value=random.choice(values) if alike else own, timestamp=at
    )


def _is_due(world: ThreeNights, number: int) -> bool:
    """Return whether this record is equal to one that was doubled long enough
    ago that an earlier night may have told it.
    """
    if world.owed is None or number < world.owed + 4:
        return False
    if world.source[number] != world.source[world.owed]:
        return False
    world.owed = None
    return True


def _altered(random: Random, record: Record) -> Record:
    if record.value is not None and len(record.value) == len(LONG):
        # So that one hash of its bytes does not tell.
        return replace(
            record, value=cancelled(record.value, random.choice((1, -1)))
        )
    return replace(record, value=b"!%d" % random.randrange(10**9))


def _copy(world: ThreeNights, random: Random, number: int, deed: str) -> None:
    if world.kind == "compacted" and deed != "copy":
        # Of what else befalls a key the newest record hides most.
        deed = "drop"
    if deed == "late" and world.kind not in ("plain", "odd"):
        deed = "drop"
    record = world.source[number]
    strange = Record(
        value=b"?%d" % random.randrange(10**9), timestamp=millis(1)
    )
    altered = _altered(random, record)
    if deed == "double" and world.kind in ("equal", "constant"):
        world.owed = number
    copies = {
        "drop": [],
        "late": [],
        "double": [record, record],
        "alter": [altered],
        "add": [record, strange],
    }.get(deed, [record])
    if deed in ("drop", "alter", "late"):
        world.dropped.add(number)
    if deed == "late":
        world.late[number] = number + random.randint(1, 9)
    copies = copies + [
        world.source[n] for n, after in world.late.items() if after == number
    ]
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
    # A mirror without lag, and cuts at the same record: only then is one of
    # equal records that is too many told at once, and not left to the next.
    calm = world.kind in ("equal", "constant") and random.random() < 0.5
    cuts, position = [(0, 0)], 0
    for night, end in enumerate((*seen, count)):
        last = night == len(seen)
        position = end if last or calm else random.randint(position, end)
        there = copied[position]
        cut = (end, there)
        by_syncs = world.kind == "stamped" and not world.config_is_old
        if (by_syncs or calm or world.kind == "compacted") and not last:
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
                "timestamps": not by_syncs,
                "compacted": world.kind == "compacted",
            }
        )
        cuts.append(cut)


def _compact(world: ThreeNights, random: Random) -> None:
    """Remove what a newer record replaced that the first night could see, and
    tombstones with all that they deleted.
    """
    first = world.nights[0]
    cut = {side: first[side][1] for side in ("source", "target")}
    for side, log, (_, end) in zip(
        ("source", "target"),
        (world.source, world.target),
        first["retained"],
        strict=True,
    ):
        newest = {log[n].key: n for n in range(end)}
        # Both sites had time to see a tombstone before either removes it.
        deleted = {
            key
            for key, n in newest.items()
            if log[n].value is None
            and n < cut[side]
            and not _is_dropped(world, log[n])
            and random.random() < 0.5
        }
        world.removed[side] = {
            n
            for n in range(end)
            if log[n].key in deleted
            or (n != newest[log[n].key] and random.random() < 0.5)
        }


def _is_dropped(world: ThreeNights, record: Record) -> bool:
    return any(world.source[n] == record for n in world.dropped)
