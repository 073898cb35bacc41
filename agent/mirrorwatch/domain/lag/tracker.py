"""Lag of all topics of a flow, from survey to survey."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime, timedelta

from ..positions import Connector
from ..topic_configs import TopicConfigs
from ..view import ClusterView, FlowView, TopicPartition
from .head import Head, Wanted
from .observation import LagObservation, TopicLag
from .position import Origin, Position, prove
from .summaries import Summaries
from .track import Track

__all__ = ["LagTracker"]

FLUSH = timedelta(minutes=1)
"""Connect's ``offset.flush.interval.ms``, where the mirror does not say."""

REFRESH = timedelta(minutes=10)
"""MirrorMaker 2's ``refresh.topics.interval.seconds``, likewise."""

PROOF_FLUSHES = 3
"""Flushes within which an estimate must be proved: one to come, one to be
written, one to spare."""


class LagTracker:
    """Follows the lag of one flow.

    Parameters
    ----------
    flow
        Name of the flow.
    class_of
        Class of a source topic, empty if it has none.
    configs
        How source topics are configured, as far as that is known.
    estimates
        Whether the target's ends may be counted back to positions: not where
        a mirror writes in transactions.
    """

    def __init__(
        self,
        *,
        flow: str,
        class_of: Callable[[str], str],
        configs: Callable[[], Mapping[str, TopicConfigs]],
        estimates: bool = True,
    ) -> None:
        self._flow = flow
        self._configs = configs
        self._estimates = estimates
        self._tracks: dict[TopicPartition, Track] = {}
        self._summaries = Summaries(class_of)
        self._unknown = 0
        self._at: datetime | None = None

    def take(
        self, view: FlowView, connectors: Iterable[Connector] = ()
    ) -> LagObservation:
        """Learn from a survey, and say what the lag is.

        Parameters
        ----------
        view
            What was seen.
        connectors
            The mirror's connectors, for their intervals.
        """
        connectors = list(connectors)
        flush = max((c.flush or FLUSH for c in connectors), default=FLUSH)
        refresh = max((c.refresh for c in connectors), default=REFRESH)
        problems = [*view.problems]
        if not view.caught_up:
            problems.append(
                "The mirror's own topics are still being read: wait"
            )
        topics: tuple[TopicLag, ...] = ()
        if view.source is not None and view.caught_up:
            self._unknown, self._at = 0, view.at
            self._move(view, view.source, flush * PROOF_FLUSHES)
            topics = self._summaries.take(
                view, view.source, self._tracks, self._configs()
            )
        return LagObservation(
            flow=self._flow,
            at=view.at,
            topics=topics,
            flush=flush,
            refresh=refresh,
            unknown_partitions=self._unknown,
            configs_known=bool(self._configs()) or not topics,
            problems=tuple(problems),
        )

    def wanted(self) -> Iterator[Wanted]:
        """Yield where a record should be read, the longest wait first.

        It tells whether data waits at all, or only markers, and since when.
        A mirror that goes on needs neither.
        """
        places = [
            (track.moved_at, place, track)
            for place, track in self._tracks.items()
            if track.records
            and track.read_for != track.next_offset
            and (track.moved_at != self._at or track.waits_unseen)
        ]
        for _, place, track in sorted(places, key=lambda p: p[:2]):
            yield Wanted(place, track.next_offset, track.end)

    def resolve(self, heads: Iterable[Head]) -> None:
        """Take what was read; it is void if the mirror moved meanwhile."""
        for head in heads:
            track = self._tracks.get(head.wanted.place)
            if track is None or track.next_offset != head.wanted.position:
                continue
            if head.offset is None:
                track.nothing_until = head.wanted.end
            else:
                track.nothing_until = head.offset
                track.read_for = head.offset
            if head.written_at is not None:
                track.head_at = head.written_at.timestamp()
            track.ends.pass_(track.next_offset)

    def empty_until(self) -> Mapping[TopicPartition, int]:
        """Return up to where no data follows positions, where any was read."""
        return {
            place: track.nothing_until
            for place, track in self._tracks.items()
            if track.nothing_until
        }

    def _move(
        self, view: FlowView, source: ClusterView, patience: timedelta
    ) -> None:
        there = None if view.target is None else view.target.topics
        tracks = self._tracks
        gone = tracks.keys() - set(view.partitions())
        for place in gone:
            del tracks[place]
        for topic, remote in view.names.items():
            facts = source.topics[topic]
            known = None if there is None else there.get(remote)
            for partition in range(facts.partitions):
                place = (topic, partition)
                end = source.ends.get(place)
                if end is None:
                    self._unknown += 1
                    continue
                track = tracks.get(place)
                # A target that does not answer is not another target.
                target_id = None if known is None else known.id
                if track is not None and there is None:
                    target_id = track.epoch[1]
                if track is None or track.epoch != (facts.id, target_id):
                    track = tracks[place] = Track(
                        epoch=(facts.id, target_id), moved_at=view.at
                    )
                position = self._locate(
                    view, place, (remote, partition), track, patience
                )
                if position is None or position.offset > end:
                    self._unknown += 1
                    tracks.pop(place)
                else:
                    track.move(position, end, view.at)

    def _locate(
        self,
        view: FlowView,
        place: TopicPartition,
        remote: TopicPartition,
        track: Track,
        patience: timedelta,
    ) -> Position | None:
        assert view.source is not None  # noqa: S101 - the caller looked
        sync = view.syncs.get(place)
        proved = prove(view.committed.get(place), sync)
        end = view.source.ends[place]
        if proved is None:
            start = view.source.starts.get(place)
            return None if start is None else Position(start, Origin.START)
        reached = None
        if view.target is not None:
            reached = view.target.ends.get(remote)
        if not self._estimates or sync is None or reached is None:
            return proved
        estimate = min(reached + sync.upstream - sync.downstream, end)
        # An end below the sync, of another time, claims less than is proved.
        if track.claim.believe(estimate, proved.offset, view.at, patience):
            return Position(estimate, Origin.ESTIMATE)
        return proved
