"""Texts of the check `lag`."""

from ..finding import Code

__all__ = [
    "ABOUT",
    "FALLING_BEHIND",
    "HIDDEN_TOPICS",
    "NEVER_COPIED",
    "NO_DATA",
    "OK",
    "STALE",
    "STALLED",
    "STOPPED",
    "UNKNOWN_PARTITIONS",
    "UNREADABLE",
]

ABOUT = """\
Source records that are not copied yet, by the mirror's positions, never by
`RUNNING`; without transaction markers, aborted and compacted records.
Positions are proved, but up to a commit interval (a minute by default) old; an
`estimate` is no proof. A stop is reported after two commit intervals."""

OK = Code(
    name="lag.ok",
    title="Lag on {topics:topic}: {records:record}, oldest "
    "{seconds:duration} old[; no progress for {stopped_seconds:duration}, "
    "normal up to {allowed_seconds:duration}]",
)

STOPPED = Code(
    name="lag.stopped",
    title="{mirror} has copied nothing for {seconds:duration}: lag "
    "{records:record} on {topics:topic}[, stuck at offset {position} of "
    "{topic}][ (partition {partition})]",
    meaning="""\
Nothing is lost yet: the source holds these records until they expire. Tasks
may report `RUNNING` all the time.""",
    steps="""\
1. See the [cause](#cause), [`tasks`](#tasks) and the log of the mirror's
   process.
2. [Restart the worker](#restart-a-worker).
3. No help, and [`retention`](#retention) leaves little time: [raise the
   retention](#raise-retention).""",
)

STALLED = Code(
    name="lag.stalled",
    title="Replication of {topic} has stopped for {seconds:duration} while "
    "other topics continue: lag {records:record}[, stuck at offset {position}]"
    "[ (partition {partition})]",
    meaning="""\
The task of that partition fails or hangs, or a transform dropped its last
records: then the next one that is copied proves it. Nothing is lost before it
expires at the source.""",
    steps="""\
1. See [`tasks.failed`](#tasksfailed), and the worker's log: an oversized
   record, or a partition leader that the task cannot reach. A transform drops
   records on purpose: list the topic in `topics.filtered`.
2. [Restart the task](#restart-a-task).
3. It hangs again without an error: before Kafka 4.0 its producer may split a
   batch that is too large forever (KAFKA-8350). Raise `max.message.bytes` of
   the target topic.""",
)

NEVER_COPIED = Code(
    name="lag.never-copied",
    title="{topic} was never copied: lag {records:record}"
    "[, oldest {seconds:duration} old]"
    "[, oldest at least {seconds_at_least:duration} old]",
    meaning="""\
The mirror has had two topic refreshes to begin. Records will expire uncopied.""",
    steps="""\
1. Does its filter match ([`topics.filtered`](#topicsfiltered))? Does its log
   have authorization errors (DESCRIBE, READ at the source)?
2. [Restart the connector](#restart-a-task).""",
)

FALLING_BEHIND = Code(
    name="lag.falling-behind",
    title="{topic} is falling behind: lag {records:record} and growing"
    "[, oldest {seconds:duration} old]"
    "[, oldest at least {seconds_at_least:duration} old]",
    meaning="""\
The mirror runs but is too slow. No burst: the smallest lag of each two minutes
grew five times in a row.""",
    steps="""\
1. See [`bottleneck`](#bottleneck) for quotas, full batches and the link.
2. Add tasks (`tasks.max`), at most one for each partition, or bandwidth.
3. See [`retention`](#retention) for the time left.""",
)

UNKNOWN_PARTITIONS = Code(
    name="lag.unknown-partitions",
    title="Lag of {partitions:partition} unknown: no leader, or {mirror}'s "
    "position is beyond the log end offset",
)

NO_DATA = Code(name="lag.no-data", title="Topics have not been listed yet")

STALE = Code(
    name="lag.stale", title="Topics were last listed {seconds:duration} ago"
)

UNREADABLE = Code(name="lag.unreadable", title="{problem}")

HIDDEN_TOPICS = Code(name="lag.hidden-topics", title="{problem}")
