"""What became of every source record, as only the world itself knows it."""

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from .cluster import Kind, Log, Numbered, Record

__all__ = ["Loss", "Oracle"]

Key = tuple[str, int]


@dataclass(slots=True)
class Loss:
    """One record that is at the source no more, or that the mirror passed,
    and that was never copied.
    """

    key: Key
    record: Record
    at: float
    """When it was lost, in seconds of the world."""

    gone: bool
    """Whether it left the source unread; the mirror passed it otherwise."""

    uncopied: bool = False

    @property
    def of_both(self) -> bool:
        """Whether both sides lost it with the ends of their logs, so that
        they are alike.
        """
        return self.uncopied and self.record.cut


@dataclass
class Oracle:
    """Follows the mirror, record by record."""

    elapsed: Callable[[], float]
    carries: Callable[[str], bool] = lambda _: True
    committed: bool = False
    copies: dict[Key, int] = field(default_factory=lambda: defaultdict(int))
    firsts: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    """Records copied at least once, by topic, but for those of transactions,
    which may be aborted later."""

    begun: set[Key] = field(default_factory=set)
    ever: dict[Key, list[int]] = field(
        default_factory=lambda: defaultdict(list)
    )
    """Offsets of records ever lost, even if they were copied later."""

    begins: dict[Key, int] = field(default_factory=dict)
    """Ends of logs when the mirror began to want their topics, which it had
    not when the records before were written."""

    unwanted: dict[Key, list[int]] = field(
        default_factory=lambda: defaultdict(list)
    )
    """Offsets of records that were deleted uncopied, or passed over, while the
    mirror did not want their topic: they may be reported as lost once it does
    again. And of those that were lost and are forgotten: the agent may have
    seen it."""

    gaps: dict[Key, set[int]] = field(default_factory=lambda: defaultdict(set))
    before: set[str] = field(default_factory=set)
    repeats: int = 0
    rewinds: int = 0
    _lost: dict[int, Loss] = field(default_factory=dict)

    @property
    def ever_lost(self) -> bool:
        """Whether anything was lost, even if it was copied later, or was not
        wanted then.
        """
        return bool(self.ever or self.unwanted)

    def ever_of(self, key: Key) -> list[int]:
        """Return the offsets of the records of a partition that is so of."""
        return [*self.ever.get(key, ()), *self.unwanted.get(key, ())]

    @property
    def losses(self) -> list[Loss]:
        """Return what is lost."""
        return [loss for loss in self._lost.values() if not loss.of_both]

    def gone(self, key: Key, records: Iterable[Numbered]) -> None:
        """The source deletes records, copied or not."""
        wanted = self.carries(key[0])
        for offset, record in records:
            if record.kind > self._worst:
                self.gaps[key].add(offset)
            if wanted:
                self._lose(key, record, gone=True)
            elif self._is_new(record):
                self.unwanted[key].append(offset)

    def leave(self, key: Key, log: Log, first: int, to: int) -> None:
        """The mirror goes on at an offset, and leaves others behind."""
        wanted_from = self.begins.get(key, 0)
        if not self.carries(key[0]):
            wanted_from = to
        for offset, record in log.span(first, to):
            if offset >= wanted_from:
                self._lose(key, record, gone=False)
            elif self._is_new(record):
                self.unwanted[key].append(offset)

    def drop(self, key: Key, record: Record) -> None:
        """A transform drops a record."""
        self._lose(key, record, gone=False)

    def copy(self, key: Key, record: Record) -> None:
        """A record is written at the target."""
        self.copies[key] += 1
        self.begun.add(key)
        self.repeats += bool(record.copied)
        self.firsts[key[0]] += not (record.copied or record.in_transaction)
        record.copied += 1
        self._lost.pop(id(record), None)

    def uncopy(self, copies: Iterable[Numbered]) -> None:
        """The target loses copies."""
        for _, copy in copies:
            if copy.origin is None:
                continue
            key, record = copy.origin
            record.copied -= 1
            if not record.copied:
                record.left = False
                if self.carries(key[0]):
                    self._lose(key, record, gone=False, uncopied=True)
                elif self._is_new(record):
                    self.unwanted[key].append(record.offset)

    def read_again(self, records: Iterable[Numbered]) -> None:
        """The mirror reads records again once it starts: lost copies, too."""
        for _, record in records:
            loss = self._lost.get(id(record))
            if loss is not None and loss.uncopied:
                record.left = False
                del self._lost[id(record)]

    def lost(self) -> int:
        """Return how many records are lost."""
        return len(self.losses)

    def lost_by(self, since: float = 0.0) -> dict[Key, list[int]]:
        """Return the offsets of what is lost, by partition.

        Those of which nothing shows that they ever were do not count: written
        after the agent's last look at a topic, and deleted with it. Nor do
        those that compaction took since: newer ones have replaced them.
        """
        found: dict[Key, list[int]] = defaultdict(list)
        for loss in self.losses:
            if (
                loss.at >= since
                and not loss.record.unseen
                and loss.record.kind is not Kind.COMPACTED
            ):
                found[loss.key].append(loss.record.offset)
        return found

    def forget(self) -> None:
        """Forget what was lost so far."""
        self.before.update(topic for topic, _ in self.ever)
        for key, offsets in self.ever.items():
            self.unwanted[key] += offsets
        self._lost.clear()
        self.ever.clear()

    def is_forgotten(self, record: Record) -> bool:
        """Return whether a record was lost, and that is forgotten."""
        return record.left and id(record) not in self._lost

    def lost_of(self, topic: str) -> bool:
        """Return whether records of a topic are lost, or were before."""
        return topic in self.before or any(
            loss.key[0] == topic for loss in self.losses
        )

    def last_loss_at(self) -> float | None:
        """Return when the newest record was lost that still is."""
        return max((loss.at for loss in self.losses), default=None)

    def last_loss_of(self, key: Key) -> float:
        """Return when the newest record of a partition was lost."""
        return max((x.at for x in self.losses if x.key == key), default=0.0)

    def _lose(
        self, key: Key, record: Record, *, gone: bool, uncopied: bool = False
    ) -> None:
        if not self._is_new(record):
            return
        record.left = True
        self.ever[key].append(record.offset)
        self._lost[id(record)] = Loss(
            key, record, self.elapsed(), gone, uncopied
        )

    def _is_new(self, record: Record) -> bool:
        return not (record.copied or record.left or record.kind > self._worst)

    @property
    def _worst(self) -> Kind:
        return Kind.DATA if self.committed else Kind.ABORTED
