"""The `canary` block of a flow: the stream of probes."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Literal

from pydantic import ByteSize, Field

from ..domain.canary.check import CanaryLimits
from ..domain.canary.model import CREATED_PARTITIONS, PROBE_BYTES, WITHIN
from ..domain.mirror_records import REFRESH
from .base import Duration, Model

__all__ = ["CanaryConfig", "SizedConfig", "estimate_cost"]


class SizedConfig(Model):
    """Large probes that prove that large records are replicated. Optional."""

    bytes: ByteSize = Field(title="Size", gt=PROBE_BYTES)
    """Size of the record's value. At most 512 KiB, or
    `mirror.max_request_size` if that is configured. The agent also stays below
    `max.message.bytes` of both topics."""

    interval: Duration = Field(
        timedelta(hours=1),
        title="Interval",
        ge=timedelta(hours=1),
        le=timedelta(days=30),
    )
    """Interval between large probes, at least an hour: one costs as much
    bandwidth as thousands of probes."""


def _default_warmup(data: dict[str, Any]) -> timedelta:
    deadline: timedelta = data["deadline"]
    return REFRESH + deadline


class CanaryConfig(Model):
    """Probes that prove that records arrive."""

    enabled: bool = Field(default=True, title="Enabled")
    """Send probes."""

    topic: str = Field(
        "mirrorwatch.canary",
        title="Topic",
        pattern=r"^[a-zA-Z0-9._-]{1,249}$",
    )
    """Canary topic at the source. MirrorMaker's topic filter must match it."""

    create: bool = Field(default=True, title="Create the topic")
    """Allow the agent to create the topic at the source. MirrorMaker creates
    it at the target."""

    partitions: int | None = Field(None, title="Partitions", ge=1, le=10_000)
    """Number of partitions that are probed. Default: all partitions of the
    topic, so that every broker is covered; 6 if the agent creates it."""

    interval: Duration = Field(
        timedelta(seconds=1),
        title="Interval",
        ge=timedelta(milliseconds=100),
        le=timedelta(hours=1),
    )
    """Interval between probes of 256 bytes to each partition. A stop of
    replication is detected within `interval` plus `deadline`."""

    deadline: Duration = Field(
        CanaryLimits().deadline,
        title="Deadline",
        gt=timedelta(),
        le=timedelta(days=1),
    )
    """A probe that arrives after this time is late; one that is outstanding
    for longer makes the flow critical. The default is 30 times the usual
    latency of a long-distance link, so that a rebalance of MirrorMaker's tasks
    does not alert."""

    within: Duration = Field(
        WITHIN, title="Bound", gt=timedelta(), le=timedelta(days=1)
    )
    """Longest time from the source's acknowledgement of a probe to its arrival
    at the target that counts as good for the service level
    (`mirrorwatch_level_good_total`). The default is that of
    `limits.latency.critical`."""

    warmup: Duration = Field(
        default_factory=_default_warmup,
        title="Warm-up",
        json_schema_extra={"default_text": "10m + `deadline`"},
        ge=timedelta(),
        le=timedelta(days=7),
    )
    """Grace period for arrivals in a new partition. The default is one topic
    refresh of MirrorMaker (10 minutes by default) and the deadline."""

    format: Literal["json", "avro"] = Field("json", title="Format")
    """Format of the probes. `avro` also verifies the schema registries: the
    agent registers the schema as `<topic>-value` in the `schema_registry` of
    the source, which is required, and verifies that the registry of the
    target, if there is one, resolves it. The format can be changed at any
    time: both are always read."""

    sized: SizedConfig | None = Field(None, title="Sized probes")
    """Large probes in addition to the small ones. Off unless configured,
    because a record that MirrorMaker cannot produce fails its task."""


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
    """Partitions that are probed; `None` if only the topic itself shows."""

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
