"""Positions outside of the source's log: records that expire unread, and logs
that were truncated below the mirror's position.
"""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from ..cluster_view import PartitionView, TopicPartition
from .pair import LogPair

__all__ = ["NOTHING", "OutOfRange", "find_out_of_range"]

NOTHING = 0, 0


@dataclass(frozen=True, kw_only=True, slots=True)
class OutOfRange:
    """Source offsets between a position and the log that does not hold it."""

    topic: str
    partition: int
    first: int
    """Position below the log start; else end of the truncated log."""

    end: int
    """Log start; else position beyond the log."""

    sure_from: int
    """First offset that was not copied for sure: what is before may have
    been."""

    since: datetime
    log_end: int
    copies_end: int
    """Log end of the target at first: the mirror has resumed if it grows."""

    patience: timedelta = timedelta()
    """Time for which it must be so while no offset is sure: until what was
    copied is committed."""

    is_beyond: bool = False
    is_unseen: bool = False
    """Records that nobody saw wait: perhaps transaction markers only."""

    def is_believed(self, at: datetime) -> bool:
        """Return whether it was so in two surveys, or for longer where the
        position may be too low.
        """
        if self.is_beyond:
            return True
        if self.sure_from < self.end:
            return self.since < at
        return at - self.since >= self.patience


def find_out_of_range(
    place: TopicPartition,
    pair: LogPair,
    seen: PartitionView,
    at: datetime,
    *,
    known: OutOfRange | None,
    is_moving: bool,
    is_transactional: bool,
    flush: timedelta,
    dropped: tuple[int, int] = NOTHING,
) -> OutOfRange | None:
    """Return the offsets between the position and the log, `None` if it holds
    the position.

    Parameters
    ----------
    place
        The partition.
    pair
        Its state.
    seen
        Both its logs.
    at
        Time of the survey.
    known
        The same as found before.
    is_moving
        Syncs are to be accounted for, so that the position is not known.
    is_transactional
        Mirror commits its positions with its copies.
    flush
        Longest time from a copy until it is committed and that is read.
    dropped
        First offset and end of a tail that a transform drops on purpose.
    """
    topic, partition = place
    if pair.beyond:
        return OutOfRange(
            topic=topic,
            partition=partition,
            first=pair.judged,
            end=pair.beyond,
            sure_from=pair.judged,
            since=known.since if known and known.is_beyond else at,
            log_end=seen.source_end,
            copies_end=seen.copies_end,
            is_beyond=True,
        )
    commit = _committed(pair, seen)
    if known is not None and not known.is_beyond and known.is_believed(at):
        return _follow(known, pair, seen, commit)
    if pair.cursor is None or is_moving:
        return None
    proved = max(commit, pair.empty_until)
    first, sure_from = (
        max(proved, pair.position(seen.source_end, end))
        for end in (pair.counted_end, seen.copies_end)
    )
    if dropped[0] <= first < dropped[1]:
        first = pair.empty_until = dropped[1]
    start = seen.log_start
    is_same = known is not None and known.first == first
    is_unseen = start == seen.source_end and pair.source_end <= first
    if known is not None and is_same:
        is_unseen = known.is_unseen
    if start <= first or (is_unseen and start - first == 1):
        return None  # a marker, after each transaction
    is_counted = not (pair.is_shared or pair.is_mixed or pair.has_markers)
    is_sure = (
        (seen.target_end is not None or seen.uncopied)
        and (is_counted or is_transactional)
        and not is_unseen
    )
    return OutOfRange(
        topic=topic,
        partition=partition,
        first=first,
        end=start,
        sure_from=min(max(first, sure_from), start) if is_sure else start,
        since=known.since if known is not None and is_same else at,
        log_end=seen.source_end,
        copies_end=seen.copies_end,
        patience=2 * flush,
        is_unseen=is_unseen,
    )


def _follow(
    known: OutOfRange, pair: LogPair, seen: PartitionView, commit: int
) -> OutOfRange | None:
    """Return what is out of range by now, until copies show where the mirror
    resumed.
    """
    if pair.judged >= known.end:
        return None
    proved = max(pair.judged, commit)
    first, end = known.first, known.end
    if proved < end:
        first = max(first, proved)
    if seen.copies_end == known.copies_end:
        end = max(end, seen.log_start)
    is_sure = known.sure_from < known.end
    return replace(
        known,
        first=first,
        end=end,
        sure_from=max(first, known.sure_from) if is_sure else end,
        log_end=seen.source_end,
    )


def _committed(pair: LogPair, seen: PartitionView) -> int:
    """Return the committed position, 0 if it is of a former topic."""
    commit = seen.committed
    if (
        commit is None
        or commit.position is None
        or (pair.since is not None and commit.written_at <= pair.since)
    ):
        return 0
    return min(commit.position, seen.source_end)
