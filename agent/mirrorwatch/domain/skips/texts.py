"""Texts of the check `skips`."""

from ..finding import Code

__all__ = [
    "ABOUT",
    "DROPPED",
    "DUPLICATED",
    "FILTER_EXCEEDED",
    "FOREIGN_PRODUCER",
    "HIDDEN_TOPICS",
    "NO_DATA",
    "NO_SYNCS",
    "OFF",
    "OK",
    "PENDING",
    "STALE",
    "SUSPECTED",
    "TRUNCATED",
    "UNREADABLE",
    "UNVERIFIABLE",
]

ABOUT = """\
Between two offset syncs of MirrorMaker, source and target must advance by the
same number of records. Where they do not, mirrorwatch reads the range on both
clusters and compares key, value and timestamp of each record. It sees neither
altered records nor equal numbers of drops and duplicates between two syncs,
nor what was copied before its first start: the audit does."""

DROPPED = Code(
    name="skips.dropped",
    title="{mirror} dropped {records:record} of {topic} ({ranges})"
    "[; {head:record} before the first copied one]"
    "[; {tail:record} below the committed position, without a later copy]"
    "[; {sampled:record} found in a sample: a lower bound]",
    meaning="""\
Proved: the source had them, the mirror went past them, no copy exists. Where
copies beside them expired, more offsets are listed than were dropped. Critical
for an hour, or until each has a copy.""",
    steps="""\
1. Check `transforms` and `predicates` of the connector, and its log at that time.
2. *Below the committed position*: `errors.tolerance=all` drops what cannot be
   written; the log has the error.
3. *Before the first copied one*: set `auto.offset.reset=earliest`.
4. *Sample*, or many in a row: the offset was set forward by hand.
5. While the source retains them,
   [set the offset back](#delete-or-set-committed-offsets) (later records are
   copied again) or produce them by hand.""",
)

TRUNCATED = Code(
    name="skips.truncated",
    title="{records:record} of {topic} copied, then lost at the target by a "
    "truncated log ({ranges})",
    meaning="""\
Proved: an unclean leader election or a lost disk. The mirror does not copy them
again. Consumers at the target may have read them before.""",
    steps="""\
1. [Look at the topic](#look-at-a-topic) at the target: leaders, in-sync
   replicas, `unclean.leader.election.enable`.
2. While the source retains the records,
   [set the offset back](#delete-or-set-committed-offsets) to the first of
   them; later ones are copied again. Or produce them by hand.""",
)

SUSPECTED = Code(
    name="skips.suspected",
    title="{records:record} of {topic} not copied for {seconds:duration}, "
    "while the same task copies newer ones elsewhere (partition "
    "{most_partition}: {first_offset}-{last_offset})",
    meaning="""\
Not proved: a dropped record at the end of a partition looks like lag until a
later one is copied. Only connectors with `transforms` are judged, and neither
stopped tasks nor a backlog. The next copied record of the partition proves it
or ends it.""",
    steps="""\
1. Check the connector's filters.
2. If none matches, a partition leader does not answer, or a batch cannot be
   written: [restart the task](#restart-a-task).""",
)

DUPLICATED = Code(
    name="skips.duplicated",
    title="{mirror} copied {records:record} of {topic} again ({ranges})",
    meaning="""\
None was lost; consumers at the target see duplicates. Usual causes: a kill
between copying and committing, offsets that were reset, two tasks writing at
once (one was frozen and resumed).""",
    steps="1. Tell the owners of consumers at the target.",
)

UNVERIFIABLE = Code(
    name="skips.unverifiable",
    title="{records:record} of {topic} unverifiable: records or copies are "
    "gone or altered ({ranges})",
    meaning="""\
No loss is proved. The reason for a difference can no longer be read: expired,
altered, too long a range, or a log at the source that was truncated. Offsets
removed by compaction are not among them.""",
    steps="""\
1. [Settle the range](#settle-an-unverifiable-range) by an audit.
2. If the source's log was truncated, see `position`.""",
)

FILTER_EXCEEDED = Code(
    name="skips.filter-exceeded",
    title="{records:,} of {passed_records:record} of {topic} missing at the "
    "target ({share:.2%}), above the {allowed_share:.2%} that "
    "topics.filtered allows",
    meaning="""\
Proved to be missing, within the last hour. Not proved: that a filter dropped
them, and not an error. Critical for an hour after the share was last too
high.""",
    steps="""\
1. Compare `transforms` and `predicates` with what is intended: was one changed?
2. If the data changed and the filter is right, raise `at_most`.
3. If not, the records are still at the source: see `skips.dropped`.""",
)

FOREIGN_PRODUCER = Code(
    name="skips.foreign-producer",
    title="{records:record} of {topic} at the target not from {mirror}, the "
    "newest found {seconds:duration} ago",
    meaning="""\
Proved to be no copies of what the source holds: another producer or mirror, a
transform that alters records, or a log at the source that was truncated. As
many dropped records would stay unproved; more of them are critical as
usual. Lasts an hour after the newest.""",
    steps="""\
1. Find the producer and stop it.
2. If it is intended, add the topic to `topics.merged`: the audit compares its
   records.""",
)

NO_SYNCS = Code(
    name="skips.no-syncs",
    title="{partitions:partition} with copied records, but without offset syncs",
    meaning="""\
Drops there are unknown: this check needs offset syncs; `lag`, `canary` and the
audit do not.""",
    steps="1. Set `emit.offset-syncs.enabled=true` in MirrorMaker.",
)

PENDING = Code(
    name="skips.pending",
    title="Verification of {partitions:partition} pending for "
    "{seconds:duration}: {problem}",
    meaning="""\
Drops in these ranges are unknown until they are read; that is retried by
itself.""",
    steps="""\
1. A permission: run `mirrorwatch doctor`, grant READ.
2. *Open transaction*: find one that hangs by
   `kafka-transactions.sh find-hanging`.
3. *No leader*, or brokers that name different leaders, or an *old log end
   offset* (the high watermark lags): [look at the topic](#look-at-a-topic).
4. A topic that *does not exist at the target*: grant DESCRIBE. If it is really
   missing, the committed offset was set forward, or records failed with
   `errors.tolerance=all`.
5. *Many records to read*, or a slow cluster: wait.""",
)

OK = Code(
    name="skips.ok",
    title="No record dropped or duplicated on {partitions:partition}"
    "[; {merged_topics:merged topic} compared by the audit only]"
    "[; {filtered_records:record} dropped by configured filters]",
)

OFF = Code(
    name="skips.off",
    title="Offsets cannot be compared: several flows write all topics. The "
    "audit compares their records",
)

NO_DATA = Code(
    name="skips.no-data",
    title="Source and target have not been compared yet",
)

STALE = Code(
    name="skips.stale",
    title="Source and target were last compared {seconds:duration} ago",
)

UNREADABLE = Code(name="skips.unreadable", title="{problem}")

HIDDEN_TOPICS = Code(name="skips.hidden-topics", title="{problem}")
