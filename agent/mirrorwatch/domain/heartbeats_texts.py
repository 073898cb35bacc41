"""Texts of the check `heartbeats`."""

from .finding import Code

__all__ = [
    "ABOUT",
    "CEASED",
    "LAG_UNKNOWN",
    "LATE",
    "MISSING",
    "NOT_REPLICATED",
    "NO_DATA",
    "OFF",
    "OK",
    "UNREADABLE",
]

ABOUT = """\
Records that MirrorMaker's heartbeat connector emits every second. Those of the
source's topic `heartbeats` are replicated like other records and prove
replication; those that a worker writes at the target prove that the worker
runs. Heartbeats are optional: recent Strimzi versions have none. Their age
counts from when mirrorwatch last read a new one, by its own clock."""

OK = Code(
    name="heartbeats.ok",
    title="Heartbeats are emitted and replicated on time",
    meaning="MirrorMaker runs and copies its own records.",
)

NOT_REPLICATED = Code(
    name="heartbeats.not-replicated",
    title="Heartbeats are emitted on time, none are replicated from the "
    "source",
    meaning="""\
They prove that a worker runs, not that it copies records. Normal on a Connect
cluster at the target.""",
)

MISSING = Code(
    name="heartbeats.missing",
    title="{mirror} has emitted no heartbeat for {seconds:duration}, expected "
    "every {interval_seconds:duration}",
    meaning="The worker may be gone or frozen, or cannot write to the target.",
    steps="""\
1. See `tasks`, and whether the heartbeat connector runs
   ([See connectors and tasks](#see-connectors-and-tasks)).
2. Look for errors of the producer in the worker's log.
3. [Restart the worker](#restart-a-worker).""",
)

LATE = Code(
    name="heartbeats.late",
    title="Heartbeats of {connection} are replicated with a lag of "
    "{seconds:duration}",
    meaning="The mirror is slow on their topic, or no longer copies it.",
    steps="""\
1. See `lag` and `canary`: are other topics late, too?
2. If only heartbeats are: was `heartbeats` excluded from MirrorMaker's topics?""",
)

LAG_UNKNOWN = Code(
    name="heartbeats.lag-unknown",
    title="Lag of the heartbeats of {connection} is not known yet: the newest "
    "copy is {seconds:duration} older than the newest heartbeat",
    meaning="""\
mirrorwatch was just started. Either heartbeats are that late, or none were
emitted for a while.""",
    steps="1. Wait a minute.",
)

CEASED = Code(
    name="heartbeats.ceased",
    title="No heartbeat was emitted at the source for {seconds:duration}, so "
    "none can be replicated",
    meaning="""\
Another mirror writes them: the one that has this source as its target.
Nothing is wrong with this flow.""",
    steps="""\
1. Check the heartbeat connector of that mirror.
2. If it was removed on purpose, delete its heartbeats topics.""",
)

OFF = Code(
    name="heartbeats.off",
    title="No heartbeats: none are emitted (emit.heartbeats.enabled) or "
    "replicated",
    meaning="The canary proves more: nothing needs to be done.",
)

UNREADABLE = Code(
    name="heartbeats.unreadable",
    title="Heartbeats cannot be read: {problem}",
    meaning="Heartbeats are unknown until their topics can be read.",
    steps="1. Run `mirrorwatch doctor`: it names what is missing.",
)

NO_DATA = Code(
    name="heartbeats.no-data",
    title="Heartbeats were not read yet",
    meaning="mirrorwatch was just started, or was frozen.",
    steps="1. Wait a few seconds.",
)
