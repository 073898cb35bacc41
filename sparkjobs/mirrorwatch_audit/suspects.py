"""Which lanes differ, and how they are looked into."""

from dataclasses import dataclass
from datetime import timedelta

from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as sf

from mirrorwatch.domain.audit import Side, Span, Window

from .carry import carried
from .compacted import drill_compacted
from .compare import compared, hulls, matched_ends
from .digest import LANE, digest
from .drill import Suspicion, drill
from .lanes import Group, LaneName, name, named, narrowed
from .records import Read

__all__ = ["Sides", "look_into"]

_Hulls = dict[LaneName, dict[tuple[str, str], Span]]


@dataclass(frozen=True, kw_only=True, slots=True)
class Sides:
    """Digests of both sides of lanes that are hashed alike."""

    group: Group
    """The lanes."""

    source: DataFrame
    """What was read at the source."""

    target: DataFrame
    """What was read at the target."""

    carry: DataFrame
    """What the night before left."""

    bucket: timedelta
    """Length of a bucket."""

    def whole(self, side: Side) -> DataFrame:
        """Return the digest of a side with what the night before left to it.

        Of a compacted lane nothing is added: what was left only names keys
        to look into.
        """
        read = self.source if side == "source" else self.target
        names = named(read.sparkSession, self.group.lanes)
        own = read.join(sf.broadcast(names), [*LANE], "left_semi")
        if self.group.compacted:
            return own
        left = carried(
            self.carry,
            side,
            self.group.lanes,
            timestamps=self.group.timestamps,
            bucket=self.bucket,
        )
        return own.unionByName(digest(left, compacted=False))


def look_into(
    read: Read, sides: Sides, window: Window | None
) -> DataFrame | None:
    """Return what became of records without a counterpart, if there are any.

    Parameters
    ----------
    read
        Reads records.
    sides
        Digests of both sides.
    window
        Which timestamps are asked for.
    """
    buckets = compared(sides.whole("source"), sides.whole("target"))
    buckets = buckets.localCheckpoint()
    differing = buckets.where(~sf.col("equal")).select(*LANE, "bucket")
    suspect = {_lane(row) for row in differing.select(*LANE).collect()}
    if sides.group.compacted:
        suspect |= {_lane(row) for row in sides.carry.select(*LANE).collect()}
    lanes = [x for x in sides.group.lanes if name(x) in suspect]
    if not lanes:
        return None
    source, target = (
        _hulls(hulls(side, differing)) for side in (sides.source, sides.target)
    )
    case = Suspicion(
        lanes=tuple(lanes),
        narrowed=tuple(
            narrowed(
                lane,
                source.get(name(lane), {}),
                target.get(name(lane), {}).get((lane.flow, lane.target_topic)),
            )
            for lane in lanes
        ),
        buckets=differing,
        ends=matched_ends(sides.source, buckets.where("equal")),
        carry=sides.carry,
        timestamps=sides.group.timestamps,
        window=window,
        bucket=sides.bucket,
    )
    work = drill_compacted if sides.group.compacted else drill
    return work(read, case)


def _hulls(table: DataFrame) -> _Hulls:
    found: _Hulls = {}
    for row in table.collect():
        stretch = Span(row["first_offset"], row["last_offset"] + 1)
        place = found.setdefault(_lane(row), {})
        place[row["origin"], row["topic"]] = stretch
    return found


def _lane(row: Row) -> LaneName:
    return row["flow"], row["target_topic"], row["partition"]
