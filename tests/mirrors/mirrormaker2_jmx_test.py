"""What a mirror says of one flow, from answers of real ones."""

from datetime import UTC, datetime, timedelta

import pytest

from mirrorwatch.domain.bottleneck.model import MBean, TaskErrors
from mirrorwatch.domain.topics import Naming
from tests.mirrors.mbeans import (
    DEFAULT,
    IDENTITY,
    exporter,
    jolokia,
    of,
    without,
)

AZIMUTH = "lsst.sal.MTMount.azimuth"


@pytest.mark.parametrize(
    ("version", "naming"), [("3.9.2", IDENTITY), ("4.3.1", DEFAULT)]
)
def test_the_figures_of_one_moment_are_alike_by_name_and_by_rule(
    version: str, naming: Naming
) -> None:
    told = of(jolokia(version), naming)
    plain = of(exporter("plain", version), naming)
    assert told.classes.keys() == plain.classes.keys() == {"mount", "other"}
    assert told.lags.keys() == plain.lags.keys()
    assert told.errors == plain.errors
    for one in (told, plain):
        assert one.producer.buffer_available_bytes == 33554432
        assert one.consumer.fetch_throttle_max_seconds == 0
        assert 3 < (one.producer.sends_per_second or 0) < 60
        assert one.tasks.offset_commit_success_ratio == 1


def test_kafka_3_9_has_no_source_in_its_names_and_underscores() -> None:
    mbeans = jolokia("3.9.2")
    sources = [m for m in mbeans if m.type == "MirrorSourceConnector"]
    assert sources
    assert all("source" not in m.properties for m in sources)
    told = of(mbeans, IDENTITY)
    assert (AZIMUTH.replace(".", "_"), 2) in told.lags
    assert (AZIMUTH, 2) not in told.lags


def test_topics_of_two_names_and_partitions_of_two_formats_count_once() -> (
    None
):
    mbeans = jolokia("4.3.1")
    formats = [m for m in mbeans if m.type == "plugins"]
    old = [m for m in mbeans if m not in formats]
    assert formats
    told = of(mbeans, DEFAULT)
    for half in (old, [m for m in mbeans if "Mirror" not in m.type]):
        rates = of(half, DEFAULT).classes["mount"].records_per_second
        assert rates == pytest.approx(
            told.classes["mount"].records_per_second, rel=0.05
        )
    assert (AZIMUTH, 2) in told.lags
    assert not any(topic.startswith("lsst_") for topic, _ in told.lags)


def test_strimzis_rules_say_less_and_nothing_else() -> None:
    whole = of(exporter("plain", "4.3.1"), DEFAULT)
    told = of(exporter("strimzi", "4.3.1"), DEFAULT)
    assert told.consumer.fetch_latency_average_seconds == pytest.approx(
        whole.consumer.fetch_latency_average_seconds, rel=0.2
    )
    assert told.consumer.fetch_latency_max_seconds is None
    assert told.producer.retries_per_second is None
    assert told.classes.keys() == whole.classes.keys()
    states = {(s.connector, s.task): s.state for s in told.states}
    assert states["MirrorSourceConnector", 0] == "running"


def test_errors_of_tasks_are_read_with_their_time() -> None:
    at = datetime(2026, 1, 2, 12, tzinfo=UTC)
    mbean = MBean(
        domain="kafka.connect",
        properties={
            "type": "task-error-metrics",
            "connector": "MirrorSourceConnector",
            "task": "4",
        },
        attributes={
            "total-record-failures": 7.0,
            "total-records-skipped": 0.0,
            "total-record-errors": 8.0,
            "total-retries": 1.0,
            "last-error-timestamp": at.timestamp() * 1000,
        },
    )
    told = of([mbean], DEFAULT)
    errors = TaskErrors(record_failures=7, record_errors=8, retries=1)
    assert told.errors == {("worker", "MirrorSourceConnector", 4): errors}
    assert told.last_error == at
    assert of([mbean], DEFAULT, dedicated=False).errors == {}


def test_commits_that_were_not_tried_have_no_outcome() -> None:
    mbean = MBean(
        domain="kafka.connect",
        properties={
            "type": "connector-task-metrics",
            "connector": "summit->ldf.MirrorSourceConnector",
            "task": "0",
        },
        attributes={
            "offset-commit-success-percentage": 0.0,
            "offset-commit-failure-percentage": 0.0,
            "offset-commit-max-time-ms": 1500.0,
        },
    )
    told = of([mbean], DEFAULT, dedicated=False).tasks
    assert told.offset_commit_success_ratio is None
    assert told.offset_commit_max_seconds == pytest.approx(1.5)


def test_a_worker_without_a_rebalance_says_nothing_of_the_last() -> None:
    (mbean,) = [m for m in jolokia("4.3.1") if "rebalance" in m.type]
    told = of([without(mbean, "time-since-last-rebalance-ms")], DEFAULT)
    assert told.rebalances["worker"].last is None
    assert isinstance(
        of([mbean], DEFAULT).rebalances["worker"].last, timedelta
    )
