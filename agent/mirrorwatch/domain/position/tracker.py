"""Follows the positions of one flow, survey by survey."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from ..cluster_view import FlowView, SyncBuffer, TopicPartition
from ..mirror_records import LONGEST_FLUSH, Committed, Sync
from .internal_topics import InternalTopics
from .model import (
    PartitionPosition,
    PositionObservation,
    PositionState,
    ResetKind,
)
from .moves import PositionMoves, UnexplainedGaps
from .out_of_range import OutOfRangePositions, PositionBeyond
from .recreation import check_clusters, check_topics

__all__ = ["PositionInputs", "PositionTracker"]


SYNCS_KEPT = 10_000
"""Syncs that are kept of topics that are not seen: hours of some topics."""

READING = "The mirror's internal topics are still being read"


@dataclass(frozen=True, kw_only=True, slots=True)
class PositionInputs:
    """Inputs of the position tracker beside a survey."""

    homes: Mapping[str, str | None] = field(default_factory=dict)
    empty_until: Mapping[TopicPartition, int] = field(default_factory=dict)
    """Up to where no data follows proved positions, by partition."""

    dropped: Mapping[TopicPartition, tuple[int, int]] = field(
        default_factory=dict
    )
    """First offset and end of what a transform seems to have dropped at the
    end of a partition, on purpose: it may expire."""

    from_end: bool = False
    foreign: AbstractSet[TopicPartition] = frozenset()
    """Source partitions at whose copies others write, too, or two tasks of the
    mirror, as was seen by comparing records: there, the target's end counts
    no copies."""

    first_copies: Mapping[TopicPartition, tuple[str, int]] = field(
        default_factory=dict
    )
    """Ids of recreated topics, and where the mirror began in them, as far as
    copies that were read show that."""

    flush: timedelta = LONGEST_FLUSH
    """Longest commit interval of the mirror."""

    problems: Sequence[str] = ()
    resumes_at_end: bool = False
    """Mirror resumes at the log end where its position has expired."""

    may_resume_at_end: bool = False
    """Mirror resumes there, or nothing says that it does not."""


class PositionTracker:
    """Finds resets of the positions of one flow.

    Parameters
    ----------
    flow
        Name of the flow.
    source
        Our alias of its source.
    target
        Our alias of its target.
    state
        Position state known from before.
    accepted
        Cluster ids that the configuration gives, by alias.
    internal
        Names of the mirror's own topics, by kind.
    estimates
        Log ends of the target may be counted back to positions: not where a
        mirror writes in transactions.
    keeps_offsets
        Commits are log ends at the target, where records have their source
        offsets.
    merged
        Returns of a source topic whether others write to its target topic as
        well.
    memory
        Time for which resets that are over are kept.

    Notes
    -----
    Syncs and commits carry no topic id. They are judged by the survey after
    the one that they came with, so that all of them were read before the
    topics were described.
    """

    def __init__(
        self,
        *,
        flow: str,
        source: str,
        target: str,
        state: PositionState,
        accepted: Mapping[str, str] | None = None,
        internal: Mapping[str, str] | None = None,
        estimates: bool = True,
        keeps_offsets: bool = False,
        merged: Callable[[str], bool] = lambda _: False,
        memory: timedelta = timedelta(hours=1),
    ) -> None:
        self.state = state
        self._flow = flow
        self._aliases = (source, target)
        self._accepted = accepted or {}
        self._internal = InternalTopics(state, internal or {})
        # An end is a proof, so that nothing is left to be estimated.
        self._estimates = estimates = estimates and not keeps_offsets
        self._keeps_offsets = keeps_offsets
        standing = self._standing = OutOfRangePositions(state, estimates)
        self._counted: Callable[[TopicPartition], bool] = lambda key: (
            standing.estimates
            and key not in standing.foreign
            and not merged(key[0])
        )
        self._memory = memory
        self._gaps = UnexplainedGaps(state)
        self._first_copies: Mapping[TopicPartition, tuple[str, int]] = {}
        # What came with the survey before, to be judged by the next one.
        self._syncs = SyncBuffer()
        self._committed: Mapping[TopicPartition, Committed] = {}
        self._complete = False
        self._before: FlowView | None = None
        self._partitions = sum(p.is_begun for p in state.places.values())

    def take(
        self, view: FlowView, news: PositionInputs
    ) -> PositionObservation:
        """Learn from a survey, and say what is known."""
        problems = [*news.problems, *view.problems]
        self._standing.estimates = self._estimates and not view.exactly_once
        self._internal.see(news.homes, view.at)
        same = check_clusters(self.state, view, self._accepted)
        if not same:
            # Whatever it says is of other topics.
            self._syncs, self._committed = SyncBuffer(), {}
            self._complete, self._before = False, None
        elif view.source is None or not self._complete:
            self._hold(view)
            if view.source is not None:
                problems.append(READING)
        else:
            self._judge(view, news)
            self._hold(view)
        self.state.forget(view.at, self._memory)
        if view.source is not None:
            places = self.state.places
            begun = [key for key in places if places[key].is_begun]
            carried = sum(key in view.partitions for key in begun)
            self._partitions = carried or len(begun)
        source, target = self._aliases
        return PositionObservation(
            flow=self._flow,
            at=view.at,
            source=source,
            target=target,
            partitions=self._partitions,
            resets=tuple(self._standing.reported(view.at)),
            counts=dict.fromkeys(view.names, 0) | self.state.counts,
            lost=dict(self.state.lost),
            problems=tuple(dict.fromkeys(problems)),
            keeps_offsets=self._keeps_offsets,
        )

    @property
    def doubted(self) -> Mapping[TopicPartition, PositionBeyond]:
        """Positions at which to try whether the source refuses to read."""
        return self._standing.doubted

    def refuse(self, refused: Mapping[TopicPartition, PositionBeyond]) -> None:
        """Take where it does."""
        self._standing.refuse(refused, self._syncs.partitions)

    def _hold(self, view: FlowView) -> None:
        """Keep what came with a survey for the next one."""
        for sync in view.new_syncs:
            place = self.state.places.get(sync.key)
            if place is None or (place.is_begun and place.synced_at is None):
                # Nothing to compare it with: it is where the mirror begins,
                # unless the first sync of a recreated topic is pending.
                pending = self._complete and self.state.open(
                    ResetKind.SOURCE_RECREATED, *sync.key
                )
                if not pending:
                    self._syncs.drop(sync.key)
            elif (
                not self._complete
                and place.synced_at is not None
                and sync.written_at <= place.synced_at
            ):
                continue  # read again, after a restart of the agent
            self._syncs.hold(sync)
        self._complete = view.caught_up and not self._internal.awaits(
            "syncs", view.at
        )
        self._committed = view.committed

    def _judge(self, view: FlowView, news: PositionInputs) -> None:
        state = self.state
        growth = self._standing.growth
        growth.flush = news.flush
        self._first_copies = news.first_copies
        foreign = self._standing.foreign = news.foreign | growth.found
        for key in foreign:
            place = state.places.get(key)
            if place is not None and place.downstream is not None:
                place.downstream = None
                state.touched.add(key)
        self._internal.look(news.homes, view, from_end=news.from_end)
        released = dict(self._syncs.release())
        self._take_former(view, released)
        new = check_topics(state, view, self._before, view.committed)
        moves = self._moves(view)
        for (topic, partition), syncs in released.items():
            if topic not in view.names:
                if (topic, partition) in state.places:
                    self._keep(syncs)
                continue
            if (topic, partition) not in state.places:
                self._standing.fresh.add((topic, partition))
            left: Sequence[Sync] = syncs
            if topic in new:
                left = moves.leave_old(topic, partition, syncs)
            moves.take_syncs(topic, partition, left)
        self._gaps.look(view)
        self._take_commits(view, moves, news)
        self._begin(view)
        self._standing.resumes_at_end = news.resumes_at_end
        self._standing.look(view, news.empty_until, news.dropped)
        if news.may_resume_at_end and not self._keeps_offsets:
            self._doubt_truncated(view.at)
        self._before = view

    def _begin(self, view: FlowView) -> None:
        """Take the first offset of a partition without copies as its position:
        what expires there was never read.
        """
        for key, seen in view.partitions.items():
            if seen is None or not seen.has_no_copies:
                continue
            place = self.state.places.setdefault(key, PartitionPosition())
            if place.reached is None and not place.is_begun:
                place.reached = seen.log_start
                self.state.touched.add(key)

    def _doubt_truncated(self, at: datetime) -> None:
        """Doubt where a mirror resumed in a truncated log that was settled."""
        for reset in list(self.state.resets.values()):
            if reset.kind is ResetKind.BEYOND and reset.settled == at:
                self.state.change(reset, from_end=True)

    def _moves(self, view: FlowView) -> PositionMoves:
        return PositionMoves(
            self.state,
            view,
            self._counted,
            self._gaps,
            self._keeps_offsets,
            self._first_copies,
        )

    def _take_former(
        self, view: FlowView, syncs: dict[TopicPartition, list[Sync]]
    ) -> None:
        """Take the syncs of recreated topics that are of the old ones.

        What was read before a survey that still saw the old topic is of that
        one, wherever it was: the mirror may have rewound.
        """
        before = self._before
        if before is None or view.source is None:
            return
        for key, each in syncs.items():
            facts = view.source.topics.get(key[0])
            pinned = self.state.pins.get(
                ("source", key[0]), facts and facts.id
            )
            former = before.syncs.get(key)
            if facts and facts.id != pinned and former in each:
                end = each.index(former) + 1
                self._moves(before).take_syncs(*key, each[:end])
                syncs[key] = each[end:]

    def _keep(self, syncs: Iterable[Sync]) -> None:
        """Keep syncs of a topic that is not seen now, for when it is: it may
        be denied or hidden, and its records expire all the same.
        """
        for sync in syncs:
            self._syncs.hold(sync)
        self._syncs.trim(SYNCS_KEPT)

    def _take_commits(
        self, view: FlowView, moves: PositionMoves, news: PositionInputs
    ) -> None:
        deleted = []
        for key, fact in self._committed.items():
            if key[0] not in view.names:
                continue
            known = self.state.places.get(key)
            if known is None:
                self._standing.fresh.add(key)
            elif known.committed_at == fact.written_at:
                continue
            if moves.take_commit(fact):
                deleted.append(key)
        if deleted:
            self.state.begin(
                ResetKind.OFFSETS_DELETED,
                min(deleted)[0],
                view.at,
                counted={topic for topic, _ in deleted},
                settled=view.at,
                places=len(deleted),
                from_end=news.from_end,
            )
