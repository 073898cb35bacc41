"""How a flow is at one time, in the figures that people compare."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from ..figures.canary import COUNTERS
from ..figures.lag import LAG_RECORDS, LAG_SECONDS
from ..figures.position import RESETS
from ..figures.skips import RECOVERED, REPEATED, SKIPPED
from ..figures.tasks import TASKS
from ..histogram import Histogram
from ..samples import Figures, samples
from ..tasks import TasksObservation
from ..verdicts import Health, Verdict, worst

__all__ = ["COUNTED", "Latency", "Snapshot", "take_snapshot"]

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
"""Counters whose rise is told, by the name that it has there."""

NAMES = {metric: name for name, metric in COUNTED.items()}


@dataclass(frozen=True, kw_only=True, slots=True)
class Latency:
    """Durations of the canary over the five minutes before."""

    median: timedelta | None = None
    """Half of all probes arrive within it."""

    p99: timedelta | None = None
    """All but a hundredth do."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Snapshot:
    """How a flow is at one time. What was not known is `None`, or absent."""

    at: datetime
    """Time of the report (UTC)."""

    verdicts: tuple[Verdict, ...]
    """What each check said, without its evidence."""

    latency: Latency = field(default_factory=Latency)
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


def take_snapshot(report: Figures, flow: str, latency: Latency) -> Snapshot:
    """Return how a flow is, in the same figures that every sink gets."""
    tasks: Counter[str] = Counter()
    counts: Counter[str] = Counter()
    records: list[float] = []
    ages: list[float] = []
    for metric, labels, value in samples(report):
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
    return Snapshot(
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
