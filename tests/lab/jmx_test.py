"""Three ways to the same figures, of one real mirror under real traffic."""

import socket
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import fields

import pytest

from mirrorwatch.domain.bottleneck.model import (
    ConsumerMetrics,
    MirrorMetrics,
    ProducerMetrics,
)
from mirrorwatch.domain.report import Health
from mirrorwatch.sources.jmx.readers import JmxReader
from mirrorwatch_lab import CANARY_TOPIC, Lab, LabSettings
from mirrorwatch_lab.traffic import TRAFFIC_TOPICS, Traffic
from tests.support.group import Group
from tests.support.jmx import (
    Comparison,
    assert_that_only_jmx_suffers,
    follow,
    interpreter,
    metrics,
    mirror_seen,
    missing,
    read,
    readers,
    urls_of,
    wait_for,
    wait_until_well,
    watching,
)
from tests.support.lab import copied, produce
from tests.support.watch import wait_until

pytestmark = [pytest.mark.lab, pytest.mark.long]

IDLE = "idle.topic"

SETTINGS = LabSettings(
    naming="default",
    intervals="fast",
    topics={CANARY_TOPIC: 2, IDLE: 1, **TRAFFIC_TOPICS},
    # What Kafka 4.3 can give in addition must not count twice.
    mirror_properties={"summit->ldf.metric.names.formats": "legacy,new"},
    jmx=("prometheus", "rmi"),
)

CLASSES = {"idle": "idle[.].*", "traffic": "lsst[.].*"}


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    with Lab(SETTINGS) as lab:
        yield lab


@pytest.fixture(scope="module")
def busy(lab: Lab) -> Iterator[Lab]:
    """The lab with traffic, and a group whose offsets are translated."""
    with (
        Traffic(lab.source.client_properties()),
        Group(lab, list(TRAFFIC_TOPICS)),
    ):
        produce(lab, IDLE, ["once"])
        copied(lab, IDLE, ["once"])
        yield lab


@pytest.fixture(scope="module")
def ways(busy: Lab) -> Iterator[dict[str, JmxReader]]:
    opened = readers(busy)
    yield opened
    for way in opened.values():
        way.close()


def test_all_ways_give_the_same_figures(ways: dict[str, JmxReader]) -> None:
    # Another try where a window of the mirror ended between two readings.
    tries: list[Comparison] = []

    def agree() -> bool:
        tries.append(Comparison(ways))
        return tries[-1].differences == []

    wait_until(agree, what=lambda: tries[-1].differences)
    compared = tries[-1].compared
    print(dict(compared), "in try", len(tries))
    assert compared["prometheus", "exactly"] > 100
    assert compared["rmi", "exactly"] > 100
    assert compared["rmi", "nearly"] > 10


@pytest.mark.parametrize("way", ["jolokia", "prometheus", "rmi"])
def test_every_figure_that_operators_watch_is_there(
    busy: Lab, ways: dict[str, JmxReader], way: str
) -> None:
    mirror = interpreter(busy, CLASSES)
    seen: list[MirrorMetrics] = []

    def is_complete() -> bool:
        seen.append(metrics(mirror, ways[way]))
        return missing(seen[-1]) == set()

    # A checkpoint and a commit happen now and then.
    wait_until(is_complete, what=lambda: missing(seen[-1]))
    told = seen[-1]
    assert told.lags[IDLE, 0] == 0
    # Each under its own name, and not under that with underscores as well.
    assert {topic for topic, _ in told.lags} - {"heartbeats"} == set(
        SETTINGS.topics
    )
    assert told.rebalances["mirror"].completed
    if way != "prometheus":
        running = {(s.connector, s.task): s.state for s in told.states}
        assert running["MirrorSourceConnector", 0] == "running"
        assert running["MirrorCheckpointConnector", None] == "running"


def test_strimzis_rules_leave_out_what_they_do_not_export(
    busy: Lab, ways: dict[str, JmxReader]
) -> None:
    mirror = interpreter(busy, CLASSES)
    # Rates and highest values of clients, and percentages.
    absent = {
        f"{group}: {figure.name}"
        for group, of in (
            ("consumer", ConsumerMetrics),
            ("producer", ProducerMetrics),
        )
        for figure in fields(of)
        if figure.name.endswith("_per_second") or "_max_" in figure.name
    } | {
        "consumer: consumer_lead_min_records",
        "tasks: offset_commit_success_ratio",
        "tasks: offset_commit_failure_ratio",
    }
    seen: list[MirrorMetrics] = []

    def is_all_that_is_missing() -> bool:
        seen.append(metrics(mirror, ways["prometheus"]))
        return missing(seen[-1]) == absent

    busy.mirror.jmx.export("strimzi")
    try:
        # A checkpoint and a commit happen now and then.
        wait_until(
            is_all_that_is_missing, what=lambda: missing(seen[-1]) ^ absent
        )
    finally:
        busy.mirror.jmx.export("plain")
        # The exporter is slow with new rules at first, and an agent that met
        # it so would leave it alone for minutes.
        read(ways["prometheus"])
    told = seen[-1]
    assert told.consumer.fetch_size_average_bytes is not None
    assert told.classes["traffic"].record_age_max_seconds is not None
    states = {(s.connector, s.task): s.state for s in told.states}
    assert states["MirrorSourceConnector", 0] == "running"


def test_a_worker_that_hangs_or_refuses_delays_nothing(busy: Lab) -> None:
    with socket.create_server(("127.0.0.1", 0)) as mute:
        hanging = f"http://127.0.0.1:{mute.getsockname()[1]}/jolokia"
        with socket.create_server(("127.0.0.1", 0)) as free:
            refusing = f"http://127.0.0.1:{free.getsockname()[1]}/jolokia"
        urls = [hanging, busy.mirror.jolokia_url, refusing]
        with watching(busy, "jolokia", urls, CLASSES) as watch:
            wait_for(watch, Health.UNKNOWN, "Check that the process runs")
            wait_for(watch, Health.UNKNOWN, "no response within")

            def is_half_read() -> bool:
                observed = mirror_seen(watch)
                verdict = watch.verdict("bottleneck")
                reasons = {u.url: u.reason for u in observed.unread}
                return (
                    observed.answering == (busy.mirror.jolokia_url,)
                    and "no response within 5 s" in reasons.get(hanging, "")
                    and "Check that the process runs"
                    in reasons.get(refusing, "")
                    and verdict is not None
                    and [f.subject for f in verdict.findings[:2]]
                    == [{"connection": hanging}, {"connection": refusing}]
                    # What the one that lives says is there all the same.
                    and bool(observed.metrics.consumer.fetches_per_second)
                )

            wait_until(is_half_read, what=lambda: mirror_seen(watch))
            assert_that_only_jmx_suffers(follow(watch, 10))


def test_an_idle_partition_has_no_age_rather_than_an_old_one(
    busy: Lab, ways: dict[str, JmxReader]
) -> None:
    # It has rested during the tests before: of a mirror's figures, the last
    # minute counts.
    mirror = interpreter(busy, CLASSES)
    idle = ("record_age_max_seconds", "replication_latency_average_seconds")

    def is_told_by(way: JmxReader) -> bool:
        classes = metrics(mirror, way).classes
        rests = all(getattr(classes["idle"], name) is None for name in idle)
        return (
            rests
            and classes["idle"].records_per_second == 0
            and classes["traffic"].record_age_max_seconds is not None
        )

    for name, way in ways.items():
        wait_until(
            lambda: is_told_by(way),  # noqa: B023
            what=lambda: (name, metrics(mirror, way).classes),  # noqa: B023
        )


def test_a_mirror_that_hangs_is_unknown_and_delays_nothing(busy: Lab) -> None:
    urls = urls_of(busy)
    with ExitStack() as stack:
        # An agent for each way, all at once: some ways are read seldom.
        watches = {
            way: stack.enter_context(watching(busy, way, [url], CLASSES))
            for way, url in urls.items()
        }
        for watch in watches.values():
            wait_until_well(watch)
        busy.mirror.freeze()
        try:
            for way, watch in watches.items():
                wait_for(watch, Health.UNKNOWN, urls[way])
            reports = [follow(watch, 10) for watch in watches.values()]
        finally:
            busy.mirror.thaw()
        for of_one_way in reports:
            assert_that_only_jmx_suffers(of_one_way)
        for watch in watches.values():
            wait_until_well(watch)


def test_a_mirror_that_dies_is_named_and_found_again(busy: Lab) -> None:
    url = busy.mirror.jmx.rmi_url
    with watching(busy, "rmi", [url], CLASSES) as watch:
        wait_for(watch, Health.OK, "bottleneck.ok")
        busy.mirror.kill()
        wait_for(
            watch, Health.UNKNOWN, f"No JMX metrics from MirrorMaker: {url}"
        )
        assert_that_only_jmx_suffers(follow(watch, 5))
        busy.mirror.start()
        wait_for(watch, Health.OK, "bottleneck.ok")
