"""What holds a mirror up, injected into a real one and told by it."""

from collections.abc import Iterator, Mapping
from datetime import timedelta
from itertools import count
from threading import Event, Thread
from typing import Self

import pytest

from mirrorwatch.domain.report import Health
from mirrorwatch_lab import CANARY_TOPIC, Lab, LabSettings
from mirrorwatch_lab.faults import quota, tolerate_errors
from tests.support.jmx import last, mirror_seen
from tests.support.lab import copied, produce, values
from tests.support.watch import Watch, wait_until

pytestmark = pytest.mark.lab

BULK = "lsst.sal.bulk"
LARGE = "lsst.sal.large"

WINDOWS = {
    "summit->ldf.consumer.metrics.sample.window.ms": "10000",
    "ldf.producer.metrics.sample.window.ms": "10000",
}
"""Over how long the mirror's clients sum up, twice: what ended is out of their
figures after twenty seconds, and not after a minute."""

SETTINGS = LabSettings(
    intervals="fast",
    topics={CANARY_TOPIC: 1, BULK: 3, LARGE: 1},
    mirror_properties=WINDOWS,
    jmx=("rmi-password",),
)

LIMIT = 2000
"""Largest batch that the target takes of the topic of large records."""

TOO_LARGE = 7

CALM = timedelta(seconds=20)
"""Time in which nothing must be said of a mirror that nothing holds up."""


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    with Lab(SETTINGS) as lab:
        yield lab


def watching(
    lab: Lab, jmx: Mapping[str, object] | None = None, **limits: object
) -> Watch:
    jmx = jmx or {"format": "jolokia", "urls": [lab.mirror.jolokia_url]}
    return Watch(
        lab,
        flow={"mirror": {"jmx": jmx}, "limits": {"bottleneck": limits}},
        # It waits behind what a test holds up.
        canary={"enabled": False},
    )


class Stream:
    """Writes without a pause, so that there is something to hold up."""

    def __init__(self, lab: Lab, *, size: int) -> None:
        self._lab, self._size = lab, size
        self._ended = Event()
        self._thread = Thread(target=self._run)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def _run(self) -> None:
        for n in count():
            if self._ended.wait(0.2):
                return
            records = [f"{n} {'x' * self._size}"] * 20
            produce(self._lab, BULK, records, partition=n % 3)


def wait_for(watch: Watch, health: Health, *saying: str) -> None:
    watch.wait_for(health, *saying, check="bottleneck")


def test_a_mirror_that_nothing_holds_up_is_ok(lab: Lab) -> None:
    with Stream(lab, size=100), watching(lab) as watch:
        wait_for(watch, Health.OK, "bottleneck.ok")
        calm = last(watch).at

        def stays_calm() -> bool:
            nonlocal calm
            report, verdict = last(watch), watch.verdict("bottleneck")
            if verdict is None or verdict.health is not Health.OK:
                # A busy machine does hold it up, for a minute's window.
                print(f"{report.at}: {verdict}")
                calm = report.at
            return report.at - calm > CALM

        wait_until(stays_calm, what=lambda: watch.verdict("bottleneck"))


def test_a_jmx_port_that_wants_a_login_is_read_with_it_only(lab: Lab) -> None:
    door = lab.mirror.jmx
    for password, health, saying in (
        (door.password, Health.OK, "bottleneck.ok"),
        (
            "hunter2-of-nobody",
            Health.UNKNOWN,
            "bottleneck.unreadable",
        ),
    ):
        jmx = {
            "format": "rmi",
            "urls": [door.rmi_url],
            "user": door.user,
            "password": password,
        }
        with watching(lab, jmx) as watch:
            wait_for(watch, health, saying)
            assert password not in str(last(watch))


def test_records_given_up_are_counted_exactly(lab: Lab) -> None:
    lab.mirror.stop()
    # Each in a batch of its own, as one among others is split for ever.
    alone = {"summit->ldf.producer.override.batch.size": "1"}
    policy = {"connector.client.config.override.policy": "All"}
    lab.mirror.start({**tolerate_errors(), **alone, **policy})
    # Only now: a mirror that starts first runs what it was told before, and
    # that copies configurations.
    lab.target.topics.set_configs(LARGE, {"max.message.bytes": str(LIMIT)})
    try:
        with watching(lab) as watch:
            wait_for(watch, Health.OK, "bottleneck.ok")
            produce(lab, LARGE, ["first"])
            produce(lab, LARGE, [f"{n} {'x' * LIMIT}" for n in range(7)])
            produce(lab, LARGE, ["last"])
            copied(lab, LARGE, ["first", "last"])
            assert values(lab, "target", LARGE) == ["first", "last"]
            watch.wait_for(
                Health.CRITICAL,
                "bottleneck.dropped",
                check="bottleneck",
                records=TOO_LARGE,
                not_produced_records=TOO_LARGE,
                skipped_records=0,
            )
            wait_until(
                lambda: mirror_seen(watch).counted.lost == TOO_LARGE,
                what=lambda: mirror_seen(watch).counted,
            )
    finally:
        lab.mirror.stop()
        lab.mirror.start()


@pytest.mark.long
def test_a_quota_of_the_target_is_named(lab: Lab) -> None:
    with (
        quota(lab, "target", "producer_byte_rate", 20_000),
        Stream(lab, size=2000),
        watching(lab) as watch,
    ):
        wait_for(
            watch,
            Health.WARNING,
            "bottleneck.throttled",
        )

        def held() -> float:
            producer = mirror_seen(watch).metrics.producer
            return producer.produce_throttle_max_seconds or 0

        wait_until(lambda: held() > 0.1, what=held)


@pytest.mark.long
def test_a_quota_of_the_source_is_named(lab: Lab) -> None:
    with (
        quota(lab, "source", "consumer_byte_rate", 20_000),
        Stream(lab, size=2000),
        watching(lab) as watch,
    ):
        wait_for(
            watch,
            Health.WARNING,
            "bottleneck.throttled",
        )

        def held() -> float:
            consumer = mirror_seen(watch).metrics.consumer
            return consumer.fetch_throttle_max_seconds or 0

        wait_until(lambda: held() > 0.1, what=held)


@pytest.mark.long
def test_a_slow_link_is_named(lab: Lab) -> None:
    # Fast enough for a whole fetch within its time: three times 1 MiB.
    lab.link_mirror.shape(bytes_per_second=300_000)
    try:
        # The quotas of before are still in the windows of the mirror.
        with (
            Stream(lab, size=20_000),
            watching(lab, waiting_records=100, throttle="1h") as watch,
        ):
            wait_for(watch, Health.WARNING, "bottleneck.link")
    finally:
        lab.link_mirror.shape()


@pytest.mark.long
def test_a_link_through_which_nothing_comes_is_named(lab: Lab) -> None:
    lab.link_mirror.stall()
    try:
        with watching(lab, waiting_records=10**9, throttle="1h") as watch:
            wait_for(
                watch,
                Health.WARNING,
                "bottleneck.silent",
                "|MirrorSourceConnector-0|",
            )
    finally:
        lab.link_mirror.restore()
