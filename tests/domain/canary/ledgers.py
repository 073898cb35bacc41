"""Ledgers of some probes, what the agent sees of them, and a proof."""

from datetime import timedelta

from mirrorwatch.domain.canary.model import Proof
from mirrorwatch.domain.canary.tracker import Arrival, Ledger, arrive
from tests.domain.canary.world import DEADLINE, START

__all__ = ["LATER", "PROOF", "see", "warmed"]

PROOF = Proof(
    origin="Committed offset",
    position=2,
    seen_at=START + timedelta(seconds=60),
    counts_at=START + timedelta(seconds=60),
    end=1,
    incarnation=1,
)
LATER = START + timedelta(hours=1)


def warmed(*, sent: int = 2) -> Ledger:
    """Return a ledger whose probes are acked, the first one arrived."""
    ledger = Ledger(flow="f", partition=0)
    for offset in range(sent):
        probe = ledger.send(START)
        ledger.ack(probe.sequence, offset, START)
    see(ledger, 1, at=0)
    return ledger


def see(
    ledger: Ledger,
    sequence: int,
    *,
    at: int,
    after: float = 1,
    away: float = 0,
) -> object:
    seen_at = START + timedelta(seconds=after)
    seen = Arrival(
        sequence=sequence,
        target_offset=at,
        seen_at=seen_at,
        absent_until=seen_at - timedelta(seconds=away),
    )
    return arrive(ledger, seen, DEADLINE)
