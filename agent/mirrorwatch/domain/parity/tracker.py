"""Conditions that have persisted without a break, and since when."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime

__all__ = ["Condition", "FirstSeen", "FirstSeenChanges"]


Condition = str
"""Condition, exactly: another topic id or another value is another
condition."""


@dataclass(frozen=True, slots=True)
class FirstSeenChanges:
    """Changes made by an update, to be persisted."""

    began: Mapping[Condition, datetime]
    ended: frozenset[Condition]


class FirstSeen:
    """Remembers when each condition was first seen.

    Parameters
    ----------
    since
        First-seen time of each condition, remembered from before a restart.

    Notes
    -----
    What stood when the agent stopped and stands when it is back is taken to
    have stood all the while. What began meanwhile counts from its first
    sight: a restart makes nothing look older than it is.
    """

    def __init__(self, since: Mapping[Condition, datetime]) -> None:
        self._since = dict(since)

    def __iter__(self) -> Iterator[Condition]:
        return iter(self._since)

    def update(
        self,
        found: Iterable[Condition],
        at: datetime,
        *,
        unseen: Callable[[Condition], bool] = lambda _: False,
    ) -> FirstSeenChanges:
        """Take all conditions that hold now.

        Parameters
        ----------
        found
            The conditions.
        at
            The time.
        unseen
            Returns whether it is not known if a condition still holds: then
            it is remembered until that is known.
        """
        found = set(found)
        began = dict.fromkeys(found - self._since.keys(), at)
        ended = frozenset(
            c for c in self._since.keys() - found if not unseen(c)
        )
        self._since.update(began)
        for condition in ended:
            del self._since[condition]
        return FirstSeenChanges(began, ended)

    def get(self, condition: Condition) -> datetime | None:
        """Return when a condition was first seen, if it is remembered."""
        return self._since.get(condition)

    def since(self, condition: Condition) -> datetime:
        """Return when a condition that holds was first seen."""
        return self._since[condition]
