"""The head of the flow overview: what is true now."""

from ...domain.figures import canary, health, lag, parity, position, skips
from .. import limits
from ..panels import Limits, Panel, Picture, Query, Unit
from ..readings import Age, Function, Gauge, Increase, Quantile

__all__ = ["NUMBERS"]

_NOW = (
    Panel(
        title="Is all well?",
        description=(
            "The worst check of each flow. Unknown means that not enough was"
            " seen to say; it is not healthy. No data: no agent has written"
            " for two minutes."
        ),
        picture=Picture.NUMBER,
        unit=Unit.HEALTH,
        queries=(Query(reading=Gauge(metric=health.HEALTH)),),
        width=6,
        height=4,
    ),
    Panel(
        title="Is it arriving? Oldest probe under way (s)",
        description=(
            "Age of the oldest canary record that has not arrived. It grows"
            " while nothing arrives; red beyond the canary's deadline."
        ),
        picture=Picture.NUMBER,
        unit=Unit.SECONDS,
        limits=limits.OVERDUE,
        check="canary",
        queries=(Query(reading=Gauge(metric=canary.OLDEST)),),
        width=6,
        height=4,
    ),
    Panel(
        title="How late is it? Latency, p99 of 5 minutes (s)",
        description=(
            "Send of a probe to its arrival at the target, what 99 of 100"
            " stay below. The check `latency` also asks whether it is a"
            " multiple of what is usual for the flow."
        ),
        picture=Picture.NUMBER,
        unit=Unit.SECONDS,
        limits=limits.LATENCY,
        check="latency",
        queries=(Query(reading=Quantile(metric=canary.LATENCY, q=0.99)),),
        width=6,
        height=4,
    ),
    Panel(
        title="How long until records are lost? Time to loss (s)",
        description=(
            "If the mirror stood still from now: until the first record that"
            " is not copied expires at the source, of all topics. No data"
            " where nothing expires."
        ),
        picture=Picture.NUMBER,
        unit=Unit.SECONDS,
        limits=limits.RETENTION,
        check="retention",
        queries=(
            Query(reading=Gauge(metric=lag.TIME_TO_LOSS, across=Function.MIN)),
        ),
        width=6,
        height=4,
    ),
)


def _events(
    title: str,
    description: str,
    reading: Increase,
    check: str,
    colours: Limits = limits.ANY,
) -> Panel:
    return Panel(
        title=title,
        description=description,
        picture=Picture.NUMBER,
        limits=colours,
        check=check,
        queries=(Query(reading=reading),),
        width=4,
        height=4,
    )


_HAPPENED = (
    Panel(
        title="When did a probe last arrive?",
        description=(
            "The newest arrival at the target. It stays as it is while"
            " nothing arrives, and its age grows."
        ),
        picture=Picture.NUMBER,
        unit=Unit.MOMENT,
        check="canary",
        queries=(Query(reading=Age(metric=canary.LAST_ARRIVAL)),),
        width=4,
        height=4,
    ),
    _events(
        "How many probes were lost?",
        "In the time that is shown. Proved: the mirror's position has passed"
        " them, and they are not at the target.",
        Increase(metric=canary.COUNTERS["lost"]),
        "canary",
    ),
    _events(
        "How many probes were late?",
        "In the time that is shown: they arrived, after the deadline.",
        Increase(metric=canary.COUNTERS["late"]),
        "canary",
        limits.SOME,
    ),
    _events(
        "How many records were skipped?",
        "In the time that is shown, of all topics. Proved: the mirror read"
        " past them and never wrote them.",
        Increase(metric=skips.SKIPPED),
        "skips",
    ),
    _events(
        "How often was the place lost?",
        "In the time that is shown: positions that expired, went back or"
        " were lost, and topics that were made again.",
        Increase(metric=position.RESETS),
        "position",
    ),
    Panel(
        title="How many topics are missing?",
        description="Topics that the target should have by now.",
        picture=Picture.NUMBER,
        limits=limits.ANY,
        check="topics",
        queries=(Query(reading=Gauge(metric=parity.MISSING_TOPICS)),),
        width=4,
        height=4,
    ),
)

NUMBERS = (*_NOW, *_HAPPENED)
