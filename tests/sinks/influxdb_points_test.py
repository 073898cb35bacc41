"""A report as InfluxDB points."""

from collections import Counter
from datetime import timedelta
from pathlib import Path

from hypothesis import given
from influxdb_client.client.write.point import Point

from mirrorwatch.domain.observations import ProbeArrival
from mirrorwatch.ports import Report
from mirrorwatch.sinks.influxdb import to_points
from tests.support.builders import NOON, a_canary, a_report, an_arrival
from tests.support.full_report import a_full_report
from tests.support.report_strategies import reports

GOLDEN = Path(__file__).parents[1] / "data" / "full_report.lp"


def lines(report: Report) -> list[str]:
    return [point.to_line_protocol() for point in to_points(report)]


def identity(line: str) -> tuple[str, str]:
    """Return what makes two points one: the series and the time."""
    fields_begin, _, at = line.rpartition(" ")
    return fields_begin.rpartition(" ")[0], at


def probes(*arrivals: ProbeArrival) -> list[str]:
    report = a_report(observations=[a_canary(arrivals=arrivals)])
    return [line for line in lines(report) if "latency_seconds" in line]


def test_the_points_of_a_full_report_are_the_golden_ones() -> None:
    golden = GOLDEN.read_text(encoding="utf-8").splitlines()
    assert lines(a_full_report()) == golden


def test_a_probe_is_a_point_at_the_time_of_its_arrival() -> None:
    arrived = NOON + timedelta(microseconds=1)
    arrival = an_arrival(arrived, timedelta(milliseconds=12), sequence=7)
    (line,) = probes(arrival)
    assert line == (
        "canary,flow=summit->ldf,partition=0 latency_seconds=0.012,"
        "produce_seconds=0.002,replication_seconds=0.01 1767355200000001007"
    )


def test_probes_that_arrived_together_stay_apart() -> None:
    latency = timedelta(milliseconds=12)
    together = [
        an_arrival(NOON, latency, sequence=n) for n in range(995, 1500)
    ]
    written = probes(*together)
    assert len({identity(line) for line in written}) == len(together)


def test_the_same_probe_told_twice_is_one_point() -> None:
    arrival = an_arrival(NOON, timedelta(milliseconds=12), sequence=7)
    first, second = probes(arrival, arrival)
    assert identity(first) == identity(second)


@given(reports)
def test_no_two_points_of_a_tick_are_one(report: Report) -> None:
    written = Counter(identity(line) for line in lines(report))
    assert all(count == 1 for count in written.values())


@given(reports)
def test_no_field_is_an_integer(report: Report) -> None:
    points: list[Point] = to_points(report)
    for point in points:
        line = point.to_line_protocol()
        fields = line.split(" ")[-2].split(",")
        assert not any(field.endswith("i") for field in fields)
