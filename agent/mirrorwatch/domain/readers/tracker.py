"""Lag of consumer groups at the target, from look to look."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from datetime import UTC, datetime, timedelta

from ..checkpoints import GroupPartition
from ..cluster_view import ClusterView, Position, PositionSource
from ..lag.model import FirstRecord, ReadAt
from ..lag.partition import PartitionLag
from ..lag.topic import LagContext, LagTrend, summarize
from .model import (
    GroupFacts,
    GroupLag,
    LostOffsets,
    ReadersState,
    StandingPartition,
)

__all__ = ["ReadersTracker"]

PAUSE = timedelta(minutes=1)
"""Time without a look that does not count as time without progress: while
the target does not answer, nobody can commit either. There is a look every
15 s."""

LISTED_FOR = timedelta(minutes=1)
"""Time for which a topic that is not listed is assumed to exist: a broker that
has just started may not know it."""

LOOK_TWICE = timedelta(seconds=10)
"""Stall of a consumer offset after which it is persisted: offsets are read
every 15 s, so it was seen twice."""


PATIENCE = timedelta(minutes=2)
"""Longest normal stall of a consumer offset in a group that reads on: sink
connectors commit once a minute, and a survey can narrowly miss one commit."""


LOST_FOR = timedelta(days=1)
"""Period for which lost consumer offsets are reported of a group that had not
read all: each shift sees it once. Kafka does not say whether they expired or
were deleted, and who deleted a group on purpose must not be asked for ever."""


class ReadersTracker:
    """Follows how far groups have read, by the rules of the mirror's lag.

    Parameters
    ----------
    state
        State remembered from before a restart.
    """

    def __init__(self, state: ReadersState) -> None:
        self._restored = {
            (s.group, s.topic, s.partition): s for s in state.standing
        }
        self._missed = {
            key: s.missed_at
            for key, s in self._restored.items()
            if s.missed_at is not None
        }
        """Times at which offsets were first found to be gone, of tracks that
        are kept."""

        self._tracks: dict[GroupPartition, PartitionLag] = {}
        self._trends: defaultdict[tuple[str, str], LagTrend] = defaultdict(
            LagTrend
        )
        self._at: datetime | None = None
        self._listed: dict[str, tuple[datetime, str]] = {}
        """Time of the last listing of each topic, and its id."""

        self._unknown: set[GroupPartition] = set()
        """Partitions whose lag was unknown in the last survey."""

    def look(
        self,
        offsets: Mapping[GroupPartition, int],
        facts: Mapping[str, GroupFacts],
        target: ClusterView,
        topics: Collection[str],
        *,
        is_whole: bool = True,
        unread: Collection[str] = (),
    ) -> tuple[GroupLag, ...]:
        """Take what groups committed, and the ends that were read after it.

        Parameters
        ----------
        offsets
            Committed offsets.
        facts
            State and members of the groups, as far as known.
        target
            The target.
        topics
            Topics at the target that the flow copies.
        is_whole
            All groups were listed. Otherwise a group without offsets may be
            there all the same, and its known state is kept.
        unread
            Groups whose offsets were not read; the same holds for them.

        Returns
        -------
        tuple
            Lag of each group, by name.
        """
        now = target.at
        gap = timedelta() if self._at is None else now - self._at
        self._at = now
        ids = self._list(target, topics)
        wanted = {
            key: offset
            for key, offset in sorted(offsets.items())
            if key[1] in ids
        }
        listed = {group for group, _, _ in offsets}

        def is_read(group: str) -> bool:
            return group in listed or (is_whole and group not in unread)

        self._unknown.clear()
        self._restore_others(wanted, target, ids)
        for gone in self._tracks.keys() - wanted.keys():
            if ids.get(gone[1]) != self._tracks[gone].epoch[0]:
                del self._tracks[gone]
            elif is_read(gone[0]) and gone[1] in target.topics:
                # With a topic its offsets are deleted, too.
                self._miss(gone, target, now)
        self._find_again(wanted)
        found: defaultdict[str, dict[str, dict[int, PartitionLag]]] = (
            defaultdict(dict)
        )
        unknown: defaultdict[str, int] = defaultdict(int)
        for key, offset in wanted.items():
            group, topic, partition = key
            end = target.ends.get((topic, partition))
            own = found[group].setdefault(topic, {})
            track = self._track(key, ids[topic], offset, now)
            is_known = end is not None and offset <= end
            if gap > PAUSE or not is_known:
                track.pass_over(gap, now)
            if end is None or offset > end:
                # Without a leader, or with one that was just elected and has
                # an old end, a group that stopped before has not gone on.
                self._unknown.add(key)
                unknown[group] += 1
                track.move(_at(offset), max(track.ends.last, offset), now)
                continue
            track.move(_at(offset), end, now)
            own[partition] = track
        self._restored = {}
        read = {(group, topic) for group, topic, _ in wanted}
        for old in self._trends.keys() - read:
            if is_read(old[0]):
                del self._trends[old]
        return tuple(
            self._summarize(group, own, facts.get(group), unknown[group], now)
            for group, own in found.items()
        )

    def lost(self) -> tuple[LostOffsets, ...]:
        """Return the groups that had not read all when their committed
        offsets were gone, by name.
        """
        groups: defaultdict[str, list[GroupPartition]] = defaultdict(list)
        for key in sorted(self._missed):
            if self._tracks[key].records:
                groups[key[0]].append(key)
        return tuple(
            LostOffsets(
                group=group,
                topics=len({topic for _, topic, _ in keys}),
                records=sum(self._tracks[key].records for key in keys),
                missed_at=max(self._missed[key] for key in keys),
            )
            for group, keys in groups.items()
        )

    def wanted(self) -> Iterator[ReadAt]:
        """Yield where a record should be read, the longest wait first.

        It shows whether data waits at all, or only markers of transactions,
        and since when. One for each partition: the next ones come after
        this one was read.
        """
        waiting = sorted(
            (track.moved_at, key)
            for key, track in self._tracks.items()
            if key not in self._unknown and track.wants_head(self._at)
        )
        asked = set()
        for _, key in waiting:
            place = key[1], key[2]
            if place not in asked:
                asked.add(place)
                track = self._tracks[key]
                yield ReadAt(place, track.next_offset, track.end)

    def resolve(self, heads: Iterable[FirstRecord]) -> None:
        """Take what was read, for every group that is at that offset."""
        for head in heads:
            for (_, *place), track in self._tracks.items():
                if (*place,) == head.wanted.place:
                    track.take_head(head)

    def to_state(self) -> ReadersState:
        """Return what must outlive the agent."""
        now = self._at
        return ReadersState(
            standing=tuple(
                StandingPartition(
                    group=group,
                    topic=topic,
                    topic_id=track.epoch[0],
                    partition=partition,
                    offset=track.position.offset,
                    since=max(
                        track.stands_since,
                        datetime.fromtimestamp(since[0], UTC),
                    ),
                    missed_at=self._missed.get((group, topic, partition)),
                )
                for (group, topic, partition), track in self._tracks.items()
                if now is not None
                and track.position is not None
                and now - track.stands_since > LOOK_TWICE
                and (since := track.waiting_since()) is not None
            )
        )

    def _list(
        self, target: ClusterView, topics: Collection[str]
    ) -> Mapping[str, str]:
        """Return the ids of the topics that groups may read: also of those
        that were not listed for a moment.
        """
        now = target.at
        self._listed |= {
            topic: (now, target.topics[topic].id)
            for topic in topics
            if topic in target.topics
        }
        self._listed = {
            topic: (at, id_)
            for topic, (at, id_) in self._listed.items()
            if now - at <= LISTED_FOR
        }
        return {topic: id_ for topic, (_, id_) in self._listed.items()}

    def _restore_others(
        self,
        wanted: Collection[GroupPartition],
        target: ClusterView,
        ids: Mapping[str, str],
    ) -> None:
        now = target.at
        for key, stood in self._restored.items():
            if key in wanted or ids.get(key[1]) != stood.topic_id:
                continue
            # At least one record waited.
            end = target.ends.get((key[1], key[2]), stood.offset + 1)
            track = self._track(key, stood.topic_id, stood.offset, now)
            track.move(_at(stood.offset), end, now)

    def _miss(
        self, key: GroupPartition, target: ClusterView, now: datetime
    ) -> None:
        track = self._tracks[key]
        missed_at = self._missed.setdefault(key, now)
        if now - missed_at > LOST_FOR or not track.records:
            # Of what was read to the end nothing is missed.
            del self._tracks[key]
        elif track.position is not None:
            end = target.ends.get((key[1], key[2]), track.end)
            track.move(track.position, end, now)

    def _find_again(self, wanted: Mapping[GroupPartition, int]) -> None:
        """Take which committed offsets are there, after they were gone."""
        for back in self._missed.keys() & wanted.keys():
            track = self._tracks.get(back)
            if track is not None and track.position != _at(wanted[back]):
                # It begins anew, and has time for it.
                del self._tracks[back]
        self._missed = {
            key: at
            for key, at in self._missed.items()
            if key in self._tracks and key not in wanted
        }

    def _track(
        self, key: GroupPartition, topic_id: str, offset: int, now: datetime
    ) -> PartitionLag:
        track = self._tracks.get(key)
        if track is not None and track.epoch[0] == topic_id:
            return track
        track = PartitionLag(epoch=(topic_id, None), moved_at=now)
        stood = self._restored.get(key)
        if stood and (stood.topic_id, stood.offset) == (topic_id, offset):
            track.moved_at = min(stood.since, now)
            track.ends.see(offset + 1, track.moved_at.timestamp())
        self._tracks[key] = track
        return track

    def _summarize(
        self,
        group: str,
        own: Mapping[str, Mapping[int, PartitionLag]],
        facts: GroupFacts | None,
        unknown: int,
        now: datetime,
    ) -> GroupLag:
        moved_at = max(
            (t.moved_at for tracks in own.values() for t in tracks.values()),
            default=None,
        )
        return GroupLag(
            group=group,
            facts=facts,
            unknown_partitions=unknown,
            topics=tuple(
                summarize(
                    topic,
                    tracks,
                    LagContext(
                        now=now,
                        topic_class="",
                        configs=None,
                        trend=self._trends[group, topic],
                        starts={},
                        flow_moved_at=moved_at,
                        patience=PATIENCE,
                    ),
                )
                for topic, tracks in own.items()
                if tracks
            ),
        )


def _at(offset: int) -> Position:
    return Position(offset, PositionSource.COMMITTED)
