"""Which stretches are read next."""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta

from ...domain.conservation import Inquiry
from ...domain.skips import Unread
from ...domain.view import TopicPartition
from ...exceptions import SourceError

__all__ = ["Batches"]

_TOGETHER = 64
"""Partitions that are read at once: one connection for all."""

_SIZE = 50_000
"""Offsets that are read at once: some seconds, and some megabytes of looks."""

_LARGEST = 500_000
"""Offsets of one stretch beyond which it is not read. The mirror writes a
pair for every hundred records, so that a stretch is that long only when the
agent was away for long, or a whole topic was skipped."""

_AGAIN = timedelta(seconds=15)
"""How long a stretch that could not be read is left alone."""


class Batches:
    """Puts together what is read next, and remembers what cannot be read."""

    def __init__(self) -> None:
        self.too_large: list[Inquiry] = []
        """Those of the last call that will never be read."""

        self._since: dict[TopicPartition, datetime] = {}
        self._failed: dict[TopicPartition, tuple[datetime, str]] = {}
        self._alone: set[TopicPartition] = set()

    def next(self, wanted: Iterable[Inquiry], now: datetime) -> list[Inquiry]:
        """Return what to read now, one about each partition at most."""
        batch: dict[TopicPartition, Inquiry] = {}
        self.too_large = []
        size = 0
        keys, asked = set(), set()
        for inquiry in wanted:
            key = inquiry.place
            asked.add(key)
            if not inquiry.only_count:
                keys.add(key)
                self._since.setdefault(key, now)
            failed = self._failed.get(key)
            if key in batch or (failed and now - failed[0] < _AGAIN):
                continue
            if inquiry.size > _LARGEST and not inquiry.only_count:
                self.too_large.append(inquiry)
                continue
            if batch and (
                len(batch) == _TOGETHER
                or size + inquiry.size > _SIZE
                or key in self._alone
                or self._alone & batch.keys()
            ):
                continue
            batch[key] = inquiry
            size += inquiry.size
        self._since = {k: t for k, t in self._since.items() if k in keys}
        self._failed = {k: f for k, f in self._failed.items() if k in asked}
        return list(batch.values())

    def fail(
        self, batch: Sequence[Inquiry], error: SourceError, now: datetime
    ) -> None:
        """Note that a batch could not be read.

        One of it may be at fault: each is then read alone.
        """
        keys = [i.place for i in batch]
        if len(keys) == 1:
            self._failed[keys[0]] = (now, str(error))
        else:
            self._alone.update(keys)

    def hold(self, inquiry: Inquiry, now: datetime) -> None:
        """Note that a stretch cannot be read to its end yet."""
        problem = (
            f"{inquiry.topic}[{inquiry.partition}], or its copy, cannot be "
            "read to the end of a stretch: an unfinished transaction holds "
            "records back, or a log has become shorter"
        )
        self._failed[inquiry.place] = (now, problem)

    def succeed(self, inquiry: Inquiry) -> None:
        """Note that a stretch was read."""
        key = inquiry.place
        self._alone.discard(key)
        self._failed.pop(key, None)
        self._since.pop(key, None)

    def unread(self) -> Unread | None:
        """Return what waits to be read."""
        if not self._since:
            return None
        problems = [text for _, text in self._failed.values()]
        return Unread(
            partitions=len(self._since),
            since=min(self._since.values()),
            problem=problems[0] if problems else None,
        )
