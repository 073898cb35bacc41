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
Offsets at which consumer groups would start at the target after a failover,
from MirrorMaker's checkpoint connector: due within
`emit.checkpoints.interval.seconds` (60 s by default) after the group has
passed an offset sync, overdue after three intervals and a minute. Idle groups
emit none. The first thousand groups are checked."""

OK = Code(
    name="checkpoints.ok",
    title="Checkpoints of {groups:group} are current",
)

OVERDUE = Code(
    name="checkpoints.overdue",
    title="Checkpoint of group {group} overdue for {seconds:duration}: at "
    "offset {checkpoint_offset}, the group at {offset} of {topic} "
    "(partition {partition}); {checkpoints:checkpoint} overdue in all",
    meaning="After a failover the group would process records again.",
    steps="""\
1. Does the checkpoint connector run ([see tasks](#see-connectors-and-tasks))?
2. In its log, look for `Unable to sync offsets` and missing permissions on the
   groups; compare its filters (`groups`, `topics`) with the source
   connector's.
3. [Restart its task](#restart-a-task): known bugs before Kafka 3.7.""",
)

TOPIC_MISSING = Code(
    name="checkpoints.topic-missing",
    title="{mirror}'s checkpoints topic has been missing for "
    "{seconds:duration}, although checkpoints are configured",
    meaning="Offsets of consumer groups are not translated for the target.",
    steps="""\
1. See the checkpoint connector's [task](#see-connectors-and-tasks) and log: it
   creates the topic at its start, with CREATE at the target. Your own
   `replication.policy.class`: set `mirror.topics.checkpoints`.""",
)

STALE = Code(
    name="checkpoints.stale",
    title="Consumer groups were last read {seconds:duration} ago",
)

UNREADABLE = Code(
    name="checkpoints.unreadable",
    title="Checkpoints cannot be read: {problem}",
)

NO_DATA = Code(
    name="checkpoints.no-data",
    title="Checkpoints were not read yet",
)

OFF = Code(
    name="checkpoints.off",
    title="{problem}",
)
