"""What a probe read at the target does to its ledger."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from ..observations import ProbeArrival
from .ledger import Ledger
from .probe import Probe

__all__ = ["Sighting", "arrive"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Sighting:
    """One probe, read once at the target."""

    sequence: int
    """Number of the probe."""

    target_offset: int
    """Where it was read."""

    seen_at: datetime
    """When it was read."""

    absent_until: datetime
    """Until when it is known not to have been there: ``seen_at`` if the agent
    was waiting at the end of the topic, earlier if it was away."""


def arrive(
    ledger: Ledger, seen: Sighting, deadline: timedelta
) -> ProbeArrival | None:
    """Account for a probe that was read at the target.

    Parameters
    ----------
    ledger
        Ledger of the partition.
    seen
        What was read. Below ``ledger.next_offset`` it is ignored: it has been
        accounted for.
    deadline
        Longest time from send to arrival that is not late.

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


def _arrive_again(ledger: Ledger, seen: Sighting) -> None:
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


def _is_before(other: Probe, probe: Probe) -> bool:
    """Whether the mirror must have read past one probe to copy another."""
    if other.incarnation != probe.incarnation:
        # The mirror reads the new topic, and the old one is gone.
        return other.incarnation < probe.incarnation
    if other.source_offset is None or probe.source_offset is None:
        return False
    return other.source_offset < probe.source_offset
