"""Texts of the check `audit`."""

from collections.abc import Mapping

from ..finding import Code

__all__ = [
    "ABOUT",
    "CORRUPTED",
    "DROPPED",
    "DUPLICATED",
    "EXTRA",
    "FAILED",
    "LATE",
    "MISSED",
    "NO_DATA",
    "OFF",
    "OK",
    "OUTCOMES",
    "PARTIAL",
    "STALE",
    "UNREADABLE",
    "UNVERIFIABLE",
]

ABOUT = """\
Proof: once a day Spark (`mirrorwatch audit run`) compares every record since
the last audit on both clusters, by counts and checksums, and one by one where
these differ. Findings hold until the next completed audit, even if records
were copied again. The linked report has details."""

OUTCOMES: Mapping[str, str] = {
    "timeout": "stopped at the time limit audit.timeout",
    "refused": "another audit was running on audit.out",
    "stopped": "stopped together with mirrorwatch",
    "abandoned": "interrupted when mirrorwatch was killed",
}
"""Problems of attempts that were not completed, by outcome."""

DROPPED = Code(
    name="audit.dropped",
    title="{records:record} of {topic} found missing at the target by the "
    "audit up to {audited_until}[ (source {source_ranges})]",
    past=True,
    meaning="""\
Proved: the mirror passed them, no copy exists. None of them is in flight,
expired or compacted.""",
    steps="""\
1. Find the cause by [`skips.dropped`](#skipsdropped) or
   [`position.expired-unread`](#positionexpired-unread).
2. While the source retains them, [set the offset
   back](#delete-or-set-committed-offsets), or copy the ranges by hand.""",
)

CORRUPTED = Code(
    name="audit.corrupted",
    title="{records:record} of {topic} found altered at the target by the "
    "audit up to {audited_until}[ (source {source_ranges})][ (target "
    "{target_ranges})]",
    past=True,
    meaning="Proved: key, value, header or timestamp differ.",
    steps="""\
1. Compare one by its offsets. Check the mirror's transforms and converters,
   then other producers to the target topic.""",
)

EXTRA = Code(
    name="audit.extra",
    title="{records:record} of {topic} found at the target but not at the "
    "source by the audit up to {audited_until}[ (target "
    "{target_ranges})]",
    past=True,
    meaning="Another producer writes to the target topic. Nothing is lost.",
    steps="""\
1. Find it, or a replication loop ([`topics.loop`](#topicsloop)). Intended: add
   the topic to `topics.merged`.""",
)

DUPLICATED = Code(
    name="audit.duplicated",
    title="{records:record} of {topic} found duplicated at the target by the "
    "audit up to {audited_until}[ (source {source_ranges})][ (target "
    "{target_ranges})]",
    past=True,
    meaning="Nothing is lost; consumers at the target see duplicates.",
    steps="""\
1. See [`position.rewound`](#positionrewound). Tell the owners of consumers at
   the target.""",
)

UNVERIFIABLE = Code(
    name="audit.unverifiable",
    title="{ranges:range} not verified by the audit up to {audited_until}: "
    "{topic}[ partition {partition}]: {problem}",
    past=True,
    meaning="""\
Neither copied nor lost is proved. The next audit covers them, if both clusters
retain them. *Missing from before what the mirror is known to have copied*: it
began at the log end; reported once. *Which feeds the same target topic*: a
loss in one flow makes the others restart later.""",
    steps="""\
1. Expired: audit more often, or [raise the retention](#raise-retention).
2. Topic recreated or deleted: see [`position`](#position),
   [`topics`](#topics).
3. Timestamps set by the target (`LogAppendTime`): set `CreateTime` there.
4. Folder `carry` of the night before missing: [audit that
   time](#settle-an-unverifiable-range) again.""",
)

PARTIAL = Code(
    name="audit.partial",
    title="Only part of the records compared by the audit up to "
    "{audited_until}",
    past=True,
    meaning="Several runs make up for a missed night.",
    steps="1. If none runs: `mirrorwatch audit run`.",
)

FAILED = Code(
    name="audit.failed",
    title="The audit due {due} did not complete: {problem}",
    meaning="""\
Records not verified; the next audit covers them, if both clusters retain them.
The evidence has the last output.""",
    steps="""\
1. *Killed*, *interrupted*: likely out of memory. Lower `audit.memory`, or use
   another machine (`audit.master`, or `audit.start: false`).
2. *Time limit*: see [`audit.late`](#auditlate); the last report has a
   forecast.
3. *Another audit was running*: does it hang? Two agents need a folder each, or
   `audit.start: false` for one.
4. *Could not be read to its end*: check that cluster's brokers.
5. *Stopped together with mirrorwatch*: restarts with it, within three hours.
6. Otherwise run it by hand: `mirrorwatch audit run`.""",
)

LATE = Code(
    name="audit.late",
    title="The audit due {due} has run for {seconds:duration}; it is stopped "
    "after {timeout_seconds:duration}",
    meaning="It should have ended within three hours.",
    steps="""\
1. Give it more cores (`audit.master`), or a larger `audit.timeout`.""",
)

MISSED = Code(
    name="audit.missed",
    title="No audit of this flow completed since the one due {due}",
    meaning="""\
Records since then are not verified: mirrorwatch, or whatever starts audits
(`audit.start` is off), was down.""",
    steps="""\
1. Run it: `mirrorwatch audit run`. Check what starts it, and that it writes to
   `audit.out`.""",
)

UNREADABLE = Code(
    name="audit.unreadable",
    title="{problem}",
    meaning="""\
Results cannot be read, or audits not started. Other nights count.""",
    steps="""\
1. *PySpark*: `pip install '.[spark]'` in a checkout. *Configuration is not a
   file*: start mirrorwatch with `--config`. Or set `audit.start: false` and
   audit on another machine.
2. *In a folder* that is not local: mount it, and set `audit.out`.
3. *A result*: grant read permission. Damaged or of another version: run that
   night again (`mirrorwatch audit run --date 2026-11-21`), or delete the named
   folder `runs/…`.
4. *In the future*: compare the clocks. If the audit's was ahead, delete that
   folder, or no audit follows.""",
)

OK = Code(
    name="audit.ok",
    title="{records:record} of {topics:topic} compared up to {audited_until}, none "
    "missing, altered or duplicated"
    "[; {filtered_records:record} dropped by configured filters]"
    "[; {stated_records:record} in flight, expired, compacted or carried over]",
)

OFF = Code(
    name="audit.off",
    title="Records are not compared: audit is not configured",
)

NO_DATA = Code(
    name="audit.no-data",
    title="No audit of this flow has completed yet[; the next one is due "
    "{next_due}]",
)

STALE = Code(
    name="audit.stale",
    title="Audit results were last read {seconds:duration} ago",
)
