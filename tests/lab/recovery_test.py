"""Until when the target is complete, held to both logs.

Of MirrorMaker 2 at its own intervals: it commits once a minute, and writes a
sync every hundred records.
"""

import os
import random
import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from threading import Event, Thread

import pytest
from confluent_kafka import Producer

from mirrorwatch.clock import utc_now
from mirrorwatch.domain.failover.check import FailoverObservation
from mirrorwatch.domain.failover.recovery import RecoveryPoint
from mirrorwatch.domain.report import Health
from mirrorwatch.kafka.admin import Cluster
from mirrorwatch.kafka.offsets import read_ends
from mirrorwatch_lab import Lab, LabSettings
from tests.support.watch import Watch, wait_until

pytestmark = [pytest.mark.lab, pytest.mark.long]

RATES = {("efd.fast", 0): 120, ("efd.fast", 1): 40, ("efd.slow", 0): 1}

MIX = (0, 0.1, 0.5, 1)
"""Shares of its rate at which a partition is written, a while each."""

SECONDS = float(os.environ.get("MIRRORWATCH_RECOVERY_SECONDS", "120"))

MOMENTS = 20

LATEST = timedelta(seconds=5)
"""By how much the time may be earlier than the truth, at two looks a
second."""

RESTART = timedelta(seconds=150)
"""After a restart of the mirror, a partition may be held to its commits, each
a minute late: until it has copied a hundred records, or committed twice,
nobody can tell the new task from two that copy the same records."""

UNPROVED = timedelta(seconds=75)
"""By how much the time may be earlier then: a flush, and what it takes."""

LOOK = timedelta(seconds=1)
"""Two looks: from the moment that the mirror copies until that is seen."""

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
    """Writes numbered records of each partition, faster and slower."""

    def __init__(self, lab: Lab, chance: random.Random) -> None:
        self._producer = Producer(
            {"bootstrap.servers": lab.source.bootstrap, "linger.ms": 0}
        )
        self._chance = chance
        self._ended = Event()
        self._thread = Thread(target=self._run)

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()
        assert self._producer.flush(30) == 0

    def _run(self) -> None:
        looked = time.monotonic()
        due, written = dict.fromkeys(RATES, 0.0), dict.fromkeys(RATES, 0)
        shares, until = dict.fromkeys(RATES, 1.0), looked
        while not self._ended.wait(0.005):
            now = time.monotonic()
            if now >= until:
                shares = {each: self._chance.choice(MIX) for each in RATES}
                until = now + self._chance.uniform(2, 30)
            for place, rate in RATES.items():
                due[place] += (now - looked) * rate * shares[place]
                while written[place] < int(due[place]):
                    number = b"%d" % written[place]
                    self._producer.produce(
                        place[0], number, partition=place[1]
                    )
                    written[place] += 1
            looked = now
            self._producer.poll(0)


Ends = dict[tuple[str, int], int]


class TargetEnds:
    """Reads the target's ends all the time: a mirror that comes back copies
    ten seconds of records within one.
    """

    def __init__(self, lab: Lab) -> None:
        self._cluster = Cluster(
            "ldf", {"bootstrap.servers": lab.target.bootstrap}
        )
        self._latest: deque[tuple[datetime, Ends]] = deque(maxlen=100)
        self._ended = Event()
        self._thread = Thread(target=self._run)

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._ended.wait(0.1):
            self._latest.append((utc_now(), self.read()))

    def read(self) -> Ends:
        return read_ends(self._cluster, RATES)

    def asked_before(self, moment: datetime) -> Ends:
        earlier = [e for asked, e in list(self._latest) if asked <= moment]
        return earlier[-1]


@dataclass(frozen=True)
class Moment:
    at: datetime
    point: RecoveryPoint
    before: Ends
    """What the target held just before the point was judged."""

    after: Ends
    """What it held at least when the point was told."""


@dataclass(frozen=True)
class Logs:
    """What both sides hold in the end, by partition."""

    written: dict[tuple[str, int], list[datetime]]
    copies: dict[tuple[str, int], list[int]]

    def missing(self, ends: Ends) -> list[datetime]:
        """Return when the records came that the target did not hold."""
        return [
            came
            for place, times in self.written.items()
            for held in [set(self.copies[place][: ends[place]])]
            for number, came in enumerate(times)
            if number not in held
        ]


def read_logs(lab: Lab) -> Logs:
    logs = Logs({p: [] for p in RATES}, {p: [] for p in RATES})
    for topic in {topic for topic, _ in RATES}:
        for record in lab.read("source", topic):
            times = logs.written[topic, record.partition() or 0]
            assert int(record.value() or b"") == len(times)
            stamp = record.timestamp()[1] / 1000
            times.append(datetime.fromtimestamp(stamp, UTC))
        for record in lab.read("target", topic):
            copies = logs.copies[topic, record.partition() or 0]
            copies.append(int(record.value() or b""))
    return logs


def point_of(watch: Watch) -> RecoveryPoint | None:
    report = watch.agent.latest.get()
    for seen in report.observations if report else ():
        if isinstance(seen, FailoverObservation):
            return seen.recovery
    return None


def plan_hour(
    lab: Lab,
    chance: random.Random,
    look: Callable[[], None],
    start: Callable[[], None],
) -> list[tuple[float, Callable[[], None]]]:
    """Return what is done when, in seconds: looks at any moment, and a mirror
    that is frozen, killed, and started again meanwhile.
    """
    planned = [(chance.uniform(10, SECONDS), look) for _ in range(MOMENTS)]
    planned += [
        (SECONDS * 0.25, lab.mirror.freeze),
        (SECONDS * 0.25 + 8, look),
        (SECONDS * 0.25 + 10, lab.mirror.thaw),
        (SECONDS * 0.25 + 12, look),
        (SECONDS * 0.6, lab.mirror.kill),
        (SECONDS * 0.6 + 3, look),
        (SECONDS * 0.6 + 6, start),
        (SECONDS * 0.6 + 8, look),
    ]
    return sorted(planned, key=lambda step: step[0])


@pytest.mark.timeout(SECONDS + 1500)
def test_the_target_is_complete_until_then_at_any_moment(lab: Lab) -> None:
    chance = random.Random(4)  # noqa: S311 - no secret
    target = TargetEnds(lab)
    moments: list[Moment] = []
    restarts: list[datetime] = []

    def look() -> None:
        point = point_of(watch)
        assert point is not None
        before = target.asked_before(point.at - LOOK)
        moments.append(Moment(utc_now(), point, before, target.read()))

    def start() -> None:
        restarts.append(utc_now())
        lab.mirror.start()

    def is_complete() -> bool:
        point = point_of(watch)
        return point is not None and point.complete_until is not None

    with Watch(lab, interval="500ms") as watch:
        watch.wait_for(Health.OK)
        watch.wait_for(Health.OK, check="lag")
        wait_until(is_complete)
        began = time.monotonic()
        with target, Writer(lab, chance):
            for due, step in plan_hour(lab, chance, look, start):
                watch.let_pass(max(0.0, began + due - time.monotonic()))
                step()
        wait_until(
            lambda: (p := point_of(watch)) is not None and p.records == 0,
            within=90,
            what=lambda: point_of(watch),
        )
    logs = read_logs(lab)
    early, wrong = [], []
    for moment in moments:
        until, at = moment.point.complete_until, moment.point.at
        assert until is not None
        missing = logs.missing(moment.after)
        truth = min([moment.at, *missing])
        truth_before = min([at, *logs.missing(moment.before)])
        lost = sum(came <= at - VISIBLE for came in missing)
        told = (
            f"{(until - truth_before).total_seconds():+.2f} s,"
            f" {(until - truth).total_seconds():+.2f} s a moment later,"
            f" {moment.point.records} records of {lost}: {moment}"
        )
        print(told)
        # What is missing later was missing when it was asked for.
        if until > truth + VISIBLE or moment.point.records < lost:
            wrong.append(told)
        proved = not any(timedelta() <= at - r < RESTART for r in restarts)
        if truth_before - until > (LATEST if proved else UNPROVED):
            early.append(told)
    assert wrong == []
    assert early == []
