"""A report with a bit of everything that the API tells."""

from datetime import timedelta

from mirrorwatch.domain.observations import CanaryCounts, Loss
from mirrorwatch.domain.report import Flow, Health
from mirrorwatch.ports import AgentState, Report
from tests.support.builders import (
    FLOW,
    NOON,
    a_canary,
    a_partition,
    a_report,
    a_verdict,
    a_window,
    an_arrival,
)

__all__ = ["a_full_report"]

SECOND = timedelta(seconds=1)


def a_full_report() -> Report:
    other = Flow(name="commands", source="summit", target="ldf")
    loss = Loss(
        flow=FLOW.name,
        partition=1,
        sequence=77,
        source_offset=412,
        sent_at=NOON - 90 * SECOND,
        proved_at=NOON - 60 * SECOND,
        proof="position 420 has passed 412, target read to its end 407",
    )
    canary = a_canary(
        NOON,
        partitions=[
            a_partition(
                counts=CanaryCounts(
                    sent=10, acked=10, delivered=8, late=1, lost=1
                ),
                last_arrival=NOON - SECOND,
            ),
            a_partition(
                1,
                counts=CanaryCounts(sent=1, indeterminate=1),
                outstanding=1,
                oldest_outstanding=NOON - 40 * SECOND,
                warming=True,
            ),
        ],
        arrivals=[
            an_arrival(NOON - SECOND, timedelta(milliseconds=250)),
            an_arrival(NOON - SECOND, 31 * SECOND, late=True),
        ],
    )
    return a_report(
        flows=[FLOW, other],
        observations=[
            type(canary)(
                flow=canary.flow,
                at=canary.at,
                topic=canary.topic,
                remote_topic="summit.mirrorwatch.canary",
                partitions=canary.partitions,
                arrivals=canary.arrivals,
                losses=(loss,),
            )
        ],
        verdicts=[
            a_verdict(
                Health.CRITICAL,
                reason="1 probe was lost in the last hour",
                since=NOON - 60 * SECOND,
                evidence={
                    "lost_last_hour": 1,
                    "time_to_loss_seconds": float("inf"),
                    "is_proved": True,
                    "leader": None,
                    "<b>": "<script>alert(1)</script>",
                },
            ),
            a_verdict(Health.OFF, check="audit", reason="Not scheduled"),
            a_verdict(flow="commands"),
        ],
        agent=AgentState(
            sources_up={"canary": True},
            sinks_up={"influxdb": False},
            last_tick=timedelta(milliseconds=12),
        ),
        maintenance=[a_window(NOON - 60 * SECOND, flow="commands")],
    )
