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
Lag at the target of the consumer groups and sink connectors in
`flows[].readers` (up to 200), as by `kafka-consumer-groups --describe`. A
group has stopped if its committed offset does not move for 5 minutes while
records wait. Offsets kept outside of Kafka are unknown."""

OK = Code(
    name="readers.ok",
    title="Lag of {groups:consumer group} at the target: {records:record}, "
    "oldest {seconds:duration} old"
    "[; {groups_not_read:more group} beyond the limit not read]",
)

_MEMBERS = "[; {members:member}, state {state}]"

_STUCK = """\
Replicated records are not read. Nothing is lost before they expire at the
target. A state other than `stable` for minutes: the group keeps
rebalancing."""

STOPPED = Code(
    name="readers.stopped",
    title="Consumer group {group} has read nothing at the target for "
    "{seconds:duration}: lag {records:record} on {topics:topic}"
    "[, stuck at offset {position} of {topic}][ (partition {partition})]"
    + _MEMBERS,
    meaning=_STUCK,
    steps="""\
1. No members: start the consumers or the sink connector. A daily program:
   raise `limits.readers.stopped`, or remove it from `flows[].readers`.
2. With members: look in their logs for a record that they cannot process, or a
   sink that does not respond.""",
)

STALLED = Code(
    name="readers.stalled",
    title="Consumer group {group} has stopped reading {topics:topic} at the "
    "target for {seconds:duration}, but reads others: lag {records:record}"
    "[, stuck at offset {position} of {topic}][ (partition {partition})]"
    + _MEMBERS,
    meaning="One member does not progress. Nothing is lost before it expires.",
    steps="""\
1. Find the partition's member:
   `kafka-consumer-groups --describe --members --verbose --group NAME`. Often
   its log shows a record that it cannot process.""",
)

FALLING_BEHIND = Code(
    name="readers.falling-behind",
    title="Consumer group {group} is falling behind on {topic} at the target: "
    "lag {records:record} and growing[, oldest {seconds:duration} old]"
    "[, oldest at least {seconds_at_least:duration} old]",
    meaning="Nothing is lost before it expires.",
    steps="""\
1. Add members, up to one for each partition, or look for what slows its sink.""",
)

OFFSETS_LOST = Code(
    name="readers.offsets-lost",
    title="Committed offsets of consumer group {group}[ and "
    "{more_groups:more group}] disappeared at the target {seconds:duration} "
    "ago, with lag {records:record} on {topics:topic}",
    meaning="""\
Expired (`offsets.retention.minutes` after the last consumer left), deleted, or
hidden from mirrorwatch. Consumers restart by `auto.offset.reset`: with
`latest` they skip these records. Reported for a day.""",
    steps="""\
1. All groups at once: check mirrorwatch's DESCRIBE on them.
2. Still needed: before its consumers start,
   `kafka-consumer-groups --reset-offsets`.
3. Retired: remove it from `flows[].readers`.""",
)

UNKNOWN_PARTITIONS = Code(
    name="readers.unknown-partitions",
    title="Lag of consumer group {group} unknown on {partitions:partition} at "
    "the target: no leader, or a committed offset beyond the log end offset",
)

NO_OFFSETS = Code(
    name="readers.no-offsets",
    title="No committed offset of consumer group {group}[ and "
    "{more_groups:more group}] in a replicated topic at the target",
    meaning="""\
A sink connector is missing, or has not committed: a new one does within a
minute.""",
    steps="""\
1. Does the sink connector of that name run? If it overrides `group.id`, list
   that under `readers.groups`.""",
)

NO_GROUPS = Code(
    name="readers.no-groups",
    title="No consumer group that the flow's readers name has committed "
    "offsets in replicated topics at the target",
    meaning="""\
Their lag is unknown: wrong names, no DESCRIBE on them, or offsets that expired
a week after the last member left.""",
    steps="1. Check the names and mirrorwatch's rights.",
)

DENIED = Code(
    name="readers.denied",
    title="Consumer group {group}[ and {more_groups:more group}] not read at "
    "the target: DESCRIBE is missing",
)

OFF = Code(
    name="readers.off",
    title="No consumer groups at the target are configured (readers of "
    "the flow)",
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
