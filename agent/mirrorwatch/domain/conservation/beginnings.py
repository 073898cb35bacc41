"""Where the books of a partition begin, and when they begin anew."""

from ..positions import Sync
from .epoch import Epoch
from .plan import Ends

__all__ = ["begin", "is_another", "is_within"]

_SMALL = 50_000
"""Records up to which a topic that was made while the agent was away is read
from its start, both sides at once."""


def begin(
    epoch: Epoch,
    ends: Ends,
    sync: Sync | None,
    *,
    appeared: bool,
    unwatched: bool,
) -> bool:
    """Say where the books of a partition that was never seen begin.

    Parameters
    ----------
    epoch
        The new books.
    ends
        Ends of both sides.
    sync
        Newest pair that the mirror told.
    appeared
        Whether the partition was not there in the survey before.
    unwatched
        Whether the flow was watched before, but not just now: it may have
        been made meanwhile.

    Returns
    -------
    bool
        Whether what the mirror wrote until now may be of another topic.
    """
    is_young = unwatched and ends.source_start == 0 and ends.source <= _SMALL
    if appeared or is_young or ends.target == 0:
        # Its first record is still to be copied, or can be read.
        epoch.begin(ends.source_start - 1, -1)
        epoch.is_head = True
        return not appeared and ends.target == 0
    if sync is not None and is_within(sync, ends):
        # What a mirror did before it was watched is not judged.
        epoch.begin(sync.upstream, sync.downstream)
    return False


def is_another(
    epoch: Epoch, source_id: str, target_id: str | None, ends: Ends
) -> bool:
    """Tell whether a topic was made again, or a log lost its end."""
    if epoch.source_id != source_id:
        return True
    if target_id is not None and epoch.target_id not in {None, target_id}:
        return True
    if epoch.upstream is None:
        return False
    return epoch.upstream >= ends.source or (
        target_id is not None and epoch.downstream >= ends.target
    )


def is_within(sync: Sync, ends: Ends) -> bool:
    """Tell whether both logs hold what a pair speaks of; else it speaks of
    another incarnation, or of a log that lost its end.
    """
    return sync.upstream < ends.source and sync.downstream < ends.target
