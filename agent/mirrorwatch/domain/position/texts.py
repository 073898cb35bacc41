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
Whether the mirror's positions advance without gap or reset, also while
mirrorwatch was down. Lag is 0 after most resets. Transaction markers and
compacted offsets count as records. Once the mirror has resumed, losses are
critical until acknowledged (`mirrorwatch ack ID`) or `limits.losses.critical`,
rewinds at warning for 10 minutes."""

EXPIRED_UNREAD = Code(
    name="position.expired-unread",
    title="{expired_records:record} of {topic} deleted at {source} by retention "
    "before {mirror} copied them[ ({ranges})]"
    "[, of which {records_at_most} may have been copied]"
    "[; more expire in {expiring_partitions:partition} until it resumes]",
    meaning="""\
Permanent loss, proved by the log start offset. *May have been copied*: since
the last commit (60 s by default), where other producers, two tasks or merged
topics hide the position. Critical until the mirror has resumed and the loss is
acknowledged (`mirrorwatch ack ID`), or `limits.losses.critical` later.""",
    steps="""\
1. More expire: [raise the retention](#raise-retention) now.
2. Start the mirror. If it copies other records, see its log for these
   partitions, and [`tasks`](#tasks).
3. Mirus, or `auto.offset.reset=latest`: it would resume at the log end and
   skip more. First set the offset to the log start (`mirus-offset-tool.sh`).
   An audit names what it skipped.
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
1. Ask whoever produces to the topic, or compare with another copy. If
   [`retention`](#retention) warns, too, [raise the
   retention](#raise-retention).""",
)

RECREATED = Code(
    name="position.recreated",
    title="{topic} recreated at {source}"
    "[; {mirror} has position {position} of the old topic, the new log ends at {log_end}]"
    "[; {records_at_risk:record} skipped if it resumes there]"
    "[; {skipped_records:new record} not copied]"
    "[; {records_at_most:new record} unverifiable]"
    "[; at most {old_records_at_most:record} of the old topic not copied]",
    meaning="""\
Once the new log has grown past the old position, the records below it are
never copied, but are still at the source. Uncopied records of the old topic
are gone. Unverifiable: two tasks or another producer at the target. Warning:
empty, or copied from its beginning (the target may hold old records, too).""",
    steps="""\
1. Old position, or records not copied: [delete the committed
   offsets](#delete-or-set-committed-offsets) of the topic before its log grows
   past the position. A mirror without committed offsets: have it copy the
   topic from its start.
2. Unverifiable: [run an audit](#settle-an-unverifiable-range).
3. Find out who recreated it.""",
)

TARGET_RECREATED = Code(
    name="position.target-recreated",
    title="{topic} recreated at {target}: copies in {partitions:partition} "
    "gone[, {offsets:offset}]",
    meaning="""\
The mirror does not copy them again, and [`skips`](#skips) does not count them.""",
    steps="""\
1. Needed: [delete the committed offsets](#delete-or-set-committed-offsets) of
   the topic; what the source retains is copied again.""",
)

TRUNCATED = Code(
    name="position.truncated",
    title="Log of {topic} at {source} truncated below {mirror}'s position"
    "[ {position}: it ends at {log_end}]"
    "[; {records_at_risk:new record} skipped if it resumes there]"
    "[; {skipped_records:new record} not copied]"
    "[ ({ranges})]",
    meaning="""\
By an unclean leader election, or the mirror reads another cluster. If the log
grows past the position before the mirror resets it, the records below are
never copied: [`skips`](#skips) calls them unverifiable. Warning: the mirror
has resumed; the target may hold records that the source has lost.""",
    steps="""\
1. Log shorter than the position: [restart the task](#restart-a-task) to reset
   it.
2. Log grown past it, or records not copied: [delete the committed
   offsets](#delete-or-set-committed-offsets) of the topic.
3. Resumed at the log end: set the offset back, or [run an
   audit](#settle-an-unverifiable-range).
4. Look for unclean elections in the brokers' logs; compare the mirror's
   `bootstrap.servers` with mirrorwatch's.""",
)

TARGET_TRUNCATED = Code(
    name="position.target-truncated",
    title="Log of {topic} at {target} truncated: {records:copied record} "
    "lost there[ ({ranges})]",
    meaning="Ends when the mirror has copied up to there again.",
    steps="""\
1. Does the mirror copy them again ([`lag`](#lag))? [Look for an unclean leader
   election](#look-at-a-topic) at the target.""",
)

REWOUND = Code(
    name="position.rewound",
    title="{mirror} was rewound: {records:record} of {topic} copied again"
    "[ ({ranges})]",
    meaning="""\
No loss. The target may hold duplicates, which [`skips`](#skips) counts. After
a crash the mirror copies up to a minute again.""",
    steps="""\
1. Did it crash ([`tasks`](#tasks), its log)? If not, somebody reset its
   offsets, or two mirrors copy the topic.""",
)

OFFSETS_DELETED = Code(
    name="position.offsets-deleted",
    title="{mirror}'s committed offsets of {partitions:partition} deleted "
    "({topic}): it restarts at the {starts_at}",
    meaning="""\
The offsets topic was deleted, replaced, reconfigured, or got tombstones.
*Beginning*: nothing is lost, all retained records are copied again. *Log end*:
records not yet copied are lost.""",
    steps="""\
1. Deleted on purpose, to copy a topic again: ignore it.
2. *Log end*: [stop](#stop-and-resume) the mirror and set
   `auto.offset.reset=earliest` before it starts.
3. Check its `offset.storage.topic`, which must be compacted.
4. Tell the owners of consumers at the target about duplicates.""",
)

SYNCS_RECREATED = Code(
    name="position.syncs-recreated",
    title="{mirror}'s offset-syncs topic {topic} was recreated",
    meaning="""\
No record is affected. Offsets of consumer groups are not translated until new
records are copied.""",
    steps="""\
1. Find out who deleted it. Before a failover, see [`failover`](#failover).""",
)

OTHER_CLUSTER = Code(
    name="position.other-cluster",
    title="Wrong cluster at the address of {cluster}: cluster id {found_id}, "
    "expected {expected_id}",
    meaning="Positions are not judged until the right cluster answers.",
    steps="1. As for [`canary.wrong-cluster`](#canarywrong-cluster).",
)

NO_POSITIONS = Code(
    name="position.no-positions",
    title="No position of {mirror} known yet: no commit or offset sync read",
    meaning="Takes at most a minute once it copies.",
    steps="1. Does it run ([`tasks`](#tasks))?",
)

OK = Code(
    name="position.ok",
    title="{mirror}'s positions in {partitions:partition} advance "
    "without gap or reset",
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
