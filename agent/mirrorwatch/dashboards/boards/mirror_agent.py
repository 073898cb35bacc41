"""Panels of the agent itself: they tell whether it is the monitor."""

from ...domain.figures import agent
from .. import limits
from ..panels import Panel, Picture, Query, Unit
from ..readings import Age, Gauge, Increase

__all__ = ["AGENT"]

AGENT = (
    Panel(
        title="Agent: how long does a tick take? (s)",
        description=(
            "A tick waits for nothing; one that grows longer says that the"
            " agent's machine is busy."
        ),
        picture=Picture.LINES,
        unit=Unit.SECONDS,
        queries=(
            Query(
                label="tick", reading=Gauge(metric=agent.TICK_SECONDS, by=())
            ),
        ),
        width=8,
    ),
    Panel(
        title="Agent: when did it last make figures?",
        description="By its own timer. No data: for two minutes it did not.",
        picture=Picture.NUMBER,
        unit=Unit.MOMENT,
        queries=(
            Query(label="agent", reading=Age(metric=agent.LAST_TICK, by=())),
        ),
        width=8,
    ),
    Panel(
        title="Agent: which of its sources are fresh?",
        description="Sources of facts that answered in time.",
        picture=Picture.STATES,
        unit=Unit.FLAG,
        limits=limits.NONE,
        queries=(
            Query(reading=Gauge(metric=agent.SOURCE_UP, by=("source",))),
        ),
        width=8,
    ),
    Panel(
        title="Agent: which of its sinks take what it writes?",
        description="Sinks whose last attempt to write succeeded.",
        picture=Picture.STATES,
        unit=Unit.FLAG,
        limits=limits.NONE,
        queries=(Query(reading=Gauge(metric=agent.SINK_UP, by=("sink",))),),
        width=8,
    ),
    Panel(
        title="Agent: what waits to be written? (points)",
        description=(
            "Points that wait in the state file while a sink's server is"
            " away, and go to it later with their own times."
        ),
        picture=Picture.LINES,
        queries=(
            Query(reading=Gauge(metric=agent.SINK_SPOOLED, by=("sink",))),
        ),
    ),
    Panel(
        title="Agent: what was given up? (points)",
        description=(
            "Points for which there was no room left, or which the server"
            " refused for good, by when."
        ),
        picture=Picture.BARS,
        queries=(
            Query(reading=Increase(metric=agent.SINK_LOST, by=("sink",))),
        ),
    ),
)
