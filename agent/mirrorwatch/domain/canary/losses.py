"""Giving up probes that are proved lost. Time alone never does."""

from datetime import datetime, timedelta

from ..observations import Loss
from .ledger import Ledger
from .probe import Probe
from .proof import Proof, overtaken, passed

__all__ = ["prove", "settle"]

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
        How long an overtaken probe may still follow; `None` if the mirror is
        not known to keep the order, so that being overtaken proves nothing.
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
