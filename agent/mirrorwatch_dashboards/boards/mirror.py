"""Mirror internals: tasks, consumer and producer, and the agent itself."""

from mirrorwatch.domain.bottleneck import metrics as mirror
from mirrorwatch.domain.bottleneck.model import (
    ConsumerMetrics,
    IoMetrics,
    ProducerMetrics,
    TaskMetrics,
)
from mirrorwatch.domain.metrics import Metric
from mirrorwatch.domain.samples import (
    CLOCK_STEPS,
    INTERNAL_ERRORS,
    LAST_TICK,
    SINK_LOST,
    SINK_SPOOLED,
    SINK_UP,
    SOURCE_UP,
    STATE_UP,
    TICK_SECONDS,
)
from mirrorwatch.domain.tasks import metrics as tasks

from .. import limits
from ..panels import (
    FLOW,
    Age,
    Board,
    Function,
    Gauge,
    Increase,
    Limits,
    Panel,
    PanelRow,
    Picture,
    Query,
    Unit,
)

__all__ = ["MIRROR"]


AGENT = (
    Panel(
        title="Agent: tick duration (s)",
        description=(
            "A tick waits for nothing; rising durations mean that the agent's"
            " machine is busy."
        ),
        picture=Picture.LINES,
        unit=Unit.SECONDS,
        queries=(
            Query(label="tick", reading=Gauge(metric=TICK_SECONDS, by=())),
        ),
        width=24,
    ),
    Panel(
        title="Agent: last tick",
        description="By its own clock. No data: none for two minutes.",
        picture=Picture.NUMBER,
        unit=Unit.MOMENT,
        queries=(Query(label="agent", reading=Age(metric=LAST_TICK, by=())),),
        width=6,
    ),
    Panel(
        title="Agent: sources up",
        description="Sources of facts that answered in time.",
        picture=Picture.STATES,
        unit=Unit.FLAG,
        limits=limits.NONE,
        queries=(
            Query(reading=Gauge(metric=SOURCE_UP, by=("flow", "source"))),
        ),
        width=6,
    ),
    Panel(
        title="Agent: sinks up",
        description="Sinks whose last attempt to write succeeded.",
        picture=Picture.STATES,
        unit=Unit.FLAG,
        limits=limits.NONE,
        queries=(Query(reading=Gauge(metric=SINK_UP, by=("sink",))),),
        width=6,
    ),
    Panel(
        title="Agent: state file",
        description=(
            "Whether the agent's state file is used and keeps what is written;"
            " if not, /healthz says why."
        ),
        picture=Picture.STATES,
        unit=Unit.FLAG,
        limits=limits.NONE,
        queries=(
            Query(label="state file", reading=Gauge(metric=STATE_UP, by=())),
        ),
        width=6,
    ),
    Panel(
        title="Agent: spooled points (points)",
        description=(
            "Points that wait in the state file while a sink's server is"
            " down, and are written later with their own times."
        ),
        picture=Picture.LINES,
        queries=(Query(reading=Gauge(metric=SINK_SPOOLED, by=("sink",))),),
    ),
    Panel(
        title="Agent: lost points (points)",
        description=(
            "Points that exceeded the spool, or that the server refused for"
            " good."
        ),
        picture=Picture.BARS,
        queries=(Query(reading=Increase(metric=SINK_LOST, by=("sink",))),),
    ),
    Panel(
        title="Agent: wall clock steps (steps)",
        description=(
            "The machine's clock was set forward or back. Intervals and"
            " verdicts do not follow; times of points do."
        ),
        picture=Picture.BARS,
        queries=(
            Query(label="steps", reading=Increase(metric=CLOCK_STEPS, by=())),
        ),
    ),
    Panel(
        title="Agent: internal errors (errors)",
        description=(
            "Crashes of a part of mirrorwatch, whose checks are unknown then,"
            " and undecodable rows in its state file."
        ),
        picture=Picture.BARS,
        queries=(
            Query(reading=Increase(metric=INTERNAL_ERRORS, by=("part",))),
        ),
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
        "Consumer: fetch size (bytes)",
        "Near the mirror's `fetch.max.bytes`, that limit is the bottleneck.",
        *_both(READ, "fetch_size", "bytes"),
        unit=Unit.BYTES,
    ),
    _lines(
        "Consumer: fetch latency (s)",
        "About half a second when idle: a fetch waits for new records.",
        *_both(READ, "fetch_latency", "seconds"),
        unit=Unit.SECONDS,
        colours=limits.FETCH,
    ),
    _lines(
        "Consumer: fetch throttle time (s)",
        "How long a quota of the source delayed fetches.",
        *_both(READ, "fetch_throttle", "seconds"),
        unit=Unit.SECONDS,
        colours=limits.THROTTLE,
    ),
    _lines(
        "Consumer: max lag by its own metric (records)",
        "Of one partition. It counts what the consumer has fetched, not what"
        " is at the target.",
        _of(READ["consumer_lag_max_records"]),
    ),
    _lines(
        "Consumer: min lead over the log start (records)",
        "Of all partitions. At 0, records expire unread.",
        _of(READ["consumer_lead_min_records"], over=Function.MIN),
    ),
    _lines(
        "Clients: I/O ratio and I/O wait ratio (ratio)",
        "Share of the time that the busiest consumer and the busiest producer"
        " spend on I/O, and wait for it.",
        _of(IO["io_ratio"], "I/O", by=("flow", "client")),
        _of(IO["io_wait_ratio"], "I/O wait", by=("flow", "client")),
        unit=Unit.RATIO,
    ),
)

PRODUCER = (
    _lines(
        "Producer: records sent (per second)",
        "To the target; retries, and records that could not be written.",
        _of(WRITTEN["sends_per_second"], "sent", Function.MEAN),
        _of(WRITTEN["retries_per_second"], "retried"),
        _of(WRITTEN["errors_per_second"], "failed"),
        unit=Unit.PER_SECOND,
    ),
    _lines(
        "Producer: batch size (bytes)",
        "Of one partition. If the average is near the mirror's `batch.size`,"
        " larger batches would increase throughput.",
        *_both(WRITTEN, "batch_size", "bytes"),
        unit=Unit.BYTES,
    ),
    _lines(
        "Producer: request latency (s)",
        "From a request to its answer.",
        *_both(WRITTEN, "request_latency", "seconds"),
        unit=Unit.SECONDS,
    ),
    _lines(
        "Producer: record queue time (s)",
        "In the mirror, until batches are sent.",
        *_both(WRITTEN, "record_queue", "seconds"),
        unit=Unit.SECONDS,
        colours=limits.QUEUE,
    ),
    _lines(
        "Producer: produce throttle time (s)",
        "How long a quota of the target delayed requests.",
        *_both(WRITTEN, "produce_throttle", "seconds"),
        unit=Unit.SECONDS,
        colours=limits.THROTTLE,
    ),
    _lines(
        "Producer: requests in flight (requests)",
        "Those that the target has not answered.",
        _of(WRITTEN["requests_in_flight"]),
    ),
    _lines(
        "Producer: available buffer (bytes)",
        "The least of all producers. At 0, replication stalls.",
        _of(WRITTEN["buffer_available_bytes"], over=Function.MIN),
        unit=Unit.BYTES,
    ),
    _lines(
        "Producer: compression ratio (ratio)",
        "Size after by size before; 1 without compression.",
        _of(WRITTEN["compression_ratio"], over=Function.MEAN),
        unit=Unit.RATIO,
    ),
    _lines(
        "Producer: batches split (per second)",
        "The target refused them as too large. A lasting rate points to a"
        " record that cannot be written.",
        _of(WRITTEN["batch_splits_per_second"]),
        unit=Unit.PER_SECOND,
    ),
)


OF_TASKS = mirror.GAUGES[TaskMetrics]


def _in_state(state: str) -> Gauge:
    return Gauge(
        metric=tasks.TASKS, across=Function.SUM, where={"state": state}
    )


NUMBERS = (
    Panel(
        title="Running tasks",
        description=(
            "As Kafka Connect reports it, which proves nothing: a task that"
            " replicates nothing may be reported as running."
        ),
        picture=Picture.NUMBER,
        limits=limits.NONE,
        check="tasks",
        queries=(Query(reading=_in_state("running")),),
        width=6,
        height=4,
    ),
    Panel(
        title="Failed tasks",
        description="They stay failed until they are restarted.",
        picture=Picture.NUMBER,
        limits=limits.ANY,
        check="tasks",
        queries=(Query(reading=_in_state("failed")),),
        width=6,
        height=4,
    ),
    Panel(
        title="Workers with JMX metrics",
        description="Processes of the mirror whose JMX metrics are fresh.",
        picture=Picture.NUMBER,
        limits=limits.NONE,
        check="bottleneck",
        queries=(Query(reading=Gauge(metric=mirror.WORKERS)),),
        width=6,
        height=4,
    ),
    Panel(
        title="Records skipped on errors",
        description=(
            "In the selected time range, by the mirror's own count of records"
            " skipped because of an error."
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
)

TASKS = (
    Panel(
        title="Task states (tasks)",
        description=(
            "Of each connector of the mirror, as Kafka Connect reports them. A"
            " single dip is a rebalance."
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
    """Return average, least or largest of a metric in seconds."""
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
        width=12,
    )


TROUBLE = (
    Panel(
        title="Task errors (records, errors, retries)",
        description=(
            "Failed attempts, records left out, transforms and conversions"
            " that failed for good, and retries."
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
        title="Records read and not yet written (records)",
        description="Records in flight in the tasks.",
        picture=Picture.LINES,
        limits=limits.WAITING,
        check="bottleneck",
        queries=(Query(reading=Gauge(metric=OF_TASKS["active_records"])),),
        width=8,
    ),
    Panel(
        title="Offset commits by outcome (ratio)",
        description=(
            "Of the worst task. What is not committed is replicated again"
            " after a restart. The limit is that of failures."
        ),
        picture=Picture.LINES,
        unit=Unit.RATIO,
        limits=limits.COMMIT_FAILURES,
        check="bottleneck",
        queries=(
            Query(
                label="failed",
                reading=Gauge(metric=OF_TASKS["offset_commit_failure_ratio"]),
            ),
            Query(
                label="succeeded",
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
        "Offset commit time (s)",
        "Of the worst task.",
        "offset_commit_average_seconds",
        "offset_commit_max_seconds",
        check="bottleneck",
        colours=limits.COMMIT,
    ),
    _task_lines(
        "Checkpoint latency (s)",
        "Of consumer groups' offsets, by the mirror's JMX metrics.",
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
        "Tasks, the mirror's consumer and producer, by its JMX metrics; and"
        " the agent itself."
    ),
    variables=(FLOW,),
    first=NUMBERS,
    rows=(
        PanelRow(title="Tasks", panels=(*TASKS, *TROUBLE)),
        PanelRow(title="Consumer", panels=CONSUMER),
        PanelRow(title="Producer", panels=PRODUCER),
        PanelRow(title="Agent", panels=AGENT),
    ),
)
