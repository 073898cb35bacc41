"""Logs of both sites in memory, read as Kafka would be."""

from base64 import b64encode
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import reduce

from pyspark.sql import DataFrame, SparkSession

from mirrorwatch.domain.audit.plan import (
    AS_THEY_ARE,
    AuditSpan,
    CopyProfile,
    PartitionPair,
    Plan,
    Side,
    SourceRange,
    TimeWindow,
)
from mirrorwatch_audit.digest.records import (
    RECORDS,
    Times,
    after_first,
    as_compared,
    name,
    small_table,
    spanned,
)

__all__ = [
    "AT",
    "BUCKET",
    "FLOW",
    "Logs",
    "Record",
    "make_pair",
    "make_plan",
    "millis",
]

FLOW = "summit->ldf"

AT = datetime(2026, 11, 21, 2, tzinfo=UTC)

BUCKET = timedelta(minutes=10)


def millis(seconds: float) -> int:
    """Return a timestamp so long before the plan was frozen."""
    return round((AT.timestamp() - seconds) * 1000)


@dataclass(frozen=True, kw_only=True)
class Record:
    value: bytes | None = b""
    key: bytes | None = None
    headers: tuple[tuple[str, bytes | None], ...] | None = None
    timestamp: int = 0
    appended: bool = field(default=False, compare=False)
    aborted: bool = field(default=False, compare=False)
    """Whether readers of committed records do not see it; a copy is alike."""


class Logs:
    """What stands in each partition of both sites, by offset.

    Parameters
    ----------
    session
        Spark.
    """

    def __init__(self, session: SparkSession) -> None:
        self._session = session
        self.rows_read = 0
        self._logs: dict[tuple[str, str, str, int], dict[int, Record]]
        self._logs = defaultdict(dict)

    def write(
        self,
        side: Side,
        records: Iterable[Record],
        *,
        topic: str = "a",
        partition: int = 0,
        flow: str = FLOW,
        at: int | None = None,
    ) -> AuditSpan:
        """Append records, or write them from an offset on."""
        log = self._logs[side, flow, topic, partition]
        start = offset = max(log, default=-1) + 1 if at is None else at
        for record in records:
            log[offset] = record
            offset += 1
        return AuditSpan(start, offset)

    def remove(
        self,
        side: Side,
        offsets: Iterable[int],
        *,
        topic: str = "a",
        partition: int = 0,
        flow: str = FLOW,
    ) -> None:
        """Take records away, as compaction does."""
        for offset in offsets:
            del self._logs[side, flow, topic, partition][offset]

    def __call__(
        self, pairs: Sequence[PartitionPair], side: Side
    ) -> DataFrame:
        profiles = sorted({pair.copies for pair in pairs}) or [AS_THEY_ARE]
        parts = [
            self._read([p for p in pairs if p.copies == copies], side, copies)
            for copies in profiles
        ]
        return reduce(DataFrame.unionByName, parts)

    def _read(
        self, pairs: Sequence[PartitionPair], side: Side, copies: CopyProfile
    ) -> DataFrame:
        rows = [
            (
                pair.flow,
                pair.target_topic,
                pair.partition,
                origin,
                topic,
                offset,
                record.timestamp,
                _as_json(record.key),
                _as_json(record.value),
                _headers(record),
                record.appended,
                None,
            )
            for pair in pairs
            for origin, topic, span, committed in _spans(pair, side)
            for offset, record in self._logs[
                side, origin, topic, pair.partition
            ].items()
            if span.start <= offset < span.end
            and not (committed and record.aborted)
        ]
        self.rows_read += len(rows)
        # `createDataFrame` would have each scan of it start Python.
        records = small_table(self._session, rows, RECORDS)
        return as_compared(records, copies)

    def since(
        self, pairs: Sequence[PartitionPair], side: Side, times: Times
    ) -> list[PartitionPair]:
        return [
            self._since(pair, side, times[name(pair)])
            if name(pair) in times
            else pair
            for pair in pairs
        ]

    def _since(
        self, pair: PartitionPair, side: Side, time: int
    ) -> PartitionPair:
        def later(x: PartitionPair | SourceRange) -> AuditSpan:
            topic = x.topic if isinstance(x, SourceRange) else x.target_topic
            log = self._logs[side, x.flow, topic, x.partition]
            young = (n for n, r in log.items() if r.timestamp >= time)
            return after_first(x.span, min(young, default=None))

        return spanned(pair, later)


def _as_json(value: bytes | None) -> str | None:
    return None if value is None else b64encode(value).decode()


def _headers(record: Record) -> list[dict[str, str | None]] | None:
    if record.headers is None:
        return None
    return [{"key": k, "value": _as_json(v)} for k, v in record.headers]


def _spans(
    pair: PartitionPair, side: Side
) -> Iterable[tuple[str, str, AuditSpan, bool]]:
    if side == "target":
        return [(pair.flow, pair.target_topic, pair.span, False)]
    return [(s.flow, s.topic, s.span, s.read_committed) for s in pair.sources]


def make_pair(
    source: tuple[int, int],
    target: tuple[int, int],
    *,
    topic: str = "a",
    partition: int = 0,
    position: int | None = None,
    retained: tuple[tuple[int, int], tuple[int, int]] | None = None,
    timestamps: bool = True,
    compacted: bool = False,
    read_committed: bool = False,
    exact_start: bool = False,
    asked_from: int = 0,
    copies: CopyProfile = AS_THEY_ARE,
) -> PartitionPair:
    """Return a pair of one topic; what is retained is what is compared."""
    kept = retained or (source, target)
    return PartitionPair(
        flow=FLOW,
        cluster="ldf",
        target_topic=topic,
        partition=partition,
        sources=(
            SourceRange(
                flow=FLOW,
                cluster="summit",
                topic=topic,
                partition=partition,
                span=AuditSpan(*source),
                retained=AuditSpan(*kept[0]),
                position=position,
                read_committed=read_committed,
                asked_from=asked_from,
            ),
        ),
        span=AuditSpan(*target),
        retained=AuditSpan(*kept[1]),
        timestamps=timestamps,
        compacted=compacted,
        exact_start=exact_start,
        copies=copies,
    )


def make_plan(*pairs: PartitionPair, window: TimeWindow | None = None) -> Plan:
    return Plan(id="nightly-2026-11-21", at=AT, window=window, pairs=pairs)
