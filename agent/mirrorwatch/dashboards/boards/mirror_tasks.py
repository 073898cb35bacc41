"""Panels of the mirror's tasks and of what they could not do."""

from ...domain.figures import mirror, tasks
from ...domain.mirror_metrics import TaskMetrics
from .. import limits
from ..panels import Limits, Panel, Picture, Query, Unit
from ..readings import Function, Gauge, Increase

__all__ = ["TASKS", "TROUBLE"]

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


def _lines(
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
    _lines(
        "How long does a commit of positions take? (s)",
        "Of the worst task.",
        "offset_commit_average_seconds",
        "offset_commit_max_seconds",
        check="bottleneck",
        colours=limits.COMMIT,
    ),
    _lines(
        "How long does a checkpoint take? (s)",
        "Of consumer groups' positions, by the mirror's own figures.",
        "checkpoint_latency_min_seconds",
        "checkpoint_latency_average_seconds",
        "checkpoint_latency_max_seconds",
        check="checkpoints",
    ),
)
