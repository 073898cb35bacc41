"""Audit plan: ranges of offsets to compare, frozen before reading."""

import hashlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from typing import Literal

from ..topics import compile_pattern

__all__ = [
    "AS_THEY_ARE",
    "NOTHING",
    "TO_THE_END",
    "AuditSpan",
    "AuditedEnd",
    "AuditedEnds",
    "CopyProfile",
    "Cut",
    "FilteredTopic",
    "PartitionPair",
    "Plan",
    "Request",
    "SharedTopic",
    "Side",
    "SourceRange",
    "Stated",
    "StatedKind",
    "TimeWindow",
    "Unverifiable",
    "earlier_pieces",
    "ends_after",
    "nights_by_day",
]


Side = Literal["source", "target"]

Cut = Literal["idle", "sync", "offset", "timestamp", "window"]
"""Method of aligning the end offsets of both sides: nothing more was written,
the last pair of offsets, the same offset, by time, or the window of an ad hoc
audit."""

StatedKind = Literal["in_flight", "expired", "compacted", "carried"]
"""Kind of difference between both sides that is not an error."""


@dataclass(frozen=True, slots=True)
class AuditSpan:
    """Offsets from the first to before the last."""

    start: int
    """First offset."""

    end: int
    """Offset after the last one."""

    def __len__(self) -> int:
        return max(self.end - self.start, 0)


@dataclass(frozen=True, kw_only=True, slots=True, order=True)
class CopyProfile:
    """Record properties that the copies of a mirror preserve.

    The defaults are MirrorMaker 2's.
    """

    partitions: bool = True
    """Partitions are preserved. If not, whole topics are compared."""

    offsets: bool = False
    timestamps: bool = True
    tombstones: bool = True
    """Tombstones are preserved; if not, the copy has an empty value, and both
    are taken for equal."""

    added_headers: tuple[str, ...] = ()
    """Headers that the mirror adds; they are not compared."""

    registry: bool = False
    """Topic of a schema registry: its NOOP records, of each start, are not
    compared."""

    def ignoring(self, headers: Iterable[str]) -> "CopyProfile":
        """Return the same without more headers."""
        added = tuple(dict.fromkeys([*self.added_headers, *headers]))
        return replace(self, added_headers=added)

    def joined(self, other: "CopyProfile") -> "CopyProfile":
        """Return what the copies of two mirrors have in common."""
        return CopyProfile(
            partitions=self.partitions and other.partitions,
            # Of two that write one topic, neither can keep them.
            offsets=False,
            timestamps=self.timestamps and other.timestamps,
            tombstones=self.tombstones and other.tombstones,
            registry=self.registry or other.registry,
            added_headers=tuple(
                sorted({*self.added_headers, *other.added_headers})
            ),
        )


AS_THEY_ARE = CopyProfile()
"""Of a mirror that changes nothing but offsets."""

TO_THE_END = 2**63 - 1
"""End of a span up to the end that the log has when it is read."""

NOTHING = AuditSpan(0, 0)
"""The span of a log that does not exist, or is not read."""


@dataclass(frozen=True, slots=True)
class TimeWindow:
    """Record timestamps that an ad hoc audit is about: [start, end)."""

    start: datetime
    end: datetime
    """Timestamp after the last one."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SourceRange:
    """Source offsets whose copies are looked for at the target."""

    flow: str
    cluster: str
    topic: str
    partition: int
    span: AuditSpan
    retained: AuditSpan
    """Offsets that were there when the audit froze them: how far a second,
    wider reading may go."""

    position: int | None
    """Proved next offset to copy: the higher of the committed position and
    the last sync's upstream offset + 1. A record that is missing at the
    target was dropped below it, and may be in flight at or above it."""

    topic_id: str = ""
    read_committed: bool = False
    """Isolation level of the mirror is `read_committed`: it leaves out aborted
    records, and the source is read likewise. Of the target, only committed
    records are read in any case: the rest are no copies that anybody could
    rely on, such as those that an exactly-once mirror aborted and copied
    again."""

    asked_from: int = 0
    """Offset from which the mirror is known to have been asked for records.
    One that is missing before it was dropped, or skipped by a mirror that
    begins at the log end."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PartitionPair:
    """Target partition with the source ranges to compare it with."""

    flow: str
    """Name of the flow, of the first one for a merged topic."""

    cluster: str
    target_topic: str
    partition: int
    sources: tuple[SourceRange, ...]
    span: AuditSpan
    retained: AuditSpan
    timestamps: bool = True
    """Timestamps of records are preserved at the target; where they are not
    (`LogAppendTime` there) they are left out of buckets and checksums, and of
    an ad hoc audit all records of the spans are compared. The timestamps that
    a source puts on records itself are copied like any others."""

    compacted: bool = False
    """Compaction on either side keeps only the newest record of a key: then
    the newest value of each key is compared."""

    cut: Cut = "window"
    topic_id: str = ""
    """Id of the target topic; empty if there is none, and then the span is
    empty too and nothing must be read there."""

    cut_at: datetime | None = None
    exact_start: bool = False
    """Spans of both sides begin at the same record, the carry of the previous
    audit included: then no copy of a record lies before them. An audit sets it
    when it begins."""

    passed_over: bool = False
    """Ranges could not be read: nothing was compared, and the next night goes
    on after them."""

    copies: CopyProfile = AS_THEY_ARE
    """Record properties to compare. Where partitions are not kept, all pairs
    of a topic are compared as one sum; one of them whose partition does not
    exist at the source has a source without offsets."""

    hours: TimeWindow | None = None
    """Timestamps that a night compares where partitions are not kept."""

    absent: tuple[tuple[str, str], ...] = ()
    """Flows that are configured to write the target topic too, and their
    source topics, which do not exist, or no longer: the target may still hold
    copies of their records."""

    @property
    def topic(self) -> str:
        """Topic name of the pair in results: the source topic if there is
        exactly one, else the target's.
        """
        topics = {source.topic for source in self.sources}
        return topics.pop() if len(topics) == 1 else self.target_topic


@dataclass(frozen=True, kw_only=True, slots=True)
class Unverifiable:
    """Partition or topic that could not be verified."""

    flow: str
    topic: str
    partition: int | None
    """Partition; `None` for a whole topic."""

    reason: str
    records: int | None = None
    """Number of source offsets, where it is known."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Stated:
    """Records that differ for a known reason: no finding."""

    flow: str
    topic: str
    partition: int
    kind: StatedKind
    count: int


@dataclass(frozen=True, kw_only=True, slots=True)
class SharedTopic:
    """A topic of a merged pair, which is reported under one of its flows."""

    flow: str
    reported_under: str
    """Name of the flow under which it is reported: the first that feeds it."""

    topic: str


@dataclass(frozen=True, kw_only=True, slots=True)
class FilteredTopic:
    """A topic of which a transform drops records on purpose."""

    flow: str
    topic: str
    at_most: float | None = None
    """Share of its records that may be missing; `None` for all."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Plan:
    """Plan of one audit: pairs of ranges to compare."""

    id: str
    """Name of the run: `nightly-2026-11-21`, or `adhoc-` and its window."""

    at: datetime
    window: TimeWindow | None
    """For an ad hoc audit; `None` for a nightly one, which takes all records
    since the last audited end, whatever their timestamps."""

    pairs: tuple[PartitionPair, ...]
    unverifiable: tuple[Unverifiable, ...] = ()
    stated: tuple[Stated, ...] = ()
    """Records left to the next night, such as those in flight."""

    more: bool = False
    """Settled records remain: a night that was missed is made up in pieces, of
    which this is one."""

    filtered: tuple[FilteredTopic, ...] = ()
    gone: tuple[tuple[str, str], ...] = ()
    shared: tuple[SharedTopic, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class AuditedEnd:
    """Up to where one source partition was audited."""

    flow: str
    topic: str
    partition: int
    source_end: int
    """Next source offset to audit."""

    target_end: int
    """Next target offset to audit."""

    source_id: str
    """Id of the source topic: another one is another topic. Empty once it was
    deleted."""

    target_id: str
    """Id of the target topic; empty if there was none."""

    cut_at: datetime
    position: int | None = None
    """The mirror's position then, if it was known."""

    exact: bool = True
    """All before was compared, and its rest left to the next night."""

    by_topic: bool = False
    """Partitions were not kept: then the offsets are those up to
    which the logs were read, and all before `cut_at` was compared."""

    @property
    def key(self) -> tuple[str, str, int]:
        """Flow, source topic and partition."""
        return self.flow, self.topic, self.partition


@dataclass(frozen=True, slots=True)
class AuditedEnds:
    """Up to where all partitions were audited; empty before the first."""

    ends: tuple[AuditedEnd, ...] = ()
    """At most one for each flow, source topic and partition."""

    def by_partition(self) -> Mapping[tuple[str, str, int], AuditedEnd]:
        """Return them by flow, source topic and partition."""
        return {end.key: end for end in self.ends}


REMEMBERED = timedelta(days=90)
"""Time for which the ends of a deleted topic are kept."""


def ends_after(plan: Plan, before: AuditedEnds) -> AuditedEnds:
    """Return the ends once a nightly plan was carried out.

    Parameters
    ----------
    plan
        Audited plan. The plan of an ad hoc audit moves no ends.
    before
        The ends that it was made from. Those of partitions that are not in
        the plan stay.

    Notes
    -----
    A topic that is no more may be created again, while the target still has
    copies of the old one: without its ends these would be extra.
    """
    if plan.window is not None:
        return before
    found = {
        key: replace(end, source_id="") if key[:2] in plan.gone else end
        for key, end in before.by_partition().items()
        if end.source_id or plan.at - end.cut_at <= REMEMBERED
    }
    for pair in plan.pairs:
        for source in pair.sources:
            end = AuditedEnd(
                flow=source.flow,
                topic=source.topic,
                partition=source.partition,
                source_end=source.span.end,
                target_end=pair.span.end,
                source_id=source.topic_id,
                target_id=pair.topic_id,
                cut_at=pair.cut_at or plan.at,
                position=source.position,
                exact=not pair.passed_over,
                by_topic=not pair.copies.partitions,
            )
            found[end.key] = end
    return AuditedEnds(tuple(found.values()))


@dataclass(frozen=True, kw_only=True, slots=True)
class Request:
    """Audit request, nightly or ad hoc.

    Notes
    -----
    A nightly audit takes what was written since the last one. An ad hoc one
    takes records by their timestamps, and leaves no trace for the next night.
    """

    window: TimeWindow | None = None
    """Timestamps of an ad hoc audit; `None` for a nightly one."""

    night: date | None = None
    """Which night a nightly audit is named after; `None` for today's (UTC).
    It changes nothing but the name: what is audited is what was written since
    the last one."""

    clock: str = ""
    """Time of day, as in `0300`, of a run that is one of several of a day:
    with the night it is its name."""

    piece: int = 1
    """Number of the piece, from 1, where a night is made up in several: see
    `Plan.more`."""

    flow: str | None = None
    """Only this flow, and the flows that it shares a target topic with: of an
    ad hoc audit, as a night is of all."""

    topics: str | None = None
    """Only source topics whose whole name matches this regex, likewise."""

    def wants(self, flow: str, topic: str) -> bool:
        """Return whether a source topic of a flow is asked for.

        Raises
        ------
        PatternError
            Raised if `topics` is no regex.
        """
        return (self.flow is None or self.flow == flow) and (
            self.topics is None
            or compile_pattern(self.topics).fullmatch(topic) is not None
        )

    def run_id(self, today: date) -> str:
        """Name the run that is asked for; a folder of that name can be made.

        Parameters
        ----------
        today
            The night of a nightly audit that names none.

        Returns
        -------
        str
            ``nightly-2026-11-21``, then ``nightly-2026-11-21-2`` for its
            second piece, ``nightly-2026-11-21T0300`` for one of several of
            a day, or ``adhoc-`` and its window in UTC. Of a part of
            the topics only, with a mark for which.
        """
        if self.window is not None:
            ends = (self.window.start, self.window.end)
            name = "-".join(["adhoc", *map(_compact, ends)])
        else:
            name = f"nightly-{self.night or today}"
            if self.clock:
                name += f"T{self.clock}"
        if self.flow is not None or self.topics is not None:
            part = f"{self.flow}\n{self.topics}".encode()
            name += f"-part{hashlib.sha256(part).hexdigest()[:8]}"
        return name if self.piece == 1 else f"{name}-{self.piece}"


_PIECE = re.compile(
    r"(nightly-\d{4}-\d\d-\d\d(?:T\d{4})?)-(\d+)",
    re.ASCII,
)


def earlier_pieces(run: str) -> list[str]:
    """Return the names of the pieces of a night before one of them, the first
    one first; see `Request.run_id`.
    """
    found = _PIECE.fullmatch(run)
    if found is None:
        return []
    first, piece = found[1], int(found[2])
    return [first, *(f"{first}-{n}" for n in range(2, piece))]


_NIGHT = re.compile(r"nightly-(\d{4}-\d\d-\d\d)", re.ASCII)


def nights_by_day(runs: Iterable[str]) -> list[list[str]]:
    """Return the names of nightly runs by the day that they are named after,
    the newest day first: no night is begun after one of a later day.
    """
    days: dict[str, list[str]] = {}
    for run in runs:
        if (found := _NIGHT.match(run)) is not None:
            days.setdefault(found[1], []).append(run)
    return [days[day] for day in sorted(days, reverse=True)]


def _compact(time: datetime) -> str:
    time = time.astimezone(UTC)
    seconds = f"{time:%Y%m%dT%H%M%S}"
    return seconds + (f".{time:%f}" if time.microsecond else "") + "Z"
