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
MirrorMaker's heartbeat connector emits a record every second. Replicated ones,
from the source's topic `heartbeats`, prove replication; those that a worker
writes at the target prove that it runs. Optional: recent Strimzi versions have
none, and the canary proves more."""

OK = Code(
    name="heartbeats.ok",
    title="Heartbeats are emitted and replicated on time",
)

NOT_REPLICATED = Code(
    name="heartbeats.not-replicated",
    title="{mirror} emits heartbeats on time, but none are replicated from "
    "the source",
    meaning="""\
A worker runs; that it copies records is not proved. Normal on a Connect
cluster at the target.""",
)

MISSING = Code(
    name="heartbeats.missing",
    title="{mirror} has emitted no heartbeat for {seconds:duration}, expected "
    "every {interval_seconds:duration}",
    meaning="The worker may be gone or hung, or cannot write to the target.",
    steps="""\
1. Does the heartbeat connector run ([see tasks](#see-connectors-and-tasks))?
   Does the worker's log have errors of the producer?
2. [Restart the worker](#restart-a-worker).""",
)

LATE = Code(
    name="heartbeats.late",
    title="Heartbeats of {connection} arrive at the target "
    "{seconds:duration} late",
    meaning="The mirror is slow on their topic, or no longer copies it.",
    steps="""\
1. Other topics are late, too: see [`lag`](#lag). If not: was `heartbeats`
   excluded from MirrorMaker's topics?""",
)

LAG_UNKNOWN = Code(
    name="heartbeats.lag-unknown",
    title="Lag of the heartbeats of {connection} not known yet: newest copy "
    "{seconds:duration} older than newest heartbeat",
    meaning="""\
mirrorwatch was just started: heartbeats are that late, or none were emitted.""",
    steps="1. Wait a minute.",
)

CEASED = Code(
    name="heartbeats.ceased",
    title="No heartbeat was emitted at the source for {seconds:duration}, so "
    "none can be replicated",
    meaning="""\
The mirror with this source as its target emits them. This flow is not at
fault.""",
    steps="""\
1. Check that mirror's heartbeat connector. Removed on purpose: delete its
   heartbeats topics.""",
)

OFF = Code(
    name="heartbeats.off",
    title="No heartbeats: none are emitted (emit.heartbeats.enabled) or "
    "replicated",
)

UNREADABLE = Code(
    name="heartbeats.unreadable",
    title="Heartbeats cannot be read: {problem}",
)

NO_DATA = Code(
    name="heartbeats.no-data",
    title="Heartbeats were not read yet",
)
