"""A source log, a mirror and a target log, in the plainest possible form.

The mirror may drop, go back and copy again, but keeps order. The world knows
what really happened; the ledger is only told what an agent could see.
"""

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from mirrorwatch.domain.canary.model import Proof
from mirrorwatch.domain.canary.tracker import (
    Arrival,
    Ledger,
    arrive,
    prove,
    settle,
)

__all__ = ["LATER", "PROOF", "see", "warmed"]


START = datetime(2026, 1, 1, tzinfo=UTC)
DEADLINE = timedelta(seconds=30)
GRACE = timedelta(seconds=10)


@dataclass
class World:
    """Truth, and a ledger that follows it."""

    ledger: Ledger = field(
        default_factory=lambda: Ledger(flow="f", partition=0)
    )
    now: datetime = START
    source: list[int] = field(default_factory=list)
    target: list[int] = field(default_factory=list)
    unacked: list[int] = field(default_factory=list)
    never_written: set[int] = field(default_factory=set)
    at: int = 0
    furthest: int = 0
    read: int = 0
    due_from: dict[int, datetime] = field(default_factory=dict)
    expected_late: int = 0

    def do(self, *actions: str) -> None:
        """Do what is named, one after the other."""
        for action in actions:
            getattr(self, action)()

    def send(self) -> None:
        sequence = self.ledger.send(self.now).sequence
        self.source.append(sequence)
        self.unacked.append(sequence)

    def ack(self) -> None:
        for sequence in self.unacked:
            self.ledger.ack(sequence, self.source.index(sequence), self.now)
            # Of one found in the source before, the first answer counts.
            self.due_from.setdefault(sequence, self.now)
        self.unacked.clear()

    def send_into_the_void(self) -> None:
        """The send fails, and nobody knows whether it was written."""
        sequence = self.ledger.send(self.now).sequence
        self.ledger.doubt(sequence)
        self.never_written.add(sequence)

    def lose_acks(self) -> None:
        for sequence in self.unacked:
            self.ledger.doubt(sequence)

    def read_source(self) -> None:
        """Settle every doubt by what the source holds."""
        for probe in list(self.ledger.outstanding.values()):
            if not probe.doubtful:
                continue
            if probe.sequence in self.source:
                where = self.source.index(probe.sequence)
                self.ledger.ack(probe.sequence, where, None)
                self.due_from.setdefault(probe.sequence, probe.sent_at)
            else:
                self.ledger.fail(probe.sequence, self.now)
        self.unacked = [
            n for n in self.unacked if n in self.ledger.outstanding
        ]

    def copy(self) -> None:
        if self.at < len(self.source):
            self.target.append(self.source[self.at])
            self._advance()

    def drop(self) -> None:
        if self.at < len(self.source):
            self._advance()

    def rewind(self) -> None:
        self.at = max(0, self.at - 3)

    def consume(self) -> None:
        for offset in range(self.read, len(self.target)):
            sequence = self.target[offset]
            probe = self.ledger.outstanding.get(sequence)
            if probe is not None:
                due_from = self.due_from.get(sequence, probe.sent_at)
                self.expected_late += self.now - due_from > DEADLINE
            seen = Arrival(
                sequence=sequence,
                target_offset=offset,
                seen_at=self.now,
                absent_until=self.now,
            )
            arrive(self.ledger, seen, DEADLINE)
        self.read = len(self.target)

    def commit(self) -> None:
        """The mirror commits; the agent reads that, then the target's end."""
        proof = Proof(
            origin="Committed offset",
            position=self.at,
            seen_at=self.now,
            counts_at=self.now,
            end=len(self.target),
            incarnation=self.ledger.incarnation,
        )
        prove(self.ledger, proof)

    def wait(self) -> None:
        self.now += timedelta(seconds=7)

    def judge(self) -> None:
        for loss in settle(self.ledger, self.now, GRACE):
            assert loss.sequence not in self.target[: self.read]
            assert loss.source_offset < self.furthest

    def _advance(self) -> None:
        self.at += 1
        self.furthest = max(self.furthest, self.at)


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
