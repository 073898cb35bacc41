"""Texts of the check `retention`."""

from ..finding import Code

__all__ = [
    "ABOUT",
    "BY_SIZE_ONLY",
    "CONFIGS_UNREADABLE",
    "EXPIRING",
    "HIDDEN_TOPICS",
    "NO_DATA",
    "OFF",
    "OK",
    "STALE",
    "TREND_UNKNOWN",
    "UNKNOWN_PARTITIONS",
    "UNMEASURED",
    "UNREADABLE",
]

ABOUT = """\
Time until the source deletes records that are not copied yet: by their
timestamps at least (`retention.ms`), or an estimate (`retention.bytes`).
Whether lag drains in time is extrapolated from the last minute. Unhealthy only
if a topic has lag, and both the time left and its share of the retention are
short (`limits.retention`)."""

OK = Code(
    name="retention.ok",
    title="[If replication stopped now, {topic} would lose records first, in "
    "{seconds:duration}][No record of {topics:topic} expires at the source]",
)

EXPIRING = Code(
    name="retention.expiring",
    title="{topic} will lose uncopied records in {seconds:duration}[ by "
    "{limited_by}, estimated]: lag {records:record}[, drained in "
    "{drain_seconds:duration} at the current rate]",
    meaning="""\
What expires uncopied is lost for good. Lag will not drain in time
(**critical** once half of the retention is used), or less than a day
(**warning**) or six hours (**critical**) is left.""",
    steps="""\
1. [Raise the retention](#raise-retention) at the source now; set it back when
   the lag is gone.
2. Restore the mirror: see [`lag`](#lag), [`tasks`](#tasks),
   [`bottleneck`](#bottleneck).""",
)

TREND_UNKNOWN = Code(
    name="retention.trend-unknown",
    title="{topic} may lose records in {seconds:duration}: lag "
    "{records:record} when mirrorwatch started, trend not known yet",
    meaning="""\
Records with old timestamps wait, perhaps old when written. Known after two
commits of the mirror.""",
    steps="""\
1. Wait two minutes. If time is short, [raise the retention](#raise-retention)
   now.""",
)

UNKNOWN_PARTITIONS = Code(
    name="retention.unknown-partitions",
    title="Expiry of uncopied records unknown on {partitions:partition}: no "
    "leader, or a position beyond the log end offset",
)

UNMEASURED = Code(
    name="retention.unmeasured",
    title="Expiry of uncopied records not known yet for {topics:topic} "
    "limited by size: write rate of {topic} is being measured",
    meaning="mirrorwatch was just started, or the topic just limited.",
    steps="1. Wait a minute.",
)

BY_SIZE_ONLY = Code(
    name="retention.by-size-only",
    title="Expiry of uncopied records unknown for {topics:topic}: {topic} is "
    "limited by retention.bytes alone, no segment deleted yet",
    meaning="Its first records expire, copied or not, once the log is full.",
    steps="""\
1. Compare `retention.bytes` with the size of each partition:
   `kafka-log-dirs.sh --describe`.""",
)

CONFIGS_UNREADABLE = Code(
    name="retention.configs-unreadable",
    title="Expiry of uncopied records unknown for {topics:topic}: configs of "
    "{topic} cannot be read at the source",
    meaning="Losses by retention will not be foreseen.",
    steps="1. Grant mirrorwatch DESCRIBE_CONFIGS on these topics.",
)

OFF = Code(
    name="retention.off",
    title="Retention at the source is not read (limits.configs.enabled is "
    "false)",
)

NO_DATA = Code(
    name="retention.no-data",
    title="Retention at the source has not been read yet",
)

STALE = Code(
    name="retention.stale",
    title="Topics were last listed {seconds:duration} ago",
)

UNREADABLE = Code(name="retention.unreadable", title="{problem}")

HIDDEN_TOPICS = Code(name="retention.hidden-topics", title="{problem}")
