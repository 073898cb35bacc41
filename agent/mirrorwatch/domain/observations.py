"""Facts that sources report, frozen, each with the time it was seen."""

from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass, field, fields
from datetime import datetime, timedelta

from .report import Health, Observation

__all__ = [
    "LATENCY_BUCKETS",
    "CanaryCounts",
    "CanaryObservation",
    "CanaryPartition",
    "Histogram",
    "LatencyObservation",
    "Loss",
    "ProbeArrival",
    "Problem",
    "canaries",
]


@dataclass(slots=True)
class CanaryCounts:
    """Counters of one canary partition. They survive restarts.

    Notes
    -----
    Every probe ends in exactly one of five states, so at any moment ``sent ==
    failed + delivered + late + lost + unverifiable + outstanding``. ``acked``,
    ``indeterminate``, ``recovered``, ``duplicates``, ``reordered`` and
    ``negative`` are counted beside that sum.
    """

    sent: int = 0
    """Probes handed to the producer."""

    acked: int = 0
    """Probes whose source offset is known."""

    failed: int = 0
    """Probes that were never written at the source."""

    indeterminate: int = 0
    """Sends whose outcome was unknown at first."""

    delivered: int = 0
    """Probes that arrived, not known to be late."""

    late: int = 0
    """Probes that arrived after the deadline."""

    lost: int = 0
    """Probes proved not to be on the target."""

    unverifiable: int = 0
    """Probes that may have arrived and gone before they could be read, for
    instance because the target topic was re-created."""

    recovered: int = 0
    """Probes given up that arrived after all."""

    duplicates: int = 0
    """Further arrivals of a probe that had arrived."""

    reordered: int = 0
    """First arrivals behind a probe that was sent later."""

    negative: int = 0
    """Intervals below zero: the clock was stepped, or the acknowledgement
    came after the arrival."""

    def as_dict(self) -> dict[str, int]:
        """Return the counters by name."""
        return {f.name: getattr(self, f.name) for f in fields(self)}


LATENCY_BUCKETS = (
    0.005,
    0.01,
    0.025,
    0.05,
    0.1,
    0.25,
    0.5,
    1.0,
    2.5,
    5.0,
    10.0,
    30.0,
    60.0,
    300.0,
)
"""Upper bounds in seconds, from a mirror in one room (about 10 ms) over a
long-haul link (about 1 s) to a backlog of minutes."""


@dataclass(slots=True)
class Histogram:
    """Counts of durations by bucket."""

    counts: list[int] = field(
        default_factory=lambda: [0] * (len(LATENCY_BUCKETS) + 1)
    )
    """Observations by bucket, not cumulative; the last is above every bound.
    A negative duration falls into the first."""

    total: timedelta = timedelta()
    """Sum of all observed durations."""

    def observe(self, duration: timedelta) -> None:
        """Count one duration."""
        bound = bisect_left(LATENCY_BUCKETS, duration.total_seconds())
        self.counts[bound] += 1
        self.total += duration

    def copy(self) -> "Histogram":
        """Return a histogram that does not change with this one."""
        return Histogram(list(self.counts), self.total)

    def cumulative(self) -> list[tuple[str, int]]:
        """Return ``(upper bound, count up to it)`` as Prometheus wants it."""
        bounds = [*(str(b) for b in LATENCY_BUCKETS), "+Inf"]
        running = 0
        result = []
        for bound, count in zip(bounds, self.counts, strict=True):
            running += count
            result.append((bound, running))
        return result


@dataclass(frozen=True, kw_only=True, slots=True)
class CanaryPartition:
    """State of the canary on one partition."""

    partition: int
    """Partition number, the same on both clusters."""

    counts: CanaryCounts
    """Counters since the state file was made."""

    latency: Histogram
    """Durations from send to arrival (T3 - T0)."""

    replication: Histogram
    """Durations from acknowledgement to arrival (T3 - T1)."""

    produce: Histogram
    """Durations from send to acknowledgement (T1 - T0)."""

    outstanding: int
    """Probes sent and not yet settled."""

    oldest_outstanding: datetime | None
    """When the oldest probe that is stored at the source, and still expected,
    was acknowledged; `None` if there is none."""

    oldest_unacked: datetime | None
    """When the oldest probe without a known source offset was sent."""

    last_arrival: datetime | None
    """When a probe last arrived."""

    last_late: datetime | None = None
    """When a probe last arrived after its deadline."""

    last_duplicate: datetime | None = None
    """When a probe last arrived again."""

    last_failed: datetime | None = None
    """When a probe was last not written at the source."""

    warming: bool = False
    """Whether the mirror has not yet had the time to find this partition."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ProbeArrival:
    """First arrival of one probe, seen live."""

    flow: str
    """Name of the flow."""

    partition: int
    """Partition number."""

    sequence: int
    """Sequence number of the probe on that partition."""

    sent_at: datetime
    """T0: handed to the producer."""

    acked_at: datetime | None
    """T1: acknowledged by the source; `None` if that is not known."""

    arrived_at: datetime
    """T3: read at the target."""

    late: bool
    """Whether it arrived after the deadline."""

    @property
    def latency(self) -> timedelta:
        """Time from send to arrival: the upper bound."""
        return self.arrived_at - self.sent_at

    @property
    def replication(self) -> timedelta | None:
        """Time from acknowledgement to arrival: the lower bound."""
        return (
            None if self.acked_at is None else self.arrived_at - self.acked_at
        )

    @property
    def produce(self) -> timedelta | None:
        """Time from send to acknowledgement: the width of the interval."""
        return None if self.acked_at is None else self.acked_at - self.sent_at


@dataclass(frozen=True, kw_only=True, slots=True)
class Loss:
    """One probe that was proved lost."""

    flow: str
    """Name of the flow."""

    partition: int
    """Partition number."""

    sequence: int
    """Sequence number of the probe on that partition."""

    source_offset: int
    """Where the probe was written at the source."""

    sent_at: datetime
    """When it was sent."""

    proved_at: datetime
    """When the proof was complete."""

    proof: str
    """What proved it, in words, with the offsets."""


@dataclass(frozen=True, slots=True)
class Problem:
    """Something wrong that a person can fix."""

    health: Health
    """How bad it is; `Health.UNKNOWN` if it keeps the agent from knowing."""

    text: str
    """One sentence that names the place and the remedy."""

    @classmethod
    def unknown(cls, text: str) -> "Problem":
        """Return a problem that keeps the agent from knowing."""
        return cls(Health.UNKNOWN, text)


@dataclass(frozen=True, kw_only=True, slots=True)
class CanaryObservation:
    """State of the canary of one flow."""

    flow: str
    """Name of the flow."""

    at: datetime
    """When the state was read (UTC)."""

    topic: str
    """Canary topic at the source."""

    remote_topic: str
    """Its name at the target."""

    partitions: tuple[CanaryPartition, ...] = ()
    """One entry for each partition that is covered."""

    arrivals: tuple[ProbeArrival, ...] = ()
    """Live first arrivals since the observation before."""

    losses: tuple[Loss, ...] = ()
    """Probes proved lost recently, the newest last."""

    problems: tuple[Problem, ...] = ()
    """What is wrong beside the probes, or keeps the canary from knowing."""

    blind: bool = False
    """Whether the agent is refused to read the topic at the target, so that
    nothing can be seen to arrive."""


@dataclass(frozen=True, kw_only=True, slots=True)
class LatencyObservation:
    """How long the probes of one flow took, and what is usual."""

    flow: str
    """Name of the flow."""

    at: datetime
    """When it was worked out (UTC)."""

    p99: timedelta | None
    """99th percentile of the last five minutes, `None` without arrivals."""

    usual: timedelta | None
    """What it usually is; `None` if that is not known yet."""

    measured: int
    """Arrivals in the last five minutes."""


def canaries(
    observations: Iterable[Observation],
) -> tuple[CanaryObservation, ...]:
    """Return the canaries among what was seen."""
    return tuple(o for o in observations if isinstance(o, CanaryObservation))
