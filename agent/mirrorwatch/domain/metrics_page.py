"""The page about metrics, made from the catalogue.

``python -m mirrorwatch.domain.metrics_page > docs/metrics.md``
"""

import sys
from collections.abc import Iterator

from .catalogue import CATALOGUE, LABELS, Metric, MetricType
from .histogram import LATENCY_BUCKETS
from .verdicts import Health

__all__ = ["metrics_page"]

HEADER = """\
# Metrics

Made from the catalogue in code by `python -m mirrorwatch.domain.metrics_page`;
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
