"""What of the night before a night can go on with."""

from collections.abc import Mapping

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - Spark's own custom

from mirrorwatch.domain.audit import End, Ends, Lane, Plan, Unverifiable

from .digest import LANE
from .lanes import name, named

__all__ = ["usable_carry"]

Place = tuple[str, str, int]
"""Flow, source topic and partition."""

BROKEN = (
    "records that the night before left to this one: their copies may lie in "
    "what can no longer be read, before this night's range"
)


def usable_carry(
    carry: DataFrame, plan: Plan, before: Ends
) -> tuple[DataFrame, tuple[Unverifiable, ...]]:
    """Leave out what was left for ranges that do not go on.

    Parameters
    ----------
    carry
        What the night before left.
    plan
        What this night compares.
    before
        Up to where partitions were audited.

    Returns
    -------
    tuple
        What can be compared, and what cannot.

    Notes
    -----
    Where records expired before they were audited, or a topic was made anew,
    a night begins behind the end of the one before. The copy of a record that
    was left may lie between, so that it is not found proves nothing.
    """
    known = before.by_place()
    broken = {
        name(lane): lane for lane in plan.lanes if not _goes_on(lane, known)
    }
    if not broken:
        return carry, ()
    names = F.broadcast(named(carry.sparkSession, broken.values()))
    lost = carry.join(names, [*LANE], "left_semi")
    at_source = F.sum((F.col("side") == "source").cast("long"))
    sums = lost.groupBy(*LANE).agg(at_source).collect()
    gaps = tuple(
        Unverifiable(
            flow=flow,
            topic=broken[flow, target_topic, partition].topic,
            partition=partition,
            reason=BROKEN,
            records=records,
        )
        for flow, target_topic, partition, records in sums
    )
    return carry.join(names, [*LANE], "left_anti"), gaps


def _goes_on(lane: Lane, known: Mapping[Place, End]) -> bool:
    """Tell whether a lane begins where it was audited up to."""
    ends = [
        (source, end)
        for source in lane.sources
        if (end := known.get((source.flow, source.topic, source.partition)))
    ]
    return bool(ends) and all(
        source.span.start == end.source_end
        and lane.span.start == end.target_end
        and source.topic_id == end.source_id
        and end.target_id in {lane.topic_id, ""}
        for source, end in ends
    )
