"""What Prometheus scraped and what InfluxDB holds, in one shape.

Both become ``{(metric, labels): figure}``, so that they can be compared whole.
"""

from collections.abc import Mapping
from datetime import datetime

from prometheus_client.parser import text_string_to_metric_families

from mirrorwatch.domain.catalogue import CATALOGUE
from mirrorwatch.domain.metrics import LATENCY_BUCKETS, Metric, MetricType
from mirrorwatch.domain.samples import EVENTS

from .influx import Rows, Tags

__all__ = ["LAST_TICK", "Series", "influx_series", "prometheus_series"]
__all__ += ["rows_of_tick", "without_events"]

Series = dict[tuple[str, Tags], float]

LAST_TICK = "mirrorwatch_last_tick_timestamp_seconds"


def prometheus_series(exposition: str) -> Series:
    """Return every figure of ours in an exposition."""
    return {
        (sample.name, _labels(sample.labels)): sample.value
        for family in text_string_to_metric_families(exposition)
        for sample in family.samples
        if sample.name.startswith("mirrorwatch_")
    }


def without_events(series: Series) -> Series:
    """Return figures without counts of events: in InfluxDB each is a point."""
    return {
        key: value for key, value in series.items() if key[0] != EVENTS.name
    }


def _labels(labels: Mapping[str, str]) -> Tags:
    return tuple(sorted(item for item in labels.items() if item[1]))


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
                at = round(tick.timestamp() * 10**6) * 1000
                series[metric.name, tags] = values.pop(at)
                assert not values, "a figure at another time than the tick's"
    return series


def rows_of_tick(rows: Rows, tick: datetime, arrived: datetime) -> Rows:
    """Return what was written up to one report, of all that ever was.

    Parameters
    ----------
    rows
        Everything.
    tick
        When the report was made.
    arrived
        The last moment of which it knew the arrivals.
    """
    at = round(tick.timestamp() * 10**6) * 1000
    until = round(arrived.timestamp() * 10**6) * 1000
    return {
        series: {
            t: fields
            for t, fields in points.items()
            if t == at or ("latency_seconds" in fields and t <= until)
        }
        for series, points in rows.items()
    }


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
