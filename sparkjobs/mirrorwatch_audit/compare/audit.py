"""The audit of one plan."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import reduce

from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as sf

from mirrorwatch.domain.audit.plan import (
    AuditedEnds,
    AuditSpan,
    PartitionPair,
    Plan,
    Side,
    Stated,
    Unverifiable,
)
from mirrorwatch.domain.audit.result import (
    AuditFinding,
    AuditResult,
    FinishedAudit,
    Speed,
    TopicCount,
    tell_filtered,
)

from ..checkpoint import checkpointed
from ..digest.digest import (
    PAIR,
    DigestSummary,
    digest,
    prepared,
    reading_of,
)
from ..digest.records import (
    SIDES,
    Group,
    PairName,
    Read,
    groups,
    name,
    named,
    narrowed,
    streams,
)
from ..drill.compacted import drill_compacted
from ..drill.drill import SuspectBuckets, drill
from ..drill.explain import no_outcomes
from ..drill.findings import (
    FINDINGS,
    OutcomeCounts,
    findings_of,
    judged,
    offset_ranges,
    stated_of,
    tallied,
    unverifiable_of,
)
from ..session import translated
from ..store.carry import WAITING, carried, carry_out, no_carry
from ..tools import Tools
from .by_topic import compare_topics
from .digests import (
    DigestComparison,
    bucket_length,
    compared,
    count_fed,
    matched_ends,
    stretches,
)

__all__ = ["JudgedAudit", "audit", "digest_side", "judge", "of_pairs"]


_Stretches = dict[PairName, dict[tuple[str, str], list[AuditSpan]]]


def of_pairs(digest: DataFrame, pairs: Iterable[PartitionPair]) -> DataFrame:
    """Return what a digest holds of some pairs."""
    names = sf.broadcast(named(digest.sparkSession, pairs))
    return digest.join(names, [*PAIR], "left_semi")


@dataclass(frozen=True, kw_only=True, slots=True)
class Sides:
    """Digests of both sides of pairs that are hashed alike."""

    group: Group
    source: DataFrame
    target: DataFrame
    carry: DataFrame
    """Records carried over from the night before."""

    bucket: timedelta

    def whole(self, side: Side) -> DataFrame:
        """Return the digest of a side with what the night before left to it.

        Of a compacted pair nothing is added: what was left only names keys
        to look into.
        """
        read = self.source if side == "source" else self.target
        local_rows = of_pairs(read, self.group.pairs)
        if self.group.compacted:
            return local_rows
        left = carried(
            self.carry,
            side,
            self.group.pairs,
            timestamps=self.group.timestamps,
            bucket=self.bucket,
        )
        return local_rows.unionByName(
            digest(left, compacted=False, bucket=self.bucket)
        )


def look_into(read: Read, sides: Sides, plan: Plan) -> DataFrame | None:
    """Return what became of records without a counterpart, if there are any.

    Parameters
    ----------
    read
        Reads records.
    sides
        Digests of both sides.
    plan
        Plan from which the digests were made.
    """
    buckets = compared(sides.whole("source"), sides.whole("target"))
    buckets = buckets.transform(checkpointed)
    differing = buckets.where(~sf.col("equal")).select(*PAIR, "bucket")
    suspect = {_pair(row) for row in differing.select(*PAIR).collect()}
    if sides.group.compacted:
        suspect |= {_pair(row) for row in sides.carry.select(*PAIR).collect()}
    pairs = [x for x in sides.group.pairs if name(x) in suspect]
    if not pairs:
        return None
    source, target = (
        _stretches(stretches(side, differing))
        for side in (sides.source, sides.target)
    )
    case = SuspectBuckets(
        pairs=tuple(pairs),
        narrowed=tuple(
            part
            for pair in pairs
            for part in _parts(
                pair,
                source.get(name(pair), {}),
                target.get(name(pair), {}).get(
                    (pair.flow, pair.target_topic), []
                ),
            )
        ),
        buckets=differing,
        ends=matched_ends(sides.source, buckets.where("equal")),
        carry=sides.carry,
        timestamps=sides.group.timestamps,
        window=plan.window,
        bucket=sides.bucket,
    )
    return (drill_compacted if sides.group.compacted else drill)(read, case)


def _stretches(table: DataFrame) -> _Stretches:
    found: _Stretches = {}
    for row in table.orderBy("first_offset").collect():
        stretch = AuditSpan(row["first_offset"], row["last_offset"] + 1)
        spans = found.setdefault(_pair(row), {})
        spans.setdefault((row["origin"], row["topic"]), []).append(stretch)
    return found


def _parts(
    pair: PartitionPair,
    source: Mapping[tuple[str, str], Sequence[AuditSpan]],
    target: Sequence[AuditSpan],
) -> Iterator[PartitionPair]:
    """Yield the pair with one stretch of each of its logs at a time."""
    for n in range(max([1, len(target), *map(len, source.values())])):
        spans = {log: s[n] for log, s in source.items() if n < len(s)}
        yield narrowed(pair, spans, target[n] if n < len(target) else None)


def _pair(row: Row) -> PairName:
    return row["flow"], row["target_topic"], row["partition"]


_LEFT_OUT = (*WAITING, "settled")
"""Outcomes of records that another night compares, or has compared."""

_Sums = dict[PairName, tuple[int, int]]


def count_topics(
    cases: Sequence[Sides],
    tallies: Iterable[OutcomeCounts],
    pairs: Iterable[PartitionPair],
) -> tuple[TopicCount, ...]:
    """Return the records and bytes that were compared, by topic.

    Parameters
    ----------
    cases
        Digests of all pairs.
    tallies
        Outcome counts of records without a counterpart: records that another
        night compares do not count.
    pairs
        Compared pairs; a topic with nothing in it counts 0.
    """
    columns = [
        (_of_digests(cases, side), _of_tallies(tallies, side))
        for side in SIDES
    ]
    sums: dict[tuple[str, str], list[int]] = defaultdict(lambda: [0] * 4)
    for pair in {name(pair): pair for pair in pairs}.values():
        total = sums[pair.flow, pair.topic]
        for side, (read, left_out) in enumerate(columns):
            records, size = read.get(name(pair), (0, 0))
            less, smaller = left_out.get(name(pair), (0, 0))
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
            .groupBy(*PAIR)
            .agg(sf.sum("records"), sf.sum("bytes"))
        )
        for row in totals.collect():
            sums[row[0], row[1], row[2]] = (row[3], row[4])
    return sums


def _of_tallies(tallies: Iterable[OutcomeCounts], side: Side) -> _Sums:
    sums: _Sums = {}
    for tally in tallies:
        pair, _, _, kind = tally.key
        if tally.side == side and kind in _LEFT_OUT:
            records, size = sums.get(pair, (0, 0))
            sums[pair] = (records + tally.count, size + tally.bytes)
    return sums


NOTHING = AuditedEnds()

_NOTHING = Group(timestamps=True, compacted=False, pairs=())


def audit(
    read: Read,
    plan: Plan,
    *,
    bucket: timedelta,
    carry: DataFrame | None = None,
) -> DigestComparison:
    """Digest both sides, compare them, and look into what differs.

    Parameters
    ----------
    read
        Reads records, as `KafkaReader` does.
    plan
        Plan of the ranges to compare.
    bucket
        Length of time of one checksum.
    carry
        Records carried over from the night before.
    """
    source = digest_side(read, plan, "source", bucket=bucket).transform(
        checkpointed
    )
    target = digest_side(read, plan, "target", bucket=bucket).transform(
        checkpointed
    )
    return compare(read, plan, source, target, carry=carry)


def digest_side(
    read: Read, plan: Plan, side: Side, *, bucket: timedelta
) -> DataFrame:
    """Return the digest of one side of a plan (columns as in `DIGEST`).

    Parameters
    ----------
    read
        Reads records.
    plan
        Plan of the ranges to read.
    side
        Which side.
    bucket
        Length of time of one checksum.
    """
    parts = [
        digest(
            prepared(
                read(stream.pairs, side),
                timestamps=group.timestamps,
                window=plan.window,
                bucket=bucket,
            ),
            compacted=group.compacted,
            bucket=bucket,
            known=stream.known,
            topics=stream.topics,
        )
        for group in groups(plan.pairs) or [_NOTHING]
        for stream in streams(group.pairs, side)
    ]
    return reduce(DataFrame.unionByName, parts)


def compare(
    read: Read,
    plan: Plan,
    source: DataFrame,
    target: DataFrame,
    *,
    carry: DataFrame | None = None,
    before: AuditedEnds = NOTHING,
) -> DigestComparison:
    """Compare two digests, and look into what differs.

    Parameters
    ----------
    read
        Reads records of the buckets that differ, on both sides.
    plan
        Plan from which the digests were made.
    source
        Digest of the source; it is used more than once, so it should be
        stored or persisted.
    target
        Digest of the target.
    carry
        Records carried over from the night before.
    before
        Up to where partitions were audited.

    Raises
    ------
    AuditError
        Raised if the digests were not made alike.
    """
    left = no_carry(source.sparkSession) if carry is None else carry
    bucket = bucket_length(source, target)
    summed = compare_topics(
        source,
        target,
        [pair for pair in plan.pairs if not pair.copies.partitions],
        before,
        plan.at,
    )
    plan = replace(
        plan, pairs=tuple(p for p in plan.pairs if p.copies.partitions)
    )
    cases = [
        Sides(
            group=group,
            source=source,
            target=target,
            carry=left,
            bucket=bucket,
        )
        for group in groups(plan.pairs)
    ]
    looked = [look_into(read, sides, plan) for sides in cases]
    outcomes = [found for found in looked if found is not None]
    everything = reduce(
        DataFrame.unionByName, outcomes, no_outcomes(source.sparkSession)
    )
    tallies = judged(tallied(everything), plan.pairs)
    wrong = everything.where(sf.col("kind").isin(*FINDINGS))
    found = any(tally.key[3] in FINDINGS for tally in tallies)
    ranges = offset_ranges(wrong) if found else {}
    findings = findings_of(tallies, ranges, plan.pairs)
    return DigestComparison(
        topics=tuple(
            sorted(
                (*count_topics(cases, tallies, plan.pairs), *summed.counts),
                key=lambda count: (count.flow, count.topic),
            )
        ),
        fed=count_fed(source, plan.pairs),
        findings=findings,
        stated=stated_of(tallies, plan.pairs),
        unverifiable=(
            *unverifiable_of(tallies, plan.pairs),
            *summed.unverifiable,
        ),
        carry=carry_out(left, everything, plan.pairs),
        source=source,
        target=target,
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class JudgedAudit:
    """Audit result from the comparison of two digests."""

    plan: Plan
    audit: FinishedAudit
    carry: DataFrame
    """Records carried over, which the next night compares in place of this
    one."""


def judge(
    tools: Tools,
    plan: Plan,
    source: DataFrame,
    target: DataFrame,
    *,
    began: datetime,
    before: AuditedEnds = NOTHING,
    carry: DataFrame | None = None,
) -> JudgedAudit:
    """Compare two digests.

    Parameters
    ----------
    tools
        Tools of the run.
    plan
        Plan that was digested.
    source
        Digest of the source.
    target
        Digest of the target.
    began
        Time at which the run began to read.
    before
        Up to where partitions were audited.
    carry
        Records carried over from the night before.

    Raises
    ------
    AuditError
        Raised if Spark fails.
    SourceError
        Raised if a cluster cannot be asked.
    """
    read = tools.clock()
    gone: dict[Unverifiable, None] = {}
    while True:
        doing = tools.stage("Comparing")
        with doing, translated("Cannot compare"):
            found = compare(
                tools.read,
                plan,
                source,
                target,
                carry=carry,
                before=before,
            )
            readings = [reading_of(source), reading_of(target)]
        with tools.stage("Looking whether anything expired meanwhile"):
            rest, void = tools.planner.recheck(plan)
        gone |= dict.fromkeys(void)
        if rest is plan:
            break
        # Again without it: what was left of it, too, waits for the next night.
        plan = rest
        source, target = (
            of_pairs(digest, plan.pairs) for digest in (source, target)
        )
    ended = tools.clock()
    speed = Speed(
        records=sum(reading.records for reading in readings),
        bytes=sum(reading.bytes for reading in readings),
        reading=read - began,
        total=ended - began,
        covered=_covered(plan, before, readings),
    )
    result = _result(plan, found, [*gone], readings, began=began, ended=ended)
    audit = FinishedAudit(result=result, speed=speed)
    return JudgedAudit(plan=plan, audit=audit, carry=found.carry)


def _result(
    plan: Plan,
    found: DigestComparison,
    gone: Sequence[Unverifiable],
    readings: Sequence[DigestSummary],
    *,
    began: datetime,
    ended: datetime,
) -> AuditResult:
    # What expired while it was read is unknown, whatever was found of it.
    void = {(gap.flow, gap.topic, gap.partition) for gap in gone}
    times = [r.earliest for r in readings if r.earliest is not None]
    window = plan.window
    return AuditResult(
        id=plan.id,
        nightly=window is None,
        start=window.start if window else min([plan.at, *times]),
        end=window.end if window else plan.at,
        began_at=began,
        ended_at=ended,
        topics=found.topics,
        findings=tell_filtered(
            (f for f in found.findings if not _is_void(f, void)),
            found.topics,
            plan.filtered,
            found.fed,
        ),
        stated=(
            *plan.stated,
            *(s for s in found.stated if not _is_void(s, void)),
        ),
        unverifiable=(*plan.unverifiable, *found.unverifiable, *gone),
        more=plan.more,
        shared=plan.shared,
    )


def _covered(
    plan: Plan, before: AuditedEnds, readings: Sequence[DigestSummary]
) -> timedelta:
    if plan.window is not None:
        return plan.window.end - plan.window.start
    end = max((pair.cut_at or plan.at for pair in plan.pairs), default=plan.at)
    # A record with a timestamp of years ago shows nothing of last night.
    known = [audited.cut_at for audited in before.ends]
    known = known and [max(known)]
    known = known or [r.earliest for r in readings if r.earliest is not None]
    return max(end - min(known, default=end), timedelta())


def _is_void(
    about: AuditFinding | Stated, void: set[tuple[str, str, int | None]]
) -> bool:
    topic = (about.flow, about.topic)
    return bool({(*topic, about.partition), (*topic, None)} & void)
