"""Finds positions before the start of a log and beyond its end."""

from collections.abc import Container, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from ..cluster_view import FlowView, PartitionView, TopicPartition
from .growth import UnprovedGrowth
from .internal_topics import AWAY_AFTER
from .model import (
    PartitionPosition,
    PositionState,
    Reset,
    ResetKind,
    Truncation,
)

__all__ = ["OutOfRangePositions", "PositionBeyond"]


BEYOND_AFTER = timedelta(seconds=15)
"""Time for which a position must lie beyond the log end: a new leader may not
know for some seconds how far its followers are, and a mirror that runs resets
it."""

OLD_LEADER = timedelta(minutes=2)
"""The same where the leader's epoch is no higher than when the position was
within the log: only a new leader truncates one. A leader that is cut off from
its cluster goes on to tell the end that its log had. Who leads is asked every
ten seconds, of any broker: of three, it would be the one each time about once
in a million."""

UNSURE_AFTER = timedelta(minutes=3)
"""Time for which a position that is only known by commits must lie before the
log start: a commit comes with the flush interval, 60 s by default."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PositionBeyond:
    """A position beyond the end of a log, not yet for long."""

    reached: int
    end: int
    since: datetime
    """Time at which the position was first seen there."""

    synced_at: datetime | None
    """Time of the last offset sync: the next one shows the position."""


NOTHING = 0, 0

Spot = tuple[ResetKind | None, TopicPartition]
"""Condition that has to persist for some time; `None` is that the topic is
away."""


@dataclass(slots=True)
class OutOfRangePositions:
    """Looks at every position, survey by survey.

    Parameters
    ----------
    state
        The state.
    estimates
        Log ends of the target may be counted back to positions: not where a
        mirror writes in transactions.
    """

    state: PositionState
    estimates: bool = True
    fresh: set[TopicPartition] = field(default_factory=set)
    """Places of which nobody saw what came last: they were not known before,
    or nothing waited there when another process saw them last."""

    foreign: AbstractSet[TopicPartition] = frozenset()
    resumes_at_end: bool = False
    """Mirror resumes at the log end where its position has expired."""

    growth: UnprovedGrowth = field(default_factory=UnprovedGrowth)
    """Growth of the target's log ends without a commit."""

    doubted: dict[TopicPartition, PositionBeyond] = field(default_factory=dict)
    """Positions whose log end fell: a broker that refuses to read at the
    position proves that the log was truncated."""

    _refused: dict[TopicPartition, PositionBeyond] = field(
        default_factory=dict
    )
    """Positions at which a broker refused to read, until pending syncs of
    their partitions are judged."""

    _since: dict[Spot, datetime] = field(default_factory=dict)
    _lowest: dict[TopicPartition, int] = field(default_factory=dict)
    """Lowest ends of logs that positions lie beyond, not yet for long."""

    _copies: dict[TopicPartition, int | None] = field(default_factory=dict)
    _inside: dict[TopicPartition, PartitionView] = field(default_factory=dict)
    """Views in which positions were last within the log."""

    _fell: dict[TopicPartition, datetime] = field(default_factory=dict)

    def look(
        self,
        view: FlowView,
        empty_until: Mapping[TopicPartition, int],
        dropped: Mapping[TopicPartition, tuple[int, int]],
    ) -> None:
        """Find positions outside of the log.

        Parameters
        ----------
        view
            Snapshot of the flow in this survey.
        empty_until
            Up to where no data follows proved positions, by partition.
        dropped
            First offset and end of what a transform drops on purpose.
        """
        since, self._since = self._since, {}
        lowest, self._lowest = self._lowest, {}
        self.doubted = {}
        self.refuse({})
        self._leave(view, since)
        watched = {
            (r.topic, r.partition)
            for r in self.state.resets.values()
            if r.settled is None
        }
        for key, place in self.state.places.items():
            seen = view.partitions.get(key)
            if seen is None:
                continue
            start, end = seen.log_start, seen.source_end
            reached = self._see(key, place, seen, view.at)
            inside = reached is not None and start <= reached <= end
            # Without copies it is known from where the log begins by now.
            is_past = place.is_begun or start <= place.proved
            known = empty_until.get(key, 0) if is_past else 0
            first, until = dropped.get(key, NOTHING)
            if first <= place.proved:
                known = max(known, until)
            if reached is not None and known > place.empty_until:
                place.empty_until = known
                self.state.touched.add(key)
            if inside and key not in watched:
                # Nearly all of them, at every tick.
                self.fresh.discard(key)
                self._inside[key] = seen
                continue
            waiting = self.state.open(ResetKind.SOURCE_RECREATED, *key)
            if waiting is not None:
                waiting = self.state.change(waiting, log_end=end)
                self._expired_of_new(view.at, waiting, key, seen, since)
            if reached is None:
                continue
            if reached > end:
                self._lowest[key] = min(end, lowest.get(key, end))
                self._beyond(key, reached, seen, view.at, since)
            elif start > reached:
                self._expired(view.at, key, place, seen, since)
            else:
                self._inside[key] = seen
                self._over(key, place, end, view.at)
            self.fresh.discard(key)

    def _see(
        self,
        key: TopicPartition,
        place: PartitionPosition,
        seen: PartitionView,
        at: datetime,
    ) -> int | None:
        """Take both ends; return where the mirror is.

        Notes
        -----
        Where the log was truncated below what was copied, the copies show
        that: the last sync and commit may be older. Nothing is counted back
        from the target's end any more, until the next sync: other records
        may be at these offsets now.
        """
        end = seen.source_end
        if end < (place.source_end or 0):
            self._fell[key] = at
            reached = place.estimate(place.target_end)
            if reached is not None and end < reached:
                place.truncation = Truncation(
                    reached=min(reached, place.source_end or 0),
                    synced_at=place.synced_at,
                    committed_at=place.committed_at,
                )
                place.downstream = None
            # Other records may come at these offsets.
            place.empty_until = min(place.empty_until, end)
            self.state.touched.add(key)
        if (
            not place.is_seen
            and place.reached is not None
            and (place.source_end or 0) <= place.proved
        ):
            self.fresh.add(key)
        if (place.source_end, place.target_end) != (end, seen.target_end):
            self.state.moved.add(key)
        place.source_end, place.target_end = end, seen.target_end
        place.is_seen = True
        if self.estimates and self.growth.look(
            key, place, seen.target_end, at
        ):
            self.state.touched.add(key)
        if place.truncation is None:
            return place.reached
        if place.truncation.is_over(place, end):
            place.truncation = None
            self.state.touched.add(key)
            return place.reached
        return max(place.reached or 0, place.truncation.reached)

    def _beyond(
        self,
        key: TopicPartition,
        reached: int,
        seen: PartitionView,
        at: datetime,
        since: Mapping[Spot, datetime],
    ) -> None:
        known, end = self.state.open(ResetKind.BEYOND, *key), seen.source_end
        is_old = _is_of_old_leader(seen, self._inside.get(key))
        patience = OLD_LEADER if is_old else BEYOND_AFTER
        if known is not None:
            lowest = min(end, known.first or 0)
            self.state.change(known, first=lowest, log_end=end)
            return
        spot = (ResetKind.BEYOND, key)
        stands = self._stands(spot, at, since, patience)
        fell_at = self._fell.get(key)
        found = PositionBeyond(
            reached=reached,
            end=self._lowest[key],
            since=self._since[spot],
            synced_at=self.state.places[key].synced_at,
        )
        if stands:
            self._begin_beyond(key, found, end)
        elif fell_at is not None and fell_at >= found.since and not is_old:
            self.doubted[key] = found

    def _begin_beyond(
        self, key: TopicPartition, found: PositionBeyond, log_end: int
    ) -> None:
        self.state.begin(
            ResetKind.BEYOND,
            key[0],
            found.since,
            partition=key[1],
            first=found.end,
            end=found.reached,
            log_end=log_end,
        )

    def refuse(
        self,
        refused: Mapping[TopicPartition, PositionBeyond],
        pending: Container[TopicPartition] = (),
    ) -> None:
        """Take positions at which the source refuses to read.

        Its log ends before them, which is kept at once: it may have grown past
        them by the next survey. But a sync that is still to be judged may be
        of the log as it was: it would seem that the mirror went on.

        Parameters
        ----------
        refused
            The positions.
        pending
            Partitions with syncs that are still to be judged.
        """
        self._refused |= refused
        for key in [key for key in self._refused if key not in pending]:
            found, place = self._refused.pop(key), self.state.places.get(key)
            if (
                place is not None
                and (
                    place.synced_at == found.synced_at
                    or (place.upstream or 0) >= found.end
                )
                and not self.state.open(ResetKind.BEYOND, *key)
                and not self.state.open(ResetKind.SOURCE_RECREATED, *key)
            ):
                reached = max(found.reached, place.reached or 0)
                found = replace(found, reached=reached)
                self._begin_beyond(key, found, place.source_end or 0)

    def reported(self, at: datetime) -> Iterator[Reset]:
        """Yield the resets that are reported: not a position beyond the end
        as long as a mirror that runs may be resetting it.
        """
        for reset in self.state.resets.values():
            if (
                reset.kind is not ResetKind.BEYOND
                or reset.settled is not None
                or at - reset.began >= BEYOND_AFTER
            ):
                yield reset

    def _expired(
        self,
        at: datetime,
        key: TopicPartition,
        place: PartitionPosition,
        seen: PartitionView,
        since: Mapping[Spot, datetime],
    ) -> None:
        start, end = seen.log_start, seen.source_end
        known = self.state.open(ResetKind.EXPIRED, *key)
        if known is not None:
            # What the target has since is of a mirror that went on: only a
            # proof says that less expired.
            first, at_most = known.first or 0, key in self.foreign
            if at_most and not known.at_most:
                first = first if known.proved is None else known.proved
            if start > (known.end or 0):
                # What expires next it may have copied, once it went on.
                copies = self._copies.setdefault(key, seen.target_end)
                at_most |= seen.copies_end > (copies or 0)
            self.state.change(
                known,
                first=max(first, min(place.proved, start)),
                proved=min(place.proved, start),
                at_most=known.at_most or at_most,
                end=max(known.end or 0, start),
                log_end=end,
            )
            return
        reached, sure = self._reached(seen, place)
        if reached >= start:
            return
        if key in self.fresh and start == end:
            # Nobody can say any more whether these were data or markers.
            # After each transaction there is one.
            if start - reached > 1:
                self.state.begin(
                    ResetKind.UNVERIFIED,
                    key[0],
                    at,
                    partition=key[1],
                    first=reached,
                    end=start,
                    settled=at,
                )
            place.reached = start
            self.state.touched.add(key)
            return
        what: dict[str, Any] = {
            "first": reached,
            "proved": place.proved,
            "at_most": not sure,
            "end": start,
            "log_end": end,
            "from_end": self.resumes_at_end,
        }
        # Once more: the mirror may have gone on between the two questions.
        patience = timedelta()
        unsure: Spot = ResetKind.UNVERIFIED, key
        if not sure or unsure in since:
            # A target that is back: its positions are read again by then.
            self._since[unsure] = since.get(unsure, at)
            patience = UNSURE_AFTER
        spot = (ResetKind.EXPIRED, key) if sure else unsure
        if self._stands(spot, at, since, patience):
            self._copies[key] = seen.target_end
            self.state.begin(
                ResetKind.EXPIRED, key[0], at, partition=key[1], **what
            )

    def _expired_of_new(
        self,
        at: datetime,
        waiting: Reset,
        key: TopicPartition,
        seen: PartitionView,
        since: Mapping[Spot, datetime],
    ) -> None:
        """Report what expires of a recreated topic while nothing is copied.

        Up to the old position, this is what the mirror may leave out anyway.
        """
        first, start = waiting.end or 0, seen.log_start
        if (
            start <= first
            or waiting.proved is not None
            or seen.target_end is None
            or seen.target_end != waiting.target_end
        ):
            return
        known = self.state.open(ResetKind.EXPIRED, *key)
        if known is not None:
            end = max(known.end or 0, start)
            self.state.change(known, end=end, log_end=seen.source_end)
        elif self._stands((ResetKind.EXPIRED, key), at, since, timedelta()):
            self.state.begin(
                ResetKind.EXPIRED,
                key[0],
                at,
                partition=key[1],
                first=first,
                proved=first,
                end=start,
                log_end=seen.source_end,
                from_end=self.resumes_at_end,
            )

    def _over(
        self,
        key: TopicPartition,
        place: PartitionPosition,
        end: int,
        at: datetime,
    ) -> None:
        known = self.state.open(ResetKind.EXPIRED, *key)
        if (
            known is not None
            and place.upstream is None
            and (place.reached or 0) >= (known.end or 0)
        ):
            self.state.change(known, settled=at)  # no sync will say so
        passed = self.state.open(ResetKind.BEYOND, *key)
        if passed is not None:
            self.state.change(passed, log_end=end)

    def _leave(self, view: FlowView, since: Mapping[Spot, datetime]) -> None:
        """Settle what nothing will decide, as the topic or partition is gone.

        Notes
        -----
        A source topic that was recreated stays open all the same, unreported:
        the mirror still holds the old position, should there be a third one.
        """
        for reset in list(self.state.resets.values()):
            if reset.settled is not None or reset.partition is None:
                continue
            key = (reset.topic, reset.partition)
            if key in view.partitions:
                self.state.change(reset, away=False)
                continue
            # Not since it was out of range, which was before that.
            spot = (None, key)
            if not self._stands(spot, view.at, since, AWAY_AFTER):
                continue
            if reset.kind is ResetKind.BEYOND:
                self.state.drop(reset)  # it comes again with the topic
            elif reset.kind is ResetKind.SOURCE_RECREATED:
                self.state.change(reset, away=True)
            else:
                self.state.change(
                    reset,
                    away=True,
                    settled=view.at,
                    before=self.state.pins.get(("source", reset.topic), ""),
                )

    def _reached(
        self, seen: PartitionView, place: PartitionPosition
    ) -> tuple[int, bool]:
        """Return the next offset to copy, and whether that is up to date."""
        if not self.estimates:
            # Committed with the records themselves, and read at the target.
            return place.proved, seen.target_end is not None
        if not place.is_begun and seen.has_no_copies:
            return place.proved, True
        if seen.target_end is None or place.downstream is None:
            return place.proved, False
        found = max(place.estimate(seen.target_end) or 0, place.proved)
        if found > seen.source_end:
            # More than the source ever held: others write there.
            return place.proved, False
        return found, True

    def _stands(
        self,
        spot: Spot,
        at: datetime,
        since: Mapping[Spot, datetime],
        patience: timedelta,
    ) -> bool:
        """Return whether something was so before, for as long as is needed."""
        first = self._since[spot] = since.get(spot, at)
        return spot in since and at - first >= patience


def _is_of_old_leader(
    seen: PartitionView, before: PartitionView | None
) -> bool:
    """Return whether a leader tells an end that led before, too, as far as
    epochs show it.
    """
    return (
        before is not None
        and before.source_id == seen.source_id
        and before.source_epoch is not None
        and seen.source_epoch is not None
        and seen.source_epoch <= before.source_epoch
    )
