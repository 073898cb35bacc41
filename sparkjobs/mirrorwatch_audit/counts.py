"""How many records of each topic were compared."""

from collections import defaultdict
from collections.abc import Iterable, Sequence

from pyspark.sql import functions as sf

from mirrorwatch.domain.audit import Lane, Side, TopicCount

from .beyond import SIDES
from .carry import WAITING
from .digest import LANE
from .lanes import LaneName, name
from .suspects import Sides
from .tally import Tally

__all__ = ["count_topics"]

_LEFT_OUT = (*WAITING, "settled", "aborted")
"""Outcomes of records that another night compares, or has compared, or that
the mirror need not copy."""

_Sums = dict[LaneName, tuple[int, int]]


def count_topics(
    cases: Sequence[Sides], tallies: Iterable[Tally], lanes: Iterable[Lane]
) -> tuple[TopicCount, ...]:
    """Return the records and bytes that were compared, by topic.

    Parameters
    ----------
    cases
        Digests of all lanes.
    tallies
        What became of records without a counterpart: those that another night
        compares do not count.
    lanes
        What was compared; a topic with nothing in it counts 0.
    """
    columns = [
        (_of_digests(cases, side), _of_tallies(tallies, side))
        for side in SIDES
    ]
    sums: dict[tuple[str, str], list[int]] = defaultdict(lambda: [0] * 4)
    for lane in lanes:
        total = sums[lane.flow, lane.topic]
        for side, (read, left_out) in enumerate(columns):
            records, size = read.get(name(lane), (0, 0))
            less, smaller = left_out.get(name(lane), (0, 0))
            total[side] += records - less
            total[side + 2] += size - smaller
    return tuple(
        TopicCount(
            flow=flow,
            topic=topic,
            source_count=total[0],
            target_count=total[1],
            source_bytes=total[2],
            target_bytes=total[3],
        )
        for (flow, topic), total in sorted(sums.items())
    )


def _of_digests(cases: Sequence[Sides], side: Side) -> _Sums:
    sums: _Sums = {}
    for sides in cases:
        totals = (
            sides.whole(side)
            .groupBy(*LANE)
            .agg(sf.sum("records"), sf.sum("bytes"))
        )
        for row in totals.collect():
            sums[row[0], row[1], row[2]] = (row[3], row[4])
    return sums


def _of_tallies(tallies: Iterable[Tally], side: Side) -> _Sums:
    sums: _Sums = {}
    for tally in tallies:
        lane, _, _, kind = tally.place
        if tally.side == side and kind in _LEFT_OUT:
            records, size = sums.get(lane, (0, 0))
            sums[lane] = (records + tally.count, size + tally.bytes)
    return sums
