"""Records by Spark's own Kafka source."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from functools import reduce
from itertools import groupby
from operator import attrgetter
from types import MappingProxyType

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from mirrorwatch.domain.audit.plan import (
    TO_THE_END,
    AuditSpan,
    CopyProfile,
    PartitionPair,
    Side,
    SourceRange,
)
from mirrorwatch.exceptions import SourceError
from mirrorwatch.kafka.admin import Cluster
from mirrorwatch.kafka.offsets import find_first_since

from .consumer import to_spark_options
from .digest import to_time
from .records import (
    RECORDS,
    PairName,
    Times,
    after_first,
    as_compared,
    renamed,
    small_table,
    spanned,
)
from .records import name as pair_name

__all__ = ["KafkaReader"]


_TASK_RECORDS = 1_000_000
"""Records of one task: a second or three of work, so that one huge partition
is read by all cores."""

_MOST_TASKS = 10_000
"""Most tasks beside one for each partition; of more records a task has more.
The driver holds a kilobyte or two of each."""


_APPENDED = 1

_LATEST = -1
"""Spark's offset for the end of a log."""


@dataclass(frozen=True, kw_only=True, slots=True)
class _Stretch:
    """Offsets of one partition, and the pair that they are part of."""

    cluster: str
    read_committed: bool
    flow: str
    origin: str
    topic: str
    partition: int
    target_topic: str
    span: AuditSpan
    pair: PairName
    copies: CopyProfile
    number: int = 0
    """Spark reads one range of a partition at once: all that are read of it,
    counted from 0."""


_Log = tuple[str, str, int]


_NONE: Mapping[str, Mapping[str, str]] = MappingProxyType({})


class KafkaReader:
    """Reads the records of pairs from their clusters.

    Parameters
    ----------
    session
        Spark.
    clusters
        librdkafka's properties of each cluster, by alias.
    java
        Properties of Java's client of each cluster, if it has any.

    Raises
    ------
    ConfigError
        Raised if a login of a cluster cannot be translated.

    Notes
    -----
    Records that have expired meanwhile are left out without an error: the
    retention is looked at again after the audit, and what was lost by it is
    called unverifiable there.
    """

    def __init__(
        self,
        session: SparkSession,
        clusters: Mapping[str, Mapping[str, str]],
        java: Mapping[str, Mapping[str, str]] = _NONE,
    ) -> None:
        self._session = session
        self._clusters = clusters
        self._options = {
            alias: to_spark_options(properties, java.get(alias, {}))
            for alias, properties in clusters.items()
        }

    def __call__(
        self, pairs: Sequence[PartitionPair], side: Side
    ) -> DataFrame:
        group = attrgetter(
            *("cluster", "read_committed", "flow", "origin", "number"),
            "copies",
        )
        wanted = sorted(
            (s for s in _stretches(pairs, side) if len(s.span)), key=group
        )
        empty = small_table(self._session, [], RECORDS)
        known = [s.span for s in wanted if s.span.end != TO_THE_END]
        most = max(_TASK_RECORDS, -(-sum(map(len, known)) // _MOST_TASKS))
        parts = [self._read(list(s), most) for _, s in groupby(wanted, group)]
        return reduce(DataFrame.unionByName, parts) if parts else empty

    def since(
        self, pairs: Sequence[PartitionPair], side: Side, times: Times
    ) -> list[PartitionPair]:
        asked = {
            (s.cluster, s.topic, s.partition): times[key]
            for s in _stretches(pairs, side)
            if len(s.span) and (key := s.pair) in times
        }
        firsts: dict[_Log, int | None] = {}
        for alias in {cluster for cluster, _, _ in asked}:
            wanted = {
                (topic, partition): to_time(milliseconds)
                for (cluster, topic, partition), milliseconds in asked.items()
                if cluster == alias
            }
            # Where it cannot be asked all is read, and reading says why.
            with suppress(SourceError):
                with closing(Cluster(alias, self._clusters[alias])) as cluster:
                    found = find_first_since(cluster, wanted)
                firsts |= {(alias, *p): at for p, at in found.items()}

        def later(x: PartitionPair | SourceRange) -> AuditSpan:
            topic = x.topic if isinstance(x, SourceRange) else x.target_topic
            first = firsts.get((x.cluster, topic, x.partition), x.span.start)
            return x.span if not len(x.span) else after_first(x.span, first)

        return [spanned(pair, later) for pair in pairs]

    def _read(
        self, stretches: Sequence[_Stretch], task_records: int
    ) -> DataFrame:
        first = stretches[0]
        level = "committed" if first.read_committed else "uncommitted"
        ends = {
            option: json.dumps(_by_topic(stretches, which))
            for option, which in (
                ("startingOffsets", "start"),
                ("endingOffsets", "end"),
            )
        }
        partitions = {
            topic: [int(p) for p in offsets]
            for topic, offsets in _by_topic(stretches, "start").items()
        }
        found = (
            self._session.read.format("kafka")
            .options(**self._options[first.cluster], **ends)
            .option("assign", json.dumps(partitions))
            .option("kafka.isolation.level", f"read_{level}")
            .option("includeHeaders", "true")
            .option("failOnDataLoss", "false")
            .option("maxRecordsPerPartition", str(task_records))
            .load()
        )
        named = self._name_targets(found, stretches)
        records = named.select(
            sf.lit(first.flow).alias("flow"),
            "target_topic",
            "partition",
            sf.lit(first.origin).alias("origin"),
            "topic",
            "offset",
            sf.unix_millis("timestamp").alias("timestamp"),
            "key",
            "value",
            "headers",
            (sf.col("timestampType") == _APPENDED).alias("appended"),
        )
        return as_compared(records, first.copies)

    def _name_targets(
        self, found: DataFrame, stretches: Sequence[_Stretch]
    ) -> DataFrame:
        names = {s.topic: s.target_topic for s in stretches}
        target = renamed(names)
        if target is not None:
            return found.withColumn("target_topic", target)
        table = small_table(
            self._session, names.items(), "topic string, target_topic string"
        )
        return found.join(sf.broadcast(table), "topic")


def _stretches(
    pairs: Sequence[PartitionPair], side: Side
) -> Iterator[_Stretch]:
    numbers: Counter[tuple[object, ...]] = Counter()
    for pair in pairs:
        for log in [pair] if side == "target" else pair.sources:
            at_source = isinstance(log, SourceRange)
            asked = (log.flow, log.topic, log.partition, pair_name(pair))
            number = numbers[asked]
            numbers[asked] += bool(len(log.span))
            yield _Stretch(
                cluster=log.cluster,
                read_committed=log.read_committed
                if isinstance(log, SourceRange)
                else True,
                flow=pair.flow,
                origin=log.flow,
                topic=log.topic if at_source else pair.target_topic,
                partition=log.partition,
                target_topic=pair.target_topic,
                span=log.span,
                pair=pair_name(pair),
                copies=pair.copies,
                number=number,
            )


def _by_topic(
    stretches: Sequence[_Stretch], which: str
) -> dict[str, dict[str, int]]:
    offsets: dict[str, dict[str, int]] = {}
    for s in stretches:
        partitions = offsets.setdefault(s.topic, {})
        offset = getattr(s.span, which)
        partitions[str(s.partition)] = (
            _LATEST if offset == TO_THE_END else offset
        )
    return offsets
