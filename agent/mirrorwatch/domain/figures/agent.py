"""Figures of the agent itself."""

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from typing import Protocol

from .metric import counter, gauge
from .sample import Sample

__all__ = ["LAST_TICK", "METRICS", "SINK_LOST", "SINK_SPOOLED", "SINK_UP"]
__all__ += ["SOURCE_UP", "TICK_SECONDS", "AgentFigures", "figures"]

SOURCE_UP = gauge(
    "source_up", "0 or 1", "agent", ("source",), "Last fact is fresh"
)
SINK_UP = gauge(
    "sink_up", "0 or 1", "agent", ("sink",), "Last attempt to write succeeded"
)
SINK_SPOOLED = gauge(
    "sink_spooled_points",
    "points",
    "agent",
    ("sink",),
    "Points that wait to be written",
)
SINK_LOST = counter(
    "sink_lost_points",
    "points",
    "agent",
    ("sink",),
    "Points given up since the start: no room left, or refused for good",
)
TICK_SECONDS = gauge(
    "tick_seconds", "seconds", "agent", (), "How long the tick before took"
)
LAST_TICK = gauge(
    "last_tick_timestamp_seconds",
    "seconds since 1970",
    "agent",
    (),
    "When the figures were made, on the agent's own timer: alert on its age",
)

METRICS = (
    SOURCE_UP,
    SINK_UP,
    SINK_SPOOLED,
    SINK_LOST,
    TICK_SECONDS,
    LAST_TICK,
)


class AgentFigures(Protocol):
    """What is read of the agent's own state."""

    @property
    def sources_up(self) -> Mapping[str, bool]: ...

    @property
    def sinks_up(self) -> Mapping[str, bool]: ...

    @property
    def spooled_points(self) -> Mapping[str, int]: ...

    @property
    def lost_points(self) -> Mapping[str, int]: ...

    @property
    def last_tick(self) -> timedelta | None: ...


def figures(agent: AgentFigures, at: datetime) -> Iterator[Sample]:
    """Yield how the agent itself is doing."""
    for source, up in sorted(agent.sources_up.items()):
        yield Sample(SOURCE_UP, (source,), int(up))
    for sink, up in sorted(agent.sinks_up.items()):
        yield Sample(SINK_UP, (sink,), int(up))
    for sink, points in sorted(agent.spooled_points.items()):
        yield Sample(SINK_SPOOLED, (sink,), points)
    lost = dict.fromkeys([*agent.sinks_up, *agent.spooled_points], 0)
    for sink, points in sorted((lost | dict(agent.lost_points)).items()):
        yield Sample(SINK_LOST, (sink,), points)
    if agent.last_tick is not None:
        yield Sample(TICK_SECONDS, (), agent.last_tick.total_seconds())
    yield Sample(LAST_TICK, (), at.timestamp())
