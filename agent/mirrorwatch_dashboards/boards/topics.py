"""Topic detail: lag, skips, throughput by class."""

from mirrorwatch.domain.bottleneck import metrics as mirror
from mirrorwatch.domain.bottleneck.model import ClassMetrics
from mirrorwatch.domain.lag import metrics as lag
from mirrorwatch.domain.position import metrics as position
from mirrorwatch.domain.skips import metrics as skips

from .. import limits
from ..panels import (
    CLASS,
    FLOW,
    TOPIC,
    Board,
    Function,
    Panel,
    Query,
    bars,
    lines,
)

__all__ = ["TOPICS"]


CLASSES = mirror.GAUGES[ClassMetrics]
BY_TOPIC = ("flow", "topic")
BY_CLASS = ("flow", "class")


def _age(title: str, name: str, note: str) -> Panel:
    queries = (
        Query(CLASSES[f"{name}_{bound}_seconds"], bound, BY_CLASS)
        for bound in ("min", "average", "max")
    )
    return lines(title, *queries, note=note)


TOPICS = Board(
    name="topic-detail",
    title="mirrorwatch: topic detail",
    description="Lag, skips and duplicates of topics; throughput of classes.",
    variables=(FLOW, TOPIC, CLASS),
    first=(
        lines(
            "Lag",
            Query(lag.LAG_RECORDS, by=BY_TOPIC),
            note="Aborted records and those that compaction removed count"
            " until the position passes them.",
        ),
        lines(
            "Age of lag",
            Query(lag.LAG_SECONDS, by=BY_TOPIC),
            note="The check `lag` has no limit in seconds: it judges whether"
            " the position advances.",
        ),
        lines(
            "Time to loss",
            Query(lag.TIME_TO_LOSS, by=BY_TOPIC, over=Function.MIN),
            check="retention",
            limits=limits.RETENTION,
        ),
        bars(
            "Skipped and duplicated records",
            Query(skips.SKIPPED, "skipped", BY_TOPIC),
            Query(skips.FILTERED, "filtered", BY_TOPIC),
            Query(skips.RECOVERED, "recovered", BY_TOPIC),
            Query(skips.REPEATED, "repeated", BY_TOPIC),
            Query(skips.UNVERIFIABLE, "unverifiable", BY_TOPIC),
            note="At the time when it was known.",
        ),
        bars("Position resets", Query(position.RESETS, by=BY_TOPIC)),
        bars(
            "Read to compare both sides",
            Query(skips.READ, by=("side",)),
            note="Of ranges in which offset syncs prove nothing. Those beyond"
            " limits.skips.read_rate are unverifiable.",
        ),
        lines(
            "Throughput in records",
            Query(CLASSES["records_per_second"], by=BY_CLASS),
            note="Of each class of topics, by the mirror's JMX metrics.",
        ),
        lines(
            "Throughput in bytes",
            Query(CLASSES["bytes_per_second"], by=BY_CLASS),
            note="Of each class of topics, by the mirror's JMX metrics.",
        ),
        _age(
            "Age of records when read",
            "record_age",
            "By the mirror's JMX metrics, from the records' timestamps: delays"
            " of producers included.",
        ),
        _age(
            "Age of records when written",
            "replication_latency",
            "By the mirror's JMX metrics, from the records' timestamps. The"
            " canary's latency needs no clock but one.",
        ),
    ),
)
