"""Three ways to the same figures, of one real mirror under real traffic."""

import socket
from collections import Counter
from collections.abc import Iterator
from dataclasses import fields
from threading import Event, Thread
from typing import Any, Self

import pytest
from confluent_kafka import Consumer

from mirrorwatch.domain.mirror_facts import MirrorMetrics
from mirrorwatch.domain.mirror_metrics import (
    ClassMetrics,
    ConsumerMetrics,
    IoMetrics,
    ProducerMetrics,
    TaskMetrics,
)
from mirrorwatch.domain.verdicts import Health
from mirrorwatch.lab import CANARY_TOPIC, Lab, LabSettings
from mirrorwatch.lab.traffic import TRAFFIC_TOPICS, Traffic
from mirrorwatch.sources.jmx import JmxReader
from tests.support.jmx import (
    Said,
    interpreter,
    last,
    metrics,
    mirror_seen,
    read,
    readers,
    said,
)
from tests.support.lab import copied, produce
from tests.support.watch import Watch, wait_until

pytestmark = pytest.mark.lab

IDLE = "idle.topic"
"""Has been copied and then rests."""

SETTINGS = LabSettings(
    naming="default",
    intervals="fast",
    topics={CANARY_TOPIC: 2, IDLE: 1, **TRAFFIC_TOPICS},
    # What Kafka 4.3 can give in addition must not count twice.
    mirror_properties={"summit->ldf.metric.names.formats": "legacy,new"},
    jmx=("prometheus", "rmi"),
)

CLASSES = {"idle": "idle[.].*", "traffic": "lsst[.].*"}

MOMENTARY = {
    "buffer-available-bytes",
    "requests-in-flight",
    "records-lag",
    "source-record-active-count",
}
"""Attributes of this very moment: two readers can see two of them."""

WINDOW = 75.0
"""Seconds after which the mirror's windows (60 s) hold nothing of before."""


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    with Lab(SETTINGS) as lab:
        yield lab


@pytest.fixture(scope="module")
def busy(lab: Lab) -> Iterator[Lab]:
    """The lab with traffic, and a group whose offsets are translated."""
    with Traffic(lab.source.client_properties()), Readers(lab):
        produce(lab, IDLE, ["once"])
        copied(lab, IDLE, ["once"])
        yield lab


class Readers:
    """A consumer group that goes on and on, so that checkpoints do."""

    def __init__(self, lab: Lab) -> None:
        self._consumer = Consumer(
            {
                "bootstrap.servers": lab.source.bootstrap,
                "group.id": "readers",
                "auto.offset.reset": "earliest",
                "auto.commit.interval.ms": 1000,
                "log_level": 0,
            }
        )
        self._ended = Event()
        self._thread = Thread(target=self._run)

    def __enter__(self) -> Self:
        self._consumer.subscribe(list(TRAFFIC_TOPICS))
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()
        self._consumer.close()

    def _run(self) -> None:
        while not self._ended.is_set():
            self._consumer.consume(100, timeout=0.5)


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

    wait_until(agree, within=60, what=lambda: tries[-1].differences)
    compared = tries[-1].compared
    print(dict(compared), "in try", len(tries))
    assert compared["prometheus", "exactly"] > 100
    assert compared["rmi", "exactly"] > 100
    assert compared["rmi", "nearly"] > 10


class Comparison:
    """What Jolokia says alike before and after must be said alike by others;
    what moves must be between, or as near as a window moves meanwhile.
    """

    def __init__(self, ways: dict[str, JmxReader]) -> None:
        self.compared: Counter[tuple[str, str]] = Counter()
        self.differences: list[object] = []
        self._before = read(ways["jolokia"])
        others = {way: read(ways[way]) for way in ("prometheus", "rmi")}
        self._after = read(ways["jolokia"])
        for way, told in others.items():
            self._compare(way, told)

    def _compare(self, way: str, told: Said) -> None:
        for name in self._before.keys() & self._after.keys():
            kind = dict(name[1])["type"]
            if way == "prometheus" and kind == "connector-metrics":
                continue  # words only, which its own rules do not export
            for attribute, first in self._before[name].items():
                value = told.get(name, {}).get(attribute)
                last = self._after[name].get(attribute)
                if not self._agree(way, attribute, value, (first, last)):
                    self.differences.append(
                        (way, dict(name[1]), attribute, first, value, last)
                    )

    def _agree(
        self, way: str, attribute: str, value: Any, around: tuple[Any, Any]
    ) -> bool:
        first, last = around
        if isinstance(first, str):
            return way == "prometheus" or value == first
        if attribute in MOMENTARY or last is None:
            return way == "prometheus" or value is not None
        if first == last:
            self.compared[way, "exactly"] += 1
            return bool(value == first)
        self.compared[way, "nearly"] += 1
        slack = max(0.3 * max(abs(first), abs(last)), 0.05)
        return value is not None and bool(
            min(first, last) - slack <= value <= max(first, last) + slack
        )


def test_an_idle_partition_has_no_age_rather_than_an_old_one(
    busy: Lab, ways: dict[str, JmxReader]
) -> None:
    mirror = interpreter(busy, CLASSES)
    idle = ("record_age_max_seconds", "replication_latency_average_seconds")
    wait_until(
        lambda: all(
            getattr(metrics(mirror, way).classes["idle"], figure) is None
            for way in ways.values()
            for figure in idle
        ),
        within=WINDOW + 60,
    )
    for name, way in ways.items():
        classes = metrics(mirror, way).classes
        assert classes["idle"].records_per_second == 0, name
        assert classes["traffic"].record_age_max_seconds is not None, name


@pytest.mark.parametrize("way", ["jolokia", "prometheus", "rmi"])
def test_every_figure_that_operators_watch_is_there(
    busy: Lab, ways: dict[str, JmxReader], way: str
) -> None:
    mirror = interpreter(busy, CLASSES)
    # A checkpoint and a commit happen now and then.
    wait_until(
        lambda: missing(metrics(mirror, ways[way])) == set(),
        within=120,
        what=lambda: missing(metrics(mirror, ways[way])),
    )
    told = metrics(mirror, ways[way])
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


def missing(told: MirrorMetrics) -> set[str]:
    groups: list[tuple[str, Any]] = [
        ("consumer", told.consumer),
        ("producer", told.producer),
        ("tasks", told.tasks),
        ("io of consumer", told.io["consumer"]),
        ("io of producer", told.io["producer"]),
        ("class traffic", told.classes["traffic"]),
    ]
    kinds = {ConsumerMetrics, ProducerMetrics, TaskMetrics}
    assert kinds | {IoMetrics, ClassMetrics} == {type(g) for _, g in groups}
    return {
        f"{group}: {figure.name}"
        for group, of in groups
        for figure in fields(of)
        if getattr(of, figure.name) is None
    }


def test_strimzis_rules_leave_out_what_they_do_not_export(
    busy: Lab, ways: dict[str, JmxReader]
) -> None:
    mirror = interpreter(busy, CLASSES)
    busy.mirror.jmx.export("strimzi")
    try:
        told = metrics(mirror, ways["prometheus"])
    finally:
        busy.mirror.jmx.export("plain")
    absent = missing(told)
    # Rates and highest values of clients, and percentages.
    assert absent == {
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
    assert told.consumer.fetch_size_average_bytes is not None
    assert told.classes["traffic"].record_age_max_seconds is not None
    states = {(s.connector, s.task): s.state for s in told.states}
    assert states["MirrorSourceConnector", 0] == "running"


def test_a_worker_that_hangs_or_refuses_delays_nothing(busy: Lab) -> None:
    with socket.create_server(("127.0.0.1", 0)) as mute:
        hanging = f"http://127.0.0.1:{mute.getsockname()[1]}/jolokia"
        with socket.create_server(("127.0.0.1", 0)) as free:
            refusing = f"http://127.0.0.1:{free.getsockname()[1]}/jolokia"
        jmx = {
            "format": "jolokia",
            "urls": [hanging, busy.mirror.jolokia_url, refusing],
        }
        flow = {"mirror": {"jmx": jmx}, "classes": CLASSES}
        with Watch(busy, flow=flow) as watch:
            wait_until(
                lambda: (
                    "no answer within" in said(watch)
                    and "process running" in said(watch)
                    and mirror_seen(watch).answering != ()
                ),
                within=60,
                what=lambda: watch.verdict("bottleneck"),
            )
            watch.let_pass(5)
            observed = mirror_seen(watch)
            verdict, report = watch.verdict("bottleneck"), last(watch)
    assert observed.answering == (busy.mirror.jolokia_url,)
    reasons = {u.url: u.reason for u in observed.unread}
    assert "no answer within 2 s" in reasons[hanging]
    assert "is that process running?" in reasons[refusing]
    assert verdict is not None
    assert verdict.health is Health.UNKNOWN
    assert hanging in verdict.reason
    assert refusing in str(verdict.evidence["also_1"])
    assert observed.metrics.consumer.fetches_per_second
    assert report.agent.last_tick is not None
    print(f"tick {report.agent.last_tick.total_seconds() * 1000:.1f} ms")
    assert report.agent.last_tick.total_seconds() < 0.5


def test_a_mirror_that_dies_is_named_and_found_again(busy: Lab) -> None:
    urls = [busy.mirror.jmx.rmi_url]
    flow = {"mirror": {"jmx": {"format": "rmi", "urls": urls}}}
    with Watch(busy, flow=flow) as watch:
        wait_until(
            lambda: bottleneck(watch) is Health.OK,
            within=60,
            what=lambda: watch.verdict("bottleneck"),
        )
        busy.mirror.kill()
        wait_until(
            lambda: (
                bottleneck(watch) is Health.UNKNOWN
                and f"do not arrive: {urls[0]}" in said(watch)
            ),
            within=60,
            what=lambda: watch.verdict("bottleneck"),
        )
        busy.mirror.start()
        wait_until(
            lambda: bottleneck(watch) is Health.OK,
            within=120,
            what=lambda: watch.verdict("bottleneck"),
        )


def bottleneck(watch: Watch) -> Health | None:
    verdict = watch.verdict("bottleneck")
    return verdict.health if verdict else None
