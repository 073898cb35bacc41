"""What the canary costs: it must never harm the mirror."""

from dataclasses import dataclass
from datetime import timedelta

from .canary import CREATED_PARTITIONS, PROBE_BYTES, CanaryConfig

__all__ = ["RECORD_OVERHEAD_BYTES", "CanaryCost", "estimate_cost"]

RECORD_OVERHEAD_BYTES = 100
"""Beside the value: 61 for the header of a batch of one, about 10 for the
record's own lengths, and the rest for key and headers."""

DAY = timedelta(days=1)


@dataclass(frozen=True, kw_only=True, slots=True)
class CanaryCost:
    """Bytes that the canary of one flow writes, before compression.

    All of it is written once at each side, and crosses the link twice: from
    the agent to the source, and back with the mirror.
    """

    partition_bytes_per_day: int
    """Small probes of one partition."""

    sized_bytes_per_day: int
    """Sized probes, which go to one partition only."""

    partitions: int | None
    """Partitions that are probed; `None` if only the topic itself tells."""

    @property
    def bytes_per_day(self) -> int | None:
        """All of it; `None` if the number of partitions is not known."""
        if self.partitions is None:
            return None
        small = self.partition_bytes_per_day * self.partitions
        return small + self.sized_bytes_per_day

    @property
    def created_bytes_per_day(self) -> int:
        """All of it on a topic as the agent would create it."""
        partitions = self.partitions or CREATED_PARTITIONS
        small = self.partition_bytes_per_day * partitions
        return small + self.sized_bytes_per_day


def estimate_cost(canary: CanaryConfig) -> CanaryCost:
    """Estimate the cost of a canary from its configuration."""
    sized = canary.sized
    return CanaryCost(
        partition_bytes_per_day=_per_day(PROBE_BYTES, canary.interval),
        sized_bytes_per_day=(
            0 if sized is None else _per_day(sized.bytes, sized.interval)
        ),
        partitions=canary.partitions,
    )


def _per_day(value_bytes: int, interval: timedelta) -> int:
    return round((value_bytes + RECORD_OVERHEAD_BYTES) * (DAY / interval))
