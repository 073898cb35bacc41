"""Which topic would lose records first."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from .observation import Headroom, TopicLag

__all__ = ["FirstLoss", "first_loss"]

ALIKE = timedelta(minutes=1)
ALIKE_SHARE = 100
"""Topics that differ by less than a minute and a hundredth are alike, and the
first by name stands for them: which of a thousand topics has a record on its
way changes with every look, and is no news."""


@dataclass(frozen=True, slots=True)
class FirstLoss:
    """The topic that would lose records first."""

    topic: TopicLag
    headroom: Headroom
    others_alike: int
    """Topics that would lose them at the same time."""


def first_loss(topics: Sequence[TopicLag]) -> FirstLoss | None:
    """Return the first to lose records, `None` if nothing is ever deleted."""
    found = [(t, t.headroom) for t in topics if t.headroom is not None]
    least = min((left.remaining for _, left in found), default=None)
    if least is None:
        return None
    margin = min(ALIKE, least / ALIKE_SHARE)
    alike = [pair for pair in found if pair[1].remaining <= least + margin]
    topic, left = min(alike, key=lambda pair: pair[0].topic)
    return FirstLoss(topic, left, len(alike) - 1)
