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
The proof: once a day every record since the last audit is compared on both
clusters, by counts and checksums, and record by record where these differ.
Runs on Spark as a process of its own (`mirrorwatch audit run`). Each difference
is read again with a wider range. Findings hold until the next completed audit,
also of records copied again meanwhile. Details are in the report that the
verdict links to."""

OUTCOMES: Mapping[str, str] = {
    "timeout": "stopped at the time limit audit.timeout",
    "refused": "another audit was running on audit.out",
    "stopped": "stopped together with mirrorwatch",
    "abandoned": "interrupted when mirrorwatch was killed",
}
"""Problems of attempts that were not completed, by outcome."""

DROPPED = Code(
    name="audit.dropped",
    title="{records:record} of {topic} missing at the target, by the audit up "
    "to {audited_until}[ (source {source_ranges})]",
    meaning="""\
Proved: the mirror passed them, no copy exists. Records in flight, expired or
compacted are not among them.""",
    steps="""\
1. Causes as for `skips.dropped`: a transform, `errors.tolerance=all`; or as for
   `position.expired-unread`.
2. While the source retains them,
   [set the offset back](#delete-or-set-committed-offsets), or copy them by
   `mirrorwatch audit repair`.""",
)

CORRUPTED = Code(
    name="audit.corrupted",
    title="{records:record} of {topic} altered at the target, by the audit up "
    "to {audited_until}[ (source {source_ranges})][ (target {target_ranges})]",
    meaning="Proved: key, value, header or timestamp differ.",
    steps="""\
1. Compare one of them by its offsets.
2. Check transforms and converters of the mirror, then other producers to the
   target topic.""",
)

EXTRA = Code(
    name="audit.extra",
    title="{records:record} of {topic} at the target but not at the source, by "
    "the audit up to {audited_until}[ (target {target_ranges})]",
    meaning="Another producer writes to the target topic. Nothing is lost.",
    steps="""\
1. Find the producer; check for a replication loop (`topics`).
2. If it is intended, add the topic to `topics.merged`.""",
)

DUPLICATED = Code(
    name="audit.duplicated",
    title="{records:record} of {topic} duplicated at the target, by the audit up "
    "to {audited_until}[ (source {source_ranges})][ (target {target_ranges})]",
    meaning="Nothing is lost; consumers at the target see duplicates.",
    steps="""\
1. The mirror was killed or rewound: see `position.rewound`.
2. Tell the owners of consumers at the target.""",
)

UNVERIFIABLE = Code(
    name="audit.unverifiable",
    title="{ranges:range} not verified by the audit up to {audited_until}: "
    "{topic}[ partition {partition}]: {problem}",
    meaning="""\
Neither copied nor lost is proved. The next audit covers them, if both clusters
retain them. *Missing from before what the mirror is known to have copied*: a
mirror that begins at the log end skips what a partition contains; reported
once. *Which feeds the same target topic*: a loss in one flow makes the others
restart at later offsets.""",
    steps="""\
1. Expired: audit more often, or [raise the retention](#raise-retention).
2. A recreated or deleted topic: see `position`, `topics`.
3. Timestamps set by the target (`LogAppendTime`): set `CreateTime` there.
4. If the folder `carry` of the night before is missing,
   [audit that time](#settle-an-unverifiable-range) again.""",
)

PARTIAL = Code(
    name="audit.partial",
    title="Only part of the records compared by the audit up to {audited_until}",
    meaning="A missed night is made up for in several runs; the next one goes on.",
    steps="1. If none runs, start it: `mirrorwatch audit run`.",
)

FAILED = Code(
    name="audit.failed",
    title="The audit due {due} did not complete: {problem}",
    meaning="""\
Its records are not verified. The next audit covers them, if both clusters
retain them. The evidence has the end of its output.""",
    steps="""\
1. *Killed*, or *interrupted*: likely out of memory. Lower `audit.memory`, or
   use another machine (`audit.master`, or `audit.start: false`).
2. *Time limit*: more cores (`audit.master`) or time; the last report has a
   forecast.
3. *Another audit was running*: see whether it hangs. Two agents need a folder
   each, or `audit.start: false` for one.
4. *Could not be read to its end*: check the brokers of that cluster.
5. Otherwise run it by hand with the same configuration:
   `mirrorwatch audit run`. *Stopped together with mirrorwatch*: it starts again
   with it, within three hours.""",
)

LATE = Code(
    name="audit.late",
    title="The audit due {due} has run for {seconds:duration}; it is stopped "
    "after {timeout_seconds:duration}",
    meaning="It should have ended within three hours.",
    steps="1. Give it more cores (`audit.master`), or a larger `audit.timeout`.",
)

MISSED = Code(
    name="audit.missed",
    title="No audit of this flow completed since the one due {due}",
    meaning="""\
Records since then are not verified. mirrorwatch was down, or whatever starts
audits (`audit.start` is off) did not.""",
    steps="""\
1. Run it: `mirrorwatch audit run`.
2. Check whatever starts it, and that it writes to `audit.out`.""",
)

UNREADABLE = Code(
    name="audit.unreadable",
    title="{problem}",
    meaning="""\
Results cannot be read, or audits cannot be started. Results of other nights
count meanwhile; files are read again every 15 seconds.""",
    steps="""\
1. *PySpark*: `pip install 'mirrorwatch[spark]'` there. *Configuration is not a
   file*: start mirrorwatch with `--config`. Or set `audit.start: false` and run
   the audit on a machine that reaches both clusters and `audit.out`.
2. *In a folder* that is not local: mount it, and set `audit.out`.
3. *A result*: grant read permission. If it is damaged or of another version,
   run that night again (`mirrorwatch audit run --date 2026-11-21`), or delete
   the folder `runs/…` that is named.
4. *In the future*: compare the clocks. If the audit's was ahead, delete that
   folder `runs/…`, or no audit follows until then.""",
)

OK = Code(
    name="audit.ok",
    title="{records:record} of {topics:topic} compared up to {audited_until}, none "
    "missing, altered or duplicated"
    "[; {filtered_records:record} dropped by configured filters]"
    "[; {stated_records:record} in flight, expired, compacted, aborted or carried over]"
    "[; {shrunk_topics:topic} with far fewer records than usual, {shrunk_topic} "
    "by {shrunk_percent} %]",
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
