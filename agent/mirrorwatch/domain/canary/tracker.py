"""The ledgers of all partitions of one flow, and what a survey changes."""

from collections.abc import Container, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from ..finding import Finding, Health
from ..metrics import Histogram
from ..offsets import RangeSet
from ..report import Flow
from . import texts
from .model import (
    UNORDERED_GRACE,
    WITHIN,
    CanaryCounts,
    CanaryPartition,
    CanarySurvey,
    Incidents,
    IndeterminateProbe,
    Loss,
    OffsetGap,
    Probe,
    ProbeArrival,
    Proof,
    overtaken,
    passed,
)

__all__ = [
    "Arrival",
    "CanaryTracker",
    "Identity",
    "Ledger",
    "arrive",
    "prove",
    "settle",
]


# What is known of every probe of one partition: a state machine.
#
# It never reads a clock and does no I/O; the same events give the same state.
# Anyone who feeds the ledger stores it (``state/canary.py``).


GONE_AFTER = 3
"""Surveys after which a partition is gone: the topic was recreated with
fewer, or another one is configured. One answer may be of an old view."""


@dataclass(kw_only=True, slots=True)
class Ledger:
    """Every probe of one partition of one flow."""

    flow: str
    partition: int
    started_at: datetime | None = None
    """Time at which the mirror could first know of the partition; `None` if it
    did before the agent."""

    missed: int = 0
    next_sequence: int = 1
    """Number of the next probe. Never restarts."""

    next_offset: int = 0
    """Target offset to read next; everything below has been accounted for."""

    incarnation: int = 1
    first_arrival: datetime | None = None
    """Time at which a probe of this incarnation first arrived; until then the
    mirror is not known to read this incarnation."""

    last_arrival: datetime | None = None
    newest_arrived: int = 0
    last_source_offset: int = -1
    newest_acked: int = 0
    keyed_from: int = 0
    """First probe whose key was chosen for the partitions that the target has
    by now, if the mirror chooses by key: those before may be in any."""

    counts: CanaryCounts = field(default_factory=CanaryCounts)
    """Counters; they never go back."""

    latency: Histogram = field(default_factory=Histogram)
    replication: Histogram = field(default_factory=Histogram)
    produce: Histogram = field(default_factory=Histogram)
    incidents: Incidents = field(default_factory=Incidents)
    arrived: RangeSet = field(default_factory=RangeSet)
    lost: RangeSet = field(default_factory=RangeSet)
    """Sequences proved lost that have not arrived since."""

    failed: RangeSet = field(default_factory=RangeSet)
    """Sequences that were never written."""

    unverifiable: RangeSet = field(default_factory=RangeSet)
    outstanding: dict[int, Probe] = field(default_factory=dict)
    """Probes under way, by sequence, oldest first."""

    proofs: list[Proof] = field(default_factory=list)
    good: int = 0
    bad: int = 0
    """Probes that did not: late beyond it, or lost."""

    touched: set[int] = field(default_factory=set)
    """Sequences whose probes changed since the ledger was last stored."""

    @property
    def gone(self) -> bool:
        """Return whether the partition no longer exists at the source."""
        return self.missed >= GONE_AFTER

    def miss(self) -> None:
        """Note that a survey saw the source topic without this partition.

        What was sent to it can neither be copied nor read any more.
        """
        self.missed = min(self.missed + 1, GONE_AFTER)
        if self.gone:
            self.proofs = []
            for sequence in list(self.outstanding):
                self.give_up(sequence)

    def see(self, now: datetime) -> None:
        """Note that the source topic has this partition."""
        if self.gone:
            # The mirror has to find it as it has to find a new one.
            self.started_at, self.last_arrival = now, None
        self.missed = 0

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
    ) -> OffsetGap | None:
        """Note that the source stored a probe.

        Parameters
        ----------
        sequence
            Number of the probe.
        source_offset
            Source offset at which the probe was stored.
        acked_at
            Time of the acknowledgement; `None` if it was found out by reading
            the source.

        Returns
        -------
        OffsetGap or None
            Source offsets before it that no acknowledged probe has.
        """
        gap = None
        if 0 <= self.last_source_offset < source_offset - 1:
            gap = OffsetGap(
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
        probe = self.outstanding.pop(sequence, None)
        if probe is None:
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
        probe = self.outstanding.pop(sequence, None)
        if probe is not None:
            self.unverifiable.add(sequence)
            self.counts.unverifiable += 1
            self.touched.add(sequence)

    def give_up_old(self, until: datetime) -> None:
        """Give up the probes of topics that were deleted at the source, if
        one of the present topic arrived before a time.

        No position speaks of them any more.
        """
        if self.first_arrival is None or self.first_arrival >= until:
            return
        for probe in list(self.outstanding.values()):
            known = probe.source_offset is not None
            if known and probe.incarnation < self.incarnation:
                self.give_up(probe.sequence)

    def note_overdue(self, now: datetime, within: timedelta) -> None:
        """Count probes that have not arrived in time as bad at once, so that
        an outage counts while it lasts. The partition is read to its end.
        """
        for probe in self.outstanding.values():
            counts = not (probe.overdue or probe.warming or probe.unseen)
            if (
                counts
                and probe.acked_at is not None
                and now - probe.acked_at > within
            ):
                probe.overdue = True
                self.bad += 1
                self.touched.add(probe.sequence)

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


_PROOFS_KEPT = 8
"""Proofs that may wait for the target to be read. One comes every tick, and
the newest says the most."""


def prove(ledger: Ledger, proof: Proof) -> None:
    """Take a proof; it is used once the target is read to its end."""
    ledger.proofs = [*ledger.proofs, proof][-_PROOFS_KEPT:]


def settle(
    ledger: Ledger, now: datetime, grace: timedelta | None
) -> list[Loss]:
    """Give up the probes that are proved lost.

    Parameters
    ----------
    ledger
        Ledger of the partition.
    now
        The time.
    grace
        Time within which an overtaken probe may still follow; `None` if the
        mirror is not known to keep the order, so that being overtaken proves
        nothing.
    """
    # Only an acknowledged probe can be lost; the others are settled first.
    known = [
        p for p in ledger.outstanding.values() if p.source_offset is not None
    ]
    reasons: dict[int, str] = {}
    waiting: list[Proof] = []
    for proof in ledger.proofs:
        if ledger.next_offset < proof.end or now < proof.counts_at:
            waiting.append(proof)
            continue
        for probe, reason in passed(known, proof, ledger.first_arrival):
            reasons.setdefault(probe.sequence, reason)
    ledger.proofs = waiting
    if grace is not None:
        for probe, reason in overtaken(known, now, grace):
            reasons.setdefault(probe.sequence, reason)
    losses = []
    for probe in known:
        if probe.sequence not in reasons:
            continue
        if probe.unseen:
            ledger.give_up(probe.sequence)
        else:
            reason = reasons[probe.sequence]
            losses.append(_lose(ledger, probe, reason, now))
    return losses


def _lose(ledger: Ledger, probe: Probe, reason: str, now: datetime) -> Loss:
    del ledger.outstanding[probe.sequence]
    ledger.bad += not probe.overdue
    ledger.lost.add(probe.sequence)
    ledger.counts.lost += 1
    ledger.touched.add(probe.sequence)
    assert probe.source_offset is not None  # noqa: S101 - only known ones
    return Loss(
        flow=ledger.flow,
        partition=ledger.partition,
        sequence=probe.sequence,
        source_offset=probe.source_offset,
        sent_at=probe.sent_at,
        proved_at=now,
        proof=reason,
    )


CROWDED = 600
"""Probes under way on a partition from which on fewer are sent: ten minutes'
worth at the default interval. That nothing arrives is known by then, and an
outage of days must fill neither memory nor the mirror's backlog."""

CROWDED_INTERVAL = timedelta(seconds=30)
"""Probe interval of a crowded partition."""


@dataclass(slots=True)
class Identity:
    """Identity of the clusters and topics when the state was last written."""

    source_id: str | None = None
    target_id: str | None = None
    source_cluster: str | None = None
    target_cluster: str | None = None
    looked_at: datetime | None = None
    """Time at which the agent last waited at the end of the target topic."""


@dataclass(kw_only=True, slots=True)
class CanaryTracker:
    """Every ledger of one flow."""

    flow: Flow
    identity: Identity
    ledgers: dict[int, Ledger] = field(default_factory=dict)
    warmup: timedelta
    partitions: int | None = None
    """Partitions to cover, `None` for all."""

    accepted: Mapping[str, str] = field(default_factory=dict)
    keeps_partitions: bool = True
    """Mirror keeps the partition of a record. If not, its producer chooses one
    of those at the target by the key of a probe."""

    targets: int | None = None
    """Partitions at the target, for which keys are chosen; `None` while not
    known."""

    unordered_since: datetime | None = None
    """Since when no survey has known the mirror to keep the order; `None` if
    the last one did."""

    def follow(self, survey: CanarySurvey) -> set[int]:
        """Take over what a survey found.

        Returns
        -------
        set of int
            Partitions whose target must be read again from `next_offset`.
        """
        self.unordered_since = (
            None if survey.ordered else self.unordered_since or survey.at
        )
        unread = self._follow_target(survey)
        same_source = self._follow_source(survey)
        unread |= self._add_partitions(survey)
        if same_source:
            self._take_proofs(survey)
        for settled in survey.settlements:
            ledger = self.ledgers[settled.partition]
            if settled.source_offset is not None:
                ledger.ack(settled.sequence, settled.source_offset, None)
            elif settled.readable:
                ledger.fail(settled.sequence, survey.at)
            else:
                ledger.give_up(settled.sequence)
        return unread

    def mistaken(self, survey: CanarySurvey) -> Finding | None:
        """Find an alias that answers as another cluster than it should: the
        one that the configuration gives, else the one that it always was.
        """
        for alias, pinned, seen in (
            (
                self.flow.source,
                self.identity.source_cluster,
                survey.source_cluster,
            ),
            (
                self.flow.target,
                self.identity.target_cluster,
                survey.target_cluster,
            ),
        ):
            wanted = self.accepted.get(alias) or pinned
            if None not in (wanted, seen) and wanted != seen:
                return texts.WRONG_CLUSTER.found(
                    Health.CRITICAL,
                    {"cluster": alias},
                    cluster_id=seen,
                    expected_id=wanted,
                )
        self.identity.source_cluster = (
            survey.source_cluster or self.identity.source_cluster
        )
        self.identity.target_cluster = (
            survey.target_cluster or self.identity.target_cluster
        )
        return None

    def settle(
        self,
        now: datetime,
        grace: timedelta | None,
        unread: Container[int] = (),
    ) -> list[Loss]:
        """Give up what is proved lost on any partition, and that of which no
        proof can come any more.

        Parameters
        ----------
        now
            The time.
        grace
            Time within which an overtaken probe may still follow; `None` if
            that proves nothing now.
        unread
            Partitions that are not read to their end at the target.
        """
        losses = [
            loss
            for ledger in self.ledgers.values()
            for loss in settle(ledger, now, grace)
        ]
        # What the connectors are may not be known for a moment, as after a
        # start: where they keep the order, it is a loss.
        if self.unordered_since is not None:
            until = now - UNORDERED_GRACE
            for partition, ledger in self.ledgers.items():
                if partition not in unread and self.unordered_since < until:
                    ledger.give_up_old(until)
        return losses

    def doubts(self) -> list[IndeterminateProbe]:
        """Return the probes of which nobody knows if they were written."""
        return [
            IndeterminateProbe(
                partition=ledger.partition,
                sequence=probe.sequence,
                floor=probe.floor,
                sent_at=probe.sent_at,
                current=probe.incarnation == ledger.incarnation,
            )
            for ledger in self.ledgers.values()
            for probe in ledger.outstanding.values()
            if probe.doubtful and probe.source_offset is None
        ]

    def due(self, survey: CanarySurvey, now: datetime) -> list[int]:
        """Return the partitions that get a probe now.

        Notes
        -----
        One that is not sent because nothing arrives counts as bad.
        """
        if survey.source is None:
            # Naming a topic that may not exist could create it.
            return []
        due = []
        for partition, ledger in self.ledgers.items():
            if partition not in survey.source.partitions:
                continue
            if _is_due(ledger, now):
                due.append(partition)
            else:
                under_way = ledger.outstanding.values()
                ledger.bad += any(probe.overdue for probe in under_way)
        return due

    def is_warming(self, ledger: Ledger, now: datetime) -> bool:
        """Return whether the mirror may not know of a partition yet."""
        return (
            ledger.started_at is not None
            and ledger.last_arrival is None
            and now - ledger.started_at < self.warmup
        )

    def _follow_source(self, survey: CanarySurvey) -> bool:
        if survey.source is None:
            return False
        before = self.identity.source_id
        self.identity.source_id = survey.source.id
        if before is not None and before != survey.source.id:
            for ledger in self.ledgers.values():
                ledger.renew_source()
        for ledger in self.ledgers.values():
            if ledger.partition in survey.source.partitions:
                ledger.see(survey.at)
            else:
                ledger.miss()
        return before == survey.source.id

    def _follow_target(self, survey: CanarySurvey) -> set[int]:
        if survey.target is None:
            return set()
        if not self.keeps_partitions:
            self._follow_number(len(survey.target.partitions))
        before = self.identity.target_id
        self.identity.target_id = survey.target.id
        if before is None or before == survey.target.id:
            return set()
        for ledger in self.ledgers.values():
            ledger.skip_target(0)
        return self.ledgers.keys() & survey.target.partitions

    def _follow_number(self, partitions: int) -> None:
        """Give up what is under way if the target has another number of
        partitions: keys were chosen for the one before, so that any of them,
        read or not, may have got it.
        """
        before, self.targets = self.targets, partitions
        # Before a restart there was one for each ledger.
        if partitions == (len(self.ledgers) if before is None else before):
            return
        for ledger in self.ledgers.values():
            ledger.keyed_from = ledger.next_sequence
            for sequence in list(ledger.outstanding):
                ledger.give_up(sequence)

    def _add_partitions(self, survey: CanarySurvey) -> set[int]:
        if survey.source is None:
            return set()
        first_of_all = not self.ledgers
        added = set()
        for partition in sorted(
            survey.source.partitions - self.ledgers.keys()
        ):
            if self.partitions is not None and partition >= self.partitions:
                break
            known = partition in survey.ends
            self.ledgers[partition] = Ledger(
                flow=self.flow.name,
                partition=partition,
                # A partition that was there on both sides when the agent was
                # first started is known to the mirror.
                started_at=None if first_of_all and known else survey.at,
                # No probe has been sent to it, so none is below.
                next_offset=survey.ends.get(partition, 0),
            )
            added.add(partition)
        return added

    def _take_proofs(self, survey: CanarySurvey) -> None:
        for partition, positions in survey.positions.items():
            ledger = self.ledgers.get(partition)
            end = survey.ends.get(partition)
            if ledger is None or end is None:
                continue
            for found in positions:
                proof = Proof(
                    origin=found.origin,
                    position=found.position,
                    seen_at=found.seen_at,
                    counts_at=found.counts_at,
                    end=end,
                    incarnation=ledger.incarnation,
                )
                prove(ledger, proof)


def _is_due(ledger: Ledger, now: datetime) -> bool:
    if len(ledger.outstanding) < CROWDED:
        return True
    newest = next(reversed(ledger.outstanding.values()))
    return now - newest.sent_at >= CROWDED_INTERVAL


@dataclass(frozen=True, kw_only=True, slots=True)
class Arrival:
    """Arrival of one probe, read once at the target."""

    sequence: int
    target_offset: int
    seen_at: datetime
    absent_until: datetime
    """Until when it is known not to have been there: ``seen_at`` if the agent
    was waiting at the end of the topic, earlier if it was away."""


def arrive(
    ledger: Ledger,
    seen: Arrival,
    deadline: timedelta,
    within: timedelta = WITHIN,
) -> ProbeArrival | None:
    """Account for a probe that was read at the target.

    Parameters
    ----------
    ledger
        Ledger of the partition.
    seen
        Arrival that was read. Below ``ledger.next_offset`` it is ignored: it
        has been accounted for.
    deadline
        Longest time from send to arrival that is not late.
    within
        Bound of the service level.

    Returns
    -------
    ProbeArrival or None
        The arrival, if it is the probe's first and was seen live.
    """
    if seen.target_offset < ledger.next_offset:
        return None
    ledger.next_offset = seen.target_offset + 1
    ledger.last_arrival = seen.seen_at
    probe = ledger.outstanding.pop(seen.sequence, None)
    if probe is None:
        _arrive_again(ledger, seen)
        return None
    ledger.touched.add(probe.sequence)
    _overtake(ledger, probe, seen.seen_at)
    if seen.absent_until == seen.seen_at:
        _give_up_unseen(ledger, probe, seen.seen_at - deadline)
    _count_arrival(ledger, probe, seen, within)
    late = not probe.warming and seen.absent_until - probe.due_from > deadline
    if late:
        ledger.counts.late += 1
        ledger.incidents.late = seen.seen_at
    else:
        ledger.counts.delivered += 1
    if probe.warming or seen.absent_until < seen.seen_at:
        # When it arrived is not known, or says nothing about the mirror.
        return None
    arrival = ProbeArrival(
        flow=ledger.flow,
        partition=ledger.partition,
        sequence=probe.sequence,
        sent_at=probe.sent_at,
        acked_at=probe.acked_at,
        arrived_at=seen.seen_at,
        late=late,
    )
    ledger.measure(ledger.latency, arrival.latency)
    if arrival.replication is not None:
        ledger.measure(ledger.replication, arrival.replication)
    return arrival


def _count_arrival(
    ledger: Ledger, probe: Probe, seen: Arrival, within: timedelta
) -> None:
    if probe.overdue or probe.warming:
        return
    if seen.seen_at - probe.due_from <= within:
        ledger.good += 1
    # Of a source that did not answer in time it is not known when the mirror
    # could first read the probe.
    elif probe.acked_at is not None or not probe.doubtful:
        ledger.bad += seen.absent_until - probe.due_from > within


def _arrive_again(ledger: Ledger, seen: Arrival) -> None:
    if seen.sequence in ledger.arrived:
        ledger.counts.duplicates += 1
        ledger.incidents.duplicate = seen.seen_at
        return
    for given_up in (ledger.lost, ledger.failed, ledger.unverifiable):
        if seen.sequence in given_up:
            given_up.remove(seen.sequence)
            ledger.arrived.add(seen.sequence)
            ledger.counts.recovered += 1


def _overtake(ledger: Ledger, probe: Probe, seen_at: datetime) -> None:
    ledger.arrived.add(probe.sequence)
    ledger.counts.reordered += probe.sequence < ledger.newest_arrived
    ledger.newest_arrived = max(ledger.newest_arrived, probe.sequence)
    if probe.incarnation != ledger.incarnation:
        return
    if ledger.first_arrival is None:
        ledger.first_arrival = seen_at
    for other in ledger.outstanding.values():
        if other.sequence > probe.sequence:
            break
        if other.passed_at is None and _is_before(other, probe):
            other.passed_at = seen_at
            ledger.touched.add(other.sequence)


def _give_up_unseen(ledger: Ledger, probe: Probe, due_by: datetime) -> None:
    """Give up the probes that may have come and gone, and should have arrived
    before one that has: some mirrors have neither positions nor an order that
    would end them.
    """
    for other in list(ledger.outstanding.values()):
        if other.sequence > probe.sequence:
            break
        passed_by = other.unseen and other.passed_at is not None
        if passed_by and other.due_from < due_by:
            ledger.give_up(other.sequence)


def _is_before(other: Probe, probe: Probe) -> bool:
    """Return whether the mirror must read past one probe to copy another."""
    if other.incarnation != probe.incarnation:
        # The mirror reads the new topic, and the old one is gone.
        return other.incarnation < probe.incarnation
    if other.source_offset is None or probe.source_offset is None:
        return False
    return other.source_offset < probe.source_offset
