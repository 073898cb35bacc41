"""Flow overview: is it arriving, how late, time to loss, what is wrong."""

from mirrorwatch.domain.canary import metrics as canary
from mirrorwatch.domain.lag import metrics as lag
from mirrorwatch.domain.parity import metrics as parity
from mirrorwatch.domain.position import metrics as position
from mirrorwatch.domain.samples import CHECK_HEALTH, HEALTH, MAINTENANCE
from mirrorwatch.domain.skips import metrics as skips

from .. import limits
from ..panels import (
    Age,
    Board,
    Function,
    Gauge,
    Increase,
    Limits,
    Panel,
    Picture,
    Quantile,
    Query,
    Unit,
)
from .choices import FLOW

__all__ = ["OVERVIEW"]


HISTORY = (
    Panel(
        title="What is wrong, and since when?",
        description=(
            "Every check of every flow. Off: its facts are not configured,"
            " or known to be absent. A gap: no agent wrote."
        ),
        picture=Picture.STATES,
        unit=Unit.HEALTH,
        queries=(
            Query(reading=Gauge(metric=CHECK_HEALTH, by=("flow", "check"))),
        ),
        width=24,
        height=11,
    ),
    Panel(
        title="Latency of probes, send to arrival (s)",
        description=(
            "Half of the probes stay below p50, 99 of 100 below p99. Only"
            " probes that the agent saw arrive."
        ),
        picture=Picture.LINES,
        unit=Unit.SECONDS,
        limits=limits.LATENCY,
        check="latency",
        queries=(
            Query(label="p50", reading=Quantile(metric=canary.LATENCY, q=0.5)),
            Query(
                label="p99", reading=Quantile(metric=canary.LATENCY, q=0.99)
            ),
        ),
    ),
    Panel(
        title="Oldest probe under way (s)",
        description=(
            "A line that climbs is a standstill, as long as it climbs. Red"
            " beyond the canary's deadline."
        ),
        picture=Picture.LINES,
        unit=Unit.SECONDS,
        limits=limits.OVERDUE,
        check="canary",
        queries=(Query(reading=Gauge(metric=canary.OLDEST)),),
    ),
    Panel(
        title="How sure is the latency? Its two bounds, p50 (s)",
        description=(
            "A record came into the target's log between the two: measured"
            " from the source's acknowledgement, and from the send. What"
            " lies between is the time that the send itself took."
        ),
        picture=Picture.LINES,
        unit=Unit.SECONDS,
        check="latency",
        queries=(
            Query(
                label="least",
                reading=Quantile(metric=canary.REPLICATION, q=0.5),
            ),
            Query(
                label="most", reading=Quantile(metric=canary.LATENCY, q=0.5)
            ),
            Query(
                label="send", reading=Quantile(metric=canary.PRODUCE, q=0.5)
            ),
        ),
    ),
    Panel(
        title="What became of the probes? (probes)",
        description=(
            "Those that arrived, and those that did not as they should, by"
            " when it was known."
        ),
        picture=Picture.BARS,
        check="canary",
        queries=tuple(
            Query(label=name, reading=Increase(metric=canary.COUNTERS[name]))
            for name in (
                "delivered",
                "late",
                "lost",
                "failed",
                "unverifiable",
                "recovered",
            )
        ),
    ),
    Panel(
        title="Probes under way (probes)",
        description="Sent, and not yet settled, on all partitions together.",
        picture=Picture.LINES,
        check="canary",
        queries=(
            Query(
                reading=Gauge(metric=canary.OUTSTANDING, across=Function.SUM)
            ),
        ),
    ),
    Panel(
        title="What else does the canary count? (probes, records, intervals)",
        description=(
            "Sends, their acknowledgements and those of unknown outcome;"
            " further copies, copies out of order, and intervals below zero,"
            " which a clock that was set makes."
        ),
        picture=Picture.BARS,
        check="canary",
        queries=tuple(
            Query(label=name, reading=Increase(metric=canary.COUNTERS[name]))
            for name in (
                "sent",
                "acked",
                "indeterminate",
                "duplicates",
                "reordered",
                "negative",
            )
        ),
    ),
    Panel(
        title="Lag of the worst topic (s)",
        description=(
            "Age of the oldest record that is not yet copied, of the topic"
            " that is furthest behind; 0 when none waits."
        ),
        picture=Picture.LINES,
        unit=Unit.SECONDS,
        check="lag",
        queries=(Query(reading=Gauge(metric=lag.LAG_SECONDS)),),
    ),
    Panel(
        title="Time to loss, of the first topic (s)",
        description=(
            "Until the first record that is not copied expires at the source."
            " The check `retention` also asks for the share of the retention"
            " that is left, and only of topics of which records wait."
        ),
        picture=Picture.LINES,
        unit=Unit.SECONDS,
        limits=limits.RETENTION,
        check="retention",
        queries=(
            Query(
                reading=Gauge(
                    metric=lag.TIME_TO_LOSS,
                    over=Function.MIN,
                    across=Function.MIN,
                )
            ),
        ),
    ),
    Panel(
        title="Are both sides still alike? (topics, properties)",
        description=(
            "Topics that are missing or have another number of partitions,"
            " and properties that differ, once the mirror had its time."
        ),
        picture=Picture.LINES,
        check="topics",
        queries=(
            Query(
                label="missing",
                reading=Gauge(metric=parity.MISSING_TOPICS),
            ),
            Query(
                label="partitions differ",
                reading=Gauge(metric=parity.PARTITION_MISMATCHES),
            ),
            Query(
                label="properties differ",
                reading=Gauge(metric=parity.CONFIG_DRIFTS),
            ),
        ),
    ),
    Panel(
        title="Were notices held for maintenance?",
        description=("Verdicts go on meanwhile; only notices wait."),
        picture=Picture.STATES,
        unit=Unit.FLAG,
        queries=(Query(reading=Gauge(metric=MAINTENANCE)),),
    ),
    Panel(
        title="Which topics are behind? (offsets, s)",
        description=(
            "Every topic as it is now, the furthest behind first: offsets"
            " not yet copied, the age of the oldest of them, and the time"
            " until it is lost."
        ),
        picture=Picture.TABLE,
        unit=Unit.SECONDS,
        check="lag",
        queries=tuple(
            Query(
                label=label,
                reading=Gauge(metric=metric, by=("flow", "topic")),
            )
            for label, metric in (
                ("lag (s)", lag.LAG_SECONDS),
                ("lag (offsets)", lag.LAG_RECORDS),
                ("time to loss (s)", lag.TIME_TO_LOSS),
            )
        ),
        width=24,
        height=9,
    ),
)


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
        queries=(Query(reading=Gauge(metric=HEALTH)),),
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


OVERVIEW = Board(
    name="flow-overview",
    title="mirrorwatch: flow overview",
    description=(
        "Is it arriving, how late, how long until records are lost, and what"
        " is wrong?"
    ),
    variables=(FLOW,),
    panels=(*NUMBERS, *HISTORY),
)
