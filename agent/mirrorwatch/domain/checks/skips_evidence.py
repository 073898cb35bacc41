"""What the check ``skips`` shows beside its verdict."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime

from ..conservation import Happening, Kind
from ..skips import SkipsObservation
from ..verdicts import Evidence

__all__ = ["place_of", "show_skips"]

_RANGES_SHOWN = 3
_PLACES_SHOWN = 10

_LOSSES = {Kind.SKIPPED, Kind.HEAD, Kind.TAIL}


def show_skips(seen: SkipsObservation | None, since: datetime) -> Evidence:
    """Return the counters of all topics, and the newest places.

    Parameters
    ----------
    seen
        What is in the books.
    since
        From when on repeats, and what cannot be verified, are named.
    """
    if seen is None:
        return {}
    tallies = [tally for _, tally in seen.tallies]
    lost = [(x, n) for x, n in seen.happenings if x.kind in _LOSSES and n]
    recent = [(x, x.count) for x, _ in seen.happenings if x.at >= since]
    repeats = [(x, n) for x, n in recent if x.kind is Kind.REPEATED]
    doubts = [(x, n) for x, n in recent if x.kind is Kind.UNVERIFIABLE]
    suspected = [
        f"{s.count} of "
        + place_of(s.topic, s.partition, [(s.first, s.end - 1)])
        for s in seen.suspicions
    ]
    return {
        "skipped_records": sum(t.skipped for t in tallies),
        "recovered_records": sum(t.recovered for t in tallies),
        "repeated_records": sum(t.repeated for t in tallies),
        "unverifiable_offsets": sum(t.unverifiable for t in tallies),
        "compacted_offsets": sum(t.compacted for t in tallies),
        "suspected_records": sum(s.count for s in seen.suspicions),
        "partitions": seen.partitions,
        **dict(_number("skip", _places(lost))),
        **dict(_number("suspected", suspected)),
        **dict(_number("unverifiable", _places(doubts))),
        **dict(_number("repeat", _places(repeats))),
    }


def place_of(
    topic: str, partition: int, ranges: Sequence[tuple[int, int]]
) -> str:
    """Return topic, partition and source offsets, as a person reads them."""
    shown = ranges[-_RANGES_SHOWN:]
    names = ", ".join(f"{a} to {b}" if a != b else str(a) for a, b in shown)
    more = " and others" if len(ranges) > len(shown) else ""
    return f"{topic} partition {partition} (source offsets {names}{more})"


def _places(happenings: Iterable[tuple[Happening, int]]) -> list[str]:
    return [
        f"{count} of {place_of(x.topic, x.partition, x.ranges)}"
        for x, count in happenings
    ]


def _number(what: str, places: Sequence[str]) -> Iterator[tuple[str, str]]:
    newest = places[-_PLACES_SHOWN:]
    for number, place in enumerate(newest, start=1):
        yield f"{what}_{number}", place
