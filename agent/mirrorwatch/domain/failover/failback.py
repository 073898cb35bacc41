"""Which source records never came to the target, for a failback."""

from collections.abc import Iterator
from dataclasses import dataclass

from ..copies.coverage import Coverage, OffsetPair, State
from . import texts

__all__ = ["ReplicatedLog", "UncopiedRange", "list_uncopied"]

_Found = Iterator[tuple[int, int, str | None]]
"""First offset, end and doubt of each range."""


@dataclass(frozen=True, kw_only=True, slots=True)
class UncopiedRange:
    """Source offsets that were not copied, as far as that is known."""

    topic: str
    partition: int
    first: int
    """First source offset."""

    last: int
    """Last source offset."""

    doubt: str | None = None
    """Reason why some of them may have been copied, in a sentence; `None` if
    none was."""

    @property
    def count(self) -> int:
        """Offsets in it."""
        return self.last - self.first + 1


@dataclass(frozen=True, kw_only=True, slots=True)
class ReplicatedLog:
    """State of a source partition and its copy.

    Notes
    -----
    Source and target may be asked at any time after the mirror has stopped:
    what the target holds tells how far it came.
    """

    topic: str
    partition: int
    start: int = 0
    end: int
    is_growing: bool = False
    """Source may hold more: it was not asked for its end now."""

    coverage: Coverage | None = None
    """Positions of copies; `None` if the mirror writes no syncs for it."""

    cursor: OffsetPair | None = None
    """The last copy that the coverage holds; `None` if there is none yet."""

    passed: int = 0
    """The mirror's position: every offset below was copied or skipped."""

    is_filtered: bool = False
    """Records are left out on purpose."""

    target_end: int | None = None
    """End of the target, 0 without a partition; `None` if not known."""

    watched_end: int | None = None
    """End of the target when both sides were last read, 0 if they never were:
    where both have one name, producers write there after a failover. `None`
    where they do not."""

    uncounted: str | None = None
    """Reason why the end of the target does not show the mirror's position, in
    a sentence; `None` if it does."""


def list_uncopied(log: ReplicatedLog) -> Iterator[UncopiedRange]:
    """Yield the offsets of one partition that the target lacks, in order.

    Parameters
    ----------
    log
        State of the partition and its copy.
    """
    found: list[tuple[int, int, str | None]] = []
    for low, high, doubt in _find_uncopied(log):
        first, end = max(low, log.start), min(high, log.end)
        if found and found[-1][1:] == (first, doubt):
            first = found.pop()[0]
        if first < end:
            found.append((first, end, doubt))
    for first, end, doubt in found:
        yield UncopiedRange(
            topic=log.topic,
            partition=log.partition,
            first=first,
            last=end - 1,
            doubt=doubt,
        )


def _find_uncopied(log: ReplicatedLog) -> _Found:
    """Yield ranges of offsets, each with its doubt, in order."""
    if log.target_end == 0:
        yield log.start, log.end, None
        return
    first, doubt = _find_tail(log)
    if log.coverage is not None:
        yield from _find_in_coverage(log, log.coverage)
    yield first, log.end, doubt


def _find_in_coverage(log: ReplicatedLog, coverage: Coverage) -> _Found:
    known, at, cursor = coverage.copy(), log.start, log.cursor
    end = _compared_end(log)
    if log.target_end is not None:
        known.truncate_target(log.target_end)
    for span in known.within(log.start, end):
        if at < span.first:
            yield at, span.first, texts.NOT_COMPARED
        at = span.end
        if span.state is State.UNKNOWN:
            yield span.first, span.end, texts.UNVERIFIABLE
        elif log.is_filtered:
            continue
        elif span.state is State.ABSENT:
            may_be_copied = cursor is None or (
                span.first > cursor.source
                and log.target_end != cursor.target + 1
            )
            doubt = texts.RECOPIED if may_be_copied else None
            yield span.first, span.end, doubt
        elif span.first < coverage.absent_from:
            high = min(span.end, coverage.absent_from)
            yield span.first, high, texts.FORGOTTEN
    if at < end:
        yield at, end, texts.NOT_COMPARED


def _find_tail(log: ReplicatedLog) -> tuple[int, str | None]:
    """Return the first offset that the mirror did not come to, and why that
    may be a later one.
    """
    first = _compared_end(log)
    if log.coverage is None or log.cursor is None:
        return first, log.uncounted or texts.NO_SYNC
    if log.uncounted is not None or log.target_end is None:
        return first, log.uncounted or texts.SILENT
    end, doubt = log.target_end, None
    if log.watched_end is not None and log.watched_end < end:
        end, doubt = log.watched_end, texts.PRODUCERS
    copied = max(0, end - log.cursor.target - 1)
    if copied and first + copied < log.passed:
        return first, doubt or texts.TOO_FEW
    if first + copied > log.end and not log.is_growing:
        return first, doubt or texts.TOO_MANY
    return first + copied, doubt


def _compared_end(log: ReplicatedLog) -> int:
    """Return the first offset above all that was compared."""
    known = 0 if log.coverage is None else log.coverage.end
    return max(known, log.cursor.source + 1 if log.cursor else log.passed)
