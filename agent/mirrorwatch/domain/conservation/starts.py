"""Log starts of the source, as they were before pairs were written."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from ..view import TopicPartition
from .epoch import Epoch

__all__ = ["Starts"]

_LATER = 2
"""Surveys after which a start counts: a pair that is booked by a survey was
read before the one before it, so it was written after the one before that."""


@dataclass(slots=True)
class Starts:
    """Log starts that have moved and do not count yet.

    Notes
    -----
    What had expired before the mirror came to it was never to be copied;
    what expired afterwards was read past. Only the start of that time tells.
    """

    _surveys: int = 0
    _moved: dict[TopicPartition, tuple[int, int]] = field(default_factory=dict)

    def note(self, key: TopicPartition, start: int) -> None:
        """Take a start that is not the one in the books."""
        self._moved.setdefault(key, (start, self._surveys))

    def apply(
        self,
        epochs: Mapping[TopicPartition, Epoch],
        changed: set[TopicPartition],
    ) -> None:
        """Put into the books what counts by now; one survey has passed."""
        self._surveys += 1
        for key, (start, survey) in list(self._moved.items()):
            epoch = epochs[key]
            if epoch.ahead or self._surveys - survey <= _LATER:
                continue
            epoch.start_before = max(epoch.start_before, start)
            changed.add(key)
            del self._moved[key]
