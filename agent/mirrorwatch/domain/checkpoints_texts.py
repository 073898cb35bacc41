"""Texts of the check `checkpoints`."""

from .finding import Code

__all__ = [
    "ABOUT",
    "NO_DATA",
    "OFF",
    "OK",
    "OVERDUE",
    "STALE",
    "TOPIC_MISSING",
    "UNREADABLE",
]

ABOUT = """\
Offsets at which consumer groups would start at the target after a failover, as
emitted by MirrorMaker's checkpoint connector. A group is judged while it
consumes: once it has passed an offset sync beyond its checkpoint, a new one is
due within `emit.checkpoints.interval.seconds` (60 s by default), and overdue
after three intervals and a minute. Idle groups emit none. A thousand groups
are checked, in the order of their names."""

OK = Code(
    name="checkpoints.ok",
    title="Checkpoints of {groups:group} are current",
    meaning="""\
Groups that are not checked, or that mirrorwatch may not describe, are counted
in the evidence.""",
)

OVERDUE = Code(
    name="checkpoints.overdue",
    title="{checkpoints:checkpoint} overdue for up to {seconds:duration}: "
    "group {group} is at offset {offset} of {topic} partition {partition}, "
    "its checkpoint at {checkpoint_offset}",
    meaning="After a failover that group would process records again.",
    steps="""\
1. See the checkpoint connector under `tasks`
   ([See connectors and tasks](#see-connectors-and-tasks)).
2. In its log, look for `Unable to sync offsets`, a missing permission on the
   groups, or a filter (`groups`, `topics`) that differs from the source
   connector's.
3. [Restart its task](#restart-a-task): known bugs before Kafka 3.7.""",
)

TOPIC_MISSING = Code(
    name="checkpoints.topic-missing",
    title="{mirror}'s checkpoints topic has been missing for "
    "{seconds:duration}, although checkpoints are configured",
    meaning="Offsets of consumer groups are not translated.",
    steps="""\
1. See the checkpoint connector under `tasks`, and its log: it creates the
   topic when it starts, which needs CREATE at the target.
2. Where a `replication.policy.class` of your own names the topic, set
   `mirror.topics.checkpoints`.""",
)

STALE = Code(
    name="checkpoints.stale",
    title="Consumer groups were last read {seconds:duration} ago",
    meaning="The source does not respond, or mirrorwatch hangs.",
    steps="1. See the other findings of the flow, then mirrorwatch's log.",
)

UNREADABLE = Code(
    name="checkpoints.unreadable",
    title="Checkpoints cannot be read: {problem}",
    meaning="Starts of groups at the target are unknown.",
    steps="1. Run `mirrorwatch doctor`: it names what is missing.",
)

NO_DATA = Code(
    name="checkpoints.no-data",
    title="Checkpoints were not read yet",
    meaning="mirrorwatch was just started.",
    steps="1. Wait a few seconds.",
)

OFF = Code(
    name="checkpoints.off",
    title="{problem}",
    meaning="""\
No checkpoint connector, no group with a checkpoint, or no right to describe
groups. It matters if consumer groups are to fail over.""",
)
