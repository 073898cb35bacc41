"""Texts of the check `readers`."""

from ..finding import Code

__all__ = [
    "ABOUT",
    "DENIED",
    "FALLING_BEHIND",
    "NO_DATA",
    "NO_GROUPS",
    "NO_OFFSETS",
    "OFF",
    "OFFSETS_LOST",
    "OK",
    "STALE",
    "STALLED",
    "STOPPED",
    "UNKNOWN_PARTITIONS",
    "UNLISTED",
    "UNREADABLE",
]

ABOUT = """\
Lag at the target of the consumer groups and sink connectors that
`flows[].readers` names: the figures of `kafka-consumer-groups --describe`,
without markers of transactions at the end. Committed offsets are read every 15
s; up to 200 groups. A group is stopped if its offset does not move for 5
minutes while records wait; one that has read all never is. Offsets kept outside
of Kafka are unknown."""

OK = Code(
    name="readers.ok",
    title="Lag of {groups:consumer group} at the target: {records:record}, "
    "oldest {seconds:duration} old"
    "[; {groups_not_read:more group} beyond the limit not read]",
)

_MEMBERS = "[; {members:member}, state {state}]"

_STUCK = """\
What has arrived is not read there. Nothing is lost before it expires at the
target. Without members the consumers do not run; a state other than `stable`
for minutes is a group that rebalances again and again."""

STOPPED = Code(
    name="readers.stopped",
    title="Consumer group {group} has read nothing at the target for "
    "{seconds:duration}: lag {records:record} on {topics:topic}"
    "[, stuck at offset {position} of {topic}][ (partition {partition})]"
    + _MEMBERS,
    meaning=_STUCK,
    steps="""\
1. No members: start the consumers; of a sink connector see its tasks. A program
   that runs once a day needs a longer `limits.readers.stopped`, or is taken out
   of `flows[].readers`.
2. With members: see their logs for a record that they cannot process, or a sink
   that does not respond.
3. `kafka-consumer-groups --describe --group NAME` at the target.""",
)

STALLED = Code(
    name="readers.stalled",
    title="Consumer group {group} has stopped reading {topics:topic} at the "
    "target for {seconds:duration}, but reads others: lag {records:record}"
    "[, stuck at offset {position} of {topic}][ (partition {partition})]"
    + _MEMBERS,
    meaning="One member does not progress. Nothing is lost before it expires.",
    steps="""\
1. Find the member that has the partition:
   `kafka-consumer-groups --describe --members --verbose --group NAME`.
2. See its log: often it is one record that it cannot process.""",
)

FALLING_BEHIND = Code(
    name="readers.falling-behind",
    title="Consumer group {group} is falling behind on {topic} at the target: "
    "lag {records:record} and growing[, oldest {seconds:duration} old]"
    "[, oldest at least {seconds_at_least:duration} old]",
    meaning="The group reads more slowly than the topic grows.",
    steps="""\
1. Add members, up to one for each partition.
2. Look for what slows its sink.""",
)

OFFSETS_LOST = Code(
    name="readers.offsets-lost",
    title="Committed offsets of consumer group {group}"
    "[ and {more_groups:more group}] disappeared at the target "
    "{seconds:duration} ago, with lag {records:record} on {topics:topic}",
    meaning="""\
They expired (`offsets.retention.minutes` after the last consumer left) or were
deleted, or mirrorwatch lacks DESCRIBE. Consumers that start again begin by
`auto.offset.reset`: with `latest` they skip these records. Reported for a
day.""",
    steps="""\
1. All groups at once: check mirrorwatch's rights.
2. Still needed: before its consumers start, set its offsets with
   `kafka-consumer-groups --reset-offsets`.
3. Retired: nothing to do, or take it out of `flows[].readers`.""",
)

UNKNOWN_PARTITIONS = Code(
    name="readers.unknown-partitions",
    title="Lag of consumer group {group} unknown on {partitions:partition} at "
    "the target: no leader, or a committed offset beyond the log end offset",
    meaning="""\
Beyond the end: the topic was truncated or recreated, and the group starts again
by its `auto.offset.reset`.""",
    steps="""\
1. [Look for partitions without a leader](#look-at-a-topic) at the target.
2. See `position` for topics that were recreated.""",
)

NO_OFFSETS = Code(
    name="readers.no-offsets",
    title="Consumer group {group}[ and {more_groups:more group}] without a "
    "committed offset in a replicated topic at the target",
    meaning="""\
A sink connector that is not there, or that has not committed: a new one does
within a minute.""",
    steps="""\
1. Check the name of the sink connector, and that it runs.
2. If it overrides `group.id`, list that under `readers.groups`.""",
)

NO_GROUPS = Code(
    name="readers.no-groups",
    title="No consumer group that the flow's readers name has committed "
    "offsets in replicated topics at the target",
    meaning="""\
The names are wrong, mirrorwatch lacks DESCRIBE on the groups, or their offsets
expired: a week after the last member left.""",
    steps="1. Check the names and mirrorwatch's rights.",
)

DENIED = Code(
    name="readers.denied",
    title="Consumer group {group}[ and {more_groups:more group}] not read at "
    "the target: DESCRIBE is missing",
    meaning="Their lag is unknown.",
    steps="1. Grant mirrorwatch DESCRIBE on these groups at the target.",
)

OFF = Code(
    name="readers.off",
    title="No consumer groups at the target are configured (readers of the flow)",
)

NO_DATA = Code(
    name="readers.no-data",
    title="Consumer groups at the target have not been read yet",
)

STALE = Code(
    name="readers.stale",
    title="Consumer groups at the target were last read {seconds:duration} "
    "ago",
)

UNREADABLE = Code(name="readers.unreadable", title="{problem}")

UNLISTED = """\
Not every broker of the target lists its consumer groups: lag of the others is \
unknown"""
