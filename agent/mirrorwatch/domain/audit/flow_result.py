"""Audit result of one flow, small enough for the state file."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Literal

from .plan import Unverifiable, earlier_pieces
from .result import (
    AuditFinding,
    AuditResult,
    FindingKind,
    TopicCount,
)

__all__ = [
    "ERRORS",
    "KINDS",
    "Attempt",
    "AuditObservation",
    "FlowResult",
    "Outcome",
    "TopicTally",
    "flow_result_of",
    "join",
    "last_audit",
]


ERRORS: tuple[FindingKind, ...] = (
    "dropped",
    "corrupted",
    "extra",
    "duplicated",
)
"""From what is lost for good to what is only there twice."""

KINDS: tuple[FindingKind, ...] = (*ERRORS, "filtered")
"""All that is found; what is missing as configured is none of the errors."""

MOST_FINDINGS = 50
"""Kept of each kind, and of what could not be verified: as many as a person
reads. The report has all of them, and sums count all of them."""

MOST_RANGES = 20
"""Offset ranges kept of each finding, for the same reason."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TopicTally:
    """Record counts of one topic, as an audit found them."""

    topic: str
    source_records: int = 0
    target_records: int = 0
    found: dict[str, int] = field(default_factory=dict)
    unverifiable: int = 0
    """Source offsets that could not be judged; a range of unknown length, or
    of the target alone, counts as one."""


@dataclass(frozen=True, kw_only=True, slots=True)
class FlowResult:
    """Result of the last audit of one flow, in one run or in several."""

    runs: tuple[str, ...]
    """Names of the runs, the newest last."""

    start: datetime
    end: datetime
    began_at: datetime
    """Start of the newest run."""

    ended_at: datetime
    topics: tuple[TopicTally, ...] = ()
    findings: tuple[AuditFinding, ...] = ()
    """Findings, the worst first; limited by `MOST_FINDINGS`."""

    stated: dict[str, int] = field(default_factory=dict)
    """Records that differ and are not wrong, by kind."""

    gaps: tuple[Unverifiable, ...] = ()
    """Unverifiable partitions or topics; limited by `MOST_FINDINGS`."""

    gaps_total: int = 0
    more: bool = False
    shown: str = ""
    """The run whose report is worth reading first."""

    @property
    def wrong(self) -> bool:
        """Audit found errors, apart from records that filters drop."""
        return any(f.kind in ERRORS for f in self.findings)

    def found(self, kind: FindingKind) -> int:
        """Return how many records are wrong in one way."""
        return sum(topic.found.get(kind, 0) for topic in self.topics)


def flow_result_of(result: AuditResult, flow: str) -> FlowResult | None:
    """Return what a result holds of a flow; `None` if nothing.

    Parameters
    ----------
    result
        Audit result.
    flow
        Name of the flow. A topic that others feed as well is counted whole.
    """
    shared = {
        (topic.reported_under, topic.topic)
        for topic in result.shared
        if topic.flow == flow
    }

    def is_of(about: TopicCount | Unverifiable) -> bool:
        return about.flow == flow or (about.flow, about.topic) in shared

    counts = [t for t in result.topics if is_of(t)]
    findings = [f for f in result.findings if f.flow == flow]
    gaps = [u for u in result.unverifiable if is_of(u)]
    if not (counts or findings or gaps):
        return None
    found: dict[str, Counter[str]] = {}
    for finding in findings:
        of_topic = found.setdefault(finding.topic, Counter())
        of_topic[finding.kind] += finding.count
    unknown: Counter[str] = Counter()
    for gap in gaps:
        # What only the target has is no source offset, but not nothing.
        unknown[gap.topic] += gap.records or 1
    stated: Counter[str] = Counter()
    for known in result.stated:
        if known.flow == flow:
            stated[known.kind] += known.count
    tallies = {
        count.topic: TopicTally(
            topic=count.topic,
            source_records=count.source_count,
            target_records=count.target_count,
        )
        for count in counts
    }
    return FlowResult(
        runs=(result.id,),
        start=result.start,
        end=result.end,
        began_at=result.began_at,
        ended_at=result.ended_at,
        topics=tuple(
            replace(
                tallies.get(topic, TopicTally(topic=topic)),
                found=dict(found.get(topic, {})),
                unverifiable=unknown[topic],
            )
            for topic in sorted({*tallies, *found, *unknown})
        ),
        findings=_worst(findings),
        stated=dict(stated),
        gaps=tuple(gaps[:MOST_FINDINGS]),
        gaps_total=len(gaps),
        more=result.more,
        shown=result.id,
    )


def last_audit(
    runs: Iterable[FlowResult], since: datetime | None
) -> tuple[FlowResult, ...]:
    """Return the runs that together are the last audit, the oldest first.

    Parameters
    ----------
    runs
        Runs of one flow.
    since
        Due time of the last audit. Older runs are of audits before it.

    Notes
    -----
    A night that was missed is made up for in several runs. A loss found by one
    of them must not be forgotten because the next one found nothing, nor
    because another audit was due meanwhile. A run is as old as the records it
    compared: one of an old night that is run again is not the last audit.
    """
    ordered = sorted(runs, key=lambda night: night.end)
    last = [run for night in ordered[-1:] for run in night.runs]
    pieces = {piece for run in last for piece in (run, *earlier_pieces(run))}
    return tuple(
        night
        for night in ordered
        if (since is not None and night.end >= since) or pieces & {*night.runs}
    )


def join(nights: Sequence[FlowResult]) -> FlowResult | None:
    """Return several runs as one; `None` if there are none."""
    if not nights:
        return None
    newest = nights[-1]
    topics: dict[str, TopicTally] = {}
    stated: Counter[str] = Counter()
    for night in nights:
        stated.update(night.stated)
        for tally in night.topics:
            so_far = topics.get(tally.topic)
            topics[tally.topic] = _sum(so_far, tally) if so_far else tally
    wrong = [night for night in nights if night.wrong]
    doubtful = [night for night in nights if night.gaps]
    return FlowResult(
        runs=tuple(run for night in nights for run in night.runs),
        start=min(night.start for night in nights),
        end=newest.end,
        began_at=newest.began_at,
        ended_at=newest.ended_at,
        topics=tuple(topics[name] for name in sorted(topics)),
        findings=_worst([f for night in nights for f in night.findings]),
        stated=dict(stated),
        gaps=tuple(g for n in nights for g in n.gaps)[:MOST_FINDINGS],
        gaps_total=sum(night.gaps_total for night in nights),
        more=newest.more,
        shown=[*doubtful, *wrong][-1].shown
        if doubtful or wrong
        else newest.shown,
    )


def _worst(findings: Iterable[AuditFinding]) -> tuple[AuditFinding, ...]:
    ordered = sorted(findings, key=lambda f: (KINDS.index(f.kind), -f.count))
    kept: Counter[str] = Counter()
    shown = []
    for finding in ordered:
        kept[finding.kind] += 1
        if kept[finding.kind] <= MOST_FINDINGS:
            shown.append(
                replace(
                    finding,
                    source_offsets=finding.source_offsets[:MOST_RANGES],
                    target_offsets=finding.target_offsets[:MOST_RANGES],
                )
            )
    return tuple(shown)


def _sum(a: TopicTally, b: TopicTally) -> TopicTally:
    return TopicTally(
        topic=a.topic,
        source_records=a.source_records + b.source_records,
        target_records=a.target_records + b.target_records,
        found=dict(Counter(a.found) + Counter(b.found)),
        unverifiable=a.unverifiable + b.unverifiable,
    )


Outcome = Literal[
    "running",
    "finished",
    "failed",
    "refused",
    "timeout",
    "stopped",
    "abandoned",
]
"""Outcome of an audit attempt. It is refused while another audit is running on
the same folder, stopped in good order with the agent, and abandoned when the
agent was killed."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Attempt:
    """An audit that this agent started."""

    due: datetime
    began_at: datetime
    outcome: Outcome = "running"
    ended_at: datetime | None = None
    """End of the attempt, or the time when it was found to have ended; `None`
    while it runs."""

    error: str = ""
    output: tuple[str, ...] = ()
    """The last lines that it logged."""


@dataclass(frozen=True, kw_only=True, slots=True)
class AuditObservation:
    """The last audit of one flow, and what became of the next ones."""

    flow: str
    at: datetime
    """Time of the last read of the results folder."""

    since: datetime
    """Time at which the agent was first asked to watch audits of the flow."""

    night: FlowResult | None = None
    """The last audit that came to its end, no matter who started it."""

    attempt: Attempt | None = None
    """The last one that this agent started."""

    overdue: datetime | None = None
    """Due time of the newest audit that should have finished by now, its grace
    period included; `None` if the agent did not watch then."""

    next_due: datetime | None = None
    report: str | None = None
    problems: tuple[str, ...] = ()
