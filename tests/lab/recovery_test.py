"""Until when the target is complete, held to both logs.

Of MirrorMaker 2 at its own intervals: it commits once a minute, and writes a
sync every hundred records.
"""

import random
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from threading import Event, Thread

import pytest
from confluent_kafka import Producer

from mirrorwatch.clock import utc_now
from mirrorwatch.domain.failover.check import FailoverObservation
from mirrorwatch.domain.failover.recovery import RecoveryPoint
from mirrorwatch.domain.report import Health
from mirrorwatch.kafka.admin import Cluster, read_ends
from mirrorwatch_lab import Lab, LabSettings
from tests.support.watch import Watch, wait_until

pytestmark = [pytest.mark.lab, pytest.mark.long]

RATES = {("efd.fast", 0): 120, ("efd.fast", 1): 40, ("efd.slow", 0): 1}
"""Records a second."""

MOMENTS = 20

LATEST = timedelta(seconds=5)
"""By how much the time may be earlier than the truth, at two looks a
second."""


VISIBLE = timedelta(milliseconds=50)
"""From the stamp of a record until a consumer may see it."""


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    topics = {"efd.fast": 2, "efd.slow": 1, "efd.idle": 1}
    # A record may wait in its producer: only the broker knows since when it
    # is in the log.
    stamps = {"message.timestamp.type": "LogAppendTime"}
    settings = LabSettings(
        topics={**LabSettings().topics, **topics},
        topic_configs={topic: stamps for topic, _ in RATES},
    )
    with Lab(settings) as lab:
        yield lab


class Writer:
    """Writes records of each partition at its rate."""

    def __init__(self, lab: Lab) -> None:
        self._producer = Producer(
            {"bootstrap.servers": lab.source.bootstrap, "linger.ms": 0}
        )
        self._ended = Event()
        self._thread = Thread(target=self._run)

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()
        assert self._producer.flush(30) == 0

    def _run(self) -> None:
        began, written = time.monotonic(), dict.fromkeys(RATES, 0)
        while not self._ended.wait(0.005):
            passed = time.monotonic() - began
            for (topic, partition), rate in RATES.items():
                while written[topic, partition] < passed * rate:
                    self._producer.produce(topic, b"x", partition=partition)
                    written[topic, partition] += 1
            self._producer.poll(0)


@dataclass(frozen=True)
class Moment:
    at: datetime
    point: RecoveryPoint
    copied: dict[tuple[str, int], int]
    """Ends of the target, read after the point."""


def point_of(watch: Watch) -> RecoveryPoint | None:
    report = watch.agent.latest.get()
    for seen in report.observations if report else ():
        if isinstance(seen, FailoverObservation):
            return seen.recovery
    return None


def test_the_target_is_complete_until_then_at_any_moment(lab: Lab) -> None:
    chance = random.Random(4)  # noqa: S311 - no secret
    target = Cluster("ldf", {"bootstrap.servers": lab.target.bootstrap})
    moments: list[Moment] = []

    def look() -> None:
        point = point_of(watch)
        assert point is not None
        moments.append(Moment(utc_now(), point, read_ends(target, RATES)))

    def is_complete() -> bool:
        point = point_of(watch)
        return point is not None and point.complete_until is not None

    with Watch(lab, interval="500ms") as watch:
        watch.wait_for(Health.OK)
        watch.wait_for(Health.OK, check="lag")
        wait_until(is_complete)
        with Writer(lab):
            watch.let_pass(10)
            for number in range(MOMENTS):
                if number == MOMENTS // 2:
                    lab.mirror.freeze()
                elif number == MOMENTS // 2 + 4:
                    lab.mirror.thaw()
                watch.let_pass(chance.uniform(0.5, 4))
                look()
        wait_until(
            lambda: (p := point_of(watch)) is not None and p.records == 0,
            within=90,
            what=lambda: point_of(watch),
        )
    written: dict[tuple[str, int], list[datetime]] = {p: [] for p in RATES}
    for topic in {topic for topic, _ in RATES}:
        for record in lab.read("source", topic):
            stamp = record.timestamp()[1] / 1000
            written[topic, record.partition() or 0].append(
                datetime.fromtimestamp(stamp, UTC)
            )
    early = []
    for moment in moments:
        until = moment.point.complete_until
        assert until is not None
        # The first record that is not there, or nothing was missing.
        missing = [
            times[moment.copied[place]]
            for place, times in written.items()
            if moment.copied[place] < len(times)
        ]
        truth = min([moment.at, *missing])
        print(f"{(until - truth).total_seconds():+.2f} s of {moment}")
        assert until <= truth + VISIBLE
        early.append(truth - until)
    assert max(early) <= LATEST, early
