"""What maintenance changed, in words and as JSON."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from ..canary.metrics import COUNTERS
from ..lag.metrics import LAG_RECORDS, LAG_SECONDS
from ..metrics import Histogram
from ..mirror_records import FLUSH
from ..position.metrics import RESETS
from ..report import (
    Health,
    MaintenanceWindow,
    Report,
    Verdict,
    counted,
    seconds,
    worst,
)
from ..samples import Sampler, samples
from ..skips.metrics import RECOVERED, REPEATED, SKIPPED
from ..tasks.metrics import TASKS
from ..tasks.model import TasksObservation
from .model import Line, NoticeMessage

__all__ = [
    "FlowSnapshot",
    "LatencySummary",
    "MaintenanceOutcome",
    "TopicSnapshot",
    "WorseTopic",
    "take_snapshot",
    "to_document",
    "to_lines",
    "to_message",
]


COUNTED = {
    "probes_sent": COUNTERS["sent"],
    "probes_lost": COUNTERS["lost"],
    "probes_late": COUNTERS["late"],
    "probe_duplicates": COUNTERS["duplicates"],
    "records_skipped": SKIPPED,
    "records_recovered": RECOVERED,
    "records_repeated": REPEATED,
    "position_resets": RESETS,
}
"""Counters whose rise is reported, by the name that it has there."""

NAMES = {metric: name for name, metric in COUNTED.items()}

BY_TOPIC = {
    LAG_RECORDS: "lag_records",
    LAG_SECONDS: "lag_seconds",
    SKIPPED: "skipped",
    RECOVERED: "recovered",
    REPEATED: "repeated",
    RESETS: "resets",
}
"""What is compared of each topic."""

OF_TOPICS = {NAMES[m]: field for m, field in BY_TOPIC.items() if m in NAMES}
"""Counters that each topic has: a sum of them falls when a topic goes."""

LONGER = 2 * FLUSH
"""By how much longer records must wait to count as worse: a position may be
committed once in a flush interval, so lag moves by that much in any case."""

SHOWN = 10
"""Topics in a notice."""


@dataclass(frozen=True, kw_only=True, slots=True)
class LatencySummary:
    """Durations of the canary over the five minutes before."""

    median: timedelta | None = None
    """Half of all probes arrive within it."""

    p99: timedelta | None = None
    """All but a hundredth do."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TopicSnapshot:
    """How a topic is at one time."""

    lag_records: int = 0
    """Source offsets that are not yet copied."""

    lag_seconds: float = 0
    """Age of the oldest record that is not yet copied."""

    skipped: int = 0
    """Records that were skipped, since the agent counts."""

    recovered: int = 0
    """Those of them that were copied after all."""

    repeated: int = 0
    """Records that were copied more than once, since the agent counts."""

    resets: int = 0
    """Positions that were lost or rewound, since the agent counts."""


@dataclass(frozen=True, kw_only=True, slots=True)
class FlowSnapshot:
    """How a flow is at one time. What was not known is `None`, or absent."""

    at: datetime
    """Time of the report (UTC)."""

    verdicts: tuple[Verdict, ...]
    """What each check said, without its evidence."""

    latency: LatencySummary = field(default_factory=LatencySummary)
    """Of the canary."""

    lag_records: int | None = None
    """Source offsets that are not yet copied, of all topics."""

    lag_seconds: float | None = None
    """Age of the oldest record that is not yet copied."""

    tasks: Mapping[str, int] = field(default_factory=dict)
    """Tasks of the mirror in each of Connect's states; none without some."""

    version: str | None = None
    """Of the mirror, where it is known."""

    counts: Mapping[str, int] = field(default_factory=dict)
    """Counters, by the names of `COUNTED`."""

    topics: Mapping[str, TopicSnapshot] | None = None
    """Topics with a figure above zero; `None` if no lag was known."""

    @property
    def health(self) -> Health:
        """The flow's health."""
        return worst(self.verdicts) if self.verdicts else Health.UNKNOWN


def take_snapshot(
    report: Report,
    flow: str,
    latency: LatencySummary,
    sampler: Sampler = samples,
) -> FlowSnapshot:
    """Return how a flow is, in the same metrics that every sink gets."""
    tasks: Counter[str] = Counter()
    counts: Counter[str] = Counter()
    records: list[float] = []
    ages: list[float] = []
    topics: defaultdict[str, dict[str, float]] = defaultdict(dict)
    for metric, labels, value in sampler(report):
        if isinstance(value, Histogram) or "flow" not in metric.labels:
            continue
        if labels[metric.labels.index("flow")] != flow:
            continue
        if metric in BY_TOPIC and value:
            topic = labels[metric.labels.index("topic")]
            topics[topic][BY_TOPIC[metric]] = value
        if metric in NAMES:
            counts[NAMES[metric]] += int(value)
        elif metric is TASKS and value:
            tasks[labels[metric.labels.index("state")]] += int(value)
        elif metric is LAG_RECORDS:
            records.append(value)
        elif metric is LAG_SECONDS:
            ages.append(value)
    return FlowSnapshot(
        at=report.at,
        verdicts=tuple(
            replace(verdict, evidence={})
            for verdict in report.verdicts
            if verdict.flow == flow
        ),
        latency=latency,
        lag_records=int(sum(records)) if records else None,
        lag_seconds=max(ages, default=None),
        tasks=dict(tasks),
        version=next(
            (
                seen.version
                for seen in report.observations
                if isinstance(seen, TasksObservation) and seen.flow == flow
            ),
            None,
        ),
        counts=dict(counts),
        topics=(
            {name: _topic(found) for name, found in topics.items()}
            if records
            else None
        ),
    )


def _topic(found: Mapping[str, float]) -> TopicSnapshot:
    return TopicSnapshot(
        lag_records=int(found.get("lag_records", 0)),
        lag_seconds=found.get("lag_seconds", 0),
        skipped=int(found.get("skipped", 0)),
        recovered=int(found.get("recovered", 0)),
        repeated=int(found.get("repeated", 0)),
        resets=int(found.get("resets", 0)),
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class WorseTopic:
    """What became worse of a topic during maintenance."""

    topic: str
    before: TopicSnapshot
    after: TopicSnapshot

    @property
    def skipped(self) -> int:
        """Records that were skipped meanwhile."""
        return _rise(self.before.skipped, self.after.skipped)

    @property
    def resets(self) -> int:
        """Positions that were lost or rewound meanwhile."""
        return _rise(self.before.resets, self.after.resets)

    @property
    def lags(self) -> bool:
        """Whether records wait for longer than before."""
        waits = self.after.lag_seconds - self.before.lag_seconds
        return waits > LONGER.total_seconds()

    @property
    def is_worse(self) -> bool:
        """Whether anything of it is worse."""
        return bool(self.skipped or self.resets or self.lags)

    @property
    def text(self) -> str:
        """What is worse, for people."""
        found = []
        if self.skipped:
            found.append(f"{counted(self.skipped, 'record')} skipped")
        if self.resets:
            found.append(counted(self.resets, "position reset"))
        if self.lags:
            found.append(f"lag {_lag(self.before)} -> {_lag(self.after)}")
        return ", ".join(found)


def _rise(before: int, after: int) -> int:
    """Return how far a counter rose, at least: a lower one began again."""
    return after if after < before else after - before


@dataclass(frozen=True, kw_only=True, slots=True)
class MaintenanceOutcome:
    """What maintenance changed on one flow."""

    window: MaintenanceWindow
    """When it was, as it ended."""

    before: FlowSnapshot | None
    """The last report before it began; `None` if the agent did not run."""

    after: FlowSnapshot
    """The first report after it ended."""

    @property
    def counted(self) -> Mapping[str, int | None]:
        """By how much each counter rose; `None` where that is not known.

        A counter that is lower than before began again at zero, so what it
        shows is the least that it rose. Those of topics rise topic by topic,
        as one that was deleted takes its counts along.
        """
        before, pairs = self.before, self._pairs
        rises: dict[str, int | None] = {}
        for name in COUNTED:
            old = None if before is None else before.counts.get(name)
            new = self.after.counts.get(name)
            if old is None or new is None:
                rises[name] = None
            elif (field := OF_TOPICS.get(name)) and pairs is not None:
                rises[name] = sum(
                    _rise(getattr(one, field), getattr(other, field))
                    for one, other in pairs.values()
                )
            else:
                rises[name] = _rise(old, new)
        return rises

    @property
    def _pairs(
        self,
    ) -> Mapping[str, tuple[TopicSnapshot, TopicSnapshot]] | None:
        """Return each topic that is there after it, as it was and is."""
        before = None if self.before is None else self.before.topics
        if before is None or self.after.topics is None:
            return None
        none = TopicSnapshot()
        return {
            name: (before.get(name, none), after)
            for name, after in self.after.topics.items()
        }

    @property
    def worse(self) -> Sequence[WorseTopic] | None:
        """Topics that became worse, those that lost records first; `None` if
        that is not known.
        """
        if (pairs := self._pairs) is None:
            return None
        compared = (
            WorseTopic(topic=name, before=before, after=after)
            for name, (before, after) in pairs.items()
        )
        return sorted(
            (topic for topic in compared if topic.is_worse),
            key=lambda t: (
                -t.skipped,
                -t.resets,
                -t.after.lag_seconds,
                t.topic,
            ),
        )


SCHEMA_VERSION = 1
"""Of the document. Changes when a reader of the version before could
misunderstand something; new keys may come at any time."""

UNKNOWN = "not known"


def to_message(
    outcomes: Sequence[MaintenanceOutcome], page: str, at: datetime
) -> NoticeMessage:
    """Return one message for all flows whose maintenance ended together."""
    flows = ", ".join(outcome.window.flow for outcome in outcomes)
    reasons = ", ".join(dict.fromkeys(o.window.reason for o in outcomes))
    lines = [Line(text=t) for o in outcomes for t in to_lines(o)]
    return NoticeMessage(
        id=f"maintenance of {flows}@{at.isoformat()}",
        at=at,
        title=f"Maintenance has ended on {flows}: {reasons}",
        lines=(*lines, Line(text=page, link=page)),
        document={
            "version": SCHEMA_VERSION,
            "id": f"maintenance of {flows}@{at.isoformat()}",
            "kind": "maintenance",
            "at": at.isoformat(),
            "flows": [to_document(outcome) for outcome in outcomes],
            "page": page,
        },
    )


def to_lines(outcome: MaintenanceOutcome) -> Iterator[str]:
    """Yield what a person compares, a line for each subject."""
    window, before, after = outcome.window, outcome.before, outcome.after
    lasted = seconds(window.until - window.since)
    was = before.health.label if before else UNKNOWN
    yield f"{window.flow}: {was} -> {after.health.label}, after {lasted}"
    known = {v.check: v.health for v in before.verdicts} if before else {}
    for verdict in after.verdicts:
        old = known.get(verdict.check)
        if old is not verdict.health or verdict.health > Health.OK:
            label = UNKNOWN if old is None else old.label
            change = f"{label} -> {verdict.health.label}"
            yield f"{verdict.check}: {change}: {verdict.reason}"
    for name, of in (
        ("mirror", lambda s: s.version or UNKNOWN),
        ("canary, median", lambda s: _duration(s.latency.median)),
        ("canary, p99", lambda s: _duration(s.latency.p99)),
        ("lag", _lag),
        ("tasks", _tasks),
    ):
        old_text = of(before) if before else UNKNOWN
        yield f"{name}: {old_text} -> {of(after)}"
    yield from _worse_lines(outcome.worse)
    rises = [
        f"{name.replace('_', ' ')} {UNKNOWN if rise is None else f'{rise:,}'}"
        for name, rise in outcome.counted.items()
    ]
    yield "counters during maintenance: " + ", ".join(rises)


def _worse_lines(worse: Sequence[WorseTopic] | None) -> Iterator[str]:
    if worse is None:
        yield f"topics that became worse: {UNKNOWN}"
    elif not worse:
        yield "topics that became worse: none"
    for topic in (worse or ())[:SHOWN]:
        yield f"topic {topic.topic} became worse: {topic.text}"
    if worse and len(worse) > SHOWN:
        rest = counted(len(worse) - SHOWN, "more topic")
        yield f"{rest} became worse: see --json"


def to_document(outcome: MaintenanceOutcome) -> dict[str, Any]:
    """Return the same as JSON."""
    window = outcome.window
    return {
        "flow": window.flow,
        "since": window.since.isoformat(),
        "until": window.until.isoformat(),
        "reason": window.reason,
        "before": _snapshot(outcome.before) if outcome.before else None,
        "after": _snapshot(outcome.after),
        "counted": dict(outcome.counted),
        "worse_topics": (
            None
            if outcome.worse is None
            else [_worse(topic) for topic in outcome.worse]
        ),
    }


def _worse(topic: WorseTopic) -> dict[str, Any]:
    before, after = topic.before, topic.after
    return {
        "topic": topic.topic,
        "records_skipped": topic.skipped,
        "position_resets": topic.resets,
        "lag_records": {
            "before": before.lag_records,
            "after": after.lag_records,
        },
        "lag_seconds": {
            "before": before.lag_seconds,
            "after": after.lag_seconds,
        },
    }


def _snapshot(snapshot: FlowSnapshot) -> dict[str, Any]:
    latency = snapshot.latency
    return {
        "at": snapshot.at.isoformat(),
        "health": snapshot.health.label,
        "checks": {
            v.check: {"health": v.health.label, "reason": v.reason}
            for v in snapshot.verdicts
        },
        "mirror_version": snapshot.version,
        "latency_median_seconds": _in_seconds(latency.median),
        "latency_p99_seconds": _in_seconds(latency.p99),
        "lag_records": snapshot.lag_records,
        "lag_seconds": snapshot.lag_seconds,
        "tasks": dict(snapshot.tasks),
        "counters": {name: snapshot.counts.get(name) for name in COUNTED},
    }


def _in_seconds(duration: timedelta | None) -> float | None:
    return None if duration is None else duration.total_seconds()


def _duration(duration: timedelta | None) -> str:
    if duration is None:
        return UNKNOWN
    return f"{duration.total_seconds() * 1000:,.0f} ms"


def _lag(snapshot: FlowSnapshot | TopicSnapshot) -> str:
    if snapshot.lag_records is None:
        return UNKNOWN
    age = timedelta(seconds=snapshot.lag_seconds or 0)
    return f"{snapshot.lag_records:,} offsets ({seconds(age)})"


def _tasks(snapshot: FlowSnapshot) -> str:
    counts = [f"{n} {state}" for state, n in sorted(snapshot.tasks.items())]
    return ", ".join(counts) or UNKNOWN
