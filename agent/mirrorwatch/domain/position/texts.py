"""Texts of the check `position`."""

from ..finding import Code

__all__ = [
    "ABOUT",
    "EXPIRED_UNREAD",
    "HIDDEN_TOPICS",
    "NO_DATA",
    "NO_POSITIONS",
    "OFFSETS_DELETED",
    "OK",
    "OTHER_CLUSTER",
    "RECREATED",
    "REWOUND",
    "STALE",
    "SYNCS_RECREATED",
    "TARGET_RECREATED",
    "TARGET_TRUNCATED",
    "TRUNCATED",
    "UNREADABLE",
    "UNVERIFIABLE",
]

ABOUT = """\
Whether the mirror's positions are continuous: found by topic ids, log start
and end offsets, commits and offset syncs, also for the time in which
mirrorwatch was down. Lag is 0 after most resets. Transaction markers and
compacted offsets are counted as records. Losses stay critical for an hour after
the mirror resumed, rewinds at warning for 10 minutes;
`mirrorwatch_position_resets_total` counts all."""

EXPIRED_UNREAD = Code(
    name="position.expired-unread",
    title="{expired_records:record} of {topic} deleted at {source} by retention "
    "before {mirror} copied them[ ({ranges})]"
    "[, of which {records_at_most} may have been copied]"
    "[; more expire in {expiring_partitions:partition} until it resumes]",
    meaning="""\
Permanent loss, proved by the log start offset. *May have been copied*: since
the last commit (60 s by default), where other producers, two tasks or merged
topics hide the exact position. A mirror with `auto.offset.reset=latest`
(Mirus) resumes at the log end and skips more.""",
    steps="""\
1. If more expire, [raise the retention](#raise-retention) now.
2. Start the mirror. If it copies other records (`lag`), see its log for these
   partitions, and `tasks`.
3. Mirus: while it is stopped, set the offset to the log start with
   `mirus-offset-tool.sh`; an audit names what it skipped.
4. Restore from a backup or another copy of the source.""",
)

UNVERIFIABLE = Code(
    name="position.unverifiable",
    title="Up to {records_at_most:record} of {topic} may have been deleted at "
    "{source} by retention before {mirror} copied them[ ({ranges})]",
    meaning="""\
No loss is proved: it all expired before mirrorwatch saw it, or the offsets may
be transaction markers.""",
    steps="""\
1. Ask whoever produces to the topic, or compare with another copy.
2. [Raise the retention](#raise-retention) if `retention` warns, too.""",
)

RECREATED = Code(
    name="position.recreated",
    title="{topic} recreated at {source}"
    "[; {mirror} has position {position} of the old topic, the new log ends at {log_end}]"
    "[; {records_at_risk:record} skipped if it resumes there]"
    "[; {skipped_records:new record} not copied]"
    "[; at least {records_at_least:new record} not copied]"
    "[; {records_at_most:new record} unverifiable]"
    "[; at most {old_records_at_most:record} of the old topic not copied]",
    meaning="""\
Once the new log has grown past the old position, the records below are never
copied; they are still at the source. Records of the old topic, or of partitions
that are no more, are gone; without a number, mirrorwatch had not seen its end.
Unverifiable: two tasks or another producer at the target. Warning: empty, or
restarted from the beginning (the target may hold old records, too).""",
    steps="""\
1. Old position, or records not copied: stop the mirror, delete the
   [committed offsets](#delete-or-set-committed-offsets) of the topic, before its
   log grows past the position, and resume. Earlier copies are duplicated. A
   mirror without committed offsets: have it copy the topic from its start.
2. Unverifiable: [run an audit](#settle-an-unverifiable-range).
3. Find out who recreated it.""",
)

TARGET_RECREATED = Code(
    name="position.target-recreated",
    title="{topic} recreated at {target}: copies in {partitions:partition} gone"
    "[, {offsets:offset}]",
    meaning="""\
The mirror does not copy them again by itself. `skips` does not count them.""",
    steps="""\
1. If they are needed, delete the
   [committed offsets](#delete-or-set-committed-offsets) of the topic: what the
   source retains is copied again.
2. A mirror without committed offsets: see that it copies them again.""",
)

TRUNCATED = Code(
    name="position.truncated",
    title="Log of {topic} at {source} truncated below {mirror}'s position"
    "[ {position}: it ends at {log_end}]"
    "[; {records_at_risk:new record} skipped if it resumes there]"
    "[; {skipped_records:new record} not copied]"
    "[; at least {records_at_least:new record} not copied]"
    "[ ({ranges})]",
    meaning="""\
If the log grows past the position before the mirror resets it, the records
below are never copied. An unclean leader election truncated it, or the mirror
reads another cluster. Warning: it resumed at or before the truncation (the
target may hold truncated records); where `auto.offset.reset` may be `latest`,
it may have skipped what was written before it resumed. `skips` names what is
missing.""",
    steps="""\
1. Compare the mirror's `bootstrap.servers` with mirrorwatch's.
2. Log shorter than the position: [restart the task](#restart-a-task), so that
   it resets.
3. Log grown past it, or records not copied: stop the mirror, delete the
   [committed offsets](#delete-or-set-committed-offsets) of the topic, resume.
4. Resumed at the log end: set the offset back to the truncation, or
   [run an audit](#settle-an-unverifiable-range).
5. Look for unclean elections in the brokers' logs.""",
)

TARGET_TRUNCATED = Code(
    name="position.target-truncated",
    title="Log of {topic} at {target} truncated: {records:record} lost there"
    "[ ({ranges})]",
    meaning="""\
They had been copied. The finding ends when the mirror has copied up to there
again.""",
    steps="""\
1. See that the mirror copies them again: `lag`.
2. [Look at the topic](#look-at-a-topic) at the target for an unclean leader
   election.""",
)

REWOUND = Code(
    name="position.rewound",
    title="{mirror} was rewound: {records:record} of {topic} copied again"
    "[ ({ranges})]",
    meaning="""\
No loss; the target may hold duplicates, which `skips` counts. After a crash the
mirror copies again what it had not committed, at most a minute by default.""",
    steps="""\
1. See whether it crashed (`tasks`, its log).
2. Otherwise, somebody reset its offsets, or two mirrors copy the topic.""",
)

OFFSETS_DELETED = Code(
    name="position.offsets-deleted",
    title="{mirror}'s committed offsets of {partitions:partition} deleted "
    "({topic}): it starts at the {starts_at}",
    meaning="""\
The offsets topic was deleted, replaced or reconfigured, or tombstones were
written to it. *Beginning*: nothing is lost, all retained records are copied
again. *Log end*: records not yet copied are lost. A mirror that still runs may
commit its offsets again.""",
    steps="""\
1. If you deleted them to copy a topic again: nothing.
2. *Log end*: [stop](#stop-and-resume) the mirror and set
   `auto.offset.reset=earliest` before it starts.
3. Check its `offset.storage.topic`; that topic must be compacted.
4. Tell the owners of consumers at the target about duplicates.""",
)

SYNCS_RECREATED = Code(
    name="position.syncs-recreated",
    title="{mirror}'s offset-syncs topic {topic} was recreated",
    meaning="""\
Positions are not affected. Offsets of consumer groups are not translated until
new records are copied.""",
    steps="1. Find out who deleted it; see `failover` before a failover.",
)

OTHER_CLUSTER = Code(
    name="position.other-cluster",
    title="{cluster} answers with cluster id {found_id}, expected {expected_id}",
    meaning="""\
Nothing else is judged here until the right cluster answers.""",
    steps="""\
1. Check `bootstrap.servers` of this cluster.
2. If the cluster was replaced, set its `cluster_id` to the new id and restart
   mirrorwatch.""",
)

NO_POSITIONS = Code(
    name="position.no-positions",
    title="No position of {mirror} is known yet",
    meaning="""\
It has written neither an offset sync nor a commit, which takes a minute at
most once it copies.""",
    steps="1. Check that it has copied records: `lag`, `tasks`.",
)

OK = Code(
    name="position.ok",
    title="Positions of {partitions:partition} are continuous",
)

NO_DATA = Code(
    name="position.no-data", title="Positions have not been read yet"
)

STALE = Code(
    name="position.stale",
    title="Positions were last read {seconds:duration} ago",
)

UNREADABLE = Code(name="position.unreadable", title="{problem}")

HIDDEN_TOPICS = Code(name="position.hidden-topics", title="{problem}")
