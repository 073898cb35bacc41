"""Every metric that leaves the process, once.

The sinks, the table in docs/metrics.md and the tests of dashboards and alert
rules are all made from this catalogue. A metric is listed when something
produces it, not before.
"""

from dataclasses import dataclass
from enum import StrEnum

from .verdicts import Health

__all__ = ["CANARY_COUNTERS", "CATALOGUE", "LABELS", "Metric", "MetricType"]

PREFIX = "mirrorwatch_"


class MetricType(StrEnum):
    """How a metric behaves over time, in the words of Prometheus."""

    COUNTER = "counter"
    """Only grows."""

    GAUGE = "gauge"
    """True at one moment; absent when it is not known."""

    HISTOGRAM = "histogram"
    """Durations. In InfluxDB each one is a point of its own."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Metric:
    """One metric: what it means and what it is called in each sink."""

    name: str
    """Name in Prometheus."""

    unit: str
    """What is counted or measured."""

    type: MetricType
    """How it behaves over time."""

    help: str
    """What it tells, in one sentence."""

    labels: tuple[str, ...]
    """Labels in Prometheus, tags in InfluxDB."""

    measurement: str
    """Its subject: the measurement in InfluxDB."""

    @property
    def field(self) -> str:
        """Field in InfluxDB: the name without prefix and subject.

        Notes
        -----
        Where the name does not begin with the subject, or is the subject,
        only the prefix goes: ``health.health``, ``agent.source_up``.
        """
        name = self.name.removeprefix(PREFIX)
        return name.removeprefix(f"{self.measurement}_")


_SCALE = ", ".join(f"{h.value} {h.label}" for h in Health)
_CANARY = ("flow", "partition")

LABELS = {
    "flow": "name of the flow, by default `source->target`",
    "check": "stable name of the check that was made",
    "partition": "partition number, the same on both clusters",
    "source": "name of a source of facts inside the agent",
    "sink": "name of a sink of the agent",
}
"""What each label says. All of them stay bounded: no run, offset or key."""


def _gauge(
    name: str, unit: str, subject: str, labels: tuple[str, ...], text: str
) -> Metric:
    return Metric(
        name=PREFIX + name,
        unit=unit,
        type=MetricType.GAUGE,
        help=text,
        labels=labels,
        measurement=subject,
    )


def _counter(
    name: str, unit: str, subject: str, labels: tuple[str, ...], text: str
) -> Metric:
    return Metric(
        name=f"{PREFIX}{name}_total",
        unit=unit,
        type=MetricType.COUNTER,
        help=text,
        labels=labels,
        measurement=subject,
    )


def _durations(name: str, text: str) -> Metric:
    return Metric(
        name=f"{PREFIX}canary_{name}_seconds",
        unit="seconds",
        type=MetricType.HISTOGRAM,
        help=text,
        labels=_CANARY,
        measurement="canary",
    )


HEALTH = _gauge(
    "health", "health", "health", ("flow",), f"Worst check of a flow: {_SCALE}"
)
CHECK_HEALTH = _gauge(
    "check_health",
    "health",
    "health",
    ("flow", "check"),
    f"Outcome of one check: {_SCALE}",
)

CANARY_COUNTERS = {
    name: _counter(f"canary_{name}", unit, "canary", _CANARY, text)
    for name, unit, text in (
        ("sent", "probes", "Probes handed to the producer"),
        ("acked", "probes", "Probes whose source offset is known"),
        ("failed", "probes", "Probes never written at the source"),
        ("indeterminate", "probes", "Sends of unknown outcome at first"),
        ("delivered", "probes", "Probes that arrived, not known to be late"),
        ("late", "probes", "Probes that arrived after the deadline"),
        ("lost", "probes", "Probes proved not to be on the target"),
        ("unverifiable", "probes", "Probes gone before they could be read"),
        ("recovered", "probes", "Probes given up that arrived after all"),
        ("duplicates", "records", "Further arrivals of arrived probes"),
        ("reordered", "probes", "First arrivals behind a later probe"),
        ("negative", "intervals", "Intervals below zero, never clamped"),
    )
}
"""By the name of the counter in `CanaryCounts`."""

CANARY_LATENCY = _durations(
    "latency", "Send to arrival: the upper bound, as seen live"
)
CANARY_REPLICATION = _durations(
    "replication", "Acknowledgement to arrival: the lower bound"
)
CANARY_PRODUCE = _durations(
    "produce", "Send to acknowledgement: the width of the interval"
)
CANARY_OUTSTANDING = _gauge(
    "canary_outstanding",
    "probes",
    "canary",
    _CANARY,
    "Probes sent and not yet settled",
)
CANARY_OLDEST = _gauge(
    "canary_oldest_outstanding_seconds",
    "seconds",
    "canary",
    _CANARY,
    "Age of the oldest probe not yet settled; 0 when there is none",
)
CANARY_LAST_ARRIVAL = _gauge(
    "canary_last_arrival_timestamp_seconds",
    "seconds since 1970",
    "canary",
    _CANARY,
    "When a probe last arrived; absent until one has",
)

SOURCE_UP = _gauge(
    "source_up", "0 or 1", "agent", ("source",), "Last fact is fresh"
)
SINK_UP = _gauge(
    "sink_up", "0 or 1", "agent", ("sink",), "Last attempt to write succeeded"
)
SINK_SPOOLED = _gauge(
    "sink_spooled_points",
    "points",
    "agent",
    ("sink",),
    "Points that wait to be written",
)
SINK_LOST = _counter(
    "sink_lost_points",
    "points",
    "agent",
    ("sink",),
    "Points given up since the start: no room left, or refused for good",
)
TICK_SECONDS = _gauge(
    "tick_seconds", "seconds", "agent", (), "How long the tick before took"
)
LAST_TICK = _gauge(
    "last_tick_timestamp_seconds",
    "seconds since 1970",
    "agent",
    (),
    "When the figures were made, on the agent's own timer: alert on its age",
)

CATALOGUE = (
    HEALTH,
    CHECK_HEALTH,
    *CANARY_COUNTERS.values(),
    CANARY_LATENCY,
    CANARY_REPLICATION,
    CANARY_PRODUCE,
    CANARY_OUTSTANDING,
    CANARY_OLDEST,
    CANARY_LAST_ARRIVAL,
    SOURCE_UP,
    SINK_UP,
    SINK_SPOOLED,
    SINK_LOST,
    TICK_SECONDS,
    LAST_TICK,
)
"""All of them, in the order of the exposition."""
