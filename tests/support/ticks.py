"""Ticks of an agent, and what its history made of them."""

from datetime import datetime, timedelta

from mirrorwatch.domain.canary.model import CanaryCounts
from mirrorwatch.domain.report import Health
from mirrorwatch.ports import Report
from mirrorwatch.state.history import Bucket, History
from tests.support.builders import (
    FLOW,
    a_canary,
    a_partition,
    a_report,
    a_verdict,
    an_arrival,
)

__all__ = ["HOUR", "MINUTE", "MS", "SECOND", "a_tick", "milliseconds", "only"]

MS = timedelta(milliseconds=1)
SECOND = timedelta(seconds=1)
MINUTE = timedelta(minutes=1)
HOUR = timedelta(hours=1)


def a_tick(
    at: datetime,
    *latencies: timedelta,
    health: Health = Health.OK,
    outstanding: int = 0,
    **counts: int,
) -> Report:
    canary = a_canary(
        at,
        partitions=[
            a_partition(counts=CanaryCounts(**counts), outstanding=outstanding)
        ],
        arrivals=[an_arrival(at, latency) for latency in latencies],
    )
    return a_report(
        at, observations=[canary], verdicts=[a_verdict(health, since=at)]
    )


def only(history: History, at: datetime, width: timedelta) -> Bucket:
    (point,) = history.series(FLOW.name, at, at + width, 1).points
    return point.bucket


def milliseconds(duration: timedelta | None) -> float:
    assert duration is not None
    return duration / MS
