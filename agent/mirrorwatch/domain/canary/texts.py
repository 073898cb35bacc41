"""Texts of the check `canary`."""

from ..finding import Code

__all__ = [
    "ABOUT",
    "CLONED",
    "DUPLICATED",
    "FAILED",
    "FILTERED",
    "LATE",
    "LOOP",
    "LOST",
    "NO_DATA",
    "NO_TOPIC",
    "OFF",
    "OK",
    "OVERDUE",
    "SILENT",
    "STALE",
    "UNACKNOWLEDGED",
    "UNCOVERED",
    "UNDECODABLE",
    "UNREAD",
    "UNREADABLE",
    "UNVERIFIABLE",
    "WARMING",
    "WRONG_CLUSTER",
]

ABOUT = """\
About once a second mirrorwatch produces a small record (probe) to every
partition of the canary topic at the source, and consumes it at the target.
Probes show what happens to your records, except in topics that the mirror's
filter excludes, and in transforms of other topics. Without probes, replication
is not verified."""

OK = Code(
    name="canary.ok",
    title="Canary probes arrive at the target on {partitions:partition}[, "
    "{new_partitions} of them new and not yet discovered by {mirror}]",
)

OFF = Code(
    name="canary.off",
    title="Canary is disabled (canary.enabled is false)",
)

NO_DATA = Code(name="canary.no-data", title="Canary topic was not read yet")

STALE = Code(
    name="canary.stale",
    title="Canary of mirrorwatch has hung for {seconds:duration}: "
    "replication is not verified",
    meaning="Most likely the disk of mirrorwatch's state file hangs.",
    steps="""\
1. Check that disk (`state`) and mirrorwatch's log, then restart mirrorwatch:
   no probe or counter is lost.""",
)

LOST = Code(
    name="canary.lost",
    title="{records:canary probe} proved lost on the way to the target "
    "in the last {window_seconds:duration}, the newest on partition "
    "{partition} (source offset {source_offset})",
    past=True,
    meaning="""\
Your records of that time may be lost too, on every topic. Proved by position
or offset sync of the mirror, or by a later arrival on the partition; `proof`
has the offsets. Critical until acknowledged (`mirrorwatch ack ID`) or
`limits.losses.critical`.""",
    steps="""\
1. See [`skips.dropped`](#skipsdropped) and
   [`position.expired-unread`](#positionexpired-unread) for your own topics.
2. Find and remove the cause in the mirror's configuration and log of that
   time: `errors.tolerance=all`, a transform that filters,
   `auto.offset.reset=latest`, downtime beyond the retention, deleted records
   or offsets.
3. Copy missing records again while the source retains them.""",
)

OVERDUE = Code(
    name="canary.overdue",
    title="Canary probes overdue at the target on {partitions} of "
    "{all_partitions:partition}, the oldest outstanding for "
    "{seconds:duration}",
    meaning="""\
Nothing is lost yet: probes and records arrive once replication resumes, as
long as the source retains them.""",
    steps="""\
1. All partitions: mirror, cluster or link is down. See the [cause](#cause) and
   [`lag`](#lag); if the mirror hangs, [restart the worker](#restart-a-worker).
2. Some: [restart the failed task](#restart-a-task), or look for [unavailable
   partitions](#look-at-a-topic) on both clusters.
3. [`retention`](#retention) leaves too little time: [raise
   it](#raise-retention) now.""",
)

UNREAD = Code(
    name="canary.unread",
    title="Canary topic {topic} not yet read to its end at the target",
    meaning="""\
Outstanding probes may have arrived. Normal for seconds after a start, longer
over a slow link.""",
    steps="""\
1. If it stays, check mirrorwatch's connection to the [leaders of the
   topic](#look-at-a-topic).""",
)

UNACKNOWLEDGED = Code(
    name="canary.unacknowledged",
    title="Source brokers have not acknowledged canary probes on "
    "{partitions:partition} for {seconds:duration}",
    meaning="Your producers may fail, too.",
    steps="""\
1. Check these brokers ([disks, replicas, leaders](#look-at-a-topic)), and the
   network from mirrorwatch to them.""",
)

SILENT = Code(
    name="canary.silent",
    title="No canary probe has arrived at the target on {partitions} of "
    "{all_partitions:partition} for {seconds:duration}, or since "
    "mirrorwatch started",
    meaning="Probes are not sent, not acknowledged, or not read.",
    steps="1. See the other findings of `canary` for the reason.",
)

WARMING = Code(
    name="canary.warming",
    title="Canary topic {topic} is new, {mirror} has yet to discover it",
    meaning="Normal after a first start.",
    steps="1. Wait for the mirror's topic refresh (10 min by default).",
)

LATE = Code(
    name="canary.late",
    title="Canary probes arrived late at the target on "
    "{partitions:partition}, last {seconds:duration} ago; none was lost",
    past=True,
    meaning="""\
Later than `canary.deadline`: expected while the mirror drains its backlog
after a stop. Ends 10 minutes after the last.""",
    steps="""\
1. Without a stop before: see [`latency`](#latency) and
   [`bottleneck`](#bottleneck).""",
)

DUPLICATED = Code(
    name="canary.duplicated",
    title="Canary probes duplicated at the target on {partitions:partition}, "
    "last {seconds:duration} ago; none was lost",
    past=True,
    meaning="""\
Your records may be duplicated too, on every topic. Ends 10 minutes after the
last.""",
    steps="""\
1. See [`skips.duplicated`](#skipsduplicated) for topics and causes. If it
   recurs, find what kills the mirror.""",
)

FAILED = Code(
    name="canary.failed",
    title="Canary probes could not be produced to {topic} at the source[ on "
    "{partitions:partition}, last {seconds:duration} ago][: {problem}]",
    meaning="Your producers may fail, too.",
    steps="""\
1. Check the source brokers, and mirrorwatch's log for the error.
   `The producer queue is full`: the source has accepted nothing for long.""",
)

FILTERED = Code(
    name="canary.filtered",
    title="{mirror}'s topic filter ({filter}) excludes the canary topic "
    "{topic}",
    meaning="No probe can arrive.",
    steps="""\
1. Add the topic to `topics` of the source connector, or set `canary.topic` to
   a name that the filter matches.""",
)

LOOP = Code(
    name="canary.loop",
    title="Replication loop: canary probes returned to {topic} at {cluster} "
    "(partition {partition}, offset {offset})",
    meaning="""\
Two mirrors copy this topic, and likely others, in a circle: every record is
copied forever, until the disks are full.""",
    steps="""\
1. [Stop](#stop-and-resume) one of the two mirrors now.
2. Exclude the topics there, or use a replication policy that renames topics.""",
)

CLONED = Code(
    name="canary.cloned",
    title="Another mirrorwatch with a copy of this state file sends canary "
    "probes to {topic} at {cluster}",
    meaning="""\
A machine or volume was cloned. This agent still judges its own probes
correctly.""",
    steps="1. Stop the copy, or start it with its own state file.",
)

WRONG_CLUSTER = Code(
    name="canary.wrong-cluster",
    title="Wrong cluster at the address of {cluster}: cluster id "
    "{cluster_id}, expected {expected_id}",
    meaning="""\
Another cluster than before, or than configured. No probe is sent.""",
    steps="""\
1. Wrong address or DNS entry: correct `clusters.….kafka`.
2. Cluster replaced: set `clusters.….cluster_id` and restart mirrorwatch.
   Counters and history continue.""",
)

NO_TOPIC = Code(
    name="canary.no-topic",
    title="Canary topic {topic} does not exist at {cluster}, and "
    "canary.create is false",
    meaning="No probe is sent.",
    steps="""\
1. At the source: create it with at least one partition for each broker;
   MirrorMaker 2 creates the copy.
2. At the target of a mirror that creates no topics: create it with as many.""",
)

UNVERIFIABLE = Code(
    name="canary.unverifiable",
    title="Loss of canary probes cannot be proved:[ {topic} has "
    "{target_partitions:partition} at {target}, {source_partitions} at "
    "{source}][ a probe for partition {partition} of {topic} arrived in "
    "partition {arrived_in}]",
    meaning="""\
A missing probe may be in another partition: MirrorMaker 1 and others choose it
by the record's key. Ends an hour after the last.""",
    steps="""\
1. Give both topics equally many partitions; keep Kafka's own partitioner in
   the mirror's producer.
2. Look for a transform that moves records. A mirror that never keeps
   partitions: set `mirror.keeps_partitions: false`.""",
)

UNCOVERED = Code(
    name="canary.uncovered",
    title="Replication not verified by canary probes:[ broker {broker} "
    "of {cluster} leads no partition of {topic}][ records of {probe_bytes} "
    "bytes exceed the smallest limit on the path, {limit_bytes} bytes]",
    meaning="""\
Large records, or those of that broker, may fail unnoticed. Larger probes would
fail the mirror's task.""",
    steps="""\
1. Broker: add partitions to the topic at the source
   (`kafka-topics.sh --alter --partitions N`; the mirror follows), or rebalance
   its leaders.
2. Large records: raise `max.message.bytes` of both topics and the mirror's
   `max.request.size`, or lower `canary.sized.bytes`.""",
)

UNDECODABLE = Code(
    name="canary.undecodable",
    title="Consumers at {cluster} cannot decode canary probes: schema id "
    "{schema_id} is {registered} in its schema registry",
    meaning="""\
Consumers of your topics have the same problem. If the id has another schema
there, they may read wrong values without an error.""",
    steps="""\
1. Replicate the registry's own topic, import the schemas with their ids (mode
   `IMPORT`), or let consumers use the source's registry.""",
)

UNREADABLE = Code(
    name="canary.unreadable",
    title="{problem}[. No probe is sent until the registry has the schema "
    "{schema}]",
    meaning="Probes may arrive unseen.",
    steps="""\
1. A permission or address: see [`unreadable`](#unreadable).
2. An internal topic does not exist: compare `mirror.mode`, `source_alias`,
   `target_alias` and `topics` with the mirror's configuration.
3. The registry answers 409: another schema is registered for the canary topic.
   Delete that subject or change `canary.topic`.
4. The registry is down: `canary.format: json` keeps probes going.""",
)
