"""What a mirror says of one flow, from answers of real ones."""

from datetime import UTC, datetime, timedelta

import pytest

from mirrorwatch.domain.bottleneck.check import (
    BottleneckLimits,
    judge_bottleneck,
)
from mirrorwatch.domain.bottleneck.model import (
    ConsumerMetrics,
    MBean,
    MirrorMetrics,
    MirrorObservation,
    ProducerMetrics,
    TaskErrors,
)
from mirrorwatch.domain.topics import Naming, Selection
from tests.mirrors.mbeans import (
    DEFAULT,
    IDENTITY,
    OURS,
    a_flow,
    consumer,
    exporter,
    jolokia,
    of,
    without,
)
from tests.support.builders import NOON

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
    place = ("worker", "MirrorSourceConnector", 4)
    assert told.errors == {place: errors}
    assert told.last_errors == {place: at}
    assert of([mbean], DEFAULT, dedicated=False).errors == {}


@pytest.mark.parametrize("said", [9.2e18, -1.0, float("inf"), float("nan")])
def test_what_no_calendar_has_is_no_time_of_an_error(said: float) -> None:
    mbean = MBean(
        domain="kafka.connect",
        properties={
            "type": "task-error-metrics",
            "connector": "MirrorSourceConnector",
            "task": "4",
        },
        attributes={"total-retries": 1.0, "last-error-timestamp": said},
    )
    told = of([mbean], DEFAULT)
    assert told.last_errors == {}
    assert len(told.errors) == 1


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


def only(pattern: str) -> Selection:
    return Selection(include=(pattern,))


@pytest.mark.parametrize("alias", ["source_alias", "target_alias"])
def test_figures_of_another_pair_are_left_alone(alias: str) -> None:
    told = of(jolokia("4.3.1"), DEFAULT, **{alias: "elsewhere"})
    assert told.blank
    assert told.lags == {}
    assert told.producer.sends_per_second  # its name says no pair


def test_flows_of_one_pair_are_told_apart_by_topics_and_connectors() -> None:
    mbeans = jolokia("4.3.1")
    assert of(mbeans, DEFAULT, selection=only("nothing")).classes == {}
    assert set(of(mbeans, DEFAULT, selection=only("lsst.*")).classes) == {
        "mount"
    }
    other = of(mbeans, DEFAULT, connectors=("another",))
    assert other.consumer == ConsumerMetrics()
    assert other.producer == ProducerMetrics()
    assert other.states == ()


def test_an_own_client_id_stands_before_the_flow() -> None:
    told = of([consumer(f"mine|{OURS.format(3)}", fetch_rate=2)], DEFAULT)
    assert told.consumer.fetches_per_second == 2


def test_old_names_of_consumers_count_only_where_one_flow_runs() -> None:
    mbeans = [consumer("consumer-null-3", fetch_rate=2)]
    assert of(mbeans, DEFAULT).consumer.fetches_per_second == 2
    foreign = MBean(
        domain="kafka.connect.mirror",
        properties={
            "type": "MirrorSourceConnector",
            "target": "elsewhere",
            "topic": "summit.t",
            "partition": "0",
        },
        attributes={"record-rate": 1.0},
    )
    assert of([*mbeans, foreign], DEFAULT).consumer == ConsumerMetrics()


def test_a_mean_is_weighted_and_a_maximum_is_one() -> None:
    mbeans = [
        consumer(
            OURS.format(n),
            fetch_size_avg=size,
            fetch_size_max=size * 2,
            fetch_rate=rate,
            records_lead_min=size,
        )
        for n, (size, rate) in enumerate([(100, 9), (1000, 1)])
    ]
    told = of(mbeans, DEFAULT).consumer
    assert told.fetch_size_average_bytes == pytest.approx(190)
    assert told.fetch_size_max_bytes == 2000
    assert told.fetches_per_second == 10
    assert told.consumer_lead_min_records == 100
    unweighted = [without(m, "fetch-rate") for m in mbeans]
    told = of(unweighted, DEFAULT).consumer
    assert told.fetch_size_average_bytes == 1000


def test_who_got_no_answer_is_silent_and_who_begins_is_not() -> None:
    told = of(
        [
            consumer(OURS.format(0), fetch_rate=0.0, fetch_total=12),
            consumer(OURS.format(1), fetch_rate=0.0, fetch_total=0.0),
            consumer(OURS.format(2), fetch_rate=1.0, fetch_total=12),
        ],
        DEFAULT,
    )
    assert told.silent == (OURS.format(0),)


OLD = "consumer-null-{}"


def a_task(number: int, state: str, kind: str = "Source") -> MBean:
    """Return what a worker says of a task."""
    return MBean(
        domain="kafka.connect",
        properties={
            "type": "connector-task-metrics",
            "connector": f"Mirror{kind}Connector",
            "task": str(number),
        },
        attributes={"status": state},
    )


def silence(client: str, *states: str, of_checkpoints: str) -> MirrorMetrics:
    """Return what is said of consumers that get no answer, by their tasks."""
    return of(
        [
            a_task(0, of_checkpoints, "Checkpoint"),
            *(a_task(n, state) for n, state in enumerate(states)),
            *(
                consumer(
                    client.format(n),
                    fetch_rate=0.0,
                    fetch_total=12,
                    connection_count=0.0,
                )
                for n, _ in enumerate(states)
            ),
        ],
        DEFAULT,
    )


@pytest.mark.parametrize("client", [OURS, OLD])
def test_a_paused_task_asks_for_nothing_and_is_not_silent(client: str) -> None:
    said = silence(client, "paused", "paused", of_checkpoints="running")
    assert said.silent == ()
    assert said.fetches == {}
    assert "consumer" not in said.connections
    seen = MirrorObservation(
        flow="f", at=NOON, metrics=said, answering=("worker",)
    )
    verdict = judge_bottleneck("f", seen, BottleneckLimits(), NOON)
    assert "bottleneck.silent" not in verdict.codes


@pytest.mark.parametrize("client", [OURS, OLD])
def test_a_task_that_runs_is_silent_though_another_is_paused(
    client: str,
) -> None:
    said = silence(client, "running", "running", of_checkpoints="paused")
    assert len(said.silent) == 2
    assert sum(said.fetches.values()) == 24
    assert said.connections["consumer"] == 0
    said = silence(client, "paused", "running", of_checkpoints="paused")
    assert client.format(1) in said.silent


def test_connections_are_those_of_all_clients_of_a_kind() -> None:
    said = of(
        [
            consumer(OURS.format(0), connection_count=0.0, fetch_total=3),
            consumer(OURS.format(1), connection_count=2.0, fetch_total=4),
        ],
        DEFAULT,
    )
    assert dict(said.connections) == {"consumer": 2.0}
    assert sum(said.fetches.values()) == 7
    one = [consumer(OURS.format(0), fetch_total=3)]
    said = a_flow(DEFAULT).metrics({"a": one, "b": one})
    assert [*said.fetches.values()] == [3, 3]
    assert dict(of([consumer(OURS.format(0))], DEFAULT).connections) == {}


def test_workers_are_added_up() -> None:
    mbeans = jolokia("4.3.1")
    one = a_flow(DEFAULT).metrics({"a": mbeans})
    two = a_flow(DEFAULT).metrics({"a": mbeans, "b": mbeans})
    assert two.producer.sends_per_second == pytest.approx(
        2 * (one.producer.sends_per_second or 0)
    )
    assert two.classes["mount"].bytes_per_second == pytest.approx(
        2 * (one.classes["mount"].bytes_per_second or 0)
    )
    assert two.tasks.offset_commit_success_ratio == 1
    assert two.consumer.fetch_latency_max_seconds == (
        one.consumer.fetch_latency_max_seconds
    )
    assert len(two.errors) == 2 * len(one.errors)
    assert two.states == one.states
