"""What both canary topics hold, to hold an agent's books to."""

from collections import Counter
from collections.abc import Callable
from typing import Any

from mirrorwatch.domain.canary.model import ProbeMessage
from mirrorwatch.domain.canary.tracker import Ledger
from mirrorwatch.sources.canary.encoding import decode
from mirrorwatch_lab import CANARY_TOPIC, Lab

from .watch import Watch, wait_until

__all__ = ["Truth"]


class Truth:
    """What is in both canary topics, by a plain reader.

    Records that are deleted later are remembered from an earlier look.
    """

    def __init__(
        self,
        lab: Lab,
        topic: str = CANARY_TOPIC,
        decode: Callable[[bytes | None], ProbeMessage | None] = decode,
    ) -> None:
        self._lab = lab
        self._topic = topic
        self._decode = decode
        self.written: dict[tuple[str, int], set[int]] = {}

    def look(self) -> None:
        """Remember what the source holds now."""
        for record in self._lab.read("source", self._topic):
            probe = self._decode(record.value())
            assert probe is not None
            key = (probe.run, probe.partition)
            self.written.setdefault(key, set()).add(probe.sequence)

    def wait_for_the_rest(self, watch: Watch) -> None:
        """Wait until what was under way at an agent's end has arrived."""
        remote = self._lab.target_name(self._topic)

        def waiting() -> set[tuple[int, int]]:
            records = self._lab.read("target", remote)
            found = [self._decode(record.value()) for record in records]
            ours = [p for p in found if p and p.run == watch.store.run]
            return {
                (partition, sequence)
                for partition, ledger in watch.ledgers.items()
                for sequence in ledger.outstanding
            } - {(p.partition, p.sequence) for p in ours}

        wait_until(lambda: not waiting(), what=waiting)

    def check(self, watch: Watch, *, undecided: bool = False) -> Counter[str]:
        """Hold an agent's books to the truth; return the true totals.

        Parameters
        ----------
        watch
            The agent.
        undecided
            Whether it may call probes unverifiable: where records were
            deleted while it did not know yet whether a send had been taken.
        """
        self.look()
        run, totals = watch.store.run, Counter[str]()
        copies: dict[int, list[int]] = {}
        remote = self._lab.target_name(self._topic)
        for record in self._lab.read("target", remote):
            probe = self._decode(record.value())
            offset = record.offset()
            assert probe is not None
            assert offset is not None
            ledger = watch.ledgers.get(probe.partition)
            if probe.run == run and ledger and offset < ledger.next_offset:
                copies.setdefault(probe.partition, []).append(probe.sequence)
        for partition, ledger in watch.ledgers.items():
            written = self.written.get((run, partition), set())
            self._check(ledger, written, copies.get(partition, []), totals)
            assert undecided or not ledger.unverifiable
        return totals

    def _check(
        self,
        ledger: Ledger,
        written: set[int],
        copies: list[int],
        totals: Counter[str],
    ) -> None:
        arrived, counts = set(copies), ledger.counts
        under_way = set(ledger.outstanding)
        missing = written - arrived - under_way
        assert _members(ledger.arrived) == arrived
        assert _members(ledger.lost) == missing
        assert not _members(ledger.failed) & written
        assert counts.duplicates == len(copies) - len(arrived)
        assert counts.lost - counts.recovered == len(missing)
        assert counts.delivered + counts.late + counts.recovered == len(
            arrived
        )
        unverifiable = _members(ledger.unverifiable)
        assert not unverifiable & (written | arrived)
        assert set(range(1, ledger.next_sequence)) == (
            arrived
            | missing
            | under_way
            | unverifiable
            | _members(ledger.failed)
        )
        totals.update(
            sent=ledger.next_sequence - 1,
            arrived=len(arrived),
            lost=len(missing),
            duplicates=len(copies) - len(arrived),
            failed=counts.failed,
            late=counts.late,
            recovered=counts.recovered,
            indeterminate=counts.indeterminate,
            outstanding=len(under_way),
        )


def _members(ranges: Any) -> set[int]:
    return {n for first, last in ranges for n in range(first, last + 1)}
