"""The samples of a report: the same ones for every sink."""

from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from functools import partial

from .. import __version__
from .cause import FaultyPart
from .checks import CHECKS, CODES
from .losses import metrics as losses
from .metrics import Histogram, Sample, counter, gauge
from .report import (
    AgentState,
    Cause,
    Flow,
    Health,
    MaintenanceWindow,
    Report,
    Verdict,
    worst,
)
from .topic_bound import TopicBound

__all__ = [
    "AGENT_METRICS",
    "BUILD_INFO",
    "CHECK_HEALTH",
    "CLOCK_STEPS",
    "EVENTS",
    "FLOW_CAUSE",
    "FLOW_INFO",
    "HEALTH",
    "HEALTH_METRICS",
    "INTERNAL_ERRORS",
    "LAST_TICK",
    "MAINTENANCE",
    "SINK_LOST",
    "SINK_SPOOLED",
    "SINK_UP",
    "SOURCE_UP",
    "STATE_UP",
    "TICK_SECONDS",
    "Sampler",
    "bounded",
    "samples",
]


SOURCE_UP = gauge(
    "source_up",
    "0 or 1",
    "agent",
    ("flow", "source"),
    "Whether data of the source is fresh",
)
SINK_UP = gauge(
    "sink_up", "0 or 1", "agent", ("sink",), "Whether the last write succeeded"
)
SINK_SPOOLED = gauge(
    "sink_spooled_points",
    "points",
    "agent",
    ("sink",),
    "Points queued for the sink",
)
SINK_LOST = counter(
    "sink_lost_points",
    "points",
    "agent",
    ("sink",),
    "Points lost since the start: queue full, or rejected",
)
TICK_SECONDS = gauge(
    "tick_seconds", "seconds", "agent", (), "Duration of the previous tick"
)
LAST_TICK = gauge(
    "last_tick_timestamp_seconds",
    "seconds since 1970",
    "agent",
    (),
    "Time of the last tick, by the agent's timer: alert on its age",
)
CLOCK_STEPS = counter(
    "clock_steps",
    "steps",
    "agent",
    (),
    "Steps of the wall clock since the start: no interval follows them",
)
STATE_UP = gauge(
    "state_up",
    "0 or 1",
    "agent",
    (),
    "Whether the state file is used and keeps what is written",
)
INTERNAL_ERRORS = counter(
    "internal_errors",
    "errors",
    "agent",
    ("part",),
    "Crashes of a part of mirrorwatch, and undecodable rows in its state file",
)
BUILD_INFO = gauge(
    "build_info", "1", "agent", ("version",), "Version of mirrorwatch"
)

AGENT_METRICS = (
    SOURCE_UP,
    SINK_UP,
    SINK_SPOOLED,
    SINK_LOST,
    TICK_SECONDS,
    LAST_TICK,
    CLOCK_STEPS,
    STATE_UP,
    INTERNAL_ERRORS,
    BUILD_INFO,
)


def _agent_samples(agent: AgentState, at: datetime) -> Iterator[Sample]:
    for name, up in sorted(agent.sources_up.items()):
        source, _, flow = name.partition(" ")
        yield Sample(SOURCE_UP, (flow, source), int(up))
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
    yield Sample(CLOCK_STEPS, (), agent.clock_steps)
    yield Sample(STATE_UP, (), int(not agent.problems))
    for part, errors in sorted(agent.internal_errors.items()):
        yield Sample(INTERNAL_ERRORS, (part,), errors)
    yield Sample(BUILD_INFO, (__version__,), 1)


_SCALE = ", ".join(f"{h.value} {h.label}" for h in Health)

HEALTH = gauge(
    "health", "health", "health", ("flow",), f"Worst check of a flow: {_SCALE}"
)
CHECK_HEALTH = gauge(
    "check_health",
    "health",
    "health",
    ("flow", "check"),
    f"Health of one check: {_SCALE}",
)

MAINTENANCE = gauge(
    "maintenance",
    "0 or 1",
    "health",
    ("flow",),
    "1 while notifications of a flow are silenced for maintenance, else 0",
)

FLOW_INFO = gauge(
    "flow_info",
    "1",
    "flow",
    ("flow", "source", "target", "page"),
    "What a flow is, and the address of the page that shows it",
)

FLOW_CAUSE = gauge(
    "flow_cause",
    "health",
    "cause",
    ("flow", "cause"),
    f"Part at fault: {Health.CRITICAL.value} while nothing is copied because "
    f"of it, {Health.WARNING.value} if records are late, only some are not "
    f"copied or mirrorwatch is at fault, else {Health.OK.value}",
)

EVENTS = counter(
    "events",
    "events",
    "events",
    ("flow", "code"),
    "Events since the installation, by code of the finding. In InfluxDB, each "
    "event is a point",
)

HEALTH_METRICS = (
    EVENTS,
    HEALTH,
    CHECK_HEALTH,
    MAINTENANCE,
    FLOW_INFO,
    FLOW_CAUSE,
)


def _health_samples(
    flows: Iterable[Flow],
    verdicts: Iterable[Verdict],
    maintenance: Iterable[MaintenanceWindow],
    causes: Iterable[Cause],
    page: str,
) -> Iterator[Sample]:
    judged, named = list(verdicts), list(flows)
    for flow in named:
        own = [v for v in judged if v.flow == flow.name]
        health = worst(own) if own else Health.UNKNOWN
        yield Sample(HEALTH, (flow.name,), health.value)
    for verdict in judged:
        labels = (verdict.flow, verdict.check)
        yield Sample(CHECK_HEALTH, labels, verdict.health.value)
    held = {window.flow for window in maintenance}
    for flow in named:
        yield Sample(MAINTENANCE, (flow.name,), int(flow.name in held))
        what = (flow.name, flow.source, flow.target, page)
        yield Sample(FLOW_INFO, what, 1)
    at_fault = {
        (cause.flow, cause.part): Health.CRITICAL
        if cause.stops
        else Health.WARNING
        for cause in causes
    }
    for flow in named:
        for part in FaultyPart:
            labels = (flow.name, part.value)
            health = at_fault.get(labels, Health.OK)
            yield Sample(FLOW_CAUSE, labels, health.value)


EVENT_CODES = tuple(sorted(c.name for c in CODES.values() if c.meaning))
"""Codes that can be events, so that the counter of each is there from the
start."""


def _event_samples(report: Report) -> Iterator[Sample]:
    for flow in report.flows:
        counts = report.event_counts.get(flow.name, {})
        for code in EVENT_CODES:
            yield Sample(EVENTS, (flow.name, code), counts.get(code, 0))


def _writable(make: Callable[[], Iterable[Sample]]) -> Iterator[Sample]:
    """Yield samples; crash, as `make` may, at one that no sink can write."""
    before: tuple[str, ...] | None = None
    for sample in make():
        _, labels, value = sample
        # Those of one topic share theirs.
        if labels is not before:
            "".join(labels).encode()
            before = labels
        if not isinstance(value, Histogram):
            float(value)
        yield sample


Sampler = Callable[[Report], Iterable[Sample]]


def samples(
    report: Report,
    collect: Callable[
        [str, Callable[[], Iterable[Sample]]], Iterable[Sample]
    ] = lambda _, work: work(),
    page: str = "",
) -> Iterator[Sample]:
    """Yield every sample of a report, each series once.

    Parameters
    ----------
    report
        Report of one tick.
    collect
        Returns the samples of each check, by its name: so that one may fail
        alone.
    page
        Address of the agent's page, for those who see metrics only.

    Notes
    -----
    A gauge whose fact is absent is left out: it is neither shown as zero nor
    kept at what it was before. Counters are there from the start.
    """
    yield from _health_samples(
        report.flows,
        report.verdicts,
        report.maintenance,
        report.causes,
        page,
    )
    yield from _event_samples(report)
    newest = {
        (seen.flow, type(seen)): seen
        for seen in sorted(report.observations, key=lambda o: o.at)
    }
    for check in CHECKS.values():
        if check.samples is None:
            continue
        for (_, of), seen in sorted(
            newest.items(), key=lambda item: item[0][0]
        ):
            if of is check.observation:
                # The state may have been read after the tick began.
                at = max(report.at, seen.at)
                yield from collect(
                    f"metrics {check.name} {seen.flow}",
                    partial(_writable, partial(check.samples, seen, at)),
                )
    for lost in report.losses:
        yield from collect(
            f"metrics losses {lost.flow}",
            partial(_writable, partial(losses.samples, lost)),
        )
    yield from _agent_samples(report.agent, report.at)


def bounded(sampler: Sampler, most: int | None) -> Sampler:
    """Return a sampler that gives so many topics series of their own.

    Parameters
    ----------
    sampler
        Gives all of them.
    most
        Number of such topics of each flow; `None` for all.
    """
    if most is None:
        return sampler
    bound = TopicBound(most)
    return lambda report: bound(sampler(report), report.at)
