"""A report as InfluxDB points. Pure."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from influxdb_client.client.write.point import Point

from ..domain.figures.canary import LATENCY, PRODUCE, REPLICATION
from ..domain.histogram import Histogram
from ..domain.observations import ProbeArrival, canaries
from ..domain.samples import samples
from ..ports import Report

__all__ = ["to_points"]

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def to_points(report: Report) -> list[Point]:
    """Return a report as points: the tick's figures, then each probe.

    Notes
    -----
    All figures of one measurement with equal tags are fields of one point.
    Every field is a float: a server refuses a point whose field has another
    type than it had before, and whole seconds must not look like integers.
    """
    points: dict[tuple[str, tuple[tuple[str, str], ...]], Point] = {}
    for sample in samples(report):
        if isinstance(sample.value, Histogram):
            continue  # each probe is a point of its own, see below
        metric = sample.metric
        tags = tuple(zip(metric.labels, sample.labels, strict=True))
        series = (metric.measurement, tags)
        if series not in points:
            at = _nanoseconds(report.at)
            points[series] = _point(metric.measurement, dict(tags), at)
        points[series].field(metric.field, float(sample.value))
    return [*points.values(), *_probes(report)]


def _probes(report: Report) -> Iterator[Point]:
    for seen in canaries(report.observations):
        for arrival in seen.arrivals:
            yield _probe(arrival)


def _probe(arrival: ProbeArrival) -> Point:
    """Return one arrival.

    Notes
    -----
    Arrivals that were read together can have the same microsecond, and equal
    tags and time would make them one point. The clock leaves the last three
    digits of the nanoseconds free; the sequence tells them apart there, and
    is the same if the point is sent twice.
    """
    at = _nanoseconds(arrival.arrived_at) + arrival.sequence % 1000
    tags = {"flow": arrival.flow, "partition": str(arrival.partition)}
    point = _point(LATENCY.measurement, tags, at)
    for metric, duration in (
        (LATENCY, arrival.latency),
        (REPLICATION, arrival.replication),
        (PRODUCE, arrival.produce),
    ):
        if duration is not None:
            point.field(metric.field, duration.total_seconds())
    return point


def _point(measurement: str, tags: dict[str, str], nanoseconds: int) -> Point:
    point = Point(measurement)
    point.time(nanoseconds)
    for tag, value in tags.items():
        point.tag(tag, value)
    return point


def _nanoseconds(at: datetime) -> int:
    # Whole numbers throughout: a float of seconds is exact to 200 ns only.
    return (at - EPOCH) // timedelta(microseconds=1) * 1000
