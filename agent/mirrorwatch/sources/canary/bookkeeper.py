"""Writes what happens into the books, and the books into the state file."""

from datetime import datetime, timedelta

from ...domain.canary import Books, Gap, Message, Sighting, Survey, arrive
from ...domain.observations import Loss, ProbeArrival
from ...state.canary import CanaryStore
from .decoding import decode
from .receiver import Arrived, AtEnd
from .sender import Outcome
from .settings import CanarySettings

__all__ = ["Bookkeeper"]


class Bookkeeper:
    """Keeps one flow's books in step with its state file.

    Parameters
    ----------
    settings
        What the canary was told.
    store
        Where the books are kept.

    Notes
    -----
    What has not been saved is not handed out: others see only what survives
    a crash.
    """

    def __init__(self, settings: CanarySettings, store: CanaryStore) -> None:
        self._settings = settings
        self._store = store
        self._changed: set[int] = set()
        self._arrivals: list[ProbeArrival] = []
        self._losses: list[Loss] = []
        self.books: Books = self.reload()

    @property
    def has_changes(self) -> bool:
        """Whether there is anything to write down."""
        return bool(self._changed)

    def reload(self) -> Books:
        """Go back to what the file says.

        Sends that were under way are in doubt: nobody hears of them any more.
        """
        self._changed.clear()
        self._arrivals, self._losses = [], []
        ledgers = self._store.load()
        self.books = Books(
            flow=self._settings.flow,
            identity=self._store.identity,
            ledgers=ledgers,
            warmup=self._settings.warmup,
            partitions=self._settings.partitions,
            accepted=self._settings.cluster_ids,
        )
        for ledger in self.books.ledgers.values():
            ledger.doubt_unacked()
            self._changed.add(ledger.partition)
        return self.books

    def follow(self, survey: Survey) -> set[int]:
        """Take over a survey; return the partitions to be read anew."""
        if survey.refresh is not None:
            slow = survey.refresh + self._settings.deadline
            self.books.warmup = max(self._settings.warmup, slow)
        unread = self.books.follow(survey)
        # It may touch any of them, and comes but once a tick.
        self._changed |= self.books.ledgers.keys()
        return unread

    def make_probe(self, partition: int, now: datetime) -> Message:
        """Make the next probe of a partition."""
        ledger = self.books.ledgers[partition]
        warming = self.books.is_warming(ledger, now)
        self._changed.add(partition)
        return Message(
            run=self._store.run,
            flow=self._settings.flow.name,
            partition=partition,
            sequence=ledger.send(now, warming=warming).sequence,
            sent_at=now,
        )

    def hear(self, outcome: Outcome, now: datetime) -> Gap | None:
        """Write down what became of a send."""
        message = outcome.message
        ledger = self.books.ledgers[message.partition]
        self._changed.add(message.partition)
        if outcome.source_offset is not None:
            acked_at = message.sent_at + outcome.took
            return ledger.ack(
                message.sequence, outcome.source_offset, acked_at
            )
        if outcome.refused is not None:
            ledger.fail(message.sequence, now)
        else:
            ledger.doubt(message.sequence)
        return None

    def read(self, event: Arrived | AtEnd) -> None:
        """Write down what was read at the target."""
        ledger = self.books.ledgers[event.partition]
        if isinstance(event, AtEnd):
            if event.offset > ledger.next_offset:
                ledger.read_to(event.offset)
                self._changed.add(event.partition)
            return
        self._changed.add(event.partition)
        probe = decode(event.value)
        ours = (self._store.run, self._settings.flow.name)
        if probe is None or (probe.run, probe.flow) != ours:
            ledger.read_to(event.offset + 1)
            return
        if event.value is not None:
            self._settings.encoding.note_arrival(event.value)
        sighting = Sighting(
            sequence=probe.sequence,
            target_offset=event.offset,
            seen_at=event.seen_at,
            absent_until=event.absent_until,
        )
        arrival = arrive(ledger, sighting, self._settings.deadline)
        if arrival is not None:
            self._arrivals.append(arrival)

    def skip(self, partition: int, offset: int) -> None:
        """Write down that a partition goes on at another target offset."""
        self.books.ledgers[partition].skip_target(offset)
        self._changed.add(partition)

    def settle(self, now: datetime, grace: timedelta | None) -> None:
        """Give up what is proved lost."""
        self._losses += self.books.settle(now, grace)
        self._changed |= {
            p for p, ledger in self.books.ledgers.items() if ledger.touched
        }

    def save(
        self, looked_at: datetime | None
    ) -> tuple[list[ProbeArrival], list[Loss]]:
        """Write down what changed.

        Returns
        -------
        tuple of list
            Arrivals and losses that are now safe to be seen.

        Raises
        ------
        StateError
            Raised if the file cannot be written; nothing was.
        """
        if looked_at is not None:
            self.books.identity.looked_at = looked_at
        changed = [self.books.ledgers[p] for p in self._changed]
        self._store.save(changed, self._losses)
        self._changed.clear()
        saved = self._arrivals, self._losses
        self._arrivals, self._losses = [], []
        return saved
