"""Audit result, and its numbers formatted for people."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import Literal

from ..report import counted
from ..topics import filtered_note, is_beyond
from .plan import FilteredTopic, SharedTopic, Side, Stated, Unverifiable

__all__ = [
    "MOST_NAMED",
    "AuditFinding",
    "AuditResult",
    "Crossing",
    "FindingKind",
    "FinishedAudit",
    "Speed",
    "TopicCount",
    "answer",
    "as_duration",
    "as_ranges",
    "as_size",
    "as_time",
    "combined",
    "tell_filtered",
]


FindingKind = Literal[
    "dropped", "duplicated", "extra", "corrupted", "filtered"
]
"""Kind of finding about records; `filtered` is as configured and no error."""

OffsetRanges = tuple[tuple[int, int], ...]
"""Pairs of first and last offset, inclusive, in order."""

MOST_NAMED = 1000
"""Most ranges of a finding that are named on each side, the first ones: of
every second record of a day there would be millions. Its count is exact."""


@dataclass(frozen=True, kw_only=True, slots=True)
class AuditFinding:
    """Discrepancy of one kind in one partition."""

    flow: str
    topic: str
    """Source topic (the target's where several feed one)."""

    partition: int
    kind: FindingKind
    count: int
    source_offsets: OffsetRanges = ()
    target_offsets: OffsetRanges = ()
    """Offset ranges at the target: `extra`, `duplicated`, `corrupted`."""

    start: datetime | None = None
    """Earliest timestamp of these records; `None` if they have none."""

    end: datetime | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class TopicCount:
    """Number of records and bytes compared in a topic."""

    flow: str
    topic: str
    source_count: int
    target_count: int
    source_bytes: int = 0
    """Bytes of keys and values at the source."""

    target_bytes: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class AuditResult:
    """Result of one audit: counts, findings and unverifiable partitions."""

    id: str
    nightly: bool
    start: datetime
    end: datetime
    began_at: datetime
    ended_at: datetime
    topics: tuple[TopicCount, ...]
    findings: tuple[AuditFinding, ...] = ()
    stated: tuple[Stated, ...] = ()
    """Differences with a known reason, which are no errors."""

    unverifiable: tuple[Unverifiable, ...] = ()
    more: bool = False
    shared: tuple[SharedTopic, ...] = ()

    @property
    def errors(self) -> tuple[AuditFinding, ...]:
        """Errors: all findings but those of filtered topics."""
        return tuple(f for f in self.findings if f.kind != "filtered")

    @property
    def filtered(self) -> str:
        """Note on what is missing as configured; empty if nothing."""
        missing: Counter[tuple[str, str]] = Counter()
        for finding in self.findings:
            if finding.kind == "filtered":
                missing[finding.flow, finding.topic] += finding.count
        return filtered_note(missing.values())

    @property
    def clean(self) -> bool:
        """Audit verified everything and found no errors."""
        return not self.errors and not self.unverifiable


NOT_MERGED: Mapping[tuple[str, str], int] = MappingProxyType({})


def tell_filtered(
    findings: Iterable[AuditFinding],
    topics: Iterable[TopicCount],
    filtered: Iterable[FilteredTopic],
    fed: Mapping[tuple[str, str], int] = NOT_MERGED,
) -> tuple[AuditFinding, ...]:
    """Return findings with what is missing as configured told apart.

    Parameters
    ----------
    findings
        Audit findings.
    topics
        Number of records compared of each topic.
    filtered
        Topics of which a transform drops records on purpose. Where more is
        missing of one than may be, all of it stays an error.
    fed
        Records of each source of merged topics, which are counted together.
    """
    found = tuple(findings)
    missing: Counter[tuple[str, str]] = Counter()
    for finding in found:
        if finding.kind == "dropped":
            missing[finding.flow, finding.topic] += finding.count
    records = {(t.flow, t.topic): t.source_count for t in topics} | {**fed}
    allowed = {
        (each.flow, each.topic)
        for each in filtered
        if not is_beyond(
            missing[each.flow, each.topic],
            records.get((each.flow, each.topic), 0),
            each.at_most,
        )
    }
    return tuple(
        replace(finding, kind="filtered")
        if finding.kind == "dropped"
        and (finding.flow, finding.topic) in allowed
        else finding
        for finding in found
    )


WORDS = {
    "dropped": "dropped",
    "duplicated": "duplicated",
    "corrupted": "altered",
    "extra": "at the target but not at the source",
}
"""Summary wording of each kind of finding, the worst first."""


def answer(result: AuditResult) -> str:
    """Return what a person wants to know first."""
    parts = []
    if result.errors:
        parts.append(_findings(result))
    if result.unverifiable:
        parts.append(_gaps(result))
    noted = [result.filtered] if result.filtered else []
    if parts:
        return "; ".join([*parts, *noted])
    records = sum(topic.source_count for topic in result.topics)
    if not records:
        return "Clean: no records were produced"
    arrived = (
        f"Clean: {counted(records, 'record')} of "
        f"{counted(len(result.topics), 'topic')} arrived once and unaltered"
    )
    return ", except for ".join([arrived, *noted])


def _findings(result: AuditResult) -> str:
    sums: Counter[str] = Counter()
    for finding in result.errors:
        sums[finding.kind] += finding.count
    first, *others = [kind for kind in WORDS if sums[kind]]
    parts = [f"{counted(sums[first], 'record')} {WORDS[first]}"]
    parts += [f"{sums[kind]:,} {WORDS[kind]}" for kind in others]
    return f"{_joined(parts)} in {_named({f.topic for f in result.errors})}"


def _gaps(result: AuditResult) -> str:
    topics = {gap.topic for gap in result.unverifiable}
    gaps = f"{_named(topics)} could not be verified"
    known = [gap.records for gap in result.unverifiable]
    records = sum(number for number in known if number is not None)
    if records:
        more = "" if None not in known else "at least "
        gaps += f" ({more}{counted(records, 'record')})"
    return gaps if result.errors else f"No errors found, but {gaps}"


def _named(topics: Iterable[str]) -> str:
    names = sorted(topics)
    if len(names) > 2:
        return counted(len(names), "topic")
    return _joined(names)


def _joined(parts: list[str]) -> str:
    *others, last = parts
    return f"{', '.join(others)} and {last}" if others else last


def combined(results: Sequence[AuditResult]) -> AuditResult:
    """Return several nights that were made up for in one run as one result.

    Parameters
    ----------
    results
        At least one, in the order of their ranges.
    """
    first, last = results[0], results[-1]
    if first is last:
        return first
    topics: dict[tuple[str, str], TopicCount] = {}
    for count in (topic for result in results for topic in result.topics):
        key = (count.flow, count.topic)
        nothing = TopicCount(
            flow=count.flow, topic=count.topic, source_count=0, target_count=0
        )
        before = topics.get(key, nothing)
        topics[key] = replace(
            count,
            source_count=before.source_count + count.source_count,
            target_count=before.target_count + count.target_count,
            source_bytes=before.source_bytes + count.source_bytes,
            target_bytes=before.target_bytes + count.target_bytes,
        )
    return replace(
        last,
        start=min(result.start for result in results),
        began_at=first.began_at,
        topics=tuple(topics[key] for key in sorted(topics)),
        findings=tuple(f for result in results for f in result.findings),
        stated=tuple(s for result in results for s in result.stated),
        unverifiable=tuple(
            gap for result in results for gap in result.unverifiable
        ),
    )


LEAST_SPAN = timedelta(minutes=10)
"""Shortest window whose traffic says something about a day."""

DAY = timedelta(days=1)


@dataclass(frozen=True, kw_only=True, slots=True)
class Speed:
    """Cost of an audit: records, bytes and duration."""

    records: int
    bytes: int
    """Bytes of keys and values of these."""

    reading: timedelta
    total: timedelta
    covered: timedelta

    @property
    def records_per_second(self) -> float | None:
        """Records of both sides read in a second, if any time passed."""
        return self.records / self._seconds if self._seconds > 0 else None

    @property
    def bytes_per_second(self) -> float | None:
        """Bytes of both sides read in a second, if any time passed."""
        return self.bytes / self._seconds if self._seconds > 0 else None

    @property
    def forecast(self) -> timedelta | None:
        """Expected duration for a day of the same traffic; `None` if too
        little time was covered to say.
        """
        if self.covered < LEAST_SPAN:
            return None
        return self.total - self.reading + self.reading * (DAY / self.covered)

    @property
    def _seconds(self) -> float:
        return self.reading / timedelta(seconds=1)


@dataclass(frozen=True, kw_only=True, slots=True)
class FinishedAudit:
    """An audit's result with what it cost."""

    result: AuditResult
    speed: Speed


@dataclass(frozen=True, kw_only=True, slots=True)
class Crossing:
    """Size of a digest sent to the other site, against what it replaces."""

    side: Side
    records: int
    read_bytes: int
    """Bytes of keys and values of these."""

    digest_bytes: int
    """Bytes of the folder that travels."""

    @property
    def percent(self) -> float | None:
        """Bytes that travel for each hundred read, if any were read."""
        if not self.read_bytes:
            return None
        return 100 * self.digest_bytes / self.read_bytes


UNITS = (("d", 86_400), ("h", 3600), ("min", 60), ("s", 1))

PREFIXES = ("bytes", "kB", "MB", "GB", "TB", "PB")

RANGES = 8
"""Most ranges of offsets that are shown; the JSON has up to `MOST_NAMED`."""


def as_duration(duration: timedelta) -> str:
    """Return a duration in the unit that suits it, such as ``1.5 h``."""
    seconds = duration / timedelta(seconds=1)
    for unit, size in UNITS:
        if seconds >= size:
            return f"{_digits(seconds / size)} {unit}"
    return f"{seconds * 1000:.0f} ms"


def as_size(number: float) -> str:
    """Return a number of bytes in the unit that suits it."""
    for prefix in PREFIXES:
        # Not 1000: what is rounded up to it belongs to the next unit.
        if number < 999.5 or prefix == PREFIXES[-1]:
            break
        number /= 1000
    return f"{_digits(number)} {prefix}"


def as_time(time: datetime) -> str:
    """Return a time in UTC, to the second."""
    return f"{time:%Y-%m-%d %H:%M:%S}"


def as_ranges(ranges: tuple[tuple[int, int], ...]) -> str:
    """Return ranges of offsets, the first ones if there are many."""
    named = [
        f"{first}" if first == last else f"{first}-{last}"
        for first, last in ranges[:RANGES]
    ]
    if len(ranges) > RANGES:
        least = "at least " if len(ranges) == MOST_NAMED else ""
        named.append(f"and {least}{len(ranges) - RANGES:,} more")
    return ", ".join(named)


def _digits(number: float) -> str:
    if number >= 99.5 or number == int(number):
        return f"{number:.0f}"
    return f"{number:.1f}" if number >= 9.95 else f"{number:.2g}"
