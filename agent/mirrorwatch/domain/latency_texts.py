"""Texts of the check `latency`."""

from .finding import Code

__all__ = ["ABOUT", "HIGH", "NO_DATA", "OFF", "OK"]

ABOUT = """\
Time from producing a probe at the source to consuming it at the target, by one
clock: 99th percentile (p99) of five minutes, judged against its baseline, the
median of 24 hours. Includes the produce request to the source;
`mirrorwatch_canary_replication_seconds` does not."""

OK = Code(
    name="latency.ok",
    title="p99 end-to-end latency is {p99_seconds:.3g} s over the last 5 "
    "min[, baseline {usual_seconds:.3g} s]",
)

HIGH = Code(
    name="latency.high",
    title="Records arrive late at the target: p99 latency is "
    "{p99_seconds:.3g} s over the last 5 min[, baseline "
    "{usual_seconds:.3g} s]",
    meaning="""\
Latency alone loses nothing. Usual causes: high load at this time of day, a
slow or full link, a lost task, a slow broker disk, quotas, batching
(`linger.ms`).""",
    steps="""\
1. Compare the partitions on the page, then [`tasks`](#tasks) and
   [`bottleneck`](#bottleneck).
2. Produce latency as high: the source is slow or far away, not the mirror.
3. [`lag`](#lag) grows, too: add tasks (`tasks.max`) or bandwidth.""",
)

NO_DATA = Code(
    name="latency.no-data",
    title="Latency unknown: no probe has arrived at the target for "
    "{seconds:duration}",
    meaning="Replication may have stopped.",
    steps="1. See the findings of [`canary`](#canary).",
)

OFF = Code(
    name="latency.off",
    title="Canary is disabled (canary.enabled is false)",
)
