"""What is said of sources whose target does not exist."""

from collections.abc import Mapping
from datetime import datetime

from .alignment import Pairing
from .ends import End
from .facts import LaneFacts, Talk
from .outcome import Outcome, to_gap, to_lane
from .settled import settled_of

__all__ = ["NOWHERE", "plan_untold"]

NOWHERE = (
    "not at the target {cluster}: the mirror has copied nothing of it that is "
    "known; does its topic filter match, and may it make topics there?"
)


def plan_untold(
    lane: LaneFacts,
    ends: Mapping[tuple[str, str, int], End],
    *,
    newest: datetime,
    latest: datetime,
) -> Talk[Outcome]:
    """Work out what is said of sources whose target does not exist.

    Parameters
    ----------
    lane
        The lane.
    ends
        Up to where partitions were audited; none of an ad hoc audit.
    newest
        Time before which records are settled.
    latest
        Latest time that a timestamp can be without being wrong.

    Notes
    -----
    An empty source needs no target, and a young one may wait for the mirror's
    next look for topics. Where the mirror's position is past records, it read
    them, and they are missing: so they are compared with nothing. Where it is
    not, nobody can say.
    """
    begins, lasts, positions, gaps = [], [], [], []
    for feed in lane.feeds:
        found = yield from settled_of(feed, newest, latest)
        end = ends.get(feed.place)
        known = end is not None and end.source_id == feed.log.topic_id
        begin = feed.log.retained.start
        if known and end is not None:
            begin = max(begin, end.source_end)
        read = begin if found.position is None else found.position
        last = max(begin, min(read, found.end))
        if last < found.end:
            reason = NOWHERE.format(cluster=lane.cluster)
            gaps.append(to_gap(feed, reason, found.end - last))
        begins.append(begin)
        lasts.append(last)
        positions.append(found.position)
    if lasts == begins:
        return Outcome(unverifiable=tuple(gaps))
    return Outcome(
        lane=to_lane(
            lane,
            Pairing(sources=tuple(begins), target=0),
            Pairing(sources=tuple(lasts), target=0),
            positions=positions,
            cut="timestamp",
            cut_at=newest,
        ),
        unverifiable=tuple(gaps),
    )
