"""Texts of the check `latency`."""

from .finding import Code

__all__ = ["ABOUT", "HIGH", "NO_DATA", "OFF", "OK"]

ABOUT = """\
The time from producing a probe at the source to consuming it at the target:
99th percentile (p99) of five minutes, judged against its baseline, the median
of the last 24 hours. Measured by one process with one clock. It includes the
produce request to the source; `mirrorwatch_canary_replication_seconds` is the
lower bound without it."""

OK = Code(
    name="latency.ok",
    title="p99 latency is {p99_seconds:.3g} s over the last 5 min"
    "[, baseline {usual_seconds:.3g} s]",
    meaning="Latency is within its limits.",
)

HIGH = Code(
    name="latency.high",
    title="p99 latency is {p99_seconds:.3g} s over the last 5 min"
    "[, baseline {usual_seconds:.3g} s]",
    meaning="""\
Records arrive later than usual. High latency alone loses nothing. Usual
causes: high load at this time of the day, a slow or full link, a lost task, a
slow broker disk, quotas, batching (`linger.ms`).""",
    steps="""\
1. One partition or all? Compare the partitions on the page.
2. Read `bottleneck` for quotas, full batches and the link, `tasks` for failed
   tasks.
3. If the produce latency is as high, the source is slow or far away, and the
   mirror is not the cause.
4. If `lag` grows too, add tasks (`tasks.max`) or bandwidth.""",
)

NO_DATA = Code(
    name="latency.no-data",
    title="No probe has arrived for {seconds:duration}",
    meaning="Latency is unknown: no probe was consumed at the target.",
    steps="1. See the findings of `canary`.",
)

OFF = Code(
    name="latency.off",
    title="Canary is disabled (canary.enabled is false)",
    meaning="Latency is measured by the canary only.",
)
