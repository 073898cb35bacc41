"""Random logs, and what a mirror with faults makes of them."""

from dataclasses import dataclass, replace
from random import Random

from .logs import Record, millis

__all__ = ["Mirrored", "mirrored"]

_VALUES = (None, b"", b"0", b"1", b"\x00")
_HEADERS = (
    None,
    (("a", b""),),
    (("a", None),),
    (("a", b"1"), ("a", b"2")),
)


@dataclass(frozen=True)
class Mirrored:
    """Both logs, and how long the target's was after each source record."""

    source: list[Record]
    target: list[Record]
    copied: list[int]


def mirrored(random: Random, *, twins: bool) -> Mirrored:
    """Return logs of up to twenty records.

    Parameters
    ----------
    random
        Where chance comes from.
    twins
        Whether equal records are likely.
    """
    source = [_record(random, n, twins) for n in range(random.randrange(20))]
    faulty = random.choice((0.0, 0.1, 0.4))
    target: list[Record] = []
    copied = [0]
    for number, record in enumerate(source):
        fault = random.random() < faulty
        deed = random.choice(["drop", "double", "alter", "add", "repeat"])
        target += _copies(random, record, deed) if fault else [record]
        if fault and deed == "repeat":
            # What was lost is lost again, as by a filter; what came late
            # is found elsewhere.
            again = source[random.randrange(number + 1) : number + 1]
            target += [record for record in again if record in target]
        copied.append(len(target))
    return Mirrored(source, target, copied)


def _record(random: Random, number: int, twins: bool) -> Record:
    value = random.choice(_VALUES)
    if not twins:
        value = b"%d %s" % (number, value or b"")
    out_of_order = random.choice((0, 0, 0, 5000))
    return Record(
        key=random.choice((None, b"", b"k")),
        value=value,
        headers=random.choice(_HEADERS),
        timestamp=millis(9999 - (0 if twins else number) - out_of_order),
    )


def _copies(random: Random, record: Record, deed: str) -> list[Record]:
    strange = Record(
        value=b"?%d" % random.randrange(10**9), timestamp=millis(1)
    )
    altered = replace(record, value=b"!%d" % random.randrange(10**9))
    return {
        "drop": [],
        "double": [record, record],
        "alter": [altered],
        "add": [record, strange],
        "repeat": [record],
    }[deed]
