"""Topic detail: lag, skips, throughput by class."""

from mirrorwatch.domain.bottleneck import metrics as mirror
from mirrorwatch.domain.bottleneck.model import ClassMetrics
from mirrorwatch.domain.catalogue import Metric
from mirrorwatch.domain.lag import metrics as lag
from mirrorwatch.domain.position import metrics as position
from mirrorwatch.domain.skips import metrics as skips

from .. import limits
from ..panels import (
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
from .choices import CLASS, FLOW, TOPIC

__all__ = ["TOPICS"]


CLASSES = mirror.GAUGES[ClassMetrics]
BY_TOPIC = ("flow", "topic")
BY_CLASS = ("flow", "class")


def _went(
    title: str,
    description: str,
    metric: Metric,
    *,
    unit: Unit = Unit.COUNT,
    over: Function = Function.MAX,
    check: str = "lag",
    colours: Limits | None = None,
) -> Panel:
    """Return how a gauge of each topic went."""
    return Panel(
        title=title,
        description=description,
        picture=Picture.LINES,
        unit=unit,
        limits=colours,
        check=check,
        queries=(Query(reading=Gauge(metric=metric, by=BY_TOPIC, over=over)),),
    )


def _copied(title: str, description: str, name: str, unit: Unit) -> Panel:
    """Return how much of each class is copied."""
    reading = Gauge(metric=CLASSES[name], by=BY_CLASS, over=Function.MEAN)
    return Panel(
        title=title,
        description=description,
        picture=Picture.LINES,
        unit=unit,
        check="bottleneck",
        queries=(Query(reading=reading),),
    )


def _aged(title: str, description: str, name: str) -> Panel:
    """Return three figures of an age, of each class."""
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
    description="Lag, skips and repeats of topics; throughput of classes.",
    variables=(FLOW, TOPIC, CLASS),
    panels=(
        _went(
            "Lag (offsets)",
            "Source offsets that are not yet copied. Aborted records and"
            " those that compaction removed count until they are passed.",
            lag.LAG_RECORDS,
        ),
        _went(
            "Lag (s)",
            "Age of the oldest record that is not yet copied; 0 when none"
            " waits. The check `lag` has no limit in seconds: it asks whether"
            " the mirror moves.",
            lag.LAG_SECONDS,
            unit=Unit.SECONDS,
        ),
        _went(
            "How long until records are lost? Time to loss (s)",
            "Until the first record that is not copied, or the next one"
            " written, expires at the source. No data where nothing expires.",
            lag.TIME_TO_LOSS,
            unit=Unit.SECONDS,
            over=Function.MIN,
            check="retention",
            colours=limits.RETENTION,
        ),
        Panel(
            title="What went wrong with single records? (records, offsets)",
            description=(
                "By when it was known. Skipped: read past and never written,"
                " proved. Recovered: copied after all. Repeated: written more"
                " than once. Unverifiable: nobody can tell any more."
            ),
            picture=Picture.BARS,
            check="skips",
            queries=tuple(
                Query(
                    label=label, reading=Increase(metric=metric, by=BY_TOPIC)
                )
                for label, metric in (
                    ("skipped", skips.SKIPPED),
                    ("recovered", skips.RECOVERED),
                    ("repeated", skips.REPEATED),
                    ("unverifiable", skips.UNVERIFIABLE),
                )
            ),
        ),
        Panel(
            title="How often was the place lost?",
            description=(
                "Positions that expired, went back or were lost, and topics"
                " that were made again."
            ),
            picture=Picture.BARS,
            check="position",
            queries=(
                Query(reading=Increase(metric=position.RESETS, by=BY_TOPIC)),
            ),
        ),
        Panel(
            title="Suspected to be skipped (records)",
            description=(
                "Records that wait while their task copies newer ones"
                " elsewhere, of all topics of a flow. A suspicion, taken back"
                " when they are copied."
            ),
            picture=Picture.LINES,
            limits=limits.SOME,
            check="skips",
            queries=(Query(reading=Gauge(metric=skips.SUSPECTED)),),
        ),
        _copied(
            "Throughput (records per second)",
            "Records copied, of each class of topics, by the mirror's own"
            " figures.",
            "records_per_second",
            Unit.PER_SECOND,
        ),
        _copied(
            "Throughput (bytes/s)",
            "Values copied, without keys and headers, of each class of"
            " topics, by the mirror's own figures.",
            "bytes_per_second",
            Unit.BYTES_PER_SECOND,
        ),
        _aged(
            "How old are records when they are read? (s)",
            "By the mirror's own figures, from the records' timestamps: what"
            " producers held back is in it.",
            "record_age",
        ),
        _aged(
            "How old are records when they are written? (s)",
            "The mirror's own replication latency, from the records'"
            " timestamps. The canary's latency needs no clock but one.",
            "replication_latency",
        ),
    ),
)
