"""The canary of one flow: its probes, what surrounds it, what is reported."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from datetime import datetime, timedelta

from ..finding import Finding
from ..metrics import Histogram
from ..report import Observation

__all__ = [
    "CREATED_PARTITIONS",
    "ORDER_GRACE",
    "PROBE_BYTES",
    "UNKNOWN_REQUEST_BYTES",
    "UNORDERED_GRACE",
    "CanaryCounts",
    "CanaryObservation",
    "CanaryPartition",
    "CanarySurvey",
    "Incidents",
    "IndeterminateProbe",
    "Loss",
    "MirrorPosition",
    "OffsetGap",
    "Probe",
    "ProbeArrival",
    "ProbeMessage",
    "Proof",
    "SettledProbe",
    "TopicState",
    "canaries",
    "is_of_another",
    "overtaken",
    "passed",
    "uncovered",
]


PROBE_BYTES = 256
"""Size of a probe's value: small enough to be free (6 partitions, every
second: 185 MB a day with its overhead) and below every sensible
``max.message.bytes``, large enough for its fields."""

WITHIN = timedelta(seconds=5)
"""Bound of the service level: where `latency` is critical by default."""

CREATED_PARTITIONS = 6
"""Partitions of a canary topic that the agent creates: one or two for each
broker of the clusters that are usual, so that every broker leads one."""

UNKNOWN_REQUEST_BYTES = 512 * 1024
"""Largest sized probe where the ``max.request.size`` of the mirror's producer
is not known: half of the default of 1 MiB, which leaves room for headers and
overhead. A record that it cannot send kills its task."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ProbeMessage:
    """Payload of a probe."""

    run: str
    """Identity of the state file that numbered the probe. Sequences continue
    from the state file, so another run's numbers mean nothing here."""

    flow: str
    partition: int
    sequence: int
    """Number on that partition, from 1, without gaps."""

    sent_at: datetime
    """T0, in whole microseconds (UTC)."""

    @property
    def key(self) -> bytes:
        """Record key. Unique, so that a compacted topic keeps every probe."""
        return f"{self.flow}/{self.partition}/{self.sequence}".encode()


@dataclass(kw_only=True, slots=True)
class Probe:
    """A probe that is under way: sent, and neither arrived nor given up."""

    sequence: int
    sent_at: datetime
    """T0."""

    incarnation: int
    """Which incarnation of the source topic it was sent to; topics can be
    re-created, and offsets of two incarnations cannot be compared."""

    warming: bool = False
    """Sent before the mirror had the time to find the partition, so it has no
    deadline."""

    floor: int = 0
    doubtful: bool = False
    """The producer does not know whether it was written."""

    source_offset: int | None = None
    """Offset of the probe at the source, once that is known."""

    acked_at: datetime | None = None
    """T1: when the source acknowledged it."""

    passed_at: datetime | None = None
    """Time at which a probe with a higher source offset first arrived before
    it."""

    unseen: bool = False
    """It may have arrived and gone before the agent could read it, so that
    its absence at the target proves nothing."""

    overdue: bool = False
    """It did not arrive within the bound of the service level, and was counted
    as bad."""

    @property
    def due_from(self) -> datetime:
        """Start of the probe's deadline: the time at which the mirror could
        first read it. A source that was slow to store it does not make the
        mirror late.
        """
        return self.acked_at or self.sent_at


ORDER_GRACE = timedelta(seconds=30)
"""Grace period in which a probe may still follow one that was written after
it. With one request in flight (Connect's default) order holds, so any grace
would do; 30 s is the producer's default ``request.timeout.ms``, the longest
that a retry of an overtaken request waits should that default have been
changed unseen."""

UNORDERED_GRACE = timedelta(minutes=3)
"""Grace period in which a probe of a deleted source topic may still follow the
first one of the new topic, where order is not known: longer than the producer
retries by default (``delivery.timeout.ms``, 2 min)."""

FRESH_AFTER = timedelta(seconds=5)
"""A position counts only when it was read this long after the first arrival
from the topic's present incarnation. An older one may speak of a topic of the
same name that was deleted, whose offsets say nothing about this one's."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Proof:
    """The mirror read past a source offset, and the target's end after that.

    Notes
    -----
    The order matters: the position is read first, then the end of the target,
    and the proof holds once everything below that end has been consumed.
    """

    origin: str
    """Source of the position, in words."""

    position: int
    """The mirror copied or gave up everything below this source offset."""

    seen_at: datetime
    counts_at: datetime
    """From when it counts. A committed Connect offset does at once; an offset
    sync proves only that one record arrived, so it waits for the grace."""

    end: int
    """End of the target partition, read after the position."""

    incarnation: int
    """Incarnation of the source topic, confirmed after the position."""


def passed(
    probes: Iterable[Probe], proof: Proof, first_arrival: datetime | None
) -> Iterator[tuple[Probe, str]]:
    """Find the probes that a proof shows to be lost, with the reason.

    Parameters
    ----------
    probes
        Outstanding probes of the partition.
    proof
        Proof whose target end has been consumed.
    first_arrival
        Arrival time of the first probe of the present incarnation.
    """
    if first_arrival is None or proof.seen_at < first_arrival + FRESH_AFTER:
        return
    for probe in probes:
        offset = probe.source_offset
        if offset is None or probe.incarnation != proof.incarnation:
            continue
        # What is sent afterwards lies behind it, or is of another topic.
        if proof.seen_at < probe.sent_at:
            continue
        if offset < proof.position:
            reason = (
                f"{proof.origin} is {proof.position}, past source offset "
                f"{offset}, and the target, read to offset {proof.end}, does "
                "not contain it"
            )
            yield probe, reason


def overtaken(
    probes: Iterable[Probe], now: datetime, grace: timedelta
) -> Iterator[tuple[Probe, str]]:
    """Find the probes that a later one overtook longer ago than the grace."""
    for probe in probes:
        if probe.passed_at is not None and now - probe.passed_at > grace:
            seconds = (now - probe.passed_at).total_seconds()
            yield (
                probe,
                (
                    "A probe sent later on the same partition arrived "
                    f"{seconds:.0f} s before this one was declared lost"
                ),
            )


def is_of_another(
    sent: Mapping[int, datetime], sequence: int, sent_at: datetime
) -> bool:
    """Return whether a probe was sent by another agent with a copy of the
    state file, or before an older one was restored.

    Parameters
    ----------
    sent
        Send times of the newest probes of the partition, by sequence.
    sequence
        Number of the probe.
    sent_at
        Send time that the probe itself carries.
    """
    ours = sent.get(sequence)
    if ours is not None:
        return ours != sent_at
    oldest = min(sent, default=0)
    # Numbers only grow: a lower one was given before.
    return sequence < oldest and sent_at > sent[oldest]


@dataclass(frozen=True, kw_only=True, slots=True)
class TopicState:
    """The canary topic on one side."""

    id: str
    partitions: frozenset[int]


@dataclass(frozen=True, kw_only=True, slots=True)
class IndeterminateProbe:
    """A probe of which nobody knows whether it was written."""

    partition: int
    sequence: int
    floor: int
    sent_at: datetime
    current: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class SettledProbe:
    """Result of reading the source for a doubtful probe."""

    partition: int
    sequence: int
    source_offset: int | None
    """Offset of the probe at the source, `None` if it was not found."""

    readable: bool
    """All offsets at which the probe could be were readable."""


@dataclass(frozen=True, kw_only=True, slots=True)
class MirrorPosition:
    """Position of the mirror in one partition, in source offsets."""

    origin: str
    """Source of the metric, in words."""

    position: int
    """Next source offset to copy."""

    seen_at: datetime
    counts_at: datetime


@dataclass(frozen=True, kw_only=True, slots=True)
class CanarySurvey:
    """Survey of the canary topics, read in the order that proofs need.

    Positions were read first, then the target's ends, then the source topic:
    if that still has the id that the probes were sent to, the positions speak
    of the same topic.
    """

    at: datetime
    positions: Mapping[int, tuple[MirrorPosition, ...]] = field(
        default_factory=dict
    )
    target: TopicState | None = None
    """The topic at the target; `None` if it is absent or not known."""

    target_absent: bool = False
    ends: Mapping[int, int] = field(default_factory=dict)
    """Ends of the target's partitions, read after the positions."""

    source: TopicState | None = None
    """The topic at the source; `None` if it is absent or not known."""

    settlements: tuple[SettledProbe, ...] = ()
    source_cluster: str | None = None
    """Cluster id of the source, if it answered."""

    target_cluster: str | None = None
    """Cluster id of the target, if it answered."""

    refresh: timedelta | None = None
    """Interval at which the mirror looks for new partitions, if known."""

    size_limit: int | None = None
    """Largest record value that everything on the way takes, in bytes, if
    that was asked for."""

    ordered: bool = False
    problems: tuple[Finding, ...] = ()

    @property
    def grace(self) -> timedelta | None:
        """Grace period of an overtaken probe; `None` without order."""
        return ORDER_GRACE if self.ordered else None


def uncovered(
    brokers: frozenset[int], leaders: Mapping[int, int | None]
) -> frozenset[int]:
    """Return the brokers that lead no partition of the canary topic.

    Notes
    -----
    None while a partition has no leader: a broker that has just come back may
    be about to lead it.
    """
    leading = {b for b in leaders.values() if b is not None}
    return frozenset() if None in leaders.values() else brokers - leading


@dataclass(frozen=True, kw_only=True, slots=True)
class OffsetGap:
    """Source offsets that somebody else wrote, or a send in doubt did."""

    partition: int
    first: int
    """First offset."""

    last: int
    """Last offset."""

    newest_acked: int
    """Highest sequence acknowledged below: a probe up to this one that is
    found in the gap is a copy, because sends keep their order."""

    sent: Mapping[int, datetime] = field(default_factory=dict)
    """Send times of the newest probes, by sequence, as far as this process
    sent them: a probe with another send time is another agent's."""


@dataclass(slots=True)
class Incidents:
    """Times of the last incidents on the partition, by kind."""

    late: datetime | None = None
    """A probe arrived after its deadline."""

    duplicate: datetime | None = None
    failed: datetime | None = None
    """A probe was not written at the source."""


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
    acked: int = 0
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
    reordered: int = 0
    """First arrivals behind a probe that was sent later."""

    negative: int = 0
    """Intervals below zero: the clock was stepped, or the acknowledgement
    came after the arrival."""

    def as_dict(self) -> dict[str, int]:
        """Return the counters by name."""
        return {f.name: getattr(self, f.name) for f in fields(self)}


@dataclass(frozen=True, kw_only=True, slots=True)
class CanaryPartition:
    """State of the canary on one partition."""

    partition: int
    counts: CanaryCounts
    latency: Histogram
    """Durations from send to arrival (T3 - T0)."""

    replication: Histogram
    """Durations from acknowledgement to arrival (T3 - T1)."""

    produce: Histogram
    """Durations from send to acknowledgement (T1 - T0)."""

    outstanding: int
    """Probes sent and not yet settled."""

    oldest_outstanding: datetime | None
    """Acknowledgement time of the oldest probe that is stored at the source
    and still expected; `None` if there is none."""

    oldest_unacked: datetime | None
    """Send time of the oldest probe without a known source offset."""

    last_arrival: datetime | None
    last_late: datetime | None = None
    """Arrival time of the last probe that missed its deadline."""

    last_duplicate: datetime | None = None
    last_failed: datetime | None = None
    """Time of the last probe that was not written at the source."""

    warming: bool = False
    """Mirror has not yet had the time to find this partition."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ProbeArrival:
    """First arrival of one probe, seen live."""

    flow: str
    partition: int
    sequence: int
    sent_at: datetime
    """T0: handed to the producer."""

    acked_at: datetime | None
    """T1: acknowledged by the source; `None` if that is not known."""

    arrived_at: datetime
    """T3: read at the target."""

    late: bool
    """Probe arrived after its deadline."""

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
    """Proved loss of one probe."""

    flow: str
    partition: int
    sequence: int
    source_offset: int
    """Offset of the lost probe at the source."""

    sent_at: datetime
    proved_at: datetime
    proof: str


@dataclass(frozen=True, kw_only=True, slots=True)
class CanaryObservation:
    """State of the canary of one flow."""

    flow: str
    at: datetime
    topic: str
    remote_topic: str
    partitions: tuple[CanaryPartition, ...] = ()
    good: int = 0
    bad: int = 0
    """Probes that did not: late beyond it, or lost."""

    arrivals: tuple[ProbeArrival, ...] = ()
    """Live first arrivals since the observation before."""

    losses: tuple[Loss, ...] = ()
    """Probes proved lost recently, the newest last."""

    problems: tuple[Finding, ...] = ()
    unread: frozenset[int] = frozenset()
    """Partitions that have not been read to their end at the target: what is
    outstanding there may have arrived."""


def canaries(
    observations: Iterable[Observation],
) -> tuple[CanaryObservation, ...]:
    """Return the canaries among what was seen."""
    return tuple(o for o in observations if isinstance(o, CanaryObservation))
