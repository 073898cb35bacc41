"""Mirror internals: tasks, consumer and producer, and the agent itself."""

from functools import partial

from mirrorwatch.domain.bottleneck import metrics as mirror
from mirrorwatch.domain.bottleneck.model import (
    ConsumerMetrics,
    IoMetrics,
    ProducerMetrics,
    TaskMetrics,
)
from mirrorwatch.domain.canary import metrics as canary
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
    Board,
    Function,
    PanelRow,
    Query,
    bars,
    lines,
    number,
    states,
)

__all__ = ["MIRROR"]


READ = mirror.GAUGES[ConsumerMetrics]
WRITTEN = mirror.GAUGES[ProducerMetrics]
IO = mirror.GAUGES[IoMetrics]
OF_TASKS = mirror.GAUGES[TaskMetrics]
CLIENT = ("flow", "client")

OTHER_COUNTERS = (
    "sent",
    "acked",
    "indeterminate",
    "duplicates",
    "reordered",
    "negative",
)
"""Counters of the canary that are no outcome of a probe."""

_quarter = partial(number, width=6)
_third = partial(lines, width=8)
_up = partial(states, limits=limits.NONE, width=6)


def _both(group: dict[str, Metric], name: str, unit: str) -> tuple[Query, ...]:
    """Return the queries of an average and of its maximum."""
    return (
        Query(group[f"{name}_average_{unit}"], "average"),
        Query(group[f"{name}_max_{unit}"], "max"),
    )


NUMBERS = (
    _quarter(
        "Running tasks",
        Query(tasks.TASKS, across=Function.SUM, where={"state": "running"}),
        note="As Kafka Connect reports it, which proves nothing: a task that"
        " replicates nothing may be reported as running.",
        limits=limits.NONE,
    ),
    _quarter(
        "Failed tasks",
        Query(tasks.TASKS, across=Function.SUM, where={"state": "failed"}),
        note="They stay failed until they are restarted.",
        limits=limits.ANY,
    ),
    _quarter(
        "Workers with JMX metrics", Query(mirror.WORKERS), limits=limits.NONE
    ),
    _quarter(
        "Records skipped on errors",
        Query(mirror.ERRORS["records_skipped"]),
        limits=limits.ANY,
    ),
)

TASKS = (
    lines(
        "Task states",
        Query(tasks.TASKS, by=("flow", "connector", "state")),
        note="A single dip is a rebalance.",
        width=24,
    ),
    bars(
        "Task errors",
        *(
            Query(metric, name.replace("_", " "))
            for name, metric in mirror.ERRORS.items()
        ),
        width=8,
    ),
    _third(
        "Records read and not yet written",
        Query(OF_TASKS["active_records"]),
        limits=limits.WAITING,
    ),
    _third(
        "Offset commits by outcome",
        Query(OF_TASKS["offset_commit_failure_ratio"], "failed"),
        Query(
            OF_TASKS["offset_commit_success_ratio"],
            "succeeded",
            over=Function.MIN,
            across=Function.MIN,
        ),
        note="What is not committed is replicated again after a restart. The"
        " limit is that of failures.",
        limits=limits.COMMIT_FAILURES,
    ),
    lines(
        "Offset commit time",
        *_both(OF_TASKS, "offset_commit", "seconds"),
        limits=limits.COMMIT,
    ),
    lines(
        "Checkpoint latency",
        Query(OF_TASKS["checkpoint_latency_min_seconds"], "min"),
        *_both(OF_TASKS, "checkpoint_latency", "seconds"),
        check="checkpoints",
    ),
)

CONSUMER = (
    _third(
        "Consumer: records read", Query(READ["consumed_records_per_second"])
    ),
    _third("Consumer: data read", Query(READ["consumed_bytes_per_second"])),
    _third(
        "Consumer: fetches",
        Query(READ["fetches_per_second"]),
        note="Many small ones cost more than few large ones.",
    ),
    _third(
        "Consumer: fetch size",
        *_both(READ, "fetch_size", "bytes"),
        note="Near the mirror's `fetch.max.bytes`, that limit is the"
        " bottleneck.",
    ),
    _third(
        "Consumer: fetch latency",
        *_both(READ, "fetch_latency", "seconds"),
        limits=limits.FETCH,
    ),
    _third(
        "Consumer: fetch throttle time",
        *_both(READ, "fetch_throttle", "seconds"),
        limits=limits.THROTTLE,
    ),
    _third(
        "Consumer: max lag by its own metric",
        Query(READ["consumer_lag_max_records"]),
        note="It counts what the consumer has fetched, not what is at the"
        " target.",
    ),
    _third(
        "Consumer: min lead over the log start",
        Query(READ["consumer_lead_min_records"]),
    ),
    _third(
        "Clients: I/O ratio and I/O wait ratio",
        Query(IO["io_ratio"], "I/O", CLIENT),
        Query(IO["io_wait_ratio"], "I/O wait", CLIENT),
    ),
)

PRODUCER = (
    _third(
        "Producer: records sent",
        Query(WRITTEN["sends_per_second"], "sent"),
        Query(WRITTEN["retries_per_second"], "retried", over=Function.MAX),
        Query(WRITTEN["errors_per_second"], "failed", over=Function.MAX),
    ),
    _third(
        "Producer: batch size",
        *_both(WRITTEN, "batch_size", "bytes"),
        note="If the average is near the mirror's `batch.size`, larger batches"
        " would increase throughput.",
    ),
    _third(
        "Producer: request latency",
        *_both(WRITTEN, "request_latency", "seconds"),
    ),
    _third(
        "Producer: record queue time",
        *_both(WRITTEN, "record_queue", "seconds"),
        limits=limits.QUEUE,
    ),
    _third(
        "Producer: produce throttle time",
        *_both(WRITTEN, "produce_throttle", "seconds"),
        limits=limits.THROTTLE,
    ),
    _third(
        "Producer: requests in flight", Query(WRITTEN["requests_in_flight"])
    ),
    _third(
        "Producer: available buffer",
        Query(WRITTEN["buffer_available_bytes"], over=Function.MIN),
        note="At 0, replication stalls.",
    ),
    _third(
        "Producer: compression ratio",
        Query(WRITTEN["compression_ratio"], over=Function.MEAN),
        note="1 without compression.",
    ),
    _third(
        "Producer: batches split",
        Query(WRITTEN["batch_splits_per_second"], over=Function.MAX),
        note="A lasting rate points to a record that cannot be written.",
    ),
)

AGENT = (
    lines(
        "Agent: tick duration",
        Query(TICK_SECONDS, "tick", by=()),
        note="A tick waits for nothing; rising durations mean that the agent's"
        " machine is busy.",
    ),
    bars(
        "Agent: other counters of the canary",
        *(Query(canary.COUNTERS[name], name) for name in OTHER_COUNTERS),
    ),
    number(
        "Agent: last tick",
        Query(LAST_TICK, "agent", by=()),
        note="No data: none for two minutes.",
        width=6,
        height=7,
    ),
    _up("Agent: sources up", Query(SOURCE_UP, by=("flow", "source"))),
    _up("Agent: sinks up", Query(SINK_UP, by=("sink",))),
    _up(
        "Agent: state file",
        Query(STATE_UP, "state file", by=()),
        note="If not, /healthz says why.",
    ),
    lines(
        "Agent: spooled points",
        Query(SINK_SPOOLED, by=("sink",)),
        note="They wait in the state file while the sink's server is down, and"
        " are written later with their own times.",
    ),
    bars("Agent: lost points", Query(SINK_LOST, by=("sink",))),
    bars(
        "Agent: wall clock steps",
        Query(CLOCK_STEPS, "steps", by=()),
        note="Verdicts do not follow them either; times of points do.",
    ),
    bars(
        "Agent: internal errors",
        Query(INTERNAL_ERRORS, by=("part",)),
        note="Checks of a part that crashed are unknown.",
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
        PanelRow(title="Tasks", panels=TASKS),
        PanelRow(title="Consumer", panels=CONSUMER),
        PanelRow(title="Producer", panels=PRODUCER),
        PanelRow(title="Agent", panels=AGENT),
    ),
)
