"""Records by Spark's own Kafka source."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import groupby
from operator import attrgetter

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from mirrorwatch.domain.audit import Lane, Side, Span

from .kafka_options import to_spark_options
from .records import RECORDS
from .streams import renamed
from .tables import small_table

__all__ = ["KafkaReader"]

_TASK_RECORDS = 1_000_000
"""Most records of one task: a second or three of work, so that one huge
partition is read by all cores."""


@dataclass(frozen=True, kw_only=True, slots=True)
class _Stretch:
    """Offsets of one partition, and the lane that they are part of."""

    cluster: str
    read_committed: bool
    flow: str
    origin: str
    topic: str
    partition: int
    target_topic: str
    span: Span


class KafkaReader:
    """Reads the records of lanes from their clusters.

    Parameters
    ----------
    session
        Spark.
    clusters
        librdkafka's properties of each cluster, by alias.

    Raises
    ------
    ConfigError
        Raised if Java's client cannot follow the properties of a cluster.

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
    ) -> None:
        self._session = session
        self._options = {
            alias: to_spark_options(properties)
            for alias, properties in clusters.items()
        }

    def __call__(self, lanes: Sequence[Lane], side: Side) -> DataFrame:
        group = attrgetter("cluster", "read_committed", "flow", "origin")
        wanted = sorted(
            (s for s in _stretches(lanes, side) if len(s.span)), key=group
        )
        empty = small_table(self._session, [], RECORDS)
        parts = [self._read(list(s)) for _, s in groupby(wanted, group)]
        return reduce(DataFrame.unionByName, parts) if parts else empty

    def _read(self, stretches: Sequence[_Stretch]) -> DataFrame:
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
            .option("maxRecordsPerPartition", str(_TASK_RECORDS))
            .load()
        )
        named = self._name_targets(found, stretches)
        return named.select(
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
        )

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


def _stretches(lanes: Sequence[Lane], side: Side) -> Iterator[_Stretch]:
    for lane in lanes:
        if side == "target":
            yield _Stretch(
                cluster=lane.cluster,
                read_committed=True,
                flow=lane.flow,
                origin=lane.flow,
                topic=lane.target_topic,
                partition=lane.partition,
                target_topic=lane.target_topic,
                span=lane.span,
            )
            continue
        for source in lane.sources:
            yield _Stretch(
                cluster=source.cluster,
                read_committed=bool(source.read_committed),
                flow=lane.flow,
                origin=source.flow,
                topic=source.topic,
                partition=source.partition,
                target_topic=lane.target_topic,
                span=source.span,
            )


def _by_topic(
    stretches: Sequence[_Stretch], which: str
) -> dict[str, dict[str, int]]:
    offsets: dict[str, dict[str, int]] = {}
    for s in stretches:
        partitions = offsets.setdefault(s.topic, {})
        partitions[str(s.partition)] = getattr(s.span, which)
    return offsets
