"""Flow overview: health, losses, latency, lag and time to loss of flows."""

from mirrorwatch.domain.canary import metrics as canary
from mirrorwatch.domain.failover import metrics as failover
from mirrorwatch.domain.lag import metrics as lag
from mirrorwatch.domain.losses import metrics as losses
from mirrorwatch.domain.parity import metrics as parity
from mirrorwatch.domain.position import metrics as position
from mirrorwatch.domain.readers import metrics as readers
from mirrorwatch.domain.samples import (
    CHECK_HEALTH,
    EVENTS,
    FLOW_CAUSE,
    HEALTH,
    MAINTENANCE,
)
from mirrorwatch.domain.schemas import metrics as schemas

from .. import limits
from ..panels import (
    FLOW,
    Board,
    Function,
    PanelRow,
    Query,
    bars,
    lines,
    number,
    states,
    table,
)

__all__ = ["OVERVIEW"]


BY_GROUP = ("flow", "group")
BY_TOPIC = ("flow", "topic")

OUTCOMES = (
    "delivered",
    "late",
    "lost",
    "failed",
    "unverifiable",
    "recovered",
)

LOSSES = (
    number(
        "Health",
        Query(HEALTH),
        note="Unknown means that it cannot be judged; it is not healthy. No"
        " data: no agent has reported for two minutes.",
    ),
    number(
        "Lost records", Query(losses.LOST), check="skips", limits=limits.ANY
    ),
    number("Lost probes", Query(canary.COUNTERS["lost"]), limits=limits.ANY),
    number("Position resets", Query(position.RESETS), limits=limits.ANY),
    number("Missing topics", Query(parity.MISSING_TOPICS), limits=limits.ANY),
    number("Target complete until", Query(failover.COMPLETE_UNTIL)),
)

EVENT_LIST = (
    table(
        "Events",
        Query(EVENTS, "events", by=("flow", "code")),
        note="In the selected time range; Prometheus counts them, InfluxDB has"
        " their times and titles.",
        height=6,
    ),
)

DELAYS = (
    number(
        "Oldest outstanding probe",
        Query(canary.OLDEST),
        note="It grows while nothing arrives; red beyond the canary's"
        " deadline.",
        limits=limits.OVERDUE,
    ),
    number(
        "Last arrival of a probe",
        Query(canary.LAST_ARRIVAL),
        note="Its age grows while nothing arrives.",
    ),
    number("Late probes", Query(canary.COUNTERS["late"]), limits=limits.SOME),
    number(
        "Time to loss",
        Query(lag.TIME_TO_LOSS, across=Function.MIN),
        note="The shortest of all topics.",
        check="retention",
        limits=limits.RETENTION,
    ),
    number(
        "p99 latency of 5 minutes",
        Query(canary.LATENCY, quantile=0.99),
        note="99 of 100 probes stay below. The check `latency` also compares"
        " it with the usual latency of the flow.",
        check="latency",
        limits=limits.LATENCY,
    ),
    number(
        "Service level of 30 days",
        Query(canary.GOOD, rest=canary.BAD),
        note="Their share in all probes whose outcome is known.",
    ),
)

CHECKS = (
    states(
        "Health of each check",
        Query(CHECK_HEALTH, by=("flow", "check"), minimum=0),
        note="Checks that are off are left out: their facts are not"
        " configured, or known to be absent. A gap: no agent was running.",
        width=24,
        height=8,
    ),
)

CAUSE = (
    states(
        "Part at fault",
        Query(FLOW_CAUSE, by=("flow", "cause")),
        note="Grey: not named, which does not mean that the part is ok.",
        width=24,
        height=8,
    ),
    lines(
        "End-to-end latency of probes",
        Query(canary.LATENCY, "p50", quantile=0.5),
        Query(canary.LATENCY, "p99", quantile=0.99),
        note="Half of the probes stay below p50, 99 of 100 below p99. Only"
        " probes that the agent saw arrive.",
        check="latency",
        limits=limits.LATENCY,
    ),
    lines(
        "Oldest outstanding probe over time",
        Query(canary.OLDEST),
        note="Replication is stalled for as long as the line rises. Red beyond"
        " the canary's deadline.",
        limits=limits.OVERDUE,
    ),
    lines(
        "Bounds of the latency, p50",
        Query(canary.REPLICATION, "lower bound", quantile=0.5),
        Query(canary.LATENCY, "upper bound", quantile=0.5),
        Query(canary.PRODUCE, "produce", quantile=0.5),
        note="The bounds differ by the time of the produce request.",
        check="latency",
        width=8,
    ),
    bars(
        "Outcome of probes",
        *(Query(canary.COUNTERS[name], name) for name in OUTCOMES),
        note="At the time when the outcome was known.",
        width=8,
    ),
    lines(
        "Outstanding probes",
        Query(canary.OUTSTANDING, across=Function.SUM),
        note="On all partitions.",
        width=8,
    ),
)

REPLICATION = (
    lines(
        "Age of lag of the worst topic",
        Query(lag.LAG_SECONDS),
    ),
    lines(
        "Time to loss of the worst topic",
        Query(lag.TIME_TO_LOSS, over=Function.MIN, across=Function.MIN),
        note="The check `retention` also considers the share of the retention"
        " that is left, and only topics with lag.",
        check="retention",
        limits=limits.RETENTION,
    ),
    lines(
        "Recovery point in time",
        Query(failover.RPO_SECONDS),
        note="It grows while a side does not answer.",
    ),
    lines(
        "Recovery point in records",
        Query(failover.RPO_RECORDS),
        note="Skipped records are among them.",
    ),
    lines(
        "Parity of both sides",
        Query(parity.MISSING_TOPICS, "missing"),
        Query(parity.PARTITION_MISMATCHES, "partitions differ"),
        Query(parity.CONFIG_DRIFTS, "properties differ"),
    ),
    states("Maintenance", Query(MAINTENANCE), note="Verdicts go on."),
    table(
        "Topics by lag",
        Query(lag.LAG_SECONDS, "age of lag", BY_TOPIC),
        Query(lag.LAG_RECORDS, "lag", BY_TOPIC),
        Query(lag.TIME_TO_LOSS, "time to loss", BY_TOPIC),
        note="In Grafana the oldest lag comes first.",
    ),
)

READERS = (
    lines(
        "Age of consumer lag at the target",
        Query(readers.READERS_LAG_SECONDS, by=BY_GROUP),
        note="Groups are configured by `readers`.",
        width=8,
    ),
    lines(
        "Consumer lag at the target",
        Query(readers.READERS_LAG_RECORDS, by=BY_GROUP),
        width=8,
    ),
    lines(
        "Consumer groups at the target",
        Query(readers.READERS_MEMBERS, by=BY_GROUP),
        note="A program that assigns partitions to itself is none.",
        width=8,
    ),
    lines(
        "Schemas at the target",
        Query(schemas.MISSING_SCHEMAS, "missing"),
        Query(schemas.SCHEMA_COLLISIONS, "other schema"),
        Query(schemas.MISSING_SUBJECTS, "missing subjects"),
        note="No data: not known, or no registries are configured.",
        width=8,
    ),
    lines("Schemas resolved", Query(schemas.SCHEMA_IDS), width=8),
    lines("Delay of schemas", Query(schemas.SCHEMA_DELAY), width=8),
)


OVERVIEW = Board(
    name="flow-overview",
    title="mirrorwatch: flow overview",
    description=(
        "Health, losses, events, end-to-end latency, lag and time to loss of"
        " each flow."
    ),
    variables=(FLOW,),
    first=(*LOSSES, *EVENT_LIST, *DELAYS, *CHECKS),
    rows=(
        PanelRow(title="Cause and latency", panels=CAUSE),
        PanelRow(title="Replication", panels=REPLICATION),
        PanelRow(title="Readers and schemas", panels=READERS),
    ),
)
