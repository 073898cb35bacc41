"""What Prometheus scraped and what InfluxDB holds, in one shape.

Both become ``{(metric, labels): figure}``, so that they can be compared whole.
"""

from datetime import datetime

from prometheus_client.parser import text_string_to_metric_families

from mirrorwatch.domain.catalogue import CATALOGUE, Metric, MetricType
from mirrorwatch.domain.histogram import LATENCY_BUCKETS

from .influx import Rows, Tags

__all__ = ["influx_series", "prometheus_series"]

Series = dict[tuple[str, Tags], float]


def prometheus_series(exposition: str) -> Series:
    """Return every figure of ours in an exposition."""
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(exposition)
        for sample in family.samples
        if sample.name.startswith("mirrorwatch_")
    }


def influx_series(rows: Rows, tick: datetime) -> Series:
    """Return every figure of one tick, and histograms made of the probes."""
    series: Series = {}
    for metric in CATALOGUE:
        for (measurement, tags), points in rows.items():
            if measurement != metric.measurement:
                continue
            values = {
                at: fields[metric.field]
                for at, fields in points.items()
                if metric.field in fields
            }
            if metric.type is MetricType.HISTOGRAM:
                series |= _histogram(metric, tags, list(values.values()))
            elif values:
                at = int(tick.timestamp() * 10**6) * 1000
                series[metric.name, tags] = values.pop(at)
                assert not values, "a figure at another time than the tick's"
    return series


def _histogram(metric: Metric, tags: Tags, values: list[float]) -> Series:
    """Return what Prometheus would hold after these durations."""
    if "partition" not in dict(tags):
        return {}
    series: Series = {
        (f"{metric.name}_count", tags): len(values),
        (f"{metric.name}_sum", tags): sum(values),
    }
    for bound in (*LATENCY_BUCKETS, float("inf")):
        name = "+Inf" if bound == float("inf") else str(bound)
        labels = tuple(sorted((*tags, ("le", name))))
        counted = sum(value <= bound for value in values)
        series[f"{metric.name}_bucket", labels] = counted
    return series
