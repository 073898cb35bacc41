"""Outcomes, in the words of a result."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from mirrorwatch.domain.audit import (
    Finding,
    FindingKind,
    Lane,
    Side,
    Stated,
    StatedKind,
    Unverifiable,
)

from .lanes import name
from .ranges import OffsetRanges
from .tally import Place, Tally

__all__ = ["FINDINGS", "findings_of", "stated_of", "unverifiable_of"]

FINDINGS: tuple[FindingKind, ...]
FINDINGS = ("dropped", "duplicated", "extra", "corrupted")
"""Outcomes that are wrong."""

_STATED: Mapping[str, StatedKind] = {
    "carried": "carried",
    "settled": "carried",
    "in_flight": "in_flight",
    "compacted": "compacted",
    "aborted": "aborted",
}
"""What outcomes are called that are not wrong."""

_ISOLATION = (
    "how the mirror reads transactions (isolation.level) is not known, or has "
    "changed: see that mirror.topics.configs names the configuration topic of "
    "its Connect workers, and that its connectors are in it"
)

_REASONS = {
    "unknown": (
        "records are missing at the target, and nothing tells how far the "
        "mirror has come: they are lost or on their way"
    ),
    "open": (
        "records are missing at the target, and at the source a transaction "
        "is open before them: they are lost, or will be aborted; "
        f"{_ISOLATION}"
    ),
    "undecided": (
        f"records differ that may be aborted at the source: {_ISOLATION}"
    ),
}
"""Why outcomes cannot be judged."""


def findings_of(
    tallies: Iterable[Tally],
    ranges: Mapping[tuple[Place, Side], OffsetRanges],
    lanes: Iterable[Lane],
) -> tuple[Finding, ...]:
    """Return one finding for each kind on each source partition of a lane.

    Parameters
    ----------
    tallies
        Outcomes.
    ranges
        Where they are.
    lanes
        The lanes they are of.
    """
    known = {name(lane): lane for lane in lanes}
    wrong: dict[Place, list[Tally]] = defaultdict(list)
    for tally in tallies:
        if tally.place[3] in FINDINGS:
            wrong[tally.place].append(tally)
    found = [
        _finding(known[place[0]], place, parts, ranges)
        for place, parts in wrong.items()
    ]
    return tuple(sorted(found, key=_order))


def stated_of(
    tallies: Iterable[Tally], lanes: Iterable[Lane]
) -> tuple[Stated, ...]:
    """Return how many records differ for which known reason."""
    known = {name(lane): lane for lane in lanes}
    counts: Counter[tuple[str, str, int, StatedKind]] = Counter()
    for tally in tallies:
        lane, kind = known[tally.place[0]], _STATED.get(tally.place[3])
        if kind is not None:
            flow, topic = _names(lane, tally.place)
            counts[flow, topic, lane.partition, kind] += tally.count
    return tuple(
        Stated(flow=flow, topic=topic, partition=p, kind=kind, count=count)
        for (flow, topic, p, kind), count in sorted(counts.items())
    )


def unverifiable_of(
    tallies: Iterable[Tally], lanes: Iterable[Lane]
) -> tuple[Unverifiable, ...]:
    """Return what differs, and nobody can say why."""
    known = {name(lane): lane for lane in lanes}
    found = []
    for tally in tallies:
        reason = _REASONS.get(tally.place[3])
        if reason is None:
            continue
        flow, topic = _names(known[tally.place[0]], tally.place)
        found.append(
            Unverifiable(
                flow=flow,
                topic=topic,
                partition=tally.place[0][2],
                reason=reason,
                records=tally.count,
            )
        )
    return tuple(sorted(found, key=lambda x: (x.flow, x.topic, x.partition)))


def _finding(
    lane: Lane,
    place: Place,
    parts: Sequence[Tally],
    ranges: Mapping[tuple[Place, Side], OffsetRanges],
) -> Finding:
    flow, topic = _names(lane, place)
    (kind,) = (kind for kind in FINDINGS if kind == place[3])
    return Finding(
        flow=flow,
        topic=topic,
        partition=lane.partition,
        kind=kind,
        count=sum(part.count for part in parts),
        source_offsets=ranges.get((place, "source"), ()),
        target_offsets=ranges.get((place, "target"), ()),
        start=min(_known(part.start for part in parts), default=None),
        end=max(_known(part.end for part in parts), default=None),
    )


def _known(times: Iterable[datetime | None]) -> list[datetime]:
    return [time for time in times if time is not None]


def _names(lane: Lane, place: Place) -> tuple[str, str]:
    _, origin, topic, _ = place
    return origin or lane.flow, topic or lane.topic


def _order(finding: Finding) -> tuple[str, str, int, int]:
    kind = FINDINGS.index(finding.kind)
    return finding.flow, finding.topic, finding.partition, kind
