"""The records of lanes, whoever reads them."""

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol, cast

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as sf
from pyspark.sql.types import ArrayType, StructType

from mirrorwatch.domain.audit.plan import AuditSpan, Lane, Side, SourceRange

__all__ = [
    "NAMES",
    "RECORDS",
    "Group",
    "LaneName",
    "Read",
    "after",
    "before",
    "groups",
    "name",
    "named",
    "narrowed",
    "renamed",
    "small_table",
    "spanned",
    "streams",
]


RECORDS = (
    "flow string, target_topic string, partition int, origin string, "
    "topic string, offset bigint, timestamp bigint, key binary, "
    "value binary, headers array<struct<key: string, value: binary>>"
)
"""What a record is: its lane (`flow`, `target_topic`, `partition`), the flow
that copies it (`origin`: the lane's but for merged topics), where it was read
(`topic`, `offset`), milliseconds since 1970 (-1 where it has none), and what
is compared."""


class Read(Protocol):
    """Reads records; `KafkaReader` from Kafka, tests from memory."""

    def __call__(self, lanes: Sequence[Lane], side: Side) -> DataFrame:
        """Return the records of one side that lie in the lanes' spans.

        Parameters
        ----------
        lanes
            What to read: ``span`` of each lane for the target, of each of
            its sources for the source. A narrower or a wider reading is a
            lane with other spans.
        side
            Which side.

        Returns
        -------
        DataFrame
            Columns as in `RECORDS`; empty for no lanes.
        """
        ...


@dataclass(frozen=True, kw_only=True, slots=True)
class Stream:
    """Lanes whose records of one side were copied by one flow."""

    known: Mapping[str, Column]
    """Columns that follow from the topic of a record, or are the same for
    all."""

    lanes: tuple[Lane, ...]
    """The lanes, without what other flows copy into them."""


def streams(lanes: Sequence[Lane], side: Side) -> list[Stream]:
    """Return what is read of one side of lanes; there is at least one.

    Parameters
    ----------
    lanes
        The lanes.
    side
        Which side.
    """
    found: dict[tuple[str, str], list[Lane]] = defaultdict(list)
    for lane in lanes:
        flows = {s.flow for s in lane.sources}
        for origin in flows if side == "source" else {lane.flow}:
            own = tuple(s for s in lane.sources if s.flow == origin)
            part = replace(lane, sources=own) if side == "source" else lane
            found[lane.flow, origin].append(part)
    if not found:
        return [Stream(known={}, lanes=())]
    return [
        Stream(known=_known(*names, members, side), lanes=tuple(members))
        for names, members in sorted(found.items(), key=lambda item: item[0])
    ]


def renamed(names: Mapping[str, str]) -> Column | None:
    """Return what topics are called at the target, as it follows from the
    column `topic`; `None` if only a table tells.
    """
    prefixes = {
        target.removesuffix(topic) if target.endswith(topic) else None
        for topic, target in names.items()
    }
    prefix = prefixes.pop() if len(prefixes) == 1 else None
    if prefix is None:
        return None
    own = sf.col("topic")
    return sf.concat(sf.lit(prefix), own) if prefix else own


def _known(
    flow: str, origin: str, lanes: Sequence[Lane], side: Side
) -> dict[str, Column]:
    known = {"flow": sf.lit(flow), "origin": sf.lit(origin)}
    names = {
        source.topic if side == "source" else lane.target_topic: (
            lane.target_topic
        )
        for lane in lanes
        for source in lane.sources
    }
    target = renamed(names)
    return known if target is None else known | {"target_topic": target}


def small_table(
    session: SparkSession, rows: Iterable[Sequence[object]], columns: str
) -> DataFrame:
    """Return rows as a table.

    Parameters
    ----------
    session
        Spark.
    rows
        Numbers, strings and nulls, in the order of the columns.
    columns
        Names and types, as Spark's DDL has them.

    Notes
    -----
    `createDataFrame` would do, but it starts Python on the executors: the
    workers of a cluster would need one of the driver's version. Here rows
    travel as JSON in the plan, and Java reads them.
    """
    # Names make a structure of it, and not a plain type.
    schema = cast("StructType", StructType.fromDDL(columns))
    names = schema.fieldNames()
    text = json.dumps([dict(zip(names, row, strict=True)) for row in rows])
    parsed = sf.from_json(sf.lit(text), ArrayType(schema))
    one = session.range(0, 1, 1, 1)
    return one.select(sf.inline(parsed))


LaneName = tuple[str, str, int]
"""Flow, target topic and partition."""

NAMES = "flow string, target_topic string, partition int"


@dataclass(frozen=True, kw_only=True, slots=True)
class Group:
    """Lanes whose records are hashed and counted alike."""

    timestamps: bool
    """As in `Lane`."""

    compacted: bool
    """As in `Lane`."""

    lanes: tuple[Lane, ...]
    """The lanes."""


def groups(lanes: Sequence[Lane]) -> list[Group]:
    """Return the lanes in groups; there are at most four."""
    found: dict[tuple[bool, bool], list[Lane]] = defaultdict(list)
    for lane in lanes:
        found[lane.timestamps, lane.compacted].append(lane)
    return [
        Group(timestamps=timestamps, compacted=compacted, lanes=tuple(members))
        for (timestamps, compacted), members in sorted(
            found.items(), key=lambda item: item[0]
        )
    ]


def name(lane: Lane) -> LaneName:
    """Return what a lane is called in every table."""
    return lane.flow, lane.target_topic, lane.partition


def named(session: SparkSession, lanes: Iterable[Lane]) -> DataFrame:
    """Return the names of lanes as a table, in columns as in `LANE`."""
    return small_table(session, map(name, lanes), NAMES)


def spanned(
    lane: Lane, span: Callable[[Lane | SourceRange], AuditSpan]
) -> Lane:
    """Return the lane with other spans on both sides."""
    sources = tuple(replace(s, span=span(s)) for s in lane.sources)
    return replace(lane, span=span(lane), sources=sources)


def narrowed(
    lane: Lane,
    source: Mapping[tuple[str, str], AuditSpan],
    target: AuditSpan | None,
) -> Lane:
    """Return the lane with no more than some stretches of its spans.

    Parameters
    ----------
    lane
        The lane.
    source
        Stretches of its sources, by flow and topic.
    target
        Stretch of the target.
    """
    sources = tuple(
        replace(s, span=_within(s.span, source.get((s.flow, s.topic))))
        for s in lane.sources
    )
    return replace(lane, span=_within(lane.span, target), sources=sources)


def _within(span: AuditSpan, stretch: AuditSpan | None) -> AuditSpan:
    if stretch is None:
        return AuditSpan(span.start, span.start)
    start, end = max(span.start, stretch.start), min(span.end, stretch.end)
    return AuditSpan(start, max(start, end))


def after(lane: Lane) -> Lane:
    """Return the lane with what comes after its spans."""
    return spanned(lane, lambda x: AuditSpan(x.span.end, x.retained.end))


def before(lane: Lane) -> Lane:
    """Return the lane with what is still there from before its spans."""
    return spanned(
        lane,
        lambda x: AuditSpan(x.retained.start, min(x.span.start, x.span.end)),
    )
