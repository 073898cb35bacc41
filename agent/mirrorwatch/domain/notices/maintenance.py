"""What maintenance changed, in words and as JSON."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from ..canary.metrics import COUNTERS
from ..lag.metrics import LAG_RECORDS, LAG_SECONDS
from ..metrics import Histogram
from ..position.metrics import RESETS
from ..report import Health, MaintenanceWindow, Report, Verdict, seconds, worst
from ..samples import Sampler, samples
from ..skips.metrics import RECOVERED, REPEATED, SKIPPED
from ..tasks.metrics import TASKS
from ..tasks.model import TasksObservation
from .model import Line, NoticeMessage

__all__ = [
    "FlowSnapshot",
    "LatencySummary",
    "MaintenanceOutcome",
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


@dataclass(frozen=True, kw_only=True, slots=True)
class LatencySummary:
    """Durations of the canary over the five minutes before."""

    median: timedelta | None = None
    """Half of all probes arrive within it."""

    p99: timedelta | None = None
    """All but a hundredth do."""


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
    for metric, labels, value in sampler(report):
        if isinstance(value, Histogram) or "flow" not in metric.labels:
            continue
        if labels[metric.labels.index("flow")] != flow:
            continue
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
    )


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
        shows is the least that it rose.
        """
        before = self.before
        rises: dict[str, int | None] = {}
        for name in COUNTED:
            old = None if before is None else before.counts.get(name)
            new = self.after.counts.get(name)
            if old is None or new is None:
                rises[name] = None
            else:
                rises[name] = new if new < old else new - old
        return rises


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
    counted = [
        f"{name.replace('_', ' ')} {UNKNOWN if rise is None else f'{rise:,}'}"
        for name, rise in outcome.counted.items()
    ]
    yield "counters during maintenance: " + ", ".join(counted)


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


def _lag(snapshot: FlowSnapshot) -> str:
    if snapshot.lag_records is None:
        return UNKNOWN
    age = timedelta(seconds=snapshot.lag_seconds or 0)
    return f"{snapshot.lag_records:,} offsets ({seconds(age)})"


def _tasks(snapshot: FlowSnapshot) -> str:
    counts = [f"{n} {state}" for state, n in sorted(snapshot.tasks.items())]
    return ", ".join(counts) or UNKNOWN
