"""A healthy and a broken flow of a large site, judged by the real checks."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from mirrorwatch.domain.bottleneck.check import BottleneckLimits
from mirrorwatch.domain.checkpoints import CheckpointsObservation
from mirrorwatch.domain.checks import FlowLimits, judge
from mirrorwatch.domain.heartbeats import HeartbeatsObservation
from mirrorwatch.domain.lag.model import LagStatus, StalledPartition
from mirrorwatch.domain.observations import LatencyObservation, Observation
from mirrorwatch.domain.parity.configs import ConfigsObservation
from mirrorwatch.domain.skips.model import SkipsObservation
from mirrorwatch.domain.tasks.model import Stopped, Stuck
from mirrorwatch.ports import AgentState, Report

from .audit_report import an_audit
from .builders import FLOW, a_report
from .page_facts import (
    a_clean_night,
    all_topics,
    positions,
    tasks_in,
    the_canary,
)
from .parity_report import some_configs, some_topics
from .topics_report import MANY, a_lag, a_topic, many_topics, some_skips

__all__ = ["STOOD", "broken", "healthy"]

SECOND = timedelta(seconds=1)
HOUR = timedelta(hours=1)
STOOD = "lsst.sal.MTMount.logevent_largeFileObjectAvailable"
AGENT = AgentState(
    sources_up={"cluster": True, "lag": True, "tasks": True},
    sinks_up={"influxdb": True, "prometheus": True},
    spooled_points={"influxdb": 0},
    lost_points={"influxdb": 0},
    last_tick=timedelta(milliseconds=38),
)


def healthy(at: datetime) -> Report:
    """Return a tick on which everything that is watched is well."""
    return _tick(
        at,
        [
            the_canary(at),
            LatencyObservation(
                flow=FLOW.name,
                at=at,
                p99=timedelta(milliseconds=64),
                usual=timedelta(milliseconds=60),
                measured=600,
            ),
            a_lag(many_topics(behind=12), at),
            SkipsObservation(flow=FLOW.name, at=at, partitions=4_688),
            positions(at),
            all_topics(at),
            ConfigsObservation(
                flow=FLOW.name,
                at=at,
                source_alias=FLOW.source,
                target_alias=FLOW.target,
                compared=MANY,
                sync=timedelta(minutes=10),
            ),
            tasks_in(at, ["RUNNING", "RUNNING", "RUNNING"]),
            a_clean_night(at),
        ],
        AGENT,
    )


def broken(at: datetime) -> Report:
    """Return a tick on which most of it is not."""
    stood = replace(
        a_topic(
            STOOD,
            records=12_345,
            seconds=10_800,
            status=LagStatus.STALLED,
            topic_class="events",
            kept=timedelta(hours=4),
        ),
        standing=(
            StalledPartition(
                partition=1,
                position=4711,
                origin="sync",
                status=LagStatus.STALLED,
                stuck=3 * HOUR,
            ),
        ),
    )
    copying = tasks_in(at, ["RUNNING", "FAILED", "UNASSIGNED"])
    return _tick(
        at,
        [
            the_canary(at, lost=3, waiting=40),
            LatencyObservation(
                flow=FLOW.name, at=at, p99=None, usual=None, measured=0
            ),
            a_lag([*many_topics(behind=80), stood], at),
            some_skips(at),
            positions(at),
            some_topics(at),
            replace(some_configs(at), problems=()),
            replace(
                copying,
                stopped=(
                    Stopped(
                        connector="MirrorSourceConnector",
                        task=1,
                        partitions=frozenset((STOOD, n) for n in range(4)),
                        stuck=(
                            Stuck(
                                topic=STOOD,
                                partition=1,
                                offset=4711,
                                size_bytes=2_000_123,
                                limit_bytes=1_048_588,
                                limit=f"the max.message.bytes of {STOOD} at "
                                "ldf,",
                            ),
                        ),
                    ),
                ),
            ),
            an_audit(at),
        ],
        replace(
            AGENT,
            sources_up={**AGENT.sources_up, "jmx": False},
            sinks_up={**AGENT.sinks_up, "influxdb": False},
            spooled_points={"influxdb": 84_211},
            lost_points={"influxdb": 3},
        ),
    )


def _tick(
    at: datetime, seen: Sequence[Observation], agent: AgentState
) -> Report:
    quiet: list[Observation] = [
        CheckpointsObservation(flow=FLOW.name, at=at, groups=4),
        HeartbeatsObservation(flow=FLOW.name, at=at),
    ]
    limits = FlowLimits(bottleneck=BottleneckLimits(enabled=False))
    verdicts = judge({FLOW.name: limits}, [*quiet, *seen], at)
    return a_report(
        at,
        flows=[FLOW],
        observations=seen,
        verdicts=[
            replace(v, since=at - (7 * n + 3) * 60 * SECOND)
            for n, v in enumerate(verdicts)
        ],
        agent=agent,
    )
