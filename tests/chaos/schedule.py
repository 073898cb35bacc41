"""Which fault comes when: the same seed gives the same schedule."""

import random
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

__all__ = ["Kind", "Step", "draw"]


class Kind(StrEnum):
    """A fault that the lab can inject."""

    KILL_MIRROR = "kill mirror"
    FREEZE_MIRROR = "freeze mirror"
    STOP_MIRROR = "stop mirror"
    KILL_SOURCE = "kill source"
    FREEZE_SOURCE = "freeze source"
    KILL_TARGET = "kill target"
    FREEZE_TARGET = "freeze target"
    CUT_MIRROR = "cut mirror's link"
    STALL_MIRROR = "stall mirror's link"
    CUT_AGENT = "cut agent's link"
    STALL_AGENT = "stall agent's link"
    KILL_INFLUX = "kill InfluxDB"
    FREEZE_INFLUX = "freeze InfluxDB"
    KILL_AGENT = "kill agent"
    FREEZE_AGENT = "freeze agent"
    EXPIRE = "expire all records"
    DELETE = "expire some records"
    LOSE_PROBES = "expire probes"
    RECREATE_SHORTER = "recreate source topic, shorter"
    RECREATE_LONGER = "recreate source topic, longer"
    RECREATE_TARGET = "recreate target topic"
    GROW = "add a partition"
    CREATE = "create a topic"
    DROP = "drop records"
    DROP_TAIL = "drop last records"


BESIDE = (
    Kind.KILL_AGENT,
    Kind.FREEZE_AGENT,
    Kind.KILL_INFLUX,
    Kind.CUT_AGENT,
)
"""What may come on top of another fault. The agent is twice among them: what
it must not forget while it is down is where most was wrong once."""

AGENT = frozenset({Kind.KILL_AGENT, Kind.FREEZE_AGENT})
INFLUX = frozenset({Kind.KILL_INFLUX, Kind.FREEZE_INFLUX})
LINK = frozenset({Kind.CUT_AGENT, Kind.STALL_AGENT})

SHARE = 0.3
"""How many faults have a second one on top."""

SECONDS = (25, 36)
"""How long a part is away: long enough for every check that is to notice."""

BRIEF_SECONDS = (6, 12)


@dataclass(frozen=True, kw_only=True, slots=True)
class Step:
    """One fault, and perhaps a second one on top."""

    number: int
    kind: Kind
    seconds: int
    """How long it lasts, at least."""

    amount: int
    """How many records it concerns, where it chooses."""

    crash: bool
    beside: Kind | None
    beside_seconds: int

    def __str__(self) -> str:
        on_top = (
            f" + {self.beside} for {self.beside_seconds} s"
            if self.beside
            else ""
        )
        return f"{self.kind} for {self.seconds} s{on_top}"


def draw(seed: int) -> Iterator[Step]:
    """Yield steps without end: all kinds in some order, then again."""
    chance = random.Random(seed)  # noqa: S311 - a seed is the point
    number = 0
    while True:
        deck = list(Kind)
        chance.shuffle(deck)
        for kind in deck:
            number += 1
            others = [k for k in BESIDE if not _same_part(k, kind)]
            beside, has_beside = chance.choice(others), chance.random() < SHARE
            step = Step(
                number=number,
                kind=kind,
                seconds=chance.randint(*SECONDS),
                amount=chance.randint(5, 60),
                crash=chance.random() < 0.5,
                beside=beside if has_beside else None,
                beside_seconds=chance.randint(*BRIEF_SECONDS),
            )
            yield step


def _same_part(one: Kind, other: Kind) -> bool:
    return one is other or any(
        {one, other} <= part for part in (AGENT, INFLUX, LINK)
    )
