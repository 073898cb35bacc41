"""Follows the positions of one flow, survey by survey."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta

from ..cluster_view import FlowView, PartitionView, TopicPartition
from ..copies.pair import Beginning
from ..mirror_records import Committed
from .commits import CommittedPositions, take_empty
from .internal_topics import InternalTopics
from .model import (
    PartitionPosition,
    PositionObservation,
    PositionState,
    Reset,
    ResetKind,
)
from .recreation import check_clusters, check_topics

__all__ = ["PositionInputs", "PositionTracker"]


READING = "The mirror's internal topics are still being read"


@dataclass(frozen=True, kw_only=True, slots=True)
class PositionInputs:
    """Inputs of the position tracker beside a survey."""

    homes: Mapping[str, str | None] = field(default_factory=dict)
    position: Callable[[TopicPartition, PartitionView], int | None] = (
        lambda _place, _seen: None
    )
    """Returns the next source offset to copy as copies show it; `None` if it
    is not known."""

    compares: Callable[[str], bool] = lambda _topic: False
    """Returns whether the copies of a topic are compared: else commits alone
    show positions."""

    beginnings: Mapping[TopicPartition, Beginning] = field(
        default_factory=dict
    )
    """First copied records of recreated topics."""

    empty_until: Mapping[TopicPartition, int] = field(default_factory=dict)
    """Up to where no data follows proved positions, by partition."""

    dropped: Mapping[TopicPartition, tuple[int, int]] = field(
        default_factory=dict
    )
    """First offset and end of what a transform seems to have dropped at the
    end of a partition, on purpose: it may expire."""

    resets: Mapping[str, int] = field(default_factory=dict)
    """Resets that copies show, by topic, since the state file was made."""

    from_end: bool = False
    problems: Sequence[str] = ()


class PositionTracker:
    """Finds resets of the positions of one flow by topic ids and commits.

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
    keeps_offsets
        Commits are log ends at the target, where records have their source
        offsets.
    memory
        Time for which resets that are over are kept.

    Notes
    -----
    Commits carry no topic id. They are judged by the survey after the one that
    they came with, so that they were read before the topics were described.
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
        keeps_offsets: bool = False,
        memory: timedelta = timedelta(hours=1),
    ) -> None:
        self.state = state
        self._flow = flow
        self._aliases = (source, target)
        self._accepted = accepted or {}
        self._internal = InternalTopics(state, internal or {})
        self._keeps_offsets = keeps_offsets
        self._commits = CommittedPositions(state, keeps_offsets)
        self._memory = memory
        # What came with the survey before, to be judged by the next one.
        self._committed: Mapping[TopicPartition, Committed] = {}
        self._complete = False
        self._before: FlowView | None = None
        self._partitions = sum(
            p.reached is not None for p in state.places.values()
        )

    def take(
        self, view: FlowView, news: PositionInputs
    ) -> PositionObservation:
        """Learn from a survey, and say what is known."""
        problems = [*news.problems, *view.problems]
        self._internal.see(news.homes, view.at)
        if not check_clusters(self.state, view, self._accepted):
            # Whatever it says is of other topics.
            self._committed, self._complete, self._before = {}, False, None
        else:
            if view.source is not None and self._complete:
                self._judge(view, news)
            elif view.source is not None:
                problems.append(READING)
            self._complete = view.caught_up and not self._internal.awaits(
                "syncs", view.at
            )
            self._committed = view.committed
        self.state.forget(view.at, self._memory)
        source, target = self._aliases
        counts = dict.fromkeys(view.names, 0) | self.state.counts
        for topic, resets in news.resets.items():
            counts[topic] = counts.get(topic, 0) + resets
        return PositionObservation(
            flow=self._flow,
            at=view.at,
            source=source,
            target=target,
            partitions=self._partitions,
            resets=tuple(self._reported(view)),
            counts=counts,
            lost=dict(self.state.lost),
            problems=tuple(dict.fromkeys(problems)),
            keeps_offsets=self._keeps_offsets,
        )

    def _reported(self, view: FlowView) -> Sequence[Reset]:
        """Return the resets, but open ones of partitions that are not there:
        only what the mirror makes of them would settle these.
        """
        return [
            reset
            for reset in self.state.resets.values()
            if reset.settled is not None
            or reset.partition is None
            or view.source is None
            or (reset.topic, reset.partition) in view.partitions
        ]

    def _judge(self, view: FlowView, news: PositionInputs) -> None:
        self._internal.look(news.homes, view, from_end=news.from_end)
        check_topics(self.state, view, self._before)
        self._settle_recreated(view, news)
        take_empty(self.state, news.empty_until, news.dropped)
        self._take_commits(view, news)
        self._commits.leave(view)
        for key, seen in view.partitions.items():
            if seen is not None:
                self._look(key, seen, view, news)
        places = self.state.places
        known = [key for key in places if places[key].reached is not None]
        carried = sum(key in view.partitions for key in known)
        self._partitions = carried or len(known)
        self._before = view

    def _settle_recreated(self, view: FlowView, news: PositionInputs) -> None:
        """Settle recreated topics whose first copied record is known."""
        for reset in list(self.state.resets.values()):
            if (
                reset.kind is not ResetKind.SOURCE_RECREATED
                or reset.settled is not None
            ):
                continue
            key = (reset.topic, reset.partition or 0)
            seen = view.partitions.get(key)
            if seen is None:
                continue
            waiting = self.state.change(reset, log_end=seen.source_end)
            begun = news.beginnings.get(key)
            if begun is None or begun.source_id != seen.source_id:
                continue
            self.state.change(
                waiting,
                settled=view.at,
                end=begun.first,
                at_most=begun.first > 0 and not begun.is_exact,
                harmless=begun.first == 0,
            )

    def _take_commits(self, view: FlowView, news: PositionInputs) -> None:
        deleted = []
        for key, fact in self._committed.items():
            known = self.state.places.get(key)
            if key[0] not in view.names or (
                known is not None and known.committed_at == fact.written_at
            ):
                continue
            seen = view.partitions.get(key)
            is_alone = seen is not None and _is_alone(key, seen, news)
            if self._commits.take(fact, view, is_alone=is_alone):
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

    def _look(
        self,
        key: TopicPartition,
        seen: PartitionView,
        view: FlowView,
        news: PositionInputs,
    ) -> None:
        place = self.state.places.get(key)
        was = None if self._before is None else self._before.partitions
        if place is not None and was is not None and was.get(key) is seen:
            start, end = seen.log_start, seen.source_end
            if start <= place.next_offset <= end:
                return  # nearly all of them, at every tick
        if _is_alone(key, seen, news):
            self._commits.look(key, seen, view.at)
            place = self.state.places.get(key)
        elif (copied := news.position(key, seen)) is not None:
            place = self.state.places.setdefault(key, PartitionPosition())
            place.reached = copied
        self.state.seen.add(key)
        if place is not None and place.source_end != seen.source_end:
            place.source_end = seen.source_end
            self.state.touched.add(key)


def _is_alone(
    key: TopicPartition, seen: PartitionView, news: PositionInputs
) -> bool:
    """Return whether commits alone show the position of a partition: its
    copies are not compared, or the mirror writes no offset syncs.
    """
    return not news.compares(key[0]) or (
        seen.sync is None and news.position(key, seen) is None
    )
