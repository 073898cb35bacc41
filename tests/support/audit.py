"""Audits as tests want them."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from confluent_kafka import Message

from mirrorwatch.audit import freeze
from mirrorwatch.clock import utc_now
from mirrorwatch.config import Config
from mirrorwatch.domain.audit.check import AuditLimits, judge_audit
from mirrorwatch.domain.audit.flow_result import (
    Attempt,
    AuditObservation,
    FlowResult,
    Outcome,
    TopicTally,
)
from mirrorwatch.domain.audit.plan import (
    AuditedEnds,
    AuditSpan,
    PartitionPair,
    Plan,
    Request,
    SourceRange,
    Stated,
    TimeWindow,
    Unverifiable,
)
from mirrorwatch.domain.audit.result import (
    AuditFinding,
    AuditResult,
    FindingKind,
    FinishedAudit,
    Speed,
    TopicCount,
)
from mirrorwatch.domain.report import Verdict
from mirrorwatch.state.audits import to_versioned, write_file
from mirrorwatch_lab import Lab
from mirrorwatch_lab.cli import describe_agent

from .builders import FLOW, NOON
from .watch import wait_until

__all__ = [
    "CALM",
    "DUE",
    "FROZEN_AT",
    "GAP",
    "HOUR",
    "NIGHT",
    "a_count",
    "a_days_finding",
    "a_finding",
    "a_finished",
    "a_night",
    "a_pair",
    "a_plan",
    "a_result",
    "an_attempt",
    "an_audit",
    "at_rest",
    "audited_up_to",
    "both_sides",
    "config_of",
    "freeze_night",
    "freeze_window",
    "judged",
    "pairs_of",
    "with_findings",
]


NIGHT = datetime(2026, 11, 21, 2, tzinfo=UTC)
"""When the offsets of a night's audit are frozen."""

FLOW_NAME = "summit->ldf"


def a_count(
    topic: str = "events", source: int = 1000, target: int | None = None
) -> TopicCount:
    """A topic with records of 250 bytes."""
    target = source if target is None else target
    return TopicCount(
        flow=FLOW_NAME,
        topic=topic,
        source_count=source,
        target_count=target,
        source_bytes=source * 250,
        target_bytes=target * 250,
    )


def a_finding(
    kind: FindingKind = "dropped",
    *,
    topic: str = "events",
    first: int = 42,
    last: int = 42,
) -> AuditFinding:
    """A range of records that are wrong."""
    ranges = ((first, last),)
    at = NIGHT - timedelta(hours=3)
    return AuditFinding(
        flow=FLOW_NAME,
        topic=topic,
        partition=0,
        kind=kind,
        count=last - first + 1,
        source_offsets=() if kind == "extra" else ranges,
        target_offsets=() if kind == "dropped" else ranges,
        start=at,
        end=at + timedelta(seconds=2),
    )


def a_result(
    *findings: AuditFinding,
    at: datetime = NIGHT,
    nightly: bool = True,
    topics: tuple[TopicCount, ...] = (),
    stated: tuple[Stated, ...] = (),
    unverifiable: tuple[Unverifiable, ...] = (),
) -> AuditResult:
    """What a night's audit found: nothing, unless told otherwise."""
    return AuditResult(
        id=f"{'nightly' if nightly else 'adhoc'}-{at:%Y-%m-%d}",
        nightly=nightly,
        start=at - timedelta(days=1),
        end=at,
        began_at=at,
        ended_at=at + timedelta(minutes=5),
        topics=topics or (a_count(),),
        findings=findings,
        stated=stated,
        unverifiable=unverifiable,
    )


def a_finished(result: AuditResult | None = None) -> FinishedAudit:
    """A run of five minutes, four of which it read."""
    result = result or a_result()
    topics = result.topics
    return FinishedAudit(
        result=result,
        speed=Speed(
            records=sum(t.source_count + t.target_count for t in topics),
            bytes=sum(t.source_bytes + t.target_bytes for t in topics),
            reading=timedelta(minutes=4),
            total=timedelta(minutes=5),
            covered=timedelta(days=1),
        ),
    )


HOUR = timedelta(hours=1)


def a_night(at: datetime = NOON, **more: Any) -> FlowResult:
    """An audit that found nothing, ten hours ago."""
    given: dict[str, Any] = {
        "runs": ("nightly-2026-01-02",),
        "start": at - 34 * HOUR,
        "end": at - 10 * HOUR,
        "began_at": at - 10 * HOUR,
        "ended_at": at - 9.5 * HOUR,
        "topics": (
            TopicTally(
                topic="events", source_records=1000, target_records=1000
            ),
            TopicTally(topic="telemetry"),
        ),
        "shown": "nightly-2026-01-02",
    }
    return FlowResult(**given | more)


def an_audit(at: datetime = NOON) -> AuditObservation:
    """One of every kind of finding."""
    night = a_night(
        at,
        topics=(
            TopicTally(
                topic="events",
                source_records=1000,
                target_records=986,
                found={"dropped": 17, "duplicated": 2, "extra": 1},
                unverifiable=40,
            ),
            TopicTally(
                topic="telemetry",
                source_records=5000,
                target_records=5000,
                found={"corrupted": 1},
            ),
        ),
        findings=(
            AuditFinding(
                flow=FLOW.name,
                topic="events",
                partition=3,
                kind="dropped",
                count=17,
                source_offsets=((42, 57), (99, 99)),
            ),
        ),
        gaps=(
            Unverifiable(
                flow=FLOW.name,
                topic="events",
                partition=1,
                reason="expired at the source",
                records=40,
            ),
        ),
        gaps_total=1,
    )
    return AuditObservation(
        flow=FLOW.name,
        at=at,
        since=at - 34 * HOUR,
        night=night,
        report="nightly-2026-01-02",
    )


DUE = NOON - 10 * HOUR

NEXT = NOON + 14 * HOUR
CALM = AuditObservation(
    flow=FLOW.name,
    at=NOON,
    since=NOON - 100 * HOUR,
    night=a_night(),
    overdue=DUE,
    next_due=NEXT,
)
GAP = Unverifiable(
    flow=FLOW.name, topic="events", partition=1, reason="expired", records=9
)


def judged(seen: AuditObservation | None = CALM, **more: Any) -> Verdict:
    """Return the verdict on a calm day, changed like this."""
    found = seen if seen is None else replace(seen, **more)
    return judge_audit(FLOW.name, found, AuditLimits(), NOON)


def an_attempt(
    outcome: Outcome, *, began: timedelta = HOUR, error: str = ""
) -> Attempt:
    """One that began some time ago, and ended half an hour later."""
    at = NOON - began
    return Attempt(
        due=at,
        began_at=at,
        outcome=outcome,
        ended_at=None if outcome == "running" else at + HOUR / 2,
        error=error,
        output=("Reading", f"Error: {error}"),
    )


def a_days_finding(
    kind: FindingKind = "dropped", count: int = 17, partition: int = 3
) -> AuditFinding:
    """Records that are wrong in one partition."""
    missing = kind == "dropped"
    return AuditFinding(
        flow=FLOW.name,
        topic="events",
        partition=partition,
        kind=kind,
        count=count,
        source_offsets=((42, 57), (99, 99)) if missing else (),
        target_offsets=() if missing else ((5, 5),),
    )


def with_findings(*findings: AuditFinding) -> AuditObservation:
    """Return what is seen after a night that found something."""
    found: dict[str, Counter[str]] = {}
    for finding in findings:
        of_topic = found.setdefault(finding.topic, Counter())
        of_topic[finding.kind] += finding.count
    tallies = tuple(
        TopicTally(topic=topic, source_records=1000, found=dict(kinds))
        for topic, kinds in found.items()
    )
    return replace(CALM, night=a_night(topics=tallies, findings=findings))


def config_of(lab: Lab, settle: str = "0s", **clusters: object) -> Config:
    """Return the configuration of an agent that audits a lab."""
    data = describe_agent(lab)
    data["flows"][0]["topics"] = {"exclude": [r"mm2.*\.internal", "__.*"]}
    data["audit"] = {"settle": settle}
    data["clusters"] |= clusters
    return Config.from_mapping(data)


def freeze_night(
    lab: Lab, ends: AuditedEnds, topics: str | None = None, settle: str = "0s"
) -> Plan:
    """Plan the next night."""
    return freeze(
        config_of(lab, settle), Request(topics=topics), ends, clock=utc_now
    )


def freeze_window(lab: Lab, topic: str, window: TimeWindow) -> Plan:
    """Plan an audit of what one topic holds of a window."""
    request = Request(window=window, topics=topic)
    return freeze(config_of(lab), request, AuditedEnds(), clock=utc_now)


def at_rest(lab: Lab, ends: AuditedEnds, topics: str) -> None:
    """Wait until the mirror says that it copied all of these topics."""
    positions: dict[str, int | None] = {}

    def is_so() -> bool:
        plan = freeze_night(lab, ends, topics)
        positions.update(
            (pair.topic, pair.sources[0].position) for pair in plan.pairs
        )
        return all(pair.cut == "idle" for pair in plan.pairs)

    wait_until(is_so, what=lambda: f"not all rest: {positions}")


def audited_up_to(ends: AuditedEnds, topic: str, offset: int) -> AuditedEnds:
    """Return the same ends as if audits had come no further in a topic."""
    return replace(
        ends,
        ends=tuple(
            replace(end, source_end=offset, target_end=offset)
            if end.topic == topic
            else end
            for end in ends.ends
        ),
    )


def pairs_of(plan: Plan, topic: str) -> dict[int, PartitionPair]:
    """Return the pairs of one topic by partition."""
    return {x.partition: x for x in plan.pairs if x.target_topic == topic}


def both_sides(
    lab: Lab, pair: PartitionPair
) -> tuple[list[object], list[object]]:
    """Return what a pair holds on both sides, by plain consumers."""
    (source,) = pair.sources
    records = {
        side: [
            record
            for record in site.topics.read(pair.target_topic)
            if record.partition() == pair.partition
        ]
        for side, site in (("source", lab.source), ("target", lab.target))
    }
    return (
        [*_contents(records["source"], source.span)],
        [*_contents(records["target"], pair.span)],
    )


def _contents(
    records: Sequence[Message], span: AuditSpan
) -> list[bytes | None]:
    return [
        record.value()
        for record in records
        if span.start <= (record.offset() or 0) < span.end
    ]


FROZEN_AT = datetime(2026, 11, 21, 2, tzinfo=UTC)


def a_pair(
    topic: str = "events",
    partition: int = 0,
    *,
    source: tuple[int, int] = (0, 10),
    target: tuple[int, int] | None = None,
) -> PartitionPair:
    """A partition that one flow copies under its own name."""
    span = AuditSpan(*source)
    copies = AuditSpan(*(target or source))
    return PartitionPair(
        flow="summit->ldf",
        cluster="ldf",
        target_topic=topic,
        partition=partition,
        sources=(
            SourceRange(
                flow="summit->ldf",
                cluster="summit",
                topic=topic,
                partition=partition,
                span=span,
                retained=span,
                position=span.end,
                topic_id=f"{topic} at summit",
            ),
        ),
        span=copies,
        retained=copies,
        topic_id=f"{topic} at ldf",
    )


def a_plan(
    *pairs: PartitionPair,
    run: str = "nightly-2026-11-21",
    at: datetime = FROZEN_AT,
    window: TimeWindow | None = None,
    more: bool = False,
) -> Plan:
    """What a night compares."""
    return Plan(
        id=run,
        at=at,
        window=window,
        pairs=pairs or (a_pair(),),
        more=more,
    )


def write_audit(folder: Path, audit: FinishedAudit) -> None:
    """Keep what a run found, as an audit does."""
    file = folder / "runs" / audit.result.id / "result.json"
    write_file(file, to_versioned(audit))


def write_report(folder: Path, run: str, page: str) -> None:
    """Keep the report of a run."""
    write_file(folder / "runs" / run / "report.html", page)
