"""What is known of every probe of one partition: a state machine.

It never reads a clock and does no I/O; the same events give the same state.
Sending is here, arriving in ``arrivals.py``, losing in ``losses.py``; whoever
feeds the ledger stores it (``state/canary.py``).
"""

from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from ..histogram import Histogram
from ..observations import CanaryCounts, CanaryPartition
from ..ranges import RangeSet
from .incidents import Gap, Incidents
from .probe import Probe
from .proof import Proof

__all__ = ["Ledger"]


@dataclass(kw_only=True, slots=True)
class Ledger:
    """Every probe of one partition of one flow."""

    flow: str
    """Name of the flow."""

    partition: int
    """Partition number."""

    started_at: datetime | None = None
    """When the mirror could first know of the partition; `None` if it did
    before the agent."""

    next_sequence: int = 1
    """Number of the next probe. Never restarts."""

    next_offset: int = 0
    """Target offset to read next; everything below has been accounted for."""

    incarnation: int = 1
    """Incarnation of the source topic that probes are sent to."""

    first_arrival: datetime | None = None
    """When a probe of this incarnation first arrived; until then the mirror
    is not known to read this incarnation."""

    last_arrival: datetime | None = None
    """When a probe last arrived."""

    newest_arrived: int = 0
    """Highest sequence that has arrived."""

    last_source_offset: int = -1
    """Highest source offset acknowledged in this incarnation."""

    newest_acked: int = 0
    """Highest sequence that was acknowledged."""

    counts: CanaryCounts = field(default_factory=CanaryCounts)
    """Counters; they never go back."""

    latency: Histogram = field(default_factory=Histogram)
    """Durations from send to arrival."""

    replication: Histogram = field(default_factory=Histogram)
    """Durations from acknowledgement to arrival."""

    produce: Histogram = field(default_factory=Histogram)
    """Durations from send to acknowledgement."""

    incidents: Incidents = field(default_factory=Incidents)
    """When trouble last happened."""

    arrived: RangeSet = field(default_factory=RangeSet)
    """Sequences that arrived."""

    lost: RangeSet = field(default_factory=RangeSet)
    """Sequences proved lost that have not arrived since."""

    failed: RangeSet = field(default_factory=RangeSet)
    """Sequences that were never written."""

    unverifiable: RangeSet = field(default_factory=RangeSet)
    """Sequences of which nobody will know."""

    outstanding: dict[int, Probe] = field(default_factory=dict)
    """Probes under way, by sequence, oldest first."""

    proofs: list[Proof] = field(default_factory=list)
    """Proofs that wait for the target to be read to their end."""

    touched: set[int] = field(default_factory=set)
    """Sequences whose probes changed since the ledger was last stored."""

    def send(self, now: datetime, *, warming: bool = False) -> Probe:
        """Make the next probe. It must be stored before it is sent."""
        probe = Probe(
            sequence=self.next_sequence,
            sent_at=now,
            incarnation=self.incarnation,
            warming=warming,
            floor=self.last_source_offset + 1,
        )
        self.next_sequence += 1
        self.counts.sent += 1
        self.outstanding[probe.sequence] = probe
        self.touched.add(probe.sequence)
        return probe

    def ack(
        self, sequence: int, source_offset: int, acked_at: datetime | None
    ) -> Gap | None:
        """Note that the source stored a probe.

        Parameters
        ----------
        sequence
            Number of the probe.
        source_offset
            Where it was stored.
        acked_at
            When, `None` if it was found out by reading the source.

        Returns
        -------
        Gap or None
            Source offsets before it that no acknowledged probe has.
        """
        gap = None
        if 0 <= self.last_source_offset < source_offset - 1:
            gap = Gap(
                partition=self.partition,
                first=self.last_source_offset + 1,
                last=source_offset - 1,
                newest_acked=self.newest_acked,
            )
        self.last_source_offset = max(self.last_source_offset, source_offset)
        self.newest_acked = max(self.newest_acked, sequence)
        self._ack(sequence, source_offset, acked_at)
        return gap

    def _ack(
        self, sequence: int, source_offset: int, acked_at: datetime | None
    ) -> None:
        probe = self.outstanding.get(sequence)
        if probe is None:
            # It arrived before its acknowledgement was seen.
            self.counts.acked += sequence in self.arrived
            return
        if probe.source_offset is not None:
            return
        probe.source_offset = source_offset
        probe.acked_at = acked_at
        self.counts.acked += 1
        self.touched.add(sequence)
        if acked_at is not None:
            self.measure(self.produce, acked_at - probe.sent_at)

    def fail(self, sequence: int, now: datetime) -> None:
        """Note that a probe was certainly not stored at the source."""
        if self.outstanding.pop(sequence, None) is None:
            return
        self.failed.add(sequence)
        self.counts.failed += 1
        self.incidents.failed = now
        self.touched.add(sequence)

    def doubt(self, sequence: int) -> None:
        """Note that nobody knows whether a probe was stored."""
        probe = self.outstanding.get(sequence)
        if probe is None or probe.doubtful or probe.source_offset is not None:
            return
        probe.doubtful = True
        self.counts.indeterminate += 1
        self.touched.add(sequence)

    def doubt_unacked(self) -> None:
        """Doubt every send that a process now dead had not seen through."""
        for probe in list(self.outstanding.values()):
            self.doubt(probe.sequence)

    def read_to(self, target_offset: int) -> None:
        """Note that everything below a target offset has been read."""
        self.next_offset = max(self.next_offset, target_offset)

    def renew_source(self) -> None:
        """Start a new incarnation: the source topic was re-created."""
        self.incarnation += 1
        self.first_arrival = None
        self.last_source_offset = -1
        self.proofs = []

    def skip_target(self, next_offset: int) -> None:
        """Go on at another target offset: what is between cannot be read.

        The target was re-created or truncated, or its records expired while
        the agent was away.
        """
        self.next_offset = next_offset
        self.proofs = []
        for probe in self.outstanding.values():
            probe.unseen = True
            self.touched.add(probe.sequence)

    def give_up(self, sequence: int) -> None:
        """Note that nobody will ever know what became of a probe."""
        if self.outstanding.pop(sequence, None) is not None:
            self.unverifiable.add(sequence)
            self.counts.unverifiable += 1
            self.touched.add(sequence)

    def measure(self, histogram: Histogram, duration: timedelta) -> None:
        """Count a duration, and apart from that the ones below zero."""
        self.counts.negative += duration < timedelta()
        histogram.observe(duration)

    def snapshot(self, *, warming: bool) -> CanaryPartition:
        """Return a copy that others may keep."""
        under_way = self.outstanding.values()
        expected = (
            p.due_from
            for p in under_way
            if p.source_offset is not None and not p.warming
        )
        unacked = (p.sent_at for p in under_way if p.source_offset is None)
        return CanaryPartition(
            partition=self.partition,
            counts=replace(self.counts),
            latency=self.latency.copy(),
            replication=self.replication.copy(),
            produce=self.produce.copy(),
            outstanding=len(self.outstanding),
            oldest_outstanding=next(expected, None),
            oldest_unacked=next(unacked, None),
            last_arrival=self.last_arrival,
            last_late=self.incidents.late,
            last_duplicate=self.incidents.duplicate,
            last_failed=self.incidents.failed,
            warming=warming,
        )
