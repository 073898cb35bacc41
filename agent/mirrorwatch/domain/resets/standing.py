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

AWAY_AFTER = timedelta(minutes=1)
"""How long a topic must be away: a cluster that comes up may not know all of
its topics at once."""

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
        self._leave(view, since)
        watched = {
            (r.topic, r.partition)
            for r in self.books.resets.values()
            if r.settled is None
        }
        for key, place in self.books.places.items():
            end, start = source.ends.get(key), source.starts.get(key, 0)
            if end is None or key[0] not in view.names:
                continue
            inside = place.reached is not None and (
                start <= place.reached <= end
            )
            if inside and key not in watched:
                # Nearly all of them, at every tick.
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
                self._over(key, place, end, view.at)
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

    def _over(
        self, key: TopicPartition, place: Place, end: int, at: datetime
    ) -> None:
        """Note what became of a position that lies within the log again."""
        known = self.books.open(Kind.EXPIRED, *key)
        if known is not None and place.upstream is None:
            self.books.change(known, settled=at)  # no sync will say so
        passed = self.books.open(Kind.BEYOND, *key)
        if passed is not None:
            self.books.change(passed, log_end=end)

    def _leave(self, view: FlowView, since: Mapping[Spot, datetime]) -> None:
        """Settle what nothing will decide, as the topic is gone.

        Notes
        -----
        A source topic that was made again stays open all the same, unsaid:
        the mirror still holds the old position, should there be a third one.
        """
        for reset in list(self.books.resets.values()):
            if reset.settled is not None or reset.partition is None:
                continue
            if reset.topic in view.names:
                self.books.change(reset, away=False)
                continue
            spot = (reset.kind, (reset.topic, reset.partition))
            if not self._stands(spot, view.at, since, AWAY_AFTER):
                continue
            if reset.kind is Kind.BEYOND:
                self.books.drop(reset)  # it comes again with the topic
            elif reset.kind is Kind.SOURCE_RECREATED:
                self.books.change(reset, away=True)
            else:
                self.books.change(reset, away=True, settled=view.at)

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
