"""The records of pairs, for every reader of them."""

import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as sf

from mirrorwatch.domain.audit.plan import (
    AS_THEY_ARE,
    AuditSpan,
    CopyProfile,
    PartitionPair,
    Side,
    SourceRange,
)

__all__ = [
    "NAMES",
    "RECORDS",
    "SIDES",
    "Group",
    "PairName",
    "Read",
    "Times",
    "after",
    "after_first",
    "as_compared",
    "before",
    "first_records",
    "groups",
    "name",
    "named",
    "narrowed",
    "next_records",
    "renamed",
    "small_table",
    "span_table",
    "spanned",
    "streams",
]


SIDES: tuple[Side, Side] = ("source", "target")

RECORDS = (
    "flow string, target_topic string, partition int, origin string, "
    "topic string, offset bigint, timestamp bigint, key binary, "
    "value binary, headers array<struct<key: string, value: binary>>, "
    "appended boolean, same_offset bigint"
)
"""Schema of a record: its pair (`flow`, `target_topic`, `partition`), the flow
that copies it (`origin`: the pair's but for merged topics), where it was read
(`topic`, `offset`), milliseconds since 1970 (-1 where it has none), what is
compared, whether the timestamp is the broker's (`LogAppendTime`), and the
offset again where that of a copy must be the same."""


_NOOP = '"keytype":"NOOP"'
"""In the key of a record that Confluent's registry writes to its own topic
whenever it starts."""


def as_compared(records: DataFrame, copies: CopyProfile) -> DataFrame:
    """Return records with what is compared of them.

    Parameters
    ----------
    records
        Records as they were read: columns as in `RECORDS`, but the last.
    copies
        Record properties that copies preserve.
    """
    columns: dict[str, Column] = {}
    if copies.added_headers:
        columns["headers"] = sf.filter(
            "headers", lambda h: ~h["key"].isin(*copies.added_headers)
        )
    if not copies.tombstones:
        columns["value"] = sf.coalesce("value", sf.lit(b""))
    if copies.registry:
        of_registry = sf.col("key").cast("string").contains(_NOOP)
        records = records.where(~sf.coalesce(of_registry, sf.expr("false")))
    same = sf.col("offset") if copies.offsets else sf.lit(None)
    columns["same_offset"] = same.cast("bigint")
    return records.withColumns(columns)


PairName = tuple[str, str, int]

Times = Mapping[PairName, int]
"""Milliseconds since 1970, by pair."""


class Read(Protocol):
    """Reads records; `KafkaReader` from Kafka, tests from memory."""

    def __call__(
        self, pairs: Sequence[PartitionPair], side: Side
    ) -> DataFrame:
        """Return the records of one side that lie in the pairs' spans.

        Parameters
        ----------
        pairs
            Ranges to read: ``span`` of each pair for the target, of each of
            its sources for the source. A narrower or a wider reading is a pair
            with other spans.
        side
            Which side.

        Returns
        -------
        DataFrame
            Columns as in `RECORDS`; empty for no pairs.
        """
        ...

    def since(
        self, pairs: Sequence[PartitionPair], side: Side, times: Times
    ) -> list[PartitionPair]:
        """Return the pairs with spans of one side that begin no earlier than
        the first record that is not older than a time.

        Parameters
        ----------
        pairs
            The pairs.
        side
            Which side.
        times
            Milliseconds since 1970, by pair. The others stay as they are.
        """
        ...


@dataclass(frozen=True, kw_only=True, slots=True)
class Stream:
    """Pairs whose records of one side were copied by one flow."""

    known: Mapping[str, Column]
    """Columns that follow from the topic of a record, or are the same for
    all."""

    topics: tuple[str, ...]
    pairs: tuple[PartitionPair, ...]


def streams(pairs: Sequence[PartitionPair], side: Side) -> list[Stream]:
    """Return what is read of one side of pairs; there is at least one.

    Parameters
    ----------
    pairs
        The pairs.
    side
        Which side.
    """
    found: dict[tuple[str, str], list[PartitionPair]] = defaultdict(list)
    for pair in pairs:
        flows = {s.flow for s in pair.sources}
        for origin in flows if side == "source" else {pair.flow}:
            sources = tuple(s for s in pair.sources if s.flow == origin)
            part = replace(pair, sources=sources) if side == "source" else pair
            found[pair.flow, origin].append(part)
    if not found:
        return [Stream(known={}, topics=(), pairs=())]
    return [
        _stream(*names, tuple(members), side)
        for names, members in sorted(found.items(), key=lambda item: item[0])
    ]


def renamed(names: Mapping[str, str]) -> Column | None:
    """Return what topics are called at the target, as it follows from the
    column `topic`; `None` if that needs a table.

    Parameters
    ----------
    names
        Names at the target, by topic.
    """
    prefixes = {
        target.removesuffix(topic) if target.endswith(topic) else None
        for topic, target in names.items()
    }
    prefix = prefixes.pop() if len(prefixes) == 1 else None
    if prefix is None:
        return None
    topic_column = sf.col("topic")
    return sf.concat(sf.lit(prefix), topic_column) if prefix else topic_column


def _stream(
    flow: str, origin: str, pairs: tuple[PartitionPair, ...], side: Side
) -> Stream:
    known = {"flow": sf.lit(flow), "origin": sf.lit(origin)}
    names = {
        source.topic if side == "source" else pair.target_topic: (
            pair.target_topic
        )
        for pair in pairs
        for source in pair.sources
    }
    target = renamed(names)
    if target is not None:
        known["target_topic"] = target
    return Stream(known=known, topics=tuple(names), pairs=pairs)


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
    names = [column.split()[0] for column in _OUTSIDE.split(columns)]
    text = json.dumps([dict(zip(names, row, strict=True)) for row in rows])
    parsed = sf.from_json(sf.lit(text), f"array<struct<{columns}>>")
    one = session.range(0, 1, 1, 1)
    return one.select(sf.inline(parsed))


_OUTSIDE = re.compile(r",\s*(?![^<]*>)")
"""A comma between two columns, not within a type."""

NAMES = "flow string, target_topic string, partition int"


@dataclass(frozen=True, kw_only=True, slots=True)
class Group:
    """Pairs whose records are hashed and counted alike."""

    timestamps: bool
    compacted: bool
    copies: CopyProfile = AS_THEY_ARE
    pairs: tuple[PartitionPair, ...]


def groups(pairs: Sequence[PartitionPair]) -> list[Group]:
    """Return the pairs in groups; there are at most four of each profile."""
    found: dict[tuple[bool, bool, CopyProfile], list[PartitionPair]]
    found = defaultdict(list)
    for pair in pairs:
        found[pair.timestamps, pair.compacted, pair.copies].append(pair)
    return [
        Group(
            timestamps=timestamps,
            compacted=compacted,
            copies=copies,
            pairs=tuple(members),
        )
        for (timestamps, compacted, copies), members in sorted(
            found.items(), key=lambda item: item[0]
        )
    ]


def name(pair: PartitionPair) -> PairName:
    """Return what a pair is called in every table."""
    return pair.flow, pair.target_topic, pair.partition


def named(session: SparkSession, pairs: Iterable[PartitionPair]) -> DataFrame:
    """Return the names of pairs as a table, in columns as in `PAIR`."""
    return small_table(session, dict.fromkeys(map(name, pairs)), NAMES)


def span_table(
    session: SparkSession, pairs: Iterable[PartitionPair], side: Side
) -> DataFrame:
    """Return the spans of one side of pairs as a table.

    Returns
    -------
    DataFrame
        Name of the pair, `origin` and `topic` of the log, `span_start` and
        `span_end`.
    """
    rows = [
        (*name(pair), origin, topic, span.start, span.end)
        for pair in pairs
        for origin, topic, span in (
            [(s.flow, s.topic, s.span) for s in pair.sources]
            if side == "source"
            else [(pair.flow, pair.target_topic, pair.span)]
        )
    ]
    columns = "origin string, topic string, span_start bigint, span_end bigint"
    return small_table(session, rows, f"{NAMES}, {columns}")


def after_first(span: AuditSpan, first: int | None) -> AuditSpan:
    """Return what of a span is not before an offset; nothing for none."""
    start = span.end if first is None else max(span.start, first)
    return AuditSpan(min(start, span.end), span.end)


def spanned(
    pair: PartitionPair,
    span: Callable[[PartitionPair | SourceRange], AuditSpan],
) -> PartitionPair:
    """Return the pair with other spans on both sides."""
    sources = tuple(replace(s, span=span(s)) for s in pair.sources)
    return replace(pair, span=span(pair), sources=sources)


def narrowed(
    pair: PartitionPair,
    source: Mapping[tuple[str, str], AuditSpan],
    target: AuditSpan | None,
) -> PartitionPair:
    """Return the pair with no more than some stretches of its spans.

    Parameters
    ----------
    pair
        The pair.
    source
        Stretches of its sources, by flow and topic.
    target
        Stretch of the target.
    """
    sources = tuple(
        replace(
            s,
            span=_within(s.span, source.get((s.flow, s.topic))),
        )
        for s in pair.sources
    )
    return replace(pair, span=_within(pair.span, target), sources=sources)


def _within(span: AuditSpan, stretch: AuditSpan | None) -> AuditSpan:
    if stretch is None:
        return AuditSpan(span.start, span.start)
    start, end = max(span.start, stretch.start), min(span.end, stretch.end)
    return AuditSpan(start, max(start, end))


def after(pair: PartitionPair) -> PartitionPair:
    """Return the pair with what comes after its spans."""
    return spanned(pair, lambda x: AuditSpan(x.span.end, x.retained.end))


_FIRST = 1000
"""Offsets of a log that show from when its oldest records are: more than one,
as a marker of a transaction is no record."""


def first_records(pair: PartitionPair) -> PartitionPair:
    """Return the pair with the oldest of what is still there from before its
    spans.
    """
    return _beginning(before(pair))


def next_records(pair: PartitionPair) -> PartitionPair:
    """Return the pair with the first records after its spans."""
    return _beginning(after(pair))


def _beginning(pair: PartitionPair) -> PartitionPair:
    return spanned(
        pair,
        lambda x: AuditSpan(
            x.span.start, min(x.span.start + _FIRST, x.span.end)
        ),
    )


def before(pair: PartitionPair) -> PartitionPair:
    """Return the pair with what is still there from before its spans."""
    return spanned(
        pair,
        lambda x: AuditSpan(x.retained.start, min(x.span.start, x.span.end)),
    )
