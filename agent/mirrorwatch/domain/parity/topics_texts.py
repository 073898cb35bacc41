"""Texts of the check `topics`."""

from ..finding import Code

__all__ = [
    "ABOUT",
    "FILTERED",
    "HIDDEN_TOPICS",
    "LOOP",
    "MISNAMED",
    "MISSING",
    "NONE",
    "NO_DATA",
    "OK",
    "OVERLAP",
    "PARTITIONS",
    "STALE",
    "UNREADABLE",
]

ABOUT = """\
Whether the target has every topic of the flow, with as many partitions. Both
clusters are listed, and the target is asked for missing topics by name. A new
topic or partition is due after two topic refreshes of the mirror (read from its
configuration, 10 min by default) and at least one minute. Never alarming:
topics only at the target, as MirrorMaker deletes none, and other replication
factors."""

OK = Code(
    name="topics.ok",
    title="{topics:topic} compared, all with the same partitions at the "
    "target, {pending_topics} pending"
    "[; {filtered_topics:more topic} excluded by {mirror}'s filter]",
)

FILTERED = Code(
    name="topics.filtered",
    title="{mirror}'s topic filter excludes {topic}"
    "[ and {more_topics:more topic}]",
    meaning="""\
They are in `topics.include` but are not copied: their records expire at the
source. Read from the mirror's own configuration.""",
    steps="""\
1. Add them to the connector's `topics`,
2. or remove them from `topics.include` of the flow.""",
)

MISNAMED = Code(
    name="topics.misnamed",
    title="{mirror} does not copy {topic}[ and {more_topics:more topic}]"
    "[: {alias} in the name is taken for the cluster of origin]"
    "[: before Kafka 4.0 no topic named *{suffix} is copied]",
    meaning="""\
The default replication policy takes every part of a name but the last for the
alias of a cluster, and never copies a topic back. A copy whose original was
deleted looks the same. Before Kafka 4.0 MirrorMaker takes names that end in
`internal` for its own topics.""",
    steps="""\
1. Give the mirror an alias that no topic name contains, rename the topics, or
   add them to `topics.exclude`.
2. `internal`: update MirrorMaker. Its default `topics.exclude` leaves them out,
   too.
3. A left-over copy: delete it.""",
)

MISSING = Code(
    name="topics.missing",
    title="Missing at the target for {seconds:duration}: {topic}"
    "[ and {more_topics:more topic}][ ({setting})]",
    meaning="These topics are not copied. Their records expire at the source.",
    steps="""\
1. `refresh.topics.enabled=false`: [restart the connector](#restart-a-task), it
   finds topics only when it starts.
2. Does the mirror run? See `tasks` and `lag`. A dedicated one with several
   nodes needs `dedicated.mode.enable.internal.rest=true`.
3. Look in its log for `Could not create topic` and authorization errors: it
   needs CREATE at the target, DESCRIBE and READ at the source. One topic that
   it may not read can stop the refresh of all.
4. Or create the topic at the target with as many partitions, then
   [restart the connector](#restart-a-task).""",
)

PARTITIONS = Code(
    name="topics.partitions",
    title="{topic} has {source_partitions:partition} at the source but "
    "{target_partitions} at the target for {seconds:duration}"
    "[, and {more_topics:more topic} alike][ ({setting})]",
    meaning="""\
Fewer at the target: records of the other partitions are not copied, and expire.
More at the target: nothing is missing, but consumers that compute the partition
from the key read the wrong one.""",
    steps="""\
1. Fewer: does the mirror run, and may it ALTER the topic at the target? Grant
   it, or add the partitions there manually. Their records are copied then.
2. `refresh.topics.enabled=false`: [restart the connector](#restart-a-task).
3. More: partitions were added at the target, or the source topic was recreated
   with fewer. Add them at the source, or recreate the topic at the target:
   partitions cannot be removed.""",
)

OVERLAP = Code(
    name="topics.overlap",
    title="Flow {flow} writes to the same topics of the target: {topic}"
    "[ and {more_topics:more topic}]",
    meaning="Each record arrives twice, or records of two sources mix.",
    steps="""\
1. Exclude the topics in one of the flows.
2. If it is meant, list them in `topics.merged` of both.""",
)

LOOP = Code(
    name="topics.loop",
    title="Replication loop[ with flow {flow}]: {topic}"
    "[ and {more_topics:more topic}] copied back to the origin",
    meaning="""\
Each round adds copies. A topic such as `summit.ldf.topic` at ldf exists only if
two mirrors use different aliases for the clusters; a loop with a flow, if both
keep the names of topics.""",
    steps="""\
1. Use the same cluster aliases in all mirrors, then delete these topics.
2. Both keep names: exclude the topics in one flow, or let the mirrors prefix
   names.""",
)

NONE = Code(
    name="topics.none",
    title="No topic of this flow is visible at {cluster}",
    meaning="Nothing can be compared. A topic without DESCRIBE is hidden.",
    steps="""\
1. Check `topics.include`.
2. Grant mirrorwatch DESCRIBE on the topics of the flow.""",
)

NO_DATA = Code(
    name="topics.no-data",
    title="Topics of both clusters have not been compared yet"
    "[: {topics:topic} not looked up at the target by name, such as {topic}]",
)

STALE = Code(
    name="topics.stale",
    title="Topics of both clusters could not be listed recently",
)

UNREADABLE = Code(name="topics.unreadable", title="{problem}")

HIDDEN_TOPICS = Code(
    name="topics.hidden-topics",
    title="[{problem}][{topics:topic} hidden at the target, such as {topic}: "
    "DESCRIBE is missing there]",
)
