"""Where the ranges of a lane begin on a night."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from .alignment import Pairing, align, first_record
from .ends import End
from .facts import Feed, LaneFacts, Log, Talk
from .outcome import to_gap
from .plan import Unverifiable

__all__ = ["Start", "start_of"]

EXPIRED = "expired at the {side} before it was audited"

SHORTENED = (
    "the log at the {side} has become shorter: records that were audited are "
    "no more"
)

RENEWED = (
    "the topic at the {side} was deleted and made again since it was last "
    "audited"
)

SKIPPED = (
    "before the first record that is known to be copied, and whether the "
    "mirror skips what a partition holds (auto.offset.reset) is not known: "
    "see that mirror.topics.configs names the configuration topic of its "
    "Connect workers, and that its connectors are in it"
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Start:
    """Where the ranges of a lane begin."""

    pairing: Pairing | None
    """Offsets that belong together; `None` if none are known."""

    since: datetime | None = None
    """Time of what begins there; `None` if that is not known."""

    lost: tuple[Unverifiable, ...] = ()
    """What can no longer be audited."""


def start_of(
    lane: LaneFacts,
    goal: Log,
    ends: Mapping[tuple[str, str, int], End],
    slack: timedelta,
) -> Talk[Start]:
    """Work out where the ranges of a lane begin on a night.

    Parameters
    ----------
    lane
        The lane.
    goal
        Its target partition.
    ends
        Up to where partitions were audited.
    slack
        By how much records may be out of time order.

    Notes
    -----
    A lane goes on where it was audited up to. A new one begins at the start
    of both logs, if both are whole. Where something is lost, because it
    expired or the topic is another one, see `align`.
    """
    known = [ends.get(feed.place) for feed in lane.feeds]
    if not any(known):
        pairing = yield from _begin(lane, goal, slack)
        return Start(
            pairing=pairing,
            since=(yield from _oldest(lane)),
            lost=tuple(_skipped(lane, goal, pairing)),
        )
    before = Pairing(
        sources=tuple(
            feed.log.retained.start if end is None else end.source_end
            for feed, end in zip(lane.feeds, known, strict=True)
        ),
        target=max(end.target_end for end in known if end is not None),
    )
    since = min(end.cut_at for end in known if end is not None)
    reasons = [
        None if end is None else _find_loss(feed, end, goal)
        for feed, end in zip(lane.feeds, known, strict=True)
    ]
    if not any(reasons):
        return Start(pairing=before, since=since)
    renewed = any(
        end is not None and _is_another(feed, end, goal)
        for feed, end in zip(lane.feeds, known, strict=True)
    )
    # Offsets and syncs of another topic say nothing about this one.
    floor = None if renewed else before
    pairing = yield from align(
        lane, goal, slack, floor=floor, use_syncs=not renewed
    )
    sure = pairing if not renewed else None
    lost = tuple(
        to_gap(
            feed,
            reason,
            None if sure is None else sure.sources[n] - before.sources[n],
        )
        for n, (feed, reason) in enumerate(
            zip(lane.feeds, reasons, strict=True)
        )
        if reason is not None
    )
    return Start(pairing=pairing, since=since, lost=lost)


def _begin(
    lane: LaneFacts, goal: Log, slack: timedelta
) -> Talk[Pairing | None]:
    """Return where a lane begins that was never audited."""
    if _is_whole(lane, goal) and lane.starts_at_end is False:
        return Pairing(sources=tuple(0 for _ in lane.feeds), target=0)
    return (yield from align(lane, goal, slack))


def _is_whole(lane: LaneFacts, goal: Log) -> bool:
    return goal.retained.start == 0 and all(
        feed.log.retained.start == 0 for feed in lane.feeds
    )


def _skipped(
    lane: LaneFacts, goal: Log, pairing: Pairing | None
) -> Iterator[Unverifiable]:
    """Tell of records that may have been dropped, or never asked for."""
    if pairing is None or lane.starts_at_end is not None:
        return
    if not _is_whole(lane, goal):
        return
    for feed, first in zip(lane.feeds, pairing.sources, strict=True):
        if first:
            yield to_gap(feed, SKIPPED, first)


def _oldest(lane: LaneFacts) -> Talk[datetime | None]:
    """Return the oldest of the timestamps that the feeds begin with."""
    times = []
    for feed in lane.feeds:
        first = yield from first_record(feed.log)
        if first.written_at is not None:
            times.append(first.written_at)
    return min(times, default=None)


def _is_another(feed: Feed, end: End, goal: Log) -> bool:
    return end.source_id != feed.log.topic_id or end.target_id not in {
        goal.topic_id,
        "",  # there was none, and nothing was audited of it
    }


def _find_loss(feed: Feed, end: End, goal: Log) -> str | None:
    """Return why a lane cannot go on where it was audited up to."""
    if end.source_id != feed.log.topic_id:
        return RENEWED.format(side="source")
    if end.target_id not in {goal.topic_id, ""}:
        return RENEWED.format(side="target")
    for log, audited in ((feed.log, end.source_end), (goal, end.target_end)):
        if audited > log.retained.end:
            return SHORTENED.format(side=log.side)
        if audited < log.retained.start:
            return EXPIRED.format(side=log.side)
    return None
