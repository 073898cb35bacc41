"""Outcomes, in the words of a result."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as sf

from mirrorwatch.domain.audit.plan import (
    PartitionPair,
    Side,
    Stated,
    StatedKind,
    Unverifiable,
)
from mirrorwatch.domain.audit.result import (
    MOST_NAMED,
    AuditFinding,
    FindingKind,
)

from ..digest.digest import PAIR, to_time
from ..digest.records import (
    SIDES,
    PairName,
    name,
)

__all__ = [
    "FINDINGS",
    "OutcomeCounts",
    "findings_of",
    "judged",
    "offset_ranges",
    "stated_of",
    "tallied",
    "unverifiable_of",
]


OutcomeKey = tuple[PairName, str | None, str | None, str]
"""Pair, flow and topic at the source (if known), and kind."""


@dataclass(frozen=True, kw_only=True, slots=True)
class OutcomeCounts:
    """Number of records with one outcome."""

    key: OutcomeKey
    side: Side
    count: int
    bytes: int
    start: datetime | None
    """Earliest timestamp, if they have any."""

    end: datetime | None


def tallied(outcomes: DataFrame) -> list[OutcomeCounts]:
    """Return the outcomes, counted.

    Parameters
    ----------
    outcomes
        Outcomes of records, as in `OUTCOME`.
    """
    times = sf.when(sf.col("timestamp") >= 0, sf.col("timestamp"))
    rows = outcomes.groupBy(*PAIR, "origin", "topic", "kind", "side").agg(
        sf.count(sf.lit(1)).alias("records"),
        sf.sum("bytes").alias("bytes"),
        sf.min(times).alias("start"),
        sf.max(times).alias("end"),
    )
    return [
        OutcomeCounts(
            key=(
                (row["flow"], row["target_topic"], row["partition"]),
                row["origin"],
                row["topic"],
                row["kind"],
            ),
            side=row["side"],
            count=row["records"],
            bytes=row["bytes"],
            start=_time(row["start"]),
            end=_time(row["end"]),
        )
        for row in rows.collect()
    ]


def judged(
    tallies: Iterable[OutcomeCounts], pairs: Iterable[PartitionPair]
) -> list[OutcomeCounts]:
    """Return the tallies without a surplus that may be of topics that do not
    exist any more.
    """
    absent = {name(pair) for pair in pairs if pair.absent}
    return [
        replace(tally, key=(*tally.key[:3], "absent"))
        if tally.key[3] == "extra" and tally.key[0] in absent
        else tally
        for tally in tallies
    ]


def _time(milliseconds: int | None) -> datetime | None:
    return None if milliseconds is None else to_time(milliseconds)


OffsetRanges = tuple[tuple[int, int], ...]
"""First and last offset of each stretch, in order."""

_OUTCOME_KEY = (*PAIR, "origin", "topic", "kind")


def offset_ranges(
    outcomes: DataFrame,
) -> dict[tuple[OutcomeKey, Side], OffsetRanges]:
    """Return where records are, on each side: the first `MOST_NAMED`.

    Parameters
    ----------
    outcomes
        Outcomes of records, as in `OUTCOME`.
    """
    offsets = [
        outcomes.where(sf.col(f"{side}_offset").isNotNull()).select(
            *_OUTCOME_KEY,
            sf.lit(side).alias("at"),
            sf.col(f"{side}_offset").alias("offset"),
        )
        for side in SIDES
    ]
    both = offsets[0].unionByName(offsets[1]).distinct()
    # Within a stretch offset and number rise alike.
    order = Window.partitionBy(*_OUTCOME_KEY, "at").orderBy("offset")
    stretch = sf.col("offset") - sf.row_number().over(order)
    by_offset = Window.partitionBy(*_OUTCOME_KEY, "at").orderBy("first")
    rows = (
        both.withColumn("stretch", stretch)
        .groupBy(*_OUTCOME_KEY, "at", "stretch")
        .agg(sf.min("offset").alias("first"), sf.max("offset").alias("last"))
        .withColumn("number", sf.row_number().over(by_offset))
        .where(sf.col("number") <= MOST_NAMED)
        .groupBy(*_OUTCOME_KEY, "at")
        .agg(sf.collect_list(sf.struct("first", "last")).alias("found"))
    )
    return {
        (
            (tuple(row[:3]), row["origin"], row["topic"], row["kind"]),
            row["at"],
        ): tuple(sorted((r["first"], r["last"]) for r in row["found"]))
        for row in rows.collect()
    }


FINDINGS: tuple[FindingKind, ...]
FINDINGS = ("dropped", "duplicated", "extra", "corrupted")

_STATED: Mapping[str, StatedKind] = {
    "carried": "carried",
    "settled": "carried",
    "in_flight": "in_flight",
    "compacted": "compacted",
}
"""Stated kind of each outcome that is not an error."""

_REASONS = {
    "unknown": (
        "records are missing at the target, and it is not known how far the "
        "mirror has come: they are lost or in flight"
    ),
    "skipped": (
        "records are missing at the target from before what the mirror is "
        "known to have copied: lost, or skipped as it began at the log end "
        "(auto.offset.reset is latest, or unknown)"
    ),
    "absent": (
        "records are at the target and not at the source: they may be of {}, "
        "whose topic is merged into this one, and does not exist, or no longer"
    ),
}


def findings_of(
    tallies: Iterable[OutcomeCounts],
    ranges: Mapping[tuple[OutcomeKey, Side], OffsetRanges],
    pairs: Iterable[PartitionPair],
) -> tuple[AuditFinding, ...]:
    """Return one finding for each kind on each source partition of a pair.

    Parameters
    ----------
    tallies
        Outcomes.
    ranges
        Offset ranges of the records, by outcome and side.
    pairs
        The pairs they are of.
    """
    known = {name(pair): pair for pair in pairs}
    wrong: dict[OutcomeKey, list[OutcomeCounts]] = defaultdict(list)
    for tally in tallies:
        if tally.key[3] in FINDINGS:
            wrong[tally.key].append(tally)
    found = [
        _finding(known[key[0]], key, parts, ranges)
        for key, parts in wrong.items()
    ]
    return tuple(
        sorted(
            found,
            key=lambda f: (
                *(f.flow, f.topic, f.partition),
                FINDINGS.index(f.kind),
            ),
        )
    )


def stated_of(
    tallies: Iterable[OutcomeCounts], pairs: Iterable[PartitionPair]
) -> tuple[Stated, ...]:
    """Return how many records differ for which known reason."""
    known = {name(pair): pair for pair in pairs}
    counts: Counter[tuple[str, str, int, StatedKind]] = Counter()
    for tally in tallies:
        pair, kind = known[tally.key[0]], _STATED.get(tally.key[3])
        if kind is not None:
            counts[*_names(pair, tally.key), kind] += tally.count
    return tuple(
        Stated(flow=flow, topic=topic, partition=p, kind=kind, count=count)
        for (flow, topic, p, kind), count in sorted(counts.items())
    )


def unverifiable_of(
    tallies: Iterable[OutcomeCounts], pairs: Iterable[PartitionPair]
) -> tuple[Unverifiable, ...]:
    """Return what differs and cannot be judged."""
    known = {name(pair): pair for pair in pairs}
    found = []
    for tally in tallies:
        reason = _REASONS.get(tally.key[3])
        if reason is None:
            continue
        pair = known[tally.key[0]]
        flow, topic, partition = _names(pair, tally.key)
        found.append(
            Unverifiable(
                flow=flow,
                topic=topic,
                partition=partition,
                reason=reason.format(
                    " and ".join(
                        f"{topic} ({flow})" for flow, topic in pair.absent
                    )
                ),
                records=tally.count,
            )
        )
    return tuple(sorted(found, key=lambda x: (x.flow, x.topic, x.partition)))


def _finding(
    pair: PartitionPair,
    key: OutcomeKey,
    parts: Sequence[OutcomeCounts],
    ranges: Mapping[tuple[OutcomeKey, Side], OffsetRanges],
) -> AuditFinding:
    flow, topic, partition = _names(pair, key)
    (kind,) = (kind for kind in FINDINGS if kind == key[3])
    return AuditFinding(
        flow=flow,
        topic=topic,
        partition=partition,
        kind=kind,
        count=sum(part.count for part in parts),
        source_offsets=ranges.get((key, "source"), ()),
        target_offsets=ranges.get((key, "target"), ()),
        start=min(_known(part.start for part in parts), default=None),
        end=max(_known(part.end for part in parts), default=None),
    )


def _known(times: Iterable[datetime | None]) -> list[datetime]:
    return [time for time in times if time is not None]


def _names(pair: PartitionPair, key: OutcomeKey) -> tuple[str, str, int]:
    """Return flow, source topic and partition of an outcome."""
    _, origin, topic, _ = key
    return origin or pair.flow, topic or pair.topic, pair.partition
