"""Positions that lie outside of the source's log."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from ..view import ClusterView, FlowView, TopicPartition
from .books import ResetBooks
from .event import Kind
from .place import Place

__all__ = ["Standing"]

BEYOND_AFTER = timedelta(seconds=15)
"""How long a position must lie beyond the end: a new leader may not know for
some seconds how far its followers are."""

UNSURE_AFTER = timedelta(minutes=3)
"""How long a position that is only known by commits must lie before the log's
start: a commit comes with the flush interval, 60 s by default."""

Spot = tuple[Kind, TopicPartition]


@dataclass(slots=True)
class Standing:
    """Looks at every position, survey by survey.

    Parameters
    ----------
    books
        The books.
    estimates
        Whether the target's ends may be counted back to positions: not where
        a mirror writes in transactions.
    """

    books: ResetBooks
    estimates: bool = True
    fresh: set[TopicPartition] = field(default_factory=set)
    """Places that were not known before."""

    _since: dict[Spot, datetime] = field(default_factory=dict)

    def look(
        self,
        view: FlowView,
        source: ClusterView,
        empty_until: Mapping[TopicPartition, int],
    ) -> None:
        """Find positions outside of the log.

        Parameters
        ----------
        view
            What was seen.
        source
            The source in it.
        empty_until
            Up to where no data follows positions, by place.
        """
        since, self._since = self._since, {}
        quiet = not self.books.resets
        for key, place in self.books.places.items():
            end, start = source.ends.get(key), source.starts.get(key, 0)
            if end is None or key[0] not in view.names:
                continue
            reached = place.reached
            if quiet and reached is not None and start <= reached <= end:
                self.fresh.discard(key)
                continue
            waiting = self.books.open(Kind.SOURCE_RECREATED, *key)
            if waiting is not None:
                self.books.change(waiting, log_end=end)
            if place.reached is None:
                continue
            if place.reached > end or start > place.reached:
                known = empty_until.get(key, 0)
                if known > place.empty_until:
                    place.empty_until = known
                    self.books.touched.add(key)
            if place.reached > end:
                self._beyond(key, place, end, view.at, since)
            elif start > place.reached:
                self._expired(view, key, place, (start, end), since)
            else:
                self._over(key, place, view.at)
            self.fresh.discard(key)

    def _beyond(
        self,
        key: TopicPartition,
        place: Place,
        end: int,
        at: datetime,
        since: Mapping[Spot, datetime],
    ) -> None:
        known = self.books.open(Kind.BEYOND, *key)
        if known is not None:
            lowest = min(end, known.first or 0)
            self.books.change(known, first=lowest, log_end=end)
        elif self._stands((Kind.BEYOND, key), at, since, BEYOND_AFTER):
            self.books.begin(
                Kind.BEYOND,
                key[0],
                at,
                partition=key[1],
                first=end,
                end=place.reached,
                log_end=end,
            )

    def _expired(
        self,
        view: FlowView,
        key: TopicPartition,
        place: Place,
        log: tuple[int, int],
        since: Mapping[Spot, datetime],
    ) -> None:
        start, end = log
        if key in self.fresh and start == end:
            # Nobody can say any more whether these were data or markers.
            place.reached = start
            self.books.touched.add(key)
            return
        reached, sure = self._reached(view, key, place)
        if reached >= start:
            return
        known = self.books.open(Kind.EXPIRED, *key)
        what: dict[str, Any] = {
            "first": reached,
            "end": start,
            "log_end": end,
        }
        if known is not None:
            self.books.change(known, **what)
            return
        # Once more: the mirror may have gone on between the two questions.
        patience = timedelta() if sure else UNSURE_AFTER
        if self._stands((Kind.EXPIRED, key), view.at, since, patience):
            self.books.begin(
                Kind.EXPIRED, key[0], view.at, partition=key[1], **what
            )

    def _over(self, key: TopicPartition, place: Place, at: datetime) -> None:
        """Close what is over without a sync that says so."""
        known = self.books.open(Kind.EXPIRED, *key)
        if known is not None and place.upstream is None:
            self.books.change(known, settled=at)

    def _reached(
        self, view: FlowView, key: TopicPartition, place: Place
    ) -> tuple[int, bool]:
        """Return the next offset to copy, and whether that is up to date."""
        proved = max(place.reached or 0, place.empty_until)
        if not self.estimates:
            return proved, True  # committed with the records themselves
        if view.target is None:
            return proved, False
        target_end = view.target.ends.get((view.names[key[0]], key[1]))
        sure = target_end is not None and place.downstream is not None
        return place.estimate(target_end) or proved, sure

    def _stands(
        self,
        spot: Spot,
        at: datetime,
        since: Mapping[Spot, datetime],
        patience: timedelta,
    ) -> bool:
        """Tell whether something was so before, for as long as is needed."""
        first = self._since[spot] = since.get(spot, at)
        return spot in since and at - first >= patience
