"""Texts of the check `tasks`."""

from ..finding import Code

__all__ = [
    "ABOUT",
    "FAILED",
    "FLAPPING",
    "IDLE",
    "NO_DATA",
    "NO_MEMBERS",
    "OFF",
    "OK",
    "REBALANCING",
    "UNASSIGNED",
    "UNCOMMITTED",
    "UNPROVED",
    "UNREADABLE",
]

ABOUT = """\
State of the mirror's connectors and tasks, from Connect's status topic or REST
API (`mirror.connect.url`); of a mirror without Connect, its consumer group at
the source. A bad state is true. `RUNNING` proves nothing: a task that hangs, or
whose worker was killed, reports it too. `canary` and `lag` show whether records
arrive. Other connectors of the same workers are shown and not judged."""

OK = Code(
    name="tasks.ok",
    title="[{running_tasks} of {tasks:source task} running]"
    "[Consumer group {group} at {cluster} has {members:member}]",
)

OFF = Code(
    name="tasks.off",
    title="[{problem}]"
    "[Consumer group {group} at {cluster} has no members: {mirror} assigns "
    "partitions to itself, or does not run]",
)

NO_DATA = Code(
    name="tasks.no-data",
    title="No source task was seen yet",
    meaning="mirrorwatch was just started, or no connector is known to copy from "
    "this source.",
    steps="""\
1. Wait a few seconds.
2. If it stays, compare `mirror.connectors` and the aliases under `mirror` with
   the mirror's configuration.""",
)

UNREADABLE = Code(name="tasks.unreadable", title="{problem}")

FAILED = Code(
    name="tasks.failed",
    title="[Task {task} of ]{connector} failed: {problem}"
    "[. {partitions:partition} no longer copied]"
    "[, stuck at offset {offset} of {topic} (partition {partition}): "
    "{record_bytes} bytes, above {limit} {limit_bytes}][. {note}]",
    meaning="""\
Its partitions are no longer copied. No record is lost while the source retains
it (`retention`). The error is the last cause in the stack trace; the mirror's
log has all of it. mirrorwatch restarts nothing.""",
    steps="""\
1. Fix the cause first: otherwise the task fails again on the same record.
2. A record that is too large: raise `max.message.bytes` of the target topic
   (with `sync.topic.configs` at the source too), or `max.request.size` of the
   mirror's producer. `errors.tolerance=all` would drop it and all like it.
   The record is not named if the producer compresses, a transform enlarges it,
   or mirrorwatch lacks READ on the topic.
3. [Restart the task](#restart-a-task). Strimzi can do so by itself:
   `autoRestart: {enabled: true}`.""",
)

IDLE = Code(
    name="tasks.idle",
    title="{connector} has run {running_tasks} of {tasks:task} for "
    "{seconds:duration} ({states})",
    meaning="""\
Critical if no source task runs: nothing is copied. Otherwise part of the
partitions, or checkpoints or heartbeats.""",
    steps="""\
1. `PAUSED`, `STOPPED`: ask who did it and why, then
   [resume it](#stop-and-resume).
2. `UNASSIGNED`: a worker is lost. [Start it](#restart-a-worker); Connect waits
   up to 5 min before it reassigns tasks
   (`scheduled.rebalance.max.delay.ms`).
3. 0 of 0 tasks of a running connector: its topic filter matches no topic, or
   the mirror may not DESCRIBE the topics at the source.""",
)

FLAPPING = Code(
    name="tasks.flapping",
    title="Flapping in the last {window_seconds:duration}:[ {connector}]"
    "[ task {task}][ consumer group {group}][ failed {failures:time}]"
    "[ started {starts:time}][ rebalanced {rebalances:time}]",
    meaning="""\
Each restart and rebalance stops partitions for seconds, and may duplicate
records.""",
    steps="""\
1. Failures: something restarts the task (Strimzi's `autoRestart`, a person)
   without a fix. Find the cause in the mirror's log.
2. Starts, rebalances: look for crashing workers, long garbage collections and
   deployments of other connectors on the same workers (`Rebalance started` in
   their logs), or a short topic refresh with topics that come and go.
3. Consumer group: members crash, or take longer than `max.poll.interval.ms` for
   a batch.""",
)

UNASSIGNED = Code(
    name="tasks.unassigned",
    title="{partitions:partition} of {topics:topic} (such as {topic}) assigned to "
    "no task for two topic refreshes of {mirror}",
    meaning="Their records are not copied, and expire at the source.",
    steps="""\
1. Dedicated mode with several nodes before Kafka 3.7: set
   `dedicated.mode.enable.internal.rest=true`.
2. Look for errors of the topic refresh in the mirror's log.
3. [Restart the worker](#restart-a-worker).""",
)

UNPROVED = Code(
    name="tasks.unproved",
    title="{running_tasks} of {tasks:source task} RUNNING by {origin}, but no "
    "position has moved for {seconds:duration} while records wait",
    meaning="""\
Nor has a heartbeat come, or Connect's REST API answered. A worker that was
killed leaves its states behind.""",
    steps="1. Check that the worker lives, and [restart it](#restart-a-worker).",
)

NO_MEMBERS = Code(
    name="tasks.no-members",
    title="Consumer group {group} at {cluster} has had no members for "
    "{seconds:duration} ({state})",
    meaning="""\
The mirror does not run, or hangs: nothing is copied. Its positions expire
`offsets.retention.minutes` after the last member left. Without them it starts
by `auto.offset.reset`; MirrorMaker 1's default is the end, which skips all
records in between.""",
    steps="""\
1. End a process that still runs: it has not polled for `max.poll.interval.ms`.
2. Start the mirror before its positions expire.
3. `dead` and unknown: the group does not exist. Is `mirror.group` right?""",
)

UNCOMMITTED = Code(
    name="tasks.uncommitted",
    title="{mirror} has committed no position for {seconds:duration}, while the "
    "target grew by {written_records:record} and records wait in "
    "{partitions:partition}",
    meaning="""\
It copies the same records again and again, most likely because a batch is too
large for the target (`batch-split-total` of its producer). Consumers there see
duplicates of all that was copied meanwhile.""",
    steps="""\
1. Raise `max.message.bytes` of the target topic, or lower `batch.size` of the
   mirror's producer.
2. [Restart the mirror](#restart-a-worker).""",
)

REBALANCING = Code(
    name="tasks.rebalancing",
    title="Consumer group {group} at {cluster} has been rebalancing for "
    "{seconds:duration} ({state})",
    meaning="Nothing is copied meanwhile.",
    steps="""\
1. Find the member that joins and never answers: it holds up all others. See the
   mirror's log.
2. [Restart it](#restart-a-worker).""",
)
