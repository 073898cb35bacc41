"""Partitions whose copies are known."""

from dataclasses import replace

from mirrorwatch.domain.copies.coverage import Coverage, OffsetPair, State
from mirrorwatch.domain.copies.pair import LogPair
from mirrorwatch.domain.failover.translation import CopiedPartition

__all__ = ["Spans", "copied_partition", "log_pair"]

Spans = tuple[int, int, int] | tuple[int, int, None, int]
"""First and end of source offsets, and target offset of the first one's copy;
or `None` and the lowest possible one, if that is unverifiable."""


def log_pair(*spans: Spans) -> LogPair:
    """Return the state of one partition; what lies between was dropped."""
    coverage, cursor = Coverage(), OffsetPair(-1, -1)
    for first, after, *targets in spans:
        if coverage.spans:
            coverage.put(coverage.end, first, State.ABSENT)
        *is_unknown, target = targets
        assert target is not None
        if is_unknown:
            coverage.put(first, after, State.UNKNOWN, target)
        else:
            coverage.put(first, after, State.COPIED, target)
            cursor = OffsetPair(target + after - first - 1, after - 1)
    return LogPair(
        source_id="s",
        target_id="t",
        cursor=cursor,
        judged=coverage.end,
        passed=coverage.end,
        coverage=coverage,
    )


def copied_partition(*spans: Spans, end: int | None = None) -> CopiedPartition:
    """Return what is known of such a partition, and the target's end."""
    pair = log_pair(*spans)
    return replace(CopiedPartition.of(pair, is_transactional=False), end=end)
