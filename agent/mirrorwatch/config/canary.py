"""The `canary` block of a flow: the stream of probes."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Literal

from pydantic import ByteSize, Field

from ..domain.canary.check import CanaryLimits
from .base import Duration, Model

__all__ = [
    "UNKNOWN_LIMIT_BYTES",
    "CanaryConfig",
    "SizedConfig",
    "estimate_cost",
]


PROBE_BYTES = 256
"""Size of a probe's value: small enough to be free (6 partitions, every
second: 185 MB a day with its overhead), large enough for its fields."""

UNKNOWN_LIMIT_BYTES = 512 * 1024
"""Largest sized probe where the mirror's `max.request.size` is not known:
half of the default of 1 MiB, which leaves room for headers and overhead."""

CREATED_PARTITIONS = 6
"""Partitions of a canary topic that the agent creates: one or two for each
broker of the clusters that are usual, so that every broker leads one."""

MIRROR_REFRESH = timedelta(minutes=10)
"""MirrorMaker 2's default `refresh.topics.interval.seconds`: until then it
does not know of a new topic or partition."""


class SizedConfig(Model):
    """Large probes, opt-in: they prove that large records get through."""

    bytes: ByteSize = Field(title="Size", gt=PROBE_BYTES)
    """Size of the record's value. At most 512 KiB, or the mirror's
    `max_request_size` where that is configured; the agent stays below both
    topics' `max.message.bytes` too."""

    interval: Duration = Field(
        timedelta(hours=1), title="Interval", ge=timedelta(hours=1)
    )
    """How often one is sent. At most hourly: it costs the link the same as
    thousands of probes."""

    partition: int = Field(0, title="Partition", ge=0)
    """The one partition that they are sent to."""


def _default_warmup(data: dict[str, Any]) -> timedelta:
    deadline: timedelta = data["deadline"]
    return MIRROR_REFRESH + deadline


class CanaryConfig(Model):
    """Probes that prove that records arrive."""

    enabled: bool = Field(default=True, title="Enabled")
    """Whether probes are sent."""

    topic: str = Field(
        "mirrorwatch.canary", title="Topic", pattern=r"[a-zA-Z0-9._-]{1,249}"
    )
    """Topic at the source. The mirror's own topic filter must match it."""

    create: bool = Field(default=True, title="Create the topic")
    """Whether the agent may create it, at the source only; the mirror makes
    the other."""

    partitions: int | None = Field(None, title="Partitions", ge=1)
    """Partitions to send to. Default: all that the topic has, so that every
    broker is covered; 6 where the agent creates it."""

    interval: Duration = Field(
        timedelta(seconds=1), title="Interval", ge=timedelta(milliseconds=100)
    )
    """How often every partition gets a probe. A stall shows within this and
    the deadline; the cost is 256 bytes each."""

    deadline: Duration = Field(
        CanaryLimits().deadline, title="Deadline", gt=timedelta()
    )
    """A probe that arrives later is late, one that is out longer makes the
    flow critical. 30 times what a long-haul mirror needs, so that a
    rebalance of its tasks is not an alarm."""

    warmup: Duration = Field(
        default_factory=_default_warmup,
        title="Warm-up",
        json_schema_extra={"default_text": "10m + `deadline`"},
        ge=timedelta(),
    )
    """How long a new partition may go without arrivals: the mirror's topic
    refresh (10 minutes by default), then the deadline."""

    format: Literal["json", "avro"] = Field("json", title="Format")
    """How probes are written. `avro` proves that path too: it registers their
    schema as `<topic>-value` at the source's `schema_registry`, which it
    needs, and where the target has a registry, looks whether readers there
    can resolve it. May be changed at any time: both are always read."""

    sized: SizedConfig | None = Field(None, title="Sized probes")
    """Large probes beside the small ones. Off unless configured: a record
    that the mirror cannot produce kills its task."""


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
