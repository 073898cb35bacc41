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
API (`mirror.connect.url`); without Connect, of its consumer group at the
source. A bad state is true; `RUNNING` proves nothing, as a hung task, or a
killed worker's, reports it too."""

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
    title="No source task of {mirror} seen yet",
    meaning="""\
mirrorwatch was just started, or no connector is known to copy from this
source.""",
    steps="""\
1. If it stays for a minute, compare `mirror.connectors` and the aliases under
   `mirror` with the mirror's configuration.""",
)

UNREADABLE = Code(name="tasks.unreadable", title="{problem}")

FAILED = Code(
    name="tasks.failed",
    title="[Task {task} of ]{connector} failed: {problem}"
    "[. {partitions:partition} no longer copied]"
    "[, stuck at offset {offset} of {topic} (partition {partition}): "
    "{record_bytes} bytes, above {limit} {limit_bytes}][. {note}]",
    meaning="""\
Its partitions are not copied; nothing is lost while the [source
retains](#retention) the records. The stack trace is in the mirror's log.""",
    steps="""\
1. Fix the cause first, or the task fails again on the same record.
2. Record too large: raise `max.message.bytes` of the target topic (with
   `sync.topic.configs` at the source too), or `max.request.size` of the
   mirror's producer. `errors.tolerance=all` would drop it and all like it.
3. [Restart the task](#restart-a-task). Strimzi does so by itself with
   `autoRestart: {enabled: true}`.""",
)

IDLE = Code(
    name="tasks.idle",
    title="{connector} has run {running_tasks} of {tasks:task} for "
    "{seconds:duration} ({states})",
    meaning="""\
Critical if no source task runs: nothing is copied. Otherwise some partitions,
checkpoints or heartbeats are not.""",
    steps="""\
1. `UNASSIGNED`: a worker is lost. [Start it](#restart-a-worker); Connect
   reassigns tasks after up to 5 min (`scheduled.rebalance.max.delay.ms`).
2. `PAUSED`, `STOPPED`: ask who did it and why, then [resume
   it](#stop-and-resume).
3. 0 of 0 tasks: its topic filter matches no topic, or it may not DESCRIBE them
   at the source.""",
)

FLAPPING = Code(
    name="tasks.flapping",
    title="Flapping in the last {window_seconds:duration}:[ {connector}]"
    "[ task {task}][ consumer group {group}][ failed {failures:time}]"
    "[ started {starts:time}][ rebalanced {rebalances:time}]",
    meaning="""\
Each restart or rebalance stops partitions for seconds, and may duplicate
records.""",
    steps="""\
1. Failures: the task is restarted (`autoRestart`, a person) without a fix. The
   mirror's log has the cause.
2. Starts, rebalances: look for crashing workers, long garbage collections,
   deployments of other connectors, or topics that come and go.
3. Consumer group: members crash, or exceed `max.poll.interval.ms`.""",
)

UNASSIGNED = Code(
    name="tasks.unassigned",
    title="{partitions:partition} of {topics:topic} (such as {topic}) assigned to "
    "no task for two topic refreshes of {mirror}",
    meaning="Their records are not copied, and expire at the source.",
    steps="""\
1. Dedicated mode with several nodes before Kafka 3.7: set
   `dedicated.mode.enable.internal.rest=true`.
2. Look for errors of the topic refresh in the mirror's log, then [restart the
   worker](#restart-a-worker).""",
)

UNPROVED = Code(
    name="tasks.unproved",
    title="{running_tasks} of {tasks:source task} RUNNING by {origin}, but no "
    "position has moved for {seconds:duration} while records wait",
    meaning="""\
No heartbeat, no answer of Connect's REST API: perhaps the last states of a
killed worker.""",
    steps="1. Is the worker alive? [Restart it](#restart-a-worker).",
)

NO_MEMBERS = Code(
    name="tasks.no-members",
    title="Consumer group {group} at {cluster} has had no members for "
    "{seconds:duration} ({state})",
    meaning="""\
The mirror is down or hangs: nothing is copied. Its positions expire
`offsets.retention.minutes` after the last member left; it then starts by
`auto.offset.reset`, which for MirrorMaker 1 skips all records in between.""",
    steps="""\
1. End a process that still runs: it has not polled for `max.poll.interval.ms`.
2. Start the mirror before its positions expire.
3. `dead` or unknown: the group does not exist. Check `mirror.group`.""",
)

UNCOMMITTED = Code(
    name="tasks.uncommitted",
    title="{mirror} has committed no position for {seconds:duration}, while the "
    "target grew by {written_records:record} and records wait in "
    "{partitions:partition}",
    meaning="""\
It copies the same records again and again, most likely as a batch is too large
for the target. Consumers there see duplicates.""",
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
1. In the mirror's logs, find the member that joins but never answers, and
   [restart it](#restart-a-worker).""",
)
