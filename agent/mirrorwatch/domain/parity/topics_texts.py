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
Whether the target has every topic of the flow, with as many partitions. New
ones are due after two topic refreshes of the mirror (10 min each by default).
Topics only at the target (MirrorMaker deletes none) and other replication
factors never alarm."""

OK = Code(
    name="topics.ok",
    title="{topics:topic} compared, all with the same partitions at the "
    "target, {pending_topics} pending"
    "[; {filtered_topics:more topic} excluded by {mirror}'s filter]",
)

FILTERED = Code(
    name="topics.filtered",
    title="{mirror} does not copy {topic}[ and {more_topics:more topic}]: "
    "excluded by its topic filter",
    meaning="""\
They are in `topics.include`, but not copied: records expire at the source.""",
    steps="""\
1. Add them to the connector's `topics`, or remove them from `topics.include`
   of the flow.""",
)

MISNAMED = Code(
    name="topics.misnamed",
    title="{mirror} does not copy {topic}[ and {more_topics:more topic}]"
    "[: {alias} in the name is taken for the cluster of origin]"
    "[: before Kafka 4.0 no topic named *{suffix} is copied]",
    meaning="""\
Records expire at the source. The default replication policy takes every part
of a name but the last for the alias of a cluster, and copies no topic back.""",
    steps="""\
1. Give the mirror an alias that no topic name contains, rename the topics, or
   add them to `topics.exclude`.
2. `internal`: update MirrorMaker, and change its default `topics.exclude`.
3. The copy of a deleted topic: delete it.""",
)

MISSING = Code(
    name="topics.missing",
    title="Missing at the target for {seconds:duration}: topic {topic}[ and "
    "{more_topics:more topic}][ ({setting})]",
    meaning="These topics are not copied; their records expire at the source.",
    steps="""\
1. `refresh.topics.enabled=false`: [restart the connector](#restart-a-task),
   which finds topics only at its start.
2. Does the mirror run ([`tasks`](#tasks))? Dedicated, with several nodes: set
   `dedicated.mode.enable.internal.rest=true`.
3. Its log has `Could not create topic` or authorization errors: it needs
   CREATE at the target, DESCRIBE and READ at the source. One unreadable topic
   can stop the refresh of all.
4. Or create the topic at the target with as many partitions, then restart the
   connector.""",
)

PARTITIONS = Code(
    name="topics.partitions",
    title="{topic} has {source_partitions:partition} at the source but "
    "{target_partitions} at the target for {seconds:duration}"
    "[, and {more_topics:more topic} alike][ ({setting})]",
    meaning="""\
Fewer at the target: records of the other partitions are not copied, and
expire. More: nothing is missing, but consumers that compute the partition from
the key read the wrong one.""",
    steps="""\
1. Fewer: does the mirror run, and may it ALTER the target topic? Or add the
   partitions manually: their records are copied then.
2. `refresh.topics.enabled=false`: [restart the connector](#restart-a-task).
3. More: add them at the source, or recreate the target topic. Kafka removes no
   partitions.""",
)

OVERLAP = Code(
    name="topics.overlap",
    title="Flow {flow} writes to the same target topics: {topic}[ and "
    "{more_topics:more topic}]",
    meaning="Each record arrives twice, or records of two sources mix.",
    steps="""\
1. Exclude the topics in one flow. Intended: list them in `topics.merged` of
   both.""",
)

LOOP = Code(
    name="topics.loop",
    title="Replication loop[ with flow {flow}]: {topic}"
    "[ and {more_topics:more topic}] copied back to the origin",
    meaning="""\
Each round adds copies. A topic such as `summit.ldf.topic` at ldf: two mirrors
use different aliases. With a flow: both keep topic names.""",
    steps="""\
1. Aliases: use the same in all mirrors, then delete these topics.
2. Names: exclude the topics in one flow, or let the mirrors prefix names.""",
)

NONE = Code(
    name="topics.none",
    title="No topic of this flow is visible at {cluster}",
    meaning="Nothing can be compared.",
    steps="""\
1. Check `topics.include`. Topics without DESCRIBE are hidden: grant it.""",
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
