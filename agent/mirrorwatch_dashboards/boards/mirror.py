"""Mirror internals: tasks, its two clients, and the agent that looks."""

from mirrorwatch.domain.bottleneck import metrics as mirror
from mirrorwatch.domain.bottleneck.model import (
    ConsumerMetrics,
    IoMetrics,
    ProducerMetrics,
    TaskMetrics,
)
from mirrorwatch.domain.catalogue import Metric
from mirrorwatch.domain.samples import (
    LAST_TICK,
    SINK_LOST,
    SINK_SPOOLED,
    SINK_UP,
    SOURCE_UP,
    TICK_SECONDS,
)
from mirrorwatch.domain.tasks import metrics as tasks

from .. import limits
from ..panels import (
    Age,
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
from .choices import FLOW

__all__ = ["MIRROR"]


AGENT = (
    Panel(
        title="Agent: how long does a tick take? (s)",
        description=(
            "A tick waits for nothing; one that grows longer says that the"
            " agent's machine is busy."
        ),
        picture=Picture.LINES,
        unit=Unit.SECONDS,
        queries=(
            Query(label="tick", reading=Gauge(metric=TICK_SECONDS, by=())),
        ),
        width=8,
    ),
    Panel(
        title="Agent: when did it last make figures?",
        description="By its own timer. No data: for two minutes it did not.",
        picture=Picture.NUMBER,
        unit=Unit.MOMENT,
        queries=(Query(label="agent", reading=Age(metric=LAST_TICK, by=())),),
        width=8,
    ),
    Panel(
        title="Agent: which of its sources are fresh?",
        description="Sources of facts that answered in time.",
        picture=Picture.STATES,
        unit=Unit.FLAG,
        limits=limits.NONE,
        queries=(Query(reading=Gauge(metric=SOURCE_UP, by=("source",))),),
        width=8,
    ),
    Panel(
        title="Agent: which of its sinks take what it writes?",
        description="Sinks whose last attempt to write succeeded.",
        picture=Picture.STATES,
        unit=Unit.FLAG,
        limits=limits.NONE,
        queries=(Query(reading=Gauge(metric=SINK_UP, by=("sink",))),),
        width=8,
    ),
    Panel(
        title="Agent: what waits to be written? (points)",
        description=(
            "Points that wait in the state file while a sink's server is"
            " away, and go to it later with their own times."
        ),
        picture=Picture.LINES,
        queries=(Query(reading=Gauge(metric=SINK_SPOOLED, by=("sink",))),),
    ),
    Panel(
        title="Agent: what was given up? (points)",
        description=(
            "Points for which there was no room left, or which the server"
            " refused for good, by when."
        ),
        picture=Picture.BARS,
        queries=(Query(reading=Increase(metric=SINK_LOST, by=("sink",))),),
    ),
)


READ = mirror.GAUGES[ConsumerMetrics]
WRITTEN = mirror.GAUGES[ProducerMetrics]
IO = mirror.GAUGES[IoMetrics]


def _lines(
    title: str,
    description: str,
    *queries: Query,
    unit: Unit = Unit.COUNT,
    colours: Limits | None = None,
) -> Panel:
    return Panel(
        title=title,
        description=description,
        picture=Picture.LINES,
        unit=unit,
        limits=colours,
        check="bottleneck",
        queries=queries,
        width=8,
    )


def _of(
    metric: Metric,
    label: str = "",
    over: Function = Function.MAX,
    by: tuple[str, ...] = ("flow",),
) -> Query:
    reading = Gauge(metric=metric, by=by, over=over)
    return Query(label=label, reading=reading)


def _both(group: dict[str, Metric], name: str, unit: str) -> tuple[Query, ...]:
    """Return a figure's average and its maximum."""
    return (
        _of(group[f"{name}_average_{unit}"], "average", Function.MEAN),
        _of(group[f"{name}_max_{unit}"], "max"),
    )


CONSUMER = (
    _lines(
        "Consumer: records read (per second)",
        "From the source, of all tasks.",
        _of(READ["consumed_records_per_second"], over=Function.MEAN),
        unit=Unit.PER_SECOND,
    ),
    _lines(
        "Consumer: data read (bytes/s)",
        "From the source, of all tasks.",
        _of(READ["consumed_bytes_per_second"], over=Function.MEAN),
        unit=Unit.BYTES_PER_SECOND,
    ),
    _lines(
        "Consumer: fetches (per second)",
        "Many small ones cost more than few large ones.",
        _of(READ["fetches_per_second"], over=Function.MEAN),
        unit=Unit.PER_SECOND,
    ),
    _lines(
        "Consumer: data in one fetch (bytes)",
        "Near the mirror's `fetch.max.bytes`, the limit holds it back.",
        *_both(READ, "fetch_size", "bytes"),
        unit=Unit.BYTES,
    ),
    _lines(
        "Consumer: how long does a fetch take? (s)",
        "About half a second when idle: a fetch waits for something to come.",
        *_both(READ, "fetch_latency", "seconds"),
        unit=Unit.SECONDS,
        colours=limits.FETCH,
    ),
    _lines(
        "Consumer: is it throttled by the source? (s)",
        "How long a quota of the source held fetches.",
        *_both(READ, "fetch_throttle", "seconds"),
        unit=Unit.SECONDS,
        colours=limits.THROTTLE,
    ),
    _lines(
        "Consumer: its own largest lag (records)",
        "On one partition. It counts what the consumer has fetched, not what"
        " is at the target.",
        _of(READ["consumer_lag_max_records"]),
    ),
    _lines(
        "Consumer: distance to the start of the log (records)",
        "The least of all partitions. At 0, records expire unread.",
        _of(READ["consumer_lead_min_records"], over=Function.MIN),
    ),
    _lines(
        "How busy is each client? Time on I/O (ratio)",
        "Part of the time that the busiest consumer and the busiest producer"
        " spend on I/O, and wait for it.",
        _of(IO["io_ratio"], "works", by=("flow", "client")),
        _of(IO["io_wait_ratio"], "waits", by=("flow", "client")),
        unit=Unit.RATIO,
    ),
)

PRODUCER = (
    _lines(
        "Producer: records sent (per second)",
        "To the target; beside them those sent again, and those that could"
        " not be written.",
        _of(WRITTEN["sends_per_second"], "sent", Function.MEAN),
        _of(WRITTEN["retries_per_second"], "again"),
        _of(WRITTEN["errors_per_second"], "failed"),
        unit=Unit.PER_SECOND,
    ),
    _lines(
        "Producer: size of a batch (bytes)",
        "For one partition. Near the mirror's `batch.size` on average, larger"
        " batches would carry more.",
        *_both(WRITTEN, "batch_size", "bytes"),
        unit=Unit.BYTES,
    ),
    _lines(
        "Producer: how long does the target take? (s)",
        "From a request to its answer.",
        *_both(WRITTEN, "request_latency", "seconds"),
        unit=Unit.SECONDS,
    ),
    _lines(
        "Producer: how long do batches wait? (s)",
        "In the mirror, until they are sent.",
        *_both(WRITTEN, "record_queue", "seconds"),
        unit=Unit.SECONDS,
        colours=limits.QUEUE,
    ),
    _lines(
        "Producer: is it throttled by the target? (s)",
        "How long a quota of the target held requests.",
        *_both(WRITTEN, "produce_throttle", "seconds"),
        unit=Unit.SECONDS,
        colours=limits.THROTTLE,
    ),
    _lines(
        "Producer: requests under way (requests)",
        "Those that the target has not answered.",
        _of(WRITTEN["requests_in_flight"]),
    ),
    _lines(
        "Producer: room for records that wait (bytes)",
        "The least of all producers. At 0, copying stands still.",
        _of(WRITTEN["buffer_available_bytes"], over=Function.MIN),
        unit=Unit.BYTES,
    ),
    _lines(
        "Producer: size after compression (ratio)",
        "By the size before; 1 where nothing is compressed.",
        _of(WRITTEN["compression_ratio"], over=Function.MEAN),
        unit=Unit.RATIO,
    ),
    _lines(
        "Producer: batches split (per second)",
        "The target found them too large. Any that lasts points to a record"
        " that cannot be written.",
        _of(WRITTEN["batch_splits_per_second"]),
        unit=Unit.PER_SECOND,
    ),
)


OF_TASKS = mirror.GAUGES[TaskMetrics]


def _in_state(state: str) -> Gauge:
    return Gauge(
        metric=tasks.TASKS, across=Function.SUM, where={"state": state}
    )


TASKS = (
    Panel(
        title="How many tasks run?",
        description=(
            "By Kafka Connect's own word, which proves nothing: a task that"
            " copies nothing may be called running."
        ),
        picture=Picture.NUMBER,
        limits=limits.NONE,
        check="tasks",
        queries=(Query(reading=_in_state("running")),),
        width=6,
        height=4,
    ),
    Panel(
        title="How many tasks failed?",
        description="They stay so until somebody starts them again.",
        picture=Picture.NUMBER,
        limits=limits.ANY,
        check="tasks",
        queries=(Query(reading=_in_state("failed")),),
        width=6,
        height=4,
    ),
    Panel(
        title="How many processes answer?",
        description="Processes of the mirror whose own figures are fresh.",
        picture=Picture.NUMBER,
        limits=limits.NONE,
        check="bottleneck",
        queries=(Query(reading=Gauge(metric=mirror.WORKERS)),),
        width=6,
        height=4,
    ),
    Panel(
        title="How many records did it give up?",
        description=(
            "In the time that is shown, by the mirror's own count of records"
            " passed over because of an error."
        ),
        picture=Picture.NUMBER,
        limits=limits.ANY,
        check="bottleneck",
        queries=(
            Query(reading=Increase(metric=mirror.ERRORS["records_skipped"])),
        ),
        width=6,
        height=4,
    ),
    Panel(
        title="In which states are tasks? (tasks)",
        description=(
            "Of each connector of the mirror, in Kafka Connect's words. A"
            " lone dip is a rebalance."
        ),
        picture=Picture.LINES,
        check="tasks",
        queries=(
            Query(
                reading=Gauge(
                    metric=tasks.TASKS, by=("flow", "connector", "state")
                )
            ),
        ),
        width=24,
    ),
)


def _task_lines(
    title: str,
    description: str,
    *names: str,
    check: str,
    colours: Limits | None = None,
) -> Panel:
    """Return average, least or largest of a figure in seconds."""
    functions = {"min": Function.MIN, "average": Function.MEAN}
    return Panel(
        title=title,
        description=description,
        picture=Picture.LINES,
        unit=Unit.SECONDS,
        limits=colours,
        check=check,
        queries=tuple(
            Query(
                label=(word := name.split("_")[-2]),
                reading=Gauge(
                    metric=OF_TASKS[name],
                    over=functions.get(word, Function.MAX),
                ),
            )
            for name in names
        ),
        width=8,
    )


TROUBLE = (
    Panel(
        title="Which errors do tasks count? (records, errors, retries)",
        description=(
            "By when they came: records that could not be copied, records"
            " passed over, errors that a retry mended included, and retries."
        ),
        picture=Picture.BARS,
        check="bottleneck",
        queries=tuple(
            Query(
                label=name.replace("_", " "), reading=Increase(metric=metric)
            )
            for name, metric in mirror.ERRORS.items()
        ),
        width=8,
    ),
    Panel(
        title="Read and not yet written (records)",
        description="Records that tasks hold between both sides.",
        picture=Picture.LINES,
        limits=limits.WAITING,
        check="bottleneck",
        queries=(Query(reading=Gauge(metric=OF_TASKS["active_records"])),),
        width=8,
    ),
    Panel(
        title="Do commits of positions fail? (ratio)",
        description=(
            "Of the worst task. What is not committed is copied again after"
            " a restart. The limit is that of failures."
        ),
        picture=Picture.LINES,
        unit=Unit.RATIO,
        limits=limits.COMMIT_FAILURES,
        check="bottleneck",
        queries=(
            Query(
                label="fail",
                reading=Gauge(metric=OF_TASKS["offset_commit_failure_ratio"]),
            ),
            Query(
                label="succeed",
                reading=Gauge(
                    metric=OF_TASKS["offset_commit_success_ratio"],
                    over=Function.MIN,
                    across=Function.MIN,
                ),
            ),
        ),
        width=8,
    ),
    _task_lines(
        "How long does a commit of positions take? (s)",
        "Of the worst task.",
        "offset_commit_average_seconds",
        "offset_commit_max_seconds",
        check="bottleneck",
        colours=limits.COMMIT,
    ),
    _task_lines(
        "How long does a checkpoint take? (s)",
        "Of consumer groups' positions, by the mirror's own figures.",
        "checkpoint_latency_min_seconds",
        "checkpoint_latency_average_seconds",
        "checkpoint_latency_max_seconds",
        check="checkpoints",
    ),
)


MIRROR = Board(
    name="mirror-internals",
    title="mirrorwatch: mirror internals",
    description=(
        "Tasks, the mirror's consumer and producer, by its own figures; and"
        " how the agent does."
    ),
    variables=(FLOW,),
    panels=(*TASKS, *CONSUMER, *PRODUCER, *TROUBLE, *AGENT),
)
