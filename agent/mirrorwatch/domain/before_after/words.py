"""What maintenance changed, in words and as JSON."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from ..checks.finding import seconds
from ..notices import Line, Message
from ..verdicts import Health
from .outcome import Outcome
from .snapshot import COUNTED, Snapshot

__all__ = ["to_document", "to_lines", "to_message"]

SCHEMA_VERSION = 1
"""Of the document. Changes when a reader of the version before could
misunderstand something; new keys may come at any time."""

UNKNOWN = "not known"


def to_message(
    outcomes: Sequence[Outcome], page: str, at: datetime
) -> Message:
    """Return one message for all flows whose maintenance ended together."""
    flows = ", ".join(outcome.window.flow for outcome in outcomes)
    reasons = ", ".join(dict.fromkeys(o.window.reason for o in outcomes))
    lines = [Line(text=t) for o in outcomes for t in to_lines(o)]
    return Message(
        id=f"maintenance of {flows}@{at.isoformat()}",
        at=at,
        title=f"Maintenance is over on {flows}: {reasons}",
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


def to_lines(outcome: Outcome) -> Iterator[str]:
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
    yield "counted meanwhile: " + ", ".join(counted)


def to_document(outcome: Outcome) -> dict[str, Any]:
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


def _snapshot(snapshot: Snapshot) -> dict[str, Any]:
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
        "counters": _counters(snapshot.counts),
    }


def _counters(counts: Mapping[str, int]) -> dict[str, int | None]:
    return {name: counts.get(name) for name in COUNTED}


def _in_seconds(duration: timedelta | None) -> float | None:
    return None if duration is None else duration.total_seconds()


def _duration(duration: timedelta | None) -> str:
    if duration is None:
        return UNKNOWN
    return f"{duration.total_seconds() * 1000:,.0f} ms"


def _lag(snapshot: Snapshot) -> str:
    if snapshot.lag_records is None:
        return UNKNOWN
    age = timedelta(seconds=snapshot.lag_seconds or 0)
    return f"{snapshot.lag_records:,} offsets ({seconds(age)})"


def _tasks(snapshot: Snapshot) -> str:
    counts = [f"{n} {state}" for state, n in sorted(snapshot.tasks.items())]
    return ", ".join(counts) or UNKNOWN
