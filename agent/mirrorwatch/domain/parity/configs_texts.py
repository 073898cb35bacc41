"""Texts of the check `configs`."""

from ..finding import Code

__all__ = [
    "ABOUT",
    "DIFFER",
    "HIDDEN_TOPICS",
    "NO_DATA",
    "OFF",
    "OK",
    "STALE",
    "UNREADABLE",
]

ABOUT = """\
Topic configs that decide which records arrive and how long they stay:
`max.message.bytes`, `retention.ms`, `retention.bytes`, `cleanup.policy`. A
difference counts once it has outlasted the mirror's own sync (10 min by
default). The page only shows others."""

OK = Code(
    name="configs.ok",
    title="{topics:topic} compared, with the same configs at the target, "
    "{pending_changes} pending",
)

DIFFER = Code(
    name="configs.differ",
    title="{property} of {topic} is {source_value} at the source but "
    "{target_value} at the target[ ({setting})]"
    "[; differs on {more_topics:more topic}]",
    meaning="""\
`max.message.bytes` smaller at the target: a larger record fails the mirror's
task, or hangs it while it reports `RUNNING`. Others: records stay longer on
one cluster.""",
    steps="""\
1. Fix a smaller `max.message.bytes` first, on the target topic.
2. Broker defaults: MirrorMaker does not sync them. Set the property on the
   topic, or equally on all brokers.
3. The mirror does not sync configs (`sync.topic.configs.enabled=false`): set
   it at the target manually.
4. Else: grant the mirror ALTER_CONFIGS on the target topic; its log has the
   denied request.""",
)

OFF = Code(
    name="configs.off",
    title="Config comparison is disabled (limits.configs.enabled is false)",
)

NO_DATA = Code(
    name="configs.no-data", title="Topic configs have not been read yet"
)

STALE = Code(
    name="configs.stale",
    title="Topic configs were last read {seconds:duration} ago",
)

UNREADABLE = Code(name="configs.unreadable", title="{problem}")

HIDDEN_TOPICS = Code(name="configs.hidden-topics", title="{problem}")
