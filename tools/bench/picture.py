"""Takes the picture of the page in the README.

``python -m tools.bench.picture``: the page of a healthy flow, judged by the
real checks and drawn by a real browser, into `docs/images/page.png`.
"""

import random
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

from mirrorwatch.clock import utc_now
from mirrorwatch.domain.audit.flow_result import AuditObservation, TopicTally
from mirrorwatch.domain.bottleneck.check import BottleneckLimits
from mirrorwatch.domain.canary.model import CanaryCounts, CanaryObservation
from mirrorwatch.domain.checkpoints import CheckpointsObservation
from mirrorwatch.domain.checks import judge
from mirrorwatch.domain.copies.journal import CopyCounters
from mirrorwatch.domain.failover.check import FailoverObservation
from mirrorwatch.domain.heartbeats import HeartbeatsObservation
from mirrorwatch.domain.lag.model import LagStatus, TopicLag
from mirrorwatch.domain.latency import LatencyObservation
from mirrorwatch.domain.parity.configs import ConfigsObservation
from mirrorwatch.domain.parity.topics import TopicsObservation
from mirrorwatch.domain.position.model import PositionObservation
from mirrorwatch.domain.readers.check import ReadersLimits
from mirrorwatch.domain.report import Observation
from mirrorwatch.domain.schemas.check import SchemasLimits
from mirrorwatch.domain.skips.model import SkipsObservation
from mirrorwatch.ports import Report
from tests.support.builders import (
    FLOW,
    a_canary,
    a_partition,
    a_report,
    an_arrival,
)
from tests.support.page import (
    emulate,
    open_browser,
    screenshot,
    wait_for,
    wait_for_charts,
)
from tests.support.page_scenes import AGENT, a_clean_night, tasks_in
from tests.support.reports import a_lag, a_topic
from tests.support.stage import Stage, serve_stage

PICTURE = Path(__file__).parents[2] / "docs" / "images" / "page.png"

SECOND = timedelta(seconds=1)
TICKS = 720
"""The hour that the page shows at first."""

PARTITIONS = 6

REBALANCE = 560
"""Tick from which the tasks stop for some seconds."""

SUBSYSTEMS = {
    "MTMount": ("azimuth", "elevation", "logevent_summaryState"),
    "MTRotator": ("rotation", "motors", "logevent_inPosition"),
    "MTM1M3": ("forceActuatorData", "accelerometerData", "ackcmd"),
    "ATDome": ("position", "command_openShutter", "ackcmd"),
    "ESS": ("temperature", "airFlow", "pressure"),
    "MTCamera": ("vacuum", "logevent_endReadout", "command_takeImages"),
}
BUSY = {"forceActuatorData": 212, "accelerometerData": 168, "azimuth": 21}
"""Records in flight of topics that are written fast."""


def main() -> None:
    """Serve the page and take its picture."""
    noise = random.Random(1)  # noqa: S311 - the same picture each time
    stage = Stage()
    end = utc_now()
    for tick in range(TICKS, -1, -1):
        stage.tick(_tick(end - 5 * tick * SECOND, TICKS - tick, noise))
    with (
        serve_stage(stage) as server,
        TemporaryDirectory() as profile,
        open_browser(Path(profile)) as browser,
    ):
        emulate(browser, 1200)
        browser.get(server.url)
        wait_for(browser, ".flow-health", "ok")
        wait_for_charts(browser)
        wait_for(browser, ".part[data-part='tasks']", "source tasks RUNNING")
        screenshot(browser, PICTURE)


def _tick(at: datetime, number: int, noise: random.Random) -> Report:
    # A slower quarter of an hour, and a rebalance of the tasks.
    slow = 30 if 150 < number < 330 else 0
    stopped = number - REBALANCE if 0 <= number - REBALANCE < 4 else 0
    latency = [38 + slow + 12 * noise.random() for _ in range(30)]
    latency[0] += 60 * noise.random() ** 3
    if number == REBALANCE + 4:
        latency = [20_000 * noise.random() for _ in latency]
    seen = list(_observe(at, number, [] if stopped else latency, stopped))
    off = {
        "bottleneck": BottleneckLimits(enabled=False),
        "readers": ReadersLimits(enabled=False),
        "schemas": SchemasLimits(enabled=False),
    }
    return a_report(
        at,
        observations=seen,
        verdicts=[
            replace(verdict, since=at - 9 * timedelta(days=1))
            for verdict in judge({FLOW.name: off}, seen, at)
        ],
        agent=AGENT,
    )


def _observe(
    at: datetime, number: int, latency: list[float], stopped: int
) -> Iterator[Observation]:
    topics = list(_topics())
    yield _canary(at, number, latency, stopped)
    yield LatencyObservation(
        flow=FLOW.name,
        at=at,
        p99=timedelta(milliseconds=96),
        usual=timedelta(milliseconds=88),
        measured=9_000,
    )
    yield a_lag(topics, at)
    yield SkipsObservation(
        flow=FLOW.name,
        at=at,
        partitions=72,
        counters=tuple((topic.topic, CopyCounters()) for topic in topics),
    )
    yield PositionObservation(
        flow=FLOW.name,
        at=at,
        source=FLOW.source,
        target=FLOW.target,
        partitions=72,
        counts={topic.topic: 0 for topic in topics},
    )
    yield TopicsObservation(
        flow=FLOW.name,
        at=at,
        source_alias=FLOW.source,
        refresh=timedelta(minutes=10),
        patience=timedelta(minutes=20),
        carried=len(topics),
    )
    yield ConfigsObservation(
        flow=FLOW.name,
        at=at,
        compared=len(topics),
        sync=timedelta(minutes=10),
    )
    yield tasks_in(at, ["RUNNING", "RUNNING", "RUNNING"])
    yield _night(at, topics)
    yield CheckpointsObservation(flow=FLOW.name, at=at, groups=4)
    yield FailoverObservation(flow=FLOW.name, at=at, groups=4)
    yield HeartbeatsObservation(flow=FLOW.name, at=at)


def _canary(
    at: datetime, number: int, latency: list[float], stopped: int
) -> CanaryObservation:
    sent = 777_600 + 5 * number
    waiting = 1 + 5 * stopped
    return a_canary(
        at,
        partitions=[
            a_partition(
                partition,
                counts=CanaryCounts(
                    sent=sent, acked=sent, delivered=sent - waiting
                ),
                outstanding=waiting,
                oldest_outstanding=at - waiting * SECOND,
                last_arrival=at - (waiting - 0.8) * SECOND,
            )
            for partition in range(PARTITIONS)
        ],
        arrivals=[
            an_arrival(
                at - (n // PARTITIONS) * SECOND,
                timedelta(milliseconds=milliseconds),
                partition=n % PARTITIONS,
            )
            for n, milliseconds in enumerate(latency)
        ],
    )


def _topics() -> Iterator[TopicLag]:
    yield a_topic("mirrorwatch.canary")
    for subsystem, names in SUBSYSTEMS.items():
        for name in names:
            records = BUSY.get(name, 0)
            yield a_topic(
                f"lsst.sal.{subsystem}.{name}",
                records=records,
                seconds=0.4 if records else 0,
                status=LagStatus.MOVING if records else LagStatus.EVEN,
                topic_class=_class_of(name),
                drain=SECOND if records else None,
            )


def _class_of(name: str) -> str:
    if name.startswith("logevent_"):
        return "events"
    return "commands" if name.startswith(("command_", "ack")) else "telemetry"


def _night(at: datetime, topics: list[TopicLag]) -> AuditObservation:
    found = a_clean_night(at)
    assert found.night is not None
    counted = tuple(
        TopicTally(
            topic=topic.topic,
            source_records=1_728_000,
            target_records=1_728_000,
        )
        for topic in topics
    )
    return replace(found, night=replace(found.night, topics=counted))


if __name__ == "__main__":
    main()
