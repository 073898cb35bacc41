"""Topic sums of mirrors that do not preserve partitions, compared."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as sf

from mirrorwatch.domain.audit.plan import (
    AuditedEnds,
    PartitionPair,
    Side,
    Unverifiable,
)
from mirrorwatch.domain.audit.result import TopicCount

from ..digest.digest import PAIR, SUMS, to_millis
from ..digest.records import NAMES, SIDES, name, small_table

__all__ = ["compare_topics"]


DIFFERS = (
    "{source:,} records at the source and {target:,} at the target, which are "
    "not the same: the mirror does not keep partitions, so that the audit "
    "compares one sum of the topic and names no record"
)

OUTSIDE = (
    "records came to the {side} with timestamps outside of the hours that are "
    "compared: written late, copied again, or with a wrong clock. The mirror "
    "does not keep partitions, so that they are not compared"
)

UNTIMED = (
    "the target puts timestamps of its own on records, and the mirror does "
    "not keep partitions: which records of both sides belong together is not "
    "known"
)

_AHEAD = timedelta(hours=1)
"""Tolerance for a timestamp ahead of the audit: a later night compares it."""

_TOPIC = ("flow", "target_topic")

_TOLD = ("records", "bytes", *SUMS)

_BOUNDS = f"{NAMES}, origin string, topic string, since bigint, until bigint, "
_BOUNDS += "told_from bigint, latest bigint, read_before bigint"


@dataclass(frozen=True, kw_only=True, slots=True)
class ComparedTopics:
    """Topics that were compared by one sum of each."""

    counts: tuple[TopicCount, ...] = ()
    unverifiable: tuple[Unverifiable, ...] = ()


def compare_topics(
    source: DataFrame,
    target: DataFrame,
    pairs: Sequence[PartitionPair],
    before: AuditedEnds,
    now: datetime,
) -> ComparedTopics:
    """Compare the sums of topics.

    Parameters
    ----------
    source
        Digest of the source.
    target
        Digest of the target.
    pairs
        All partitions of the topics.
    before
        Up to where partitions were audited.
    now
        Time at which the ranges were frozen.

    Notes
    -----
    A sum that differs does not show which records do, or whether they are
    missing or too many: the topic is unverifiable. So is one with records
    that no night compares: those beyond the ends that the night before read
    to, with timestamps that it has compared, or that are yet to come.
    """
    if not pairs:
        return ComparedTopics()
    sums = {
        side: _sums(digest, pairs, before, now, side)
        for digest, side in zip((source, target), SIDES, strict=True)
    }
    untimed = {(p.flow, p.target_topic) for p in pairs if not p.timestamps}
    counts, gaps = [], []
    for key, pair in {(p.flow, p.target_topic): p for p in pairs}.items():
        here, there = (sums[side].get(key) for side in SIDES)
        count = TopicCount(
            flow=pair.flow,
            topic=pair.topic,
            source_count=_of(here, "records"),
            target_count=_of(there, "records"),
            source_bytes=_of(here, "bytes"),
            target_bytes=_of(there, "bytes"),
        )
        counts.append(count)
        reasons = [
            OUTSIDE.format(side=side)
            for side in SIDES
            if _of(sums[side].get(key), "outside")
        ]
        if key in untimed:
            reasons = [UNTIMED]
        elif any(_of(here, sum_) != _of(there, sum_) for sum_ in _TOLD):
            reasons.append(
                DIFFERS.format(
                    source=count.source_count, target=count.target_count
                )
            )
        gaps += [
            Unverifiable(
                flow=pair.flow, topic=pair.topic, partition=None, reason=reason
            )
            for reason in reasons
        ]
    return ComparedTopics(counts=tuple(counts), unverifiable=tuple(gaps))


def _of(row: Row | None, column: str) -> int:
    return 0 if row is None else int(row[column] or 0)


def _sums(
    digest: DataFrame,
    pairs: Iterable[PartitionPair],
    before: AuditedEnds,
    now: datetime,
    side: Side,
) -> Mapping[tuple[str, str], Row]:
    """Return the sums of one side, by flow and topic at the target."""
    rows = _bounds(pairs, before, now, side)
    logs = sf.broadcast(small_table(digest.sparkSession, rows, _BOUNDS))
    bucket = sf.col("bucket")
    inside = sf.isnull("since") | (
        (bucket >= sf.col("since")) & (bucket < sf.col("until"))
    )
    outside = (
        (bucket < sf.col("told_from")) | (bucket >= sf.col("latest"))
    ) & (sf.col("last_offset") >= sf.col("read_before"))
    found = (
        digest.join(logs, [*PAIR, "origin", "topic"])
        .groupBy(*_TOPIC)
        .agg(
            *(sf.sum(sf.when(inside, sf.col(c))).alias(c) for c in _TOLD),
            sf.count_if(outside).alias("outside"),
        )
    )
    return {(row["flow"], row["target_topic"]): row for row in found.collect()}


def _bounds(
    pairs: Iterable[PartitionPair],
    before: AuditedEnds,
    now: datetime,
    side: Side,
) -> list[tuple[object, ...]]:
    """Return for each log the hours that are compared, if not all, and which
    records outside of them no night compares.
    """
    known = before.by_partition()
    rows: dict[tuple[object, ...], tuple[object, ...]] = {}
    for pair in pairs:
        for log in pair.sources:
            end = known.get((log.flow, log.topic, log.partition))
            if side == "source":
                key = (*name(pair), log.flow, log.topic)
                goes_on = end is not None and end.source_id == log.topic_id
            else:
                key = (*name(pair), pair.flow, pair.target_topic)
                goes_on = end is not None and end.target_id == pair.topic_id
            if pair.hours is None:
                rows[key] = (*key, None, None, None, None, None)
                continue
            since, until = map(to_millis, (pair.hours.start, pair.hours.end))
            told_from, read_before = 0, 0
            if end is not None and end.by_topic and goes_on:
                told_from = since
                read_before = (
                    end.source_end if side == "source" else end.target_end
                )
            rows[key] = (
                *(*key, since, until, told_from),
                *(to_millis(now + _AHEAD), read_before),
            )
    return list(rows.values())
