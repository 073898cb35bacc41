"""Texts of the check `failover`, and of starts of groups at the target."""

from ..finding import Code

__all__ = [
    "ABOUT",
    "ABSENT",
    "AT_TIME",
    "BEFORE_SYNCS",
    "BEYOND_END",
    "BEYOND_SAFE",
    "CHECKPOINT",
    "CHECKPOINT_EXPIRED",
    "CHECKPOINT_OF_OTHER_LOG",
    "CHECKPOINT_UNCOUNTED",
    "COST_UNKNOWN",
    "DENIED",
    "DOUBTFUL",
    "EARLIER",
    "ENDS_STALE",
    "EXACT",
    "EXCLUDED",
    "EXPIRED",
    "FORGOTTEN",
    "LOG_START",
    "MAY_HAVE_EXPIRED",
    "MERGED",
    "MISSES",
    "NOT_COMPARED",
    "NOT_READ",
    "NO_DATA",
    "NO_END",
    "NO_OFFSET",
    "NO_START",
    "NO_SYNC",
    "NO_SYNCS",
    "OFF",
    "OK",
    "PRODUCERS",
    "RECOPIED",
    "RESET",
    "SAFE",
    "SAME",
    "SHARED",
    "SILENT",
    "STALE",
    "STALE_START",
    "TOO_FEW",
    "TOO_MANY",
    "TRANSACTIONS",
    "TRANSFORMED",
    "UNLISTED",
    "UNREADABLE",
    "UNVERIFIABLE",
]

ABOUT = """\
Where consumer groups would start at the target if the source were lost now, as
[`mirrorwatch offsets`](failover.md) prints, for up to a thousand groups with
committed offsets in replicated topics. A start misses nothing, unless the
mirror dropped one record, copied another twice, and both offset syncs were
compacted unread. Missing or old starts count after `limits.failover.rpo` (10
min)."""

OK = Code(
    name="failover.ok",
    title="If {groups:consumer group} failed over now: "
    "{groups_without_start} without a start at the target, at most "
    "{records_at_most:record} read again[, unknown of "
    "{groups_not_counted:group}][; {groups_not_read:more group} not read]",
)

NO_START = Code(
    name="failover.no-start",
    title="No offset to start from at the target for group {group}[ and "
    "{more_groups:more group}] for {seconds:duration} on {topic} "
    "(partition {partition})[ and {more_partitions:more partition}][. "
    "{problem}]",
    meaning="""\
After a failover these groups would miss or repeat records. **Critical** if the
group reads on, **warning** if idle.""",
    steps="""\
1. `The target has no such partition`, or an offset beyond its end: not created
   yet, deleted, truncated, recreated, or without DESCRIBE. See
   [`topics`](#topics), [`position`](#position).
2. Unread records expired at the target: [raise the
   retention](#raise-retention) there; the group must read on at the source.
3. No offset syncs: set `emit.offset-syncs.enabled`, and let the mirror write
   `mm2-offset-syncs`. Merged flows need checkpoints. Before the first sync:
   the group must catch up.
4. No offset known: grant DESCRIBE on the group. Offsets reset: wait for the
   next checkpoint.
5. Failover now: `mirrorwatch offsets --group NAME --at TIME`. Retired group:
   delete it at the source.""",
)

EXCLUDED = Code(
    name="failover.excluded",
    title="{mirror}'s groups filter excludes group {group}[ and "
    "{more_groups:more group}]: no start at the target for "
    "{seconds:duration} on {topic} (partition {partition})[ and "
    "{more_partitions:more partition}][. {problem}]",
    meaning="""\
No checkpoints are emitted: after a failover these groups would miss or repeat
records.""",
    steps="""\
1. If needed at the target, add the group to `groups`, or remove its pattern
   from `groups.exclude` (by default `connect-.*` and `console-consumer-.*`).""",
)

STALE_START = Code(
    name="failover.stale-start",
    title="Start of group {group}[ and {more_groups:more group}] at the "
    "target has not moved for {seconds:duration} while it reads on: "
    "offset {offset} of {topic} (partition {partition})[, up to "
    "{records_at_most:record} read again]",
    meaning="""\
Nothing is lost: after a failover the group repeats records. Warning above a
thousand.""",
    steps="""\
1. Neither checkpoints nor offset syncs arrive: see
   [`checkpoints`](#checkpoints), and [restart the checkpoint connector's
   task](#restart-a-task).
2. `mirrorwatch offsets --group NAME` shows each partition and its cost.""",
)

DENIED = Code(
    name="failover.denied",
    title="Failover of {groups:consumer group} not checked: DESCRIBE is "
    "missing on the groups at the source",
)

OFF = Code(
    name="failover.off",
    title="No consumer group that mirrorwatch may describe reads a replicated "
    "topic at the source",
)

NO_DATA = Code(
    name="failover.no-data",
    title="Offsets of consumer groups have not been read yet",
)

STALE = Code(
    name="failover.stale",
    title="Starts of consumer groups were last judged {seconds:duration} ago",
)

UNREADABLE = Code(name="failover.unreadable", title="{problem}")


# Problems: what keeps starts from being known.

NOT_READ = "Offsets of consumer groups have not been read yet"

UNLISTED = """\
Not every broker of the source lists its consumer groups: starts of the others \
are unknown"""

ENDS_STALE = """\
Log end offsets of the target were last read {seconds:duration} ago: mirrorwatch \
hangs"""

NO_END = """\
The target reports no log end offset of {partitions:partition}, such as {topic} \
(partition {partition}): starts of {groups:consumer group} there are unknown"""


# Why a group has no start in a partition.

ABSENT = "The target has no such partition"

BEYOND_END = """\
Its offset is beyond the log end offset of the target ({offset}): the topic was \
recreated or truncated there"""

MISSES = "Every known start would miss records"

NO_OFFSET = "Neither its offset at the source nor a checkpoint is known"

NO_SYNCS = "No checkpoint, and no offset syncs of the partition"

BEFORE_SYNCS = """\
No checkpoint, and offset {offset} is before the first known offset sync"""

EXPIRED = """\
[At least {least:unread record}][{records:unread record}] expired at the target, \
where the log starts at offset {offset}"""

MAY_HAVE_EXPIRED = """\
Up to {records:unread record} may have expired at the target, where the log \
starts at offset {offset}"""


# What a start is taken from.

LOG_START = "Log start offset: earlier records have expired"

EXACT = "Exact, by offset syncs"

SAFE = "Last offset from which nothing is missed, by offset syncs"

DOUBTFUL = """\
By offset syncs. Copies are altered, or records were deleted before both sides \
were read"""

AT_TIME = "First record since the given time"

CHECKPOINT = "Checkpoint of source offset {offset}"


# What it costs: after what it is taken from.

SAME = "{basis}, same as by offset syncs"

EARLIER = "{basis}, {offsets:offset} before the one by offset syncs"

BEYOND_SAFE = "{basis}. After the last offset from which nothing is missed"

COST_UNKNOWN = "{basis}. No offset sync shows what that costs"

CHECKPOINT_OF_OTHER_LOG = """\
{basis}. Later records were copied to before it: it is of a topic that was \
deleted since, or of a truncated log"""

RESET = """\
{basis}. The group is at {committed}: its offsets were reset to before it"""

CHECKPOINT_EXPIRED = "{basis}. It has expired at the target"

CHECKPOINT_UNCOUNTED = """\
{basis}. No offset sync shows how many records are read again"""


# Why source offsets that `mirrorwatch failback` lists may have been copied.

MERGED = "Several flows feed the topic"

TRANSACTIONS = "MirrorMaker writes in transactions"

SHARED = "Others write to the target, too"

TRANSFORMED = "A transform drops records of the topic"

NO_SYNC = "No offset sync shows how far MirrorMaker came"

SILENT = "The target does not say how far MirrorMaker came"

PRODUCERS = """\
Producers may have written to the target since mirrorwatch last read both \
sides"""

TOO_MANY = "The target holds more records than the source had to copy"

TOO_FEW = """\
The target holds fewer records than MirrorMaker committed: the others were \
skipped, or are markers of transactions"""

RECOPIED = """\
MirrorMaker may have copied it again since the newest offset sync"""

UNVERIFIABLE = "Skipped, or copied in a way that cannot be recognised"

FORGOTTEN = "Too much was skipped to remember all of it"

NOT_COMPARED = """\
Copied before mirrorwatch compared both sides, or the target was truncated or \
recreated since"""
