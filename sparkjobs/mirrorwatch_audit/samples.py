"""Keys of some records of each finding, where they are asked for."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice

from pyspark.sql import functions as sf

from mirrorwatch.domain.audit import Finding, Lane, Side, Span

from .beyond import SIDES
from .lanes import NAMES, LaneName, name, narrowed
from .records import Read
from .tables import small_table

__all__ = ["with_keys"]

_Spot = tuple[LaneName, str, str, int]
"""Lane, flow, topic and offset of a record."""

_MOST = 200
"""Characters of a key that are shown."""


def with_keys(
    read: Read, findings: Sequence[Finding], lanes: Sequence[Lane], most: int
) -> tuple[Finding, ...]:
    """Return the findings with some keys of their records.

    Parameters
    ----------
    read
        Reads records.
    findings
        The findings.
    lanes
        The lanes they are of.
    most
        Keys of each finding.
    """
    chosen = []
    for finding in findings:
        (lane, *_) = (x for x in lanes if _is_of(finding, x))
        side: Side = "source" if finding.source_offsets else "target"
        chosen.append((finding, side, list(_spots(finding, lane, most))))
    keys = {
        at: _keys(
            read,
            lanes,
            at,
            [x for _, side, spots in chosen if side == at for x in spots],
        )
        for at in SIDES
    }
    return tuple(
        replace(finding, keys=tuple(sorted({*_found(keys[side], spots)})))
        for finding, side, spots in chosen
    )


def _found(keys: Mapping[_Spot, str], spots: Sequence[_Spot]) -> list[str]:
    return [keys[spot] for spot in spots if spot in keys]


def _is_of(finding: Finding, lane: Lane) -> bool:
    if lane.partition != finding.partition:
        return False
    places = {(source.flow, source.topic) for source in lane.sources}
    places.add((lane.flow, lane.topic))
    return (finding.flow, finding.topic) in places


def _spots(finding: Finding, lane: Lane, most: int) -> Iterator[_Spot]:
    at_source = bool(finding.source_offsets)
    ranges = finding.source_offsets or finding.target_offsets
    offsets = (o for first, last in ranges for o in range(first, last + 1))
    flow = finding.flow if at_source else lane.flow
    topic = finding.topic if at_source else lane.target_topic
    for offset in islice(offsets, most):
        yield name(lane), flow, topic, offset


def _keys(
    read: Read, lanes: Sequence[Lane], side: Side, spots: Sequence[_Spot]
) -> Mapping[_Spot, str]:
    wanted = {spot[0] for spot in spots}
    narrow = [
        _narrow(lane, side, [s for s in spots if s[0] == name(lane)])
        for lane in lanes
        if name(lane) in wanted
    ]
    records = read(narrow, side)
    rows = [(*spot[0], *spot[1:]) for spot in spots]
    columns = f"{NAMES}, origin string, topic string, offset bigint"
    table = small_table(records.sparkSession, rows, columns)
    text = sf.col("key").cast("string")
    shown = sf.when(sf.is_valid_utf8(text), text).otherwise(sf.hex("key"))
    found = (
        records.join(sf.broadcast(table), table.columns)
        .where(sf.col("key").isNotNull())
        .select(*table.columns, sf.substring(shown, 1, _MOST).alias("shown"))
    )
    return {
        ((row[0], row[1], row[2]), row[3], row[4], row[5]): row[6]
        for row in found.collect()
    }


def _narrow(lane: Lane, side: Side, spots: Sequence[_Spot]) -> Lane:
    stretches: dict[tuple[str, str], Span] = {}
    for _, flow, topic, offset in spots:
        old = stretches.get((flow, topic), Span(offset, offset + 1))
        stretches[flow, topic] = Span(
            min(old.start, offset), max(old.end, offset + 1)
        )
    whole = next(iter(stretches.values())) if side == "target" else None
    return narrowed(lane, stretches, whole)
