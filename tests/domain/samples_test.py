"""The figures that every sink gets."""

from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from hypothesis import given

import mirrorwatch
from mirrorwatch.domain.canary import metrics as canary
from mirrorwatch.domain.canary.model import CanaryPartition
from mirrorwatch.domain.catalogue import CATALOGUE
from mirrorwatch.domain.cause import FaultyPart
from mirrorwatch.domain.lag import metrics as lag
from mirrorwatch.domain.metrics import Histogram, Metric, MetricType
from mirrorwatch.domain.report import Flow, Health
from mirrorwatch.domain.samples import (
    BUILD_INFO,
    CHECK_HEALTH,
    CLOCK_STEPS,
    EVENTS,
    FLOW_CAUSE,
    FLOW_INFO,
    HEALTH,
    LAST_TICK,
    MAINTENANCE,
    SINK_LOST,
    SINK_SPOOLED,
    SINK_UP,
    SOURCE_UP,
    STATE_UP,
    TICK_SECONDS,
    samples,
)
from mirrorwatch.domain.skips import metrics as skips
from mirrorwatch.ports import AgentState, Report
from tests.support.builders import (
    FLOW,
    NOON,
    a_canary,
    a_cause,
    a_partition,
    a_report,
    a_verdict,
    a_window,
)
from tests.support.full_report import a_full_report
from tests.support.reports import reports

PARTITION = (FLOW.name, "0")


def figures(report: Report, metric: Metric) -> dict[tuple[str, ...], object]:
    return {s.labels: s.value for s in samples(report) if s.metric is metric}


def of_canary(*partitions: CanaryPartition, at: datetime = NOON) -> Report:
    return a_report(NOON, observations=[a_canary(at, partitions=partitions)])


@given(reports)
def test_no_figure_is_outside_the_catalogue(report: Report) -> None:
    for sample in samples(report):
        assert sample.metric in CATALOGUE
        assert len(sample.labels) == len(sample.metric.labels)
        is_histogram = sample.metric.type is MetricType.HISTOGRAM
        assert isinstance(sample.value, Histogram) is is_histogram


@given(reports)
def test_no_series_comes_twice(report: Report) -> None:
    series = [(s.metric.name, s.labels) for s in samples(report)]
    assert len(series) == len(set(series))


def test_every_metric_of_the_catalogue_has_a_figure() -> None:
    seen = {s.metric.name for s in samples(a_full_report())}
    assert seen == {m.name for m in CATALOGUE}


def test_the_part_at_fault_is_as_bad_as_it_is_and_all_others_are_well() -> (
    None
):
    well = {(FLOW.name, part.value): 0 for part in FaultyPart}
    assert figures(a_report(), FLOW_CAUSE) == well
    link = (FLOW.name, "link")
    stops = a_cause("link")
    assert stops.stops
    for cause, value in ((stops, 3), (replace(stops, stops=False), 2)):
        seen = figures(a_report(causes=[cause]), FLOW_CAUSE)
        assert seen == well | {link: value}


def test_a_flow_is_as_healthy_as_its_worst_check() -> None:
    report = a_report(
        verdicts=[
            a_verdict(Health.OK),
            a_verdict(Health.CRITICAL, check="lag"),
            a_verdict(Health.OFF, check="audit"),
        ]
    )
    assert figures(report, HEALTH) == {(FLOW.name,): 3}
    assert figures(report, CHECK_HEALTH) == {
        (FLOW.name, "canary"): 0,
        (FLOW.name, "lag"): 3,
        (FLOW.name, "audit"): -1,
    }


def test_a_flow_without_any_verdict_is_unknown() -> None:
    report = a_report(verdicts=[])
    assert figures(report, HEALTH) == {(FLOW.name,): Health.UNKNOWN}


def test_only_a_flow_in_maintenance_has_its_notices_held() -> None:
    other = Flow(name="other", source="summit", target="ldf")
    report = a_report(flows=[FLOW, other], maintenance=[a_window()])
    assert figures(report, MAINTENANCE) == {
        (FLOW.name,): 1,
        ("other",): 0,
    }


def test_counters_are_there_from_zero() -> None:
    report = of_canary(a_partition(0))
    for counter in canary.COUNTERS.values():
        assert figures(report, counter) == {PARTITION: 0}


def test_an_idle_canary_has_nothing_outstanding_of_age_zero() -> None:
    report = of_canary(a_partition(0))
    assert figures(report, canary.OUTSTANDING) == {PARTITION: 0}
    assert figures(report, canary.OLDEST) == {PARTITION: 0}


@pytest.mark.parametrize(
    ("acked", "unacked", "age"),
    [(3.5, None, 3.5), (None, 2.0, 2.0), (3.5, 2.0, 3.5), (2.0, 3.5, 3.5)],
)
def test_the_oldest_outstanding_probe_may_be_acknowledged_or_not(
    acked: float | None, unacked: float | None, age: float
) -> None:
    state = replace(
        a_partition(0, outstanding=2),
        oldest_outstanding=before(acked),
        oldest_unacked=before(unacked),
    )
    assert figures(of_canary(state), canary.OLDEST) == {PARTITION: age}


def before(seconds: float | None) -> datetime | None:
    return None if seconds is None else NOON - timedelta(seconds=seconds)


def test_an_unknown_age_is_absent_not_zero() -> None:
    report = of_canary(a_partition(0, outstanding=2))
    assert figures(report, canary.OLDEST) == {}


def test_the_age_grows_with_the_ticks_though_the_state_is_old() -> None:
    state = a_partition(0, outstanding=1, oldest_outstanding=before(1))
    report = of_canary(state, at=NOON - timedelta(minutes=1))
    assert figures(report, canary.OLDEST) == {PARTITION: 1.0}
    later = replace(report, at=NOON + timedelta(seconds=9))
    assert figures(later, canary.OLDEST) == {PARTITION: 10.0}


def test_a_probe_sent_after_the_tick_began_has_no_negative_age() -> None:
    read_at = NOON + timedelta(milliseconds=30)
    sent_at = NOON + timedelta(milliseconds=10)
    state = a_partition(0, outstanding=1, oldest_outstanding=sent_at)
    report = of_canary(state, at=read_at)
    assert figures(report, canary.OLDEST) == {PARTITION: 0.02}


def test_the_last_arrival_is_absent_until_there_is_one() -> None:
    assert figures(of_canary(a_partition(0)), canary.LAST_ARRIVAL) == {}
    report = of_canary(a_partition(0, last_arrival=NOON))
    expected = {PARTITION: NOON.timestamp()}
    assert figures(report, canary.LAST_ARRIVAL) == expected


def test_gauges_vanish_with_the_observation() -> None:
    report = a_report(observations=[])
    seen = {s.metric for s in samples(report)}
    assert seen == {
        EVENTS,
        HEALTH,
        CHECK_HEALTH,
        MAINTENANCE,
        FLOW_CAUSE,
        LAST_TICK,
        CLOCK_STEPS,
        STATE_UP,
        BUILD_INFO,
        FLOW_INFO,
    }


def test_what_is_too_old_to_be_judged_is_absent_and_counters_stay() -> None:
    report = a_full_report()
    later = replace(report, at=report.at + timedelta(minutes=3))
    for metric in (lag.LAG_RECORDS, lag.LAG_SECONDS, lag.TIME_TO_LOSS):
        assert figures(report, metric)
        assert figures(later, metric) == {}
    counted = figures(report, skips.SKIPPED)
    assert counted
    assert figures(later, skips.SKIPPED) == counted


def test_only_the_newest_observation_of_a_flow_counts() -> None:
    old = a_canary(NOON, partitions=[a_partition(0, outstanding=9)])
    new = a_canary(
        NOON + timedelta(seconds=1),
        partitions=[a_partition(0, outstanding=4)],
    )
    report = a_report(observations=[new, old])
    assert figures(report, canary.OUTSTANDING) == {PARTITION: 4}


def test_the_agent_tells_about_itself() -> None:
    report = a_report(
        agent=AgentState(
            sources_up={"canary summit->ldf": False, "groups summit": True},
            sinks_up={"influxdb": True, "log": True},
            spooled_points={"influxdb": 7},
            lost_points={"influxdb": 2},
            last_tick=timedelta(milliseconds=250),
        )
    )
    assert figures(report, SOURCE_UP) == {
        ("summit->ldf", "canary"): 0,
        ("summit", "groups"): 1,
    }
    assert figures(report, SINK_UP) == {("influxdb",): 1, ("log",): 1}
    assert figures(report, SINK_SPOOLED) == {("influxdb",): 7}
    assert figures(report, SINK_LOST) == {
        ("influxdb",): 2,
        ("log",): 0,
    }
    assert figures(report, TICK_SECONDS) == {(): 0.25}
    assert figures(report, LAST_TICK) == {(): NOON.timestamp()}
    assert figures(report, BUILD_INFO) == {(mirrorwatch.__version__,): 1}


def test_a_flow_says_where_its_page_is() -> None:
    found = samples(a_report(), page="https://mirrorwatch.example.org")
    (info,) = (s for s in found if s.metric is FLOW_INFO)
    assert info.labels == (
        *(FLOW.name, FLOW.source, FLOW.target),
        "https://mirrorwatch.example.org",
    )
    assert info.value == 1


def test_the_first_tick_knows_no_tick_before_it() -> None:
    assert figures(a_report(), TICK_SECONDS) == {}
