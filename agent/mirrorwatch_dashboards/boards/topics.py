"""Topic detail: lag, skips, throughput by class."""

from mirrorwatch.domain.bottleneck import metrics as mirror
from mirrorwatch.domain.bottleneck.model import ClassMetrics
from mirrorwatch.domain.lag import metrics as lag
from mirrorwatch.domain.metrics import Metric
from mirrorwatch.domain.position import metrics as position
from mirrorwatch.domain.skips import metrics as skips

from .. import limits
from ..panels import (
    CLASS,
    FLOW,
    TOPIC,
    Board,
    Function,
    Gauge,
    Increase,
    Limits,
    Panel,
    Picture,
    Query,
    Unit,
)

__all__ = ["TOPICS"]


CLASSES = mirror.GAUGES[ClassMetrics]
BY_TOPIC = ("flow", "topic")
BY_CLASS = ("flow", "class")


def _by_topic(
    title: str,
    description: str,
    metric: Metric,
    *,
    unit: Unit = Unit.COUNT,
    over: Function = Function.MAX,
    check: str = "lag",
    colours: Limits | None = None,
) -> Panel:
    return Panel(
        title=title,
        description=description,
        picture=Picture.LINES,
        unit=unit,
        limits=colours,
        check=check,
        queries=(Query(reading=Gauge(metric=metric, by=BY_TOPIC, over=over)),),
    )


def _throughput(title: str, description: str, name: str, unit: Unit) -> Panel:
    reading = Gauge(metric=CLASSES[name], by=BY_CLASS, over=Function.MEAN)
    return Panel(
        title=title,
        description=description,
        picture=Picture.LINES,
        unit=unit,
        check="bottleneck",
        queries=(Query(reading=reading),),
    )


def _age(title: str, description: str, name: str) -> Panel:
    return Panel(
        title=title,
        description=description,
        picture=Picture.LINES,
        unit=Unit.SECONDS,
        check="bottleneck",
        queries=tuple(
            Query(
                label=label,
                reading=Gauge(
                    metric=CLASSES[f"{name}_{label}_seconds"],
                    by=BY_CLASS,
                    over=over,
                ),
            )
            for label, over in (
                ("min", Function.MIN),
                ("average", Function.MEAN),
                ("max", Function.MAX),
            )
        ),
    )


TOPICS = Board(
    name="topic-detail",
    title="mirrorwatch: topic detail",
    description="Lag, skips and duplicates of topics; throughput of classes.",
    variables=(FLOW, TOPIC, CLASS),
    first=(
        _by_topic(
            "Lag (offsets)",
            "Source offsets that are not yet replicated. Aborted records and"
            " those that compaction removed count until the position passes"
            " them.",
            lag.LAG_RECORDS,
        ),
        _by_topic(
            "Lag (s)",
            "Age of the oldest record that is not yet replicated; 0 without"
            " lag. The check `lag` has no limit in seconds: it judges whether"
            " the position advances.",
            lag.LAG_SECONDS,
            unit=Unit.SECONDS,
        ),
        _by_topic(
            "Time to loss (s)",
            "Until the first record that is not replicated, or the next one"
            " produced, expires at the source. No data where nothing expires.",
            lag.TIME_TO_LOSS,
            unit=Unit.SECONDS,
            over=Function.MIN,
            check="retention",
            colours=limits.RETENTION,
        ),
        Panel(
            title="Skipped and duplicated records (records, offsets)",
            description=(
                "At the time when it was known. Skipped: proved never written."
                " Filtered: the same, where a transform drops records on"
                " purpose."
                " Recovered: replicated after all. Repeated: written more than"
                " once. Unverifiable: can no longer be verified."
            ),
            picture=Picture.BARS,
            check="skips",
            queries=tuple(
                Query(
                    label=label, reading=Increase(metric=metric, by=BY_TOPIC)
                )
                for label, metric in (
                    ("skipped", skips.SKIPPED),
                    ("filtered", skips.FILTERED),
                    ("recovered", skips.RECOVERED),
                    ("repeated", skips.REPEATED),
                    ("unverifiable", skips.UNVERIFIABLE),
                )
            ),
        ),
        Panel(
            title="Position resets (resets)",
            description=(
                "Positions that expired, rewound or were lost, and topics that"
                " were deleted and recreated."
            ),
            picture=Picture.BARS,
            check="position",
            queries=(
                Query(reading=Increase(metric=position.RESETS, by=BY_TOPIC)),
            ),
        ),
        Panel(
            title="Read to compare both sides (bytes)",
            description=(
                "Keys and values of ranges in which offset syncs prove"
                " nothing. Ranges beyond limits.skips.read_rate are"
                " unverifiable."
            ),
            picture=Picture.BARS,
            check="skips",
            queries=(
                Query(reading=Increase(metric=skips.READ, by=("side",))),
            ),
        ),
        _throughput(
            "Throughput (records per second)",
            "Records replicated, of each class of topics, by the mirror's JMX"
            " metrics.",
            "records_per_second",
            Unit.PER_SECOND,
        ),
        _throughput(
            "Throughput (bytes/s)",
            "Values replicated, without keys and headers, of each class of"
            " topics, by the mirror's JMX metrics.",
            "bytes_per_second",
            Unit.BYTES_PER_SECOND,
        ),
        _age(
            "Age of records when read (s)",
            "By the mirror's JMX metrics, from the records' timestamps:"
            " delays of producers included.",
            "record_age",
        ),
        _age(
            "Age of records when written (s)",
            "The mirror's own replication latency, from the records'"
            " timestamps. The canary's latency needs no clock but one.",
            "replication_latency",
        ),
    ),
)
