"""Every metric that leaves the process, once.

The sinks, the table in docs/metrics.md and the tests of dashboards and alert
rules are all made from this catalogue. A metric is listed when something
produces it, not before.
"""

import sys
from collections.abc import Iterator

from .checks import CHECKS
from .metrics import Metric, MetricType
from .observations import LATENCY_BUCKETS
from .report import Health
from .samples import AGENT_METRICS, HEALTH_METRICS

__all__ = ["CATALOGUE", "LABELS", "metrics_page"]


LABELS = {
    "flow": "name of the flow, by default `source->target`",
    "check": "stable name of the check that was made",
    "partition": "partition number, the same on both clusters",
    "topic": "source topic",
    "class": "class of topics as configured, or `other`",
    "client": "the mirror's `consumer` or `producer`",
    "connector": "name of a connector of the mirror",
    "state": "state of tasks in Kafka Connect's word, in small letters",
    "kind": "what an audit found: a kind of finding, or `unverifiable`",
    "source": "name of a source of facts inside the agent",
    "sink": "name of a sink of the agent",
}
"""What each label says. All of them stay bounded: no run, offset or key."""

CATALOGUE = (
    *HEALTH_METRICS,
    *(metric for check in CHECKS.values() for metric in check.metrics),
    *AGENT_METRICS,
)
"""All of them, in the order of the exposition."""


# The page about metrics, made from the catalogue.
#
# ``python -m mirrorwatch.domain.catalogue > docs/metrics.md``

HEADER = """\
# Metrics

Made from the catalogue in code by `python -m mirrorwatch.domain.catalogue`;
a test holds this page equal to it.

The same report, with the same figures, goes to Prometheus (`/metrics`) and to
InfluxDB. A gauge whose fact is not known is absent: it is never shown as zero
and never kept at its last value. Counters are there from 0; those of the
canary, and its histograms, survive restarts of the agent.
"""

INFLUXDB = """\
## In InfluxDB

One measurement per subject; the rest of the name is the field; labels are
tags. Fields of one tick with equal tags are one point, at the time of the
tick. Every field is a float, so that none can ever change its type.

Durations are not written as histograms: each probe that arrives live is a
point of its own in `canary`, with the fields `latency_seconds`,
`replication_seconds` and `produce_seconds`, at the time of its arrival.
Percentiles are made where they are looked at. (The last three digits of that
time in nanoseconds only keep probes apart that arrived together.)
"""


def metrics_page() -> str:
    """Return the page as Markdown."""
    return "\n".join([HEADER, *_sections(), INFLUXDB.rstrip(), ""])


def _sections() -> Iterator[str]:
    yield _table(
        ("metric", "type", "unit", "labels", "InfluxDB", "tells"),
        [_row(metric) for metric in CATALOGUE],
    )
    yield "## Values of health\n"
    yield _table(
        ("value", "name", "means"),
        [
            (str(h.value), h.label, MEANINGS[h])
            for h in sorted(Health, key=int)
        ],
    )
    yield "## Labels\n"
    yield _table(
        ("label", "says"), [(f"`{k}`", text) for k, text in LABELS.items()]
    )
    yield "## Buckets of the histograms\n"
    bounds = ", ".join(f"{bound:g}" for bound in LATENCY_BUCKETS)
    yield f"Upper bounds in seconds: {bounds}.\n"


MEANINGS = {
    Health.OFF: "not configured, or known to be absent; outside flow health",
    Health.OK: "within its limits",
    Health.UNKNOWN: "not enough was seen to say; never treated as healthy",
    Health.WARNING: "past the warning limit",
    Health.CRITICAL: "past the critical limit",
}


def _row(metric: Metric) -> tuple[str, ...]:
    labels = ", ".join(f"`{label}`" for label in metric.labels)
    note = " (per probe)" if metric.type is MetricType.HISTOGRAM else ""
    return (
        f"`{metric.name}`",
        metric.type.value,
        metric.unit,
        labels or "-",
        f"`{metric.measurement}.{metric.field}`{note}",
        metric.help,
    )


def _table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    lines = [head, ("---",) * len(head), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


if __name__ == "__main__":
    sys.stdout.write(metrics_page())
