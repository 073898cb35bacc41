"""Which source records never came to the target, for a failback."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from ..offsets import OffsetMap, RangeSet

__all__ = ["ReplicatedLog", "UncopiedRange", "list_uncopied"]


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
    """Why some of them may have been copied, in a sentence; `None` if none
    was."""

    @property
    def count(self) -> int:
        """Offsets in it."""
        return self.last - self.first + 1


@dataclass(frozen=True, kw_only=True)
class ReplicatedLog:
    """What is known of one source partition, and of its copy.

    Notes
    -----
    Source and target may be asked at any time after the mirror has stopped:
    what the target holds tells how far it came.
    """

    topic: str
    partition: int
    end: int
    grown: bool = False
    start: int = 0
    position: int = 0
    """Every offset below was copied or skipped, as proved."""

    looked: int = 0
    """Every offset below was looked into: what was skipped of it is known."""

    upstream: int | None = None
    """Source offset up to which both sides were compared; `None` if no sync
    is known."""

    downstream: int = -1
    copies: OffsetMap = field(default_factory=OffsetMap)
    """Where copies are, by all syncs."""

    skipped: RangeSet = field(default_factory=RangeSet)
    doubtful: RangeSet = field(default_factory=RangeSet)
    forgotten: bool = False
    hole: int = 0
    """Copies of records below are gone: the target was recreated."""

    target_end: int | None = None
    """End of the target, 0 without a partition; `None` if not known."""

    watched_end: int | None = None
    """End of the target when both sides were last read, 0 if they never were:
    where both have one name, producers write there after a failover. `None`
    where they do not."""

    uncounted: str | None = None
    """Why the end of the target does not show how far the mirror came, in a
    sentence; `None` if it does."""


def list_uncopied(log: ReplicatedLog) -> Iterator[UncopiedRange]:
    """Yield the offsets of one partition that the target lacks, in order.

    Parameters
    ----------
    log
        What is known of it.
    """
    first, doubt = _tail(log)
    first = max(first, log.start)
    found: list[tuple[int, int, str | None]] = [
        (max(low, log.start), min(high, first - 1), why)
        for ranges, why in (
            *_skipped(log),
            (
                log.doubtful,
                "Skipped, or copied in a way that cannot be recognised",
            ),
        )
        for low, high in ranges
    ]
    if log.forgotten:
        oldest = min((low for low, _ in log.skipped), default=first)
        found.append(
            (
                log.start,
                oldest - 1,
                "Too much was skipped to remember all of it",
            )
        )
    found.append((first, log.end - 1, doubt))
    for low, high, why in sorted(found, key=lambda each: each[:2]):
        if low <= high:
            yield UncopiedRange(
                topic=log.topic,
                partition=log.partition,
                first=low,
                last=high,
                doubt=why,
            )


def _skipped(
    log: ReplicatedLog,
) -> Iterator[tuple[Iterable[tuple[int, int]], str | None]]:
    """Yield what was skipped, and why it may be at the target all the same."""
    if log.upstream is None or log.target_end == log.downstream + 1:
        yield log.skipped, None
        return
    synced = log.upstream
    yield [(low, min(high, synced)) for low, high in log.skipped], None
    yield (
        [(max(low, synced + 1), high) for low, high in log.skipped],
        "MirrorMaker may have copied it again since the newest offset sync",
    )


def _tail(log: ReplicatedLog) -> tuple[int, str | None]:
    """Return the first offset that the mirror did not come to, and why that
    may be a later one.
    """
    lost = _lost_copies(log)
    if lost is not None:
        return lost
    if log.upstream is not None and _is_compared_in_part(log, log.upstream):
        return log.upstream + 1, (
            "Newer syncs show that records are missing or repeated, and both "
            "sides were not read since"
        )
    compared = 0 if log.upstream is None else log.upstream + 1
    position = max(log.position, compared)
    doubt = _doubt_end(log)
    if doubt is not None or log.target_end is None:
        return position, doubt
    end = log.target_end
    if log.watched_end is not None and log.watched_end < end:
        end = max(log.watched_end, log.downstream + 1)
        doubt = (
            "Producers may have written to the target since mirrorwatch last "
            "read both sides"
        )
    looked = max(compared, log.looked)
    reached = compared + end - log.downstream - 1
    if max(looked, reached) < position:
        return looked, doubt or (
            "The target holds fewer records than MirrorMaker committed: the "
            "others were skipped, or are markers of transactions"
        )
    return max(position, reached), doubt


def _lost_copies(log: ReplicatedLog) -> tuple[int, str | None] | None:
    """Return the first offset whose copy is gone, and why others may be there;
    `None` if none is.
    """
    if log.hole > log.start:
        return log.start, (
            f"The target was recreated, and copies below {log.hole} were lost"
        )
    if log.target_end == 0:
        return log.start, None
    if log.target_end is None or log.target_end > log.downstream:
        return None
    there = log.copies.upstream_at(log.target_end)
    return max(log.start, there or 0), (
        "The target ends before copies that it had: its log was truncated"
    )


def _doubt_end(log: ReplicatedLog) -> str | None:
    """Return why the target's end does not show how far the mirror came."""
    if log.uncounted is not None:
        return log.uncounted
    if log.upstream is None:
        return "No offset sync shows how far MirrorMaker came"
    if log.target_end is None:
        return "The target does not say how far MirrorMaker came"
    reached = log.upstream + log.target_end - log.downstream
    if reached > log.end and not log.grown:
        return "The target holds more records than the source had to copy"
    return None


def _is_compared_in_part(log: ReplicatedLog, upstream: int) -> bool:
    """Return whether newer syncs show that records are missing or repeated,
    and both sides were not read since.
    """
    distance = upstream - log.downstream
    return any(
        there > log.downstream and here - there != distance
        for here, there, _ in log.copies
    )
