"""A report in which every metric of the catalogue has a figure."""

from dataclasses import replace
from datetime import datetime, timedelta

from mirrorwatch.domain.canary.model import (
    CanaryCounts,
    CanaryPartition,
    ProbeArrival,
)
from mirrorwatch.domain.events.model import Event
from mirrorwatch.domain.failover.check import FailoverObservation
from mirrorwatch.domain.failover.recovery import RecoveryPoint
from mirrorwatch.domain.metrics import Histogram
from mirrorwatch.domain.position.model import PositionObservation
from mirrorwatch.domain.report import Flow, Health
from mirrorwatch.ports import AgentState, Report

from .audit import an_audit
from .builders import (
    FLOW,
    NOON,
    a_canary,
    a_partition,
    a_report,
    a_verdict,
    a_window,
    an_arrival,
    some_losses,
    some_tasks,
)
from .reports import (
    a_lag,
    a_mirror,
    some_compared_topics,
    some_configs,
    some_readers,
    some_schemas,
    some_skips,
)
from .reports import some_topic_lags as some_lags

__all__ = ["ODD_FLOW", "a_full_report"]

ODD_FLOW = Flow(name='a b,c=d"e\\f', source="ldf", target="summit")
"""A name with everything that a line protocol or an exposition escapes."""


def a_full_report(at: datetime = NOON) -> Report:
    """Return a report of two flows, one of which only has a verdict."""
    arrivals = [
        an_arrival(
            at - timedelta(milliseconds=500),
            timedelta(milliseconds=12 + 300 * n),
            sequence=40 + n,
        )
        for n in range(5)
    ]
    # Its acknowledgement never came.
    arrivals[4] = replace(arrivals[4], acked_at=None)
    report = a_report(
        at,
        flows=[FLOW, ODD_FLOW],
        observations=[
            a_canary(
                at,
                partitions=[_busy(at, arrivals), a_partition(1)],
                arrivals=arrivals,
                good=999_610,
                bad=390,
            ),
            PositionObservation(
                flow=FLOW.name,
                at=at,
                source=FLOW.source,
                target=FLOW.target,
                counts={"telemetry": 0, "events": 3},
            ),
            a_lag(some_lags(), at),
            some_skips(at),
            some_compared_topics(at),
            some_configs(at),
            some_tasks(at),
            FailoverObservation(
                flow=FLOW.name,
                at=at,
                groups=4,
                recovery=RecoveryPoint(
                    at=at,
                    records=17,
                    complete_until=at - timedelta(seconds=4),
                    topic="events",
                    partition=3,
                ),
            ),
            some_readers(at),
            some_schemas(at),
            a_mirror(at),
            an_audit(at),
        ],
        verdicts=[
            a_verdict(Health.WARNING),
            a_verdict(Health.OFF, check="latency"),
            a_verdict(Health.UNKNOWN, flow=ODD_FLOW.name),
        ],
        agent=AgentState(
            sources_up={"canary summit->ldf": True, "jmx summit->ldf": False},
            sinks_up={"influxdb": False, "prometheus": True},
            spooled_points={"influxdb": 12},
            lost_points={"influxdb": 3},
            last_tick=timedelta(milliseconds=12.5),
            internal_errors={"source mirror": 2},
        ),
        maintenance=[a_window(at, flow=ODD_FLOW.name)],
        losses=[some_losses(at)],
    )
    return replace(
        report,
        events=(
            Event(
                id=1007,
                flow=FLOW.name,
                code="skips.dropped",
                health=Health.CRITICAL,
                at=at - timedelta(seconds=20),
                until=at,
                subject={"topic": "events"},
                numbers={"records": 7},
                title="MirrorMaker dropped 7 records of events",
            ),
        ),
        event_counts={FLOW.name: {"skips.dropped": 3}},
    )


def _busy(at: datetime, arrivals: list[ProbeArrival]) -> CanaryPartition:
    latency, replication, produce = Histogram(), Histogram(), Histogram()
    for arrival in arrivals:
        latency.observe(arrival.latency)
        if arrival.replication is not None:
            replication.observe(arrival.replication)
        if arrival.produce is not None:
            produce.observe(arrival.produce)
    return replace(
        a_partition(0, outstanding=3),
        counts=CanaryCounts(
            sent=50,
            acked=48,
            failed=2,
            indeterminate=4,
            delivered=41,
            late=3,
            lost=1,
            unverifiable=9,
            recovered=5,
            duplicates=6,
            reordered=7,
            negative=8,
        ),
        latency=latency,
        replication=replication,
        produce=produce,
        oldest_outstanding=at - timedelta(seconds=2.25),
        oldest_unacked=at - timedelta(seconds=1),
        last_arrival=arrivals[-1].arrived_at,
    )
