"""What is said of the agent itself: who watches the watchman."""

from datetime import timedelta

from ..domain.figures.agent import (
    LAST_TICK,
    SINK_LOST,
    SINK_SPOOLED,
    SINK_UP,
)
from ..domain.figures.health import HEALTH
from .alert import Above, Alert, Grows, Old, Severity, Silent, Vanished

__all__ = ["AGENT_ALERTS", "AGENT_SECTION"]

AGENT_SECTION = "the-agent-itself"
"""Of docs/runbook.md."""

SILENCE = timedelta(minutes=5)
"""A restart on another machine, with its image pulled, is over by then."""

AGENT_ALERTS = (
    Alert(
        name="MirrorwatchAgentSilent",
        when=Silent(metric=LAST_TICK),
        hold=SILENCE,
        severity=Severity.PAGE,
        summary="mirrorwatch reports nothing: nobody watches replication, "
        "and what was known before may be true no more",
        section=AGENT_SECTION,
    ),
    Alert(
        name="MirrorwatchAgentStuck",
        when=Old(metric=LAST_TICK, age=timedelta(minutes=3)),
        hold=timedelta(minutes=2),
        severity=Severity.PAGE,
        summary="mirrorwatch answers but no longer judges: what it shows is "
        "old",
        section=AGENT_SECTION,
    ),
    Alert(
        name="MirrorwatchFlowUnwatched",
        when=Vanished(metric=HEALTH),
        hold=SILENCE,
        severity=Severity.PAGE,
        summary="no mirrorwatch watches this flow any more",
        section=AGENT_SECTION,
    ),
    Alert(
        name="MirrorwatchSinkDown",
        when=Above(metric=SINK_UP, bound=1, below=True),
        hold=timedelta(minutes=15),
        severity=Severity.TICKET,
        summary="mirrorwatch cannot hand over its figures or notices: they "
        "wait",
        section=AGENT_SECTION,
    ),
    Alert(
        name="MirrorwatchSinkBehind",
        when=Above(metric=SINK_SPOOLED, bound=0),
        # An outage of half a day drains within minutes.
        hold=timedelta(minutes=30),
        severity=Severity.TICKET,
        summary="figures or notices of mirrorwatch have waited for long; "
        "when there is no room left, the oldest are lost",
        section=AGENT_SECTION,
    ),
    Alert(
        name="MirrorwatchSinkLosesPoints",
        # Figures that are lost are no measurement that may err: a minute is
        # for what is evaluated only now and then.
        when=Grows(metric=SINK_LOST, within=timedelta(minutes=15)),
        hold=timedelta(minutes=1),
        severity=Severity.TICKET,
        summary="figures or notices of mirrorwatch are lost for good: "
        "refused, or no room left for them",
        section=AGENT_SECTION,
    ),
)
"""The dead-man alerts, then those of what it writes."""
