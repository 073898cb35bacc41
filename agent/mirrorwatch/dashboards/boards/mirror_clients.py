"""Panels of the mirror's consumer and its producer."""

from ...domain.catalogue import Metric
from ...domain.figures import mirror
from ...domain.mirror_metrics import (
    ConsumerMetrics,
    IoMetrics,
    ProducerMetrics,
)
from .. import limits
from ..panels import Limits, Panel, Picture, Query, Unit
from ..readings import Function, Gauge

__all__ = ["CONSUMER", "PRODUCER"]

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
