"""Up to where the sources of a lane are settled and copied."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from .facts import Feed, FirstSince, RecordAt, Talk, ask

__all__ = ["Settled", "limit_of", "settled_of"]

DAY = timedelta(days=1)
"""Most that one piece takes of what was missed."""

NIGHT = timedelta(hours=36)
"""From when a stretch is taken for more than one night."""

PIECES = 7
"""Where more than a week is left, a piece is this part of it: a record with a
timestamp of years ago must not make thousands of nights."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Settled:
    """Up to where one feed is settled and copied."""

    end: int
    """Offset before which all records are settled."""

    position: int | None
    """Proved next data offset to copy, at most the end of the log."""

    waiting_since: datetime | None = None
    """Timestamp of the record at the position, if it is below `end`."""

    blocked: bool = False
    """Whether a record from the future hides which ones are settled."""

    @property
    def copied(self) -> int:
        """Offset before which all records are settled and, as far as that is
        known, copied.
        """
        if self.position is None:
            return self.end
        return min(self.end, self.position)


def limit_of(
    since: datetime | None, now: datetime, settle: timedelta
) -> datetime:
    """Return the time up to which one piece goes.

    Parameters
    ----------
    since
        Time of what was not audited yet, if it is known.
    now
        The time.
    settle
        Age from which records are settled.
    """
    newest = now - settle
    if since is None or newest - since <= NIGHT:
        return newest
    return since + max(DAY, (newest - since) / PIECES)


def settled_of(feed: Feed, limit: datetime, latest: datetime) -> Talk[Settled]:
    """Find out up to where a feed is settled and copied.

    Parameters
    ----------
    feed
        One of the source partitions that feed a lane.
    limit
        Time from which records are left to later.
    latest
        Latest time that a timestamp can be without being wrong.

    Notes
    -----
    A position below the settled end need not mean that records wait: offsets
    of transaction markers, and those that compaction emptied, are never
    copied. So the first record at the position is looked for.

    Kafka finds the first record that is not older than a time. A record with
    a timestamp that is yet to come hides all that are behind it, for as long
    as that takes, and nothing would be audited any more. Then what is copied
    is taken for settled.
    """
    first = yield from ask(FirstSince(feed.log, limit))
    end = first.within(feed.log.retained)
    blocked = first.written_at is not None and first.written_at > latest
    if blocked:
        end = feed.log.retained.end
    position = feed.position
    if position is None or position >= end:
        return Settled(
            end=end,
            position=None
            if position is None
            else min(position, feed.log.retained.end),
            blocked=blocked,
        )
    head = yield from ask(
        RecordAt(
            feed.log,
            max(position, feed.log.retained.start),
            bool(feed.read_committed),
        )
    )
    if head.failed:
        return Settled(end=end, position=position, blocked=blocked)
    if head.offset is None or head.offset >= feed.log.retained.end:
        position = feed.log.retained.end
        return Settled(end=end, position=position, blocked=blocked)
    return Settled(
        end=end,
        position=head.offset,
        waiting_since=head.written_at if head.offset < end else None,
        blocked=blocked,
    )
