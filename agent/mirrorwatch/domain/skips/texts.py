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
    "TRUNCATED",
    "UNREADABLE",
    "UNVERIFIABLE",
]

ABOUT = """\
Between two offset syncs, source and target must advance by the same number of
records. Where they do not, mirrorwatch compares key, value and timestamp of
each record in the range. Only the audit finds altered records, equal numbers
of drops and duplicates between two syncs, and drops before mirrorwatch's first
start."""

DROPPED = Code(
    name="skips.dropped",
    title="{mirror} dropped {records:record} of {topic}[ ({ranges})]"
    "[; {head:record} before the first copied one]"
    "[; {tail:record} below the committed position, without a later copy]",
    past=True,
    meaning="""\
Proved: the source had them, the mirror went past them, no copy exists. Where
foreign or expired records beside them hide which, more offsets are listed.
Critical until acknowledged (`mirrorwatch ack ID`) or `limits.losses.critical`,
or until each has a copy.""",
    steps="""\
1. Check the connector's `transforms` and `predicates`, and its log at that
   time.
2. *Below the committed position*: `errors.tolerance=all` drops what cannot be
   written.
3. *Before the first copied one*: set `auto.offset.reset=earliest`.
4. Many in a row: somebody set the offset forward.
5. While the source retains them, [set the offset
   back](#delete-or-set-committed-offsets) or produce them by hand.""",
)

TRUNCATED = Code(
    name="skips.truncated",
    title="{records:record} of {topic} copied, then lost at the target: its "
    "log was truncated[ ({ranges})]",
    past=True,
    meaning="""\
Proved: an unclean leader election or a lost disk. The mirror does not copy
them again. Consumers at the target may have read them. Critical until
acknowledged (`mirrorwatch ack ID`) or `limits.losses.critical`.""",
    steps="""\
1. [Look at the topic](#look-at-a-topic) at the target: leaders, in-sync
   replicas, `unclean.leader.election.enable`.
2. Copy them again by the last step of [`skips.dropped`](#skipsdropped).""",
)

DUPLICATED = Code(
    name="skips.duplicated",
    title="{mirror} copied {records:record} of {topic} again[ ({ranges})]",
    past=True,
    meaning="""\
Nothing is lost; consumers at the target see duplicates. Usual causes: a kill
between copying and committing, reset offsets, two tasks writing at once (one
was frozen and resumed).""",
    steps="1. Tell the owners of consumers at the target.",
)

UNVERIFIABLE = Code(
    name="skips.unverifiable",
    title="Neither copied nor lost is proved for {records:record} of "
    "{topic}: records or copies gone or altered[ ({ranges})]",
    past=True,
    meaning="""\
Source and target differ, and the reason can no longer be read: expired or
altered records, too long a range, or a [log truncated at the
source](#positiontruncated).""",
    steps="1. [Settle the range](#settle-an-unverifiable-range) by an audit.",
)

FILTER_EXCEEDED = Code(
    name="skips.filter-exceeded",
    title="{records:,} of {passed_records:record} of {topic} missing at the "
    "target ({share:.2%}), above the {allowed_share:.2%} that "
    "topics.filtered allows",
    meaning="""\
Missing is proved, within the last hour; that a filter dropped them is not.
Critical for `limits.losses.critical` after the share was last too high.""",
    steps="""\
1. Were `transforms` or `predicates` changed by mistake? If not, see
   [`skips.dropped`](#skipsdropped).
2. The data changed and the filter is right: raise `at_most`.""",
)

FOREIGN_PRODUCER = Code(
    name="skips.foreign-producer",
    title="{records:record} of {topic} at the target not from {mirror}, the "
    "newest found {seconds:duration} ago",
    meaning="""\
Proved: not copies of what the source holds, but of another producer or mirror,
altered by a transform, or of a log truncated at the source. They can hide as
many dropped records. Lasts `limits.losses.critical` after the newest.""",
    steps="""\
1. Find and stop the producer. Intended: add the topic to `topics.merged`; the
   audit then compares it.""",
)

NO_SYNCS = Code(
    name="skips.no-syncs",
    title="Drops cannot be detected on {partitions:partition}: {mirror} "
    "copies records, but writes no offset syncs",
    meaning="`lag`, `canary` and the audit work without them.",
    steps="1. Set `emit.offset-syncs.enabled=true` in MirrorMaker.",
)

PENDING = Code(
    name="skips.pending",
    title="Records of {partitions:partition} not compared with their copies "
    "for {seconds:duration}: {problem}",
    meaning="""\
Drops there are unknown until they are read; mirrorwatch retries.""",
    steps="""\
1. A permission: see [`unreadable`](#unreadable).
2. *Open transaction*: `kafka-transactions.sh find-hanging`.
3. *No leader*, differing leaders, or an *old log end offset*: [look at the
   topic](#look-at-a-topic).
4. *Does not exist at the target*: grant DESCRIBE. Really missing: the
   committed offset was set forward, or `errors.tolerance=all` dropped records.
5. *Many records to read*, or a slow cluster: wait.""",
)

OK = Code(
    name="skips.ok",
    title="No record dropped or duplicated on {partitions:partition}[; "
    "{merged_topics:merged topic} compared by the audit only][; "
    "{filtered_records:record} dropped by configured filters]",
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
