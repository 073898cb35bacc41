"""Flow overview: is it arriving, how late, time to loss, what is wrong."""

from mirrorwatch.domain.canary import metrics as canary
from mirrorwatch.domain.failover import metrics as failover
from mirrorwatch.domain.lag import metrics as lag
from mirrorwatch.domain.losses import metrics as losses
from mirrorwatch.domain.parity import metrics as parity
from mirrorwatch.domain.position import metrics as position
from mirrorwatch.domain.readers import metrics as readers
from mirrorwatch.domain.samples import (
    CHECK_HEALTH,
    FLOW_CAUSE,
    HEALTH,
    MAINTENANCE,
)
from mirrorwatch.domain.schemas import metrics as schemas

from .. import limits
from ..panels import (
    FLOW,
    Age,
    Board,
    Function,
    Gauge,
    Increase,
    Limits,
    Panel,
    PanelRow,
    Picture,
    Quantile,
    Query,
    Share,
    Unit,
)

__all__ = ["OVERVIEW"]


BY_GROUP = ("flow", "group")

CHECKS = (
    Panel(
        title="Health of each check",
        description=(
            "Every check of every flow. Off: its facts are not configured,"
            " or known to be absent. A gap: no agent was running."
        ),
        picture=Picture.STATES,
        unit=Unit.HEALTH,
        queries=(
            Query(reading=Gauge(metric=CHECK_HEALTH, by=("flow", "check"))),
        ),
        width=24,
        height=10,
    ),
)

CANARY = (
    Panel(
        title="Part at fault",
        description=(
            "Which part the checks that are not ok follow from, if one stands"
            " out. Red: nothing is replicated because of it. Grey: not named,"
            " which does not mean that the part is ok."
        ),
        picture=Picture.STATES,
        unit=Unit.FAULT,
        queries=(
            Query(reading=Gauge(metric=FLOW_CAUSE, by=("flow", "cause"))),
        ),
        width=24,
        height=8,
    ),
    Panel(
        title="End-to-end latency of probes (s)",
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
        title="Oldest outstanding probe over time (s)",
        description=(
            "Replication is stalled for as long as the line rises. Red"
            " beyond the canary's deadline."
        ),
        picture=Picture.LINES,
        unit=Unit.SECONDS,
        limits=limits.OVERDUE,
        check="canary",
        queries=(Query(reading=Gauge(metric=canary.OLDEST)),),
    ),
    Panel(
        title="Bounds of the latency, p50 (s)",
        description=(
            "The true latency is between the two: measured from the source's"
            " acknowledgement, and from the send. They differ by the time"
            " that the produce request took."
        ),
        picture=Picture.LINES,
        unit=Unit.SECONDS,
        check="latency",
        queries=(
            Query(
                label="lower bound",
                reading=Quantile(metric=canary.REPLICATION, q=0.5),
            ),
            Query(
                label="upper bound",
                reading=Quantile(metric=canary.LATENCY, q=0.5),
            ),
            Query(
                label="produce", reading=Quantile(metric=canary.PRODUCE, q=0.5)
            ),
        ),
    ),
    Panel(
        title="Outcome of probes (probes)",
        description=(
            "Probes that arrived, and those that did not as expected, at the"
            " time when it was known."
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
        title="Outstanding probes (probes)",
        description="Sent and not yet settled, on all partitions.",
        picture=Picture.LINES,
        check="canary",
        queries=(
            Query(
                reading=Gauge(metric=canary.OUTSTANDING, across=Function.SUM)
            ),
        ),
    ),
    Panel(
        title="Other counters of the canary (probes, records, intervals)",
        description=(
            "Sends, acknowledgements and sends of unknown outcome; duplicates,"
            " arrivals out of order, and negative intervals, which a clock"
            " that was set back causes."
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
)

REPLICATION = (
    Panel(
        title="Lag of the worst topic (s)",
        description=(
            "Age of the oldest record that is not yet replicated, of the"
            " topic with the highest lag; 0 without lag."
        ),
        picture=Picture.LINES,
        unit=Unit.SECONDS,
        check="lag",
        queries=(Query(reading=Gauge(metric=lag.LAG_SECONDS)),),
    ),
    Panel(
        title="Time to loss of the worst topic (s)",
        description=(
            "Until the first record that is not replicated expires at the"
            " source. The check `retention` also considers the share of the"
            " retention that is left, and only topics with lag."
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
        title="Recovery point (s)",
        description=(
            "Age of the oldest record that is not proved to be at the target,"
            " at most: what a loss of the source would lose. It grows while"
            " a side does not answer."
        ),
        picture=Picture.LINES,
        unit=Unit.SECONDS,
        check="failover",
        queries=(Query(reading=Gauge(metric=failover.RPO_SECONDS)),),
        width=8,
    ),
    Panel(
        title="Recovery point (offsets)",
        description=(
            "Source offsets that are not proved to be at the target, with"
            " those that were skipped."
        ),
        picture=Picture.LINES,
        check="failover",
        queries=(Query(reading=Gauge(metric=failover.RPO_RECORDS)),),
        width=8,
    ),
    Panel(
        title="Target complete until",
        description=(
            "Every replicated topic is complete at the target until then, as"
            " proved. No data: not known."
        ),
        picture=Picture.NUMBER,
        unit=Unit.MOMENT,
        check="failover",
        queries=(Query(reading=Age(metric=failover.COMPLETE_UNTIL)),),
        width=8,
    ),
    Panel(
        title="Parity of both sides (topics, properties)",
        description=(
            "Topics that are missing or have another number of partitions,"
            " and properties that differ, for longer than the mirror's"
            " refresh."
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
        title="Maintenance",
        description="Notifications are silenced; verdicts are not.",
        picture=Picture.STATES,
        unit=Unit.FLAG,
        queries=(Query(reading=Gauge(metric=MAINTENANCE)),),
    ),
    Panel(
        title="Topics by lag (offsets, s)",
        description=(
            "Every topic as it is now: offsets not yet replicated, the age of"
            " the oldest of them, and the time until it is lost. In Grafana"
            " the highest lag comes first."
        ),
        picture=Picture.TABLE,
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

READERS = (
    Panel(
        title="Consumer lag at the target (s)",
        description=(
            "Age of the oldest record that arrived and that a consumer group"
            " has not read, by group. Groups are configured by `readers`."
        ),
        picture=Picture.LINES,
        unit=Unit.SECONDS,
        check="readers",
        queries=(
            Query(
                reading=Gauge(metric=readers.READERS_LAG_SECONDS, by=BY_GROUP)
            ),
        ),
        width=8,
    ),
    Panel(
        title="Consumer lag at the target (offsets)",
        description=(
            "Offsets of replicated topics that a consumer group has not read,"
            " by group."
        ),
        picture=Picture.LINES,
        check="readers",
        queries=(
            Query(
                reading=Gauge(metric=readers.READERS_LAG_RECORDS, by=BY_GROUP)
            ),
        ),
        width=8,
    ),
    Panel(
        title="Consumer groups at the target (members)",
        description=(
            "Members by group. A program that assigns partitions to itself is"
            " none."
        ),
        picture=Picture.LINES,
        check="readers",
        queries=(
            Query(reading=Gauge(metric=readers.READERS_MEMBERS, by=BY_GROUP)),
        ),
        width=8,
    ),
    Panel(
        title="Schemas at the target (schemas, subjects)",
        description=(
            "Schema ids in records that the target's registry does not know,"
            " or has for another schema; and subjects that it lacks. No data:"
            " not known, or no registries are configured."
        ),
        picture=Picture.LINES,
        check="schemas",
        queries=(
            Query(
                label="missing",
                reading=Gauge(metric=schemas.MISSING_SCHEMAS),
            ),
            Query(
                label="other schema",
                reading=Gauge(metric=schemas.SCHEMA_COLLISIONS),
            ),
            Query(
                label="missing subjects",
                reading=Gauge(metric=schemas.MISSING_SUBJECTS),
            ),
        ),
        width=8,
    ),
    Panel(
        title="Schemas resolved (schemas)",
        description=(
            "Schema ids in records that are the same schema at source and"
            " target."
        ),
        picture=Picture.LINES,
        check="schemas",
        queries=(Query(reading=Gauge(metric=schemas.SCHEMA_IDS)),),
        width=8,
    ),
    Panel(
        title="Schemas after their records (s)",
        description=(
            "Longest time from a topic's first record at the target until its"
            " schema was readable there, of the last day."
        ),
        picture=Picture.LINES,
        unit=Unit.SECONDS,
        check="schemas",
        queries=(Query(reading=Gauge(metric=schemas.SCHEMA_DELAY)),),
        width=8,
    ),
)


_NOW = (
    Panel(
        title="Health",
        description=(
            "The worst check of each flow. Unknown means that it cannot be"
            " judged; it is not healthy. No data: no agent has reported for"
            " two minutes."
        ),
        picture=Picture.NUMBER,
        unit=Unit.HEALTH,
        queries=(Query(reading=Gauge(metric=HEALTH)),),
        width=4,
        height=4,
    ),
    Panel(
        title="Oldest outstanding probe (s)",
        description=(
            "Age of the oldest probe that has not arrived. It grows while"
            " nothing arrives; red beyond the canary's deadline."
        ),
        picture=Picture.NUMBER,
        unit=Unit.SECONDS,
        limits=limits.OVERDUE,
        check="canary",
        queries=(Query(reading=Gauge(metric=canary.OLDEST)),),
        width=4,
        height=4,
    ),
    Panel(
        title="End-to-end latency, p99 of 5 minutes (s)",
        description=(
            "From the send of a probe to its arrival at the target; 99 of 100"
            " stay below. The check `latency` also compares it with what is"
            " usual for the flow."
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
        title="Time to loss (s)",
        description=(
            "If the mirror stopped now: until the first record that is not"
            " replicated expires at the source, of all topics. No data where"
            " nothing expires."
        ),
        picture=Picture.NUMBER,
        unit=Unit.SECONDS,
        limits=limits.RETENTION,
        check="retention",
        queries=(
            Query(reading=Gauge(metric=lag.TIME_TO_LOSS, across=Function.MIN)),
        ),
        width=4,
        height=4,
    ),
    Panel(
        title="Service level of 30 days",
        description=(
            "Share of probes that arrived within `canary.within`, of those of"
            " which it is known."
        ),
        picture=Picture.NUMBER,
        unit=Unit.RATIO,
        check="canary",
        queries=(Query(reading=Share(metric=canary.GOOD, rest=canary.BAD)),),
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


_EVENTS = (
    Panel(
        title="Last arrival of a probe",
        description=(
            "The newest arrival at the target. Its age grows while nothing"
            " arrives."
        ),
        picture=Picture.NUMBER,
        unit=Unit.MOMENT,
        check="canary",
        queries=(Query(reading=Age(metric=canary.LAST_ARRIVAL)),),
        width=4,
        height=4,
    ),
    _events(
        "Lost probes",
        "In the selected time range. Proved: the mirror's position has"
        " passed them, and they are not at the target.",
        Increase(metric=canary.COUNTERS["lost"]),
        "canary",
    ),
    _events(
        "Late probes",
        "In the selected time range: they arrived after the deadline.",
        Increase(metric=canary.COUNTERS["late"]),
        "canary",
        limits.SOME,
    ),
    _events(
        "Lost records",
        "In the selected time range, of all topics. Proved: dropped by the"
        " mirror, or expired at the source before they were copied.",
        Increase(metric=losses.LOST),
        "skips",
    ),
    _events(
        "Position resets",
        "In the selected time range: positions that expired, rewound or"
        " were lost, and topics that were deleted and recreated.",
        Increase(metric=position.RESETS),
        "position",
    ),
    Panel(
        title="Missing topics",
        description="Topics that the target should have by now.",
        picture=Picture.NUMBER,
        limits=limits.ANY,
        check="topics",
        queries=(Query(reading=Gauge(metric=parity.MISSING_TOPICS)),),
        width=4,
        height=4,
    ),
)

NUMBERS = (*_NOW, *_EVENTS)


OVERVIEW = Board(
    name="flow-overview",
    title="mirrorwatch: flow overview",
    description=(
        "Health, end-to-end latency, lag and time to loss of each flow."
    ),
    variables=(FLOW,),
    first=(*NUMBERS, *CHECKS),
    rows=(
        PanelRow(title="Cause and latency", panels=CANARY),
        PanelRow(title="Replication", panels=REPLICATION),
        PanelRow(title="Readers and schemas", panels=READERS),
    ),
)
