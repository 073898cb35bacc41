"""Follows the positions of one flow, survey by survey."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta

from ..positions import Committed, Sync
from ..view import ClusterView, FlowView, TopicPartition
from .books import ResetBooks
from .event import Kind
from .gaps import Gaps
from .identity import check_clusters, check_homes
from .moves import Moves
from .observation import PositionObservation
from .standing import Standing
from .topics import Before, check_topics

__all__ = ["News", "ResetWatch"]

READING = "The mirror's own topics are still being read: wait"


@dataclass(frozen=True, kw_only=True, slots=True)
class News:
    """What is known beside a survey."""

    syncs: Sequence[Sync] = ()
    """Every sync that was read since the survey before."""

    homes: Mapping[str, str | None] = field(default_factory=dict)
    """Ids of the mirror's own topics, by kind."""

    empty_until: Mapping[TopicPartition, int] = field(default_factory=dict)
    """Up to where no data follows positions, by place."""

    from_end: bool = False
    """Whether a mirror without a position begins at the end."""

    problems: Sequence[str] = ()
    """What keeps the mirror's own topics from being read."""


@dataclass(slots=True)
class _Held:
    """What was read before a survey's source was asked, to be judged by it."""

    complete: bool = False
    committed: Mapping[TopicPartition, Committed] = field(default_factory=dict)
    syncs: dict[TopicPartition, list[Sync]] = field(default_factory=dict)


class ResetWatch:
    """Finds resets of the positions of one flow.

    Parameters
    ----------
    flow
        Name of the flow.
    source
        Our alias of its source.
    target
        Our alias of its target.
    books
        What is known from before.
    accepted
        Cluster ids that the configuration gives, by alias.
    internal
        Names of the mirror's own topics, by kind.
    estimates
        Whether the target's ends may be counted back to positions: not where
        a mirror writes in transactions.
    merged
        Tells of a source topic whether others write to its target topic as
        well.
    memory
        How long resets that are over are kept.

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
        books: ResetBooks,
        accepted: Mapping[str, str] | None = None,
        internal: Mapping[str, str] | None = None,
        estimates: bool = True,
        merged: Callable[[str], bool] = lambda _: False,
        memory: timedelta = timedelta(hours=1),
    ) -> None:
        self.books = books
        self._flow = flow
        self._aliases = (source, target)
        self._accepted = accepted or {}
        self._internal = internal or {}
        self._counted = lambda topic: estimates and not merged(topic)
        self._memory = memory
        self._standing = Standing(books, estimates)
        self._gaps = Gaps()
        self._held = _Held()
        self._before = Before()
        self._partitions = len(books.places)

    def take(self, view: FlowView, news: News) -> PositionObservation:
        """Learn from a survey, and say what is known."""
        problems = [*news.problems, *view.problems]
        same = check_clusters(self.books, view, self._accepted)
        if not same:
            # Whatever it says is of other topics.
            self._held, self._before = _Held(), Before()
        elif view.source is None or not self._held.complete:
            self._hold(view, news, self._held.syncs)
            if view.source is not None:
                problems.append(READING)
        else:
            self._judge(view, view.source, news)
            self._hold(view, news, {})
        self.books.forget(view.at, self._memory)
        if view.source is not None:
            places = self.books.places
            carried = sum(topic in view.names for topic, _ in places)
            self._partitions = carried or len(places)
        source, target = self._aliases
        return PositionObservation(
            flow=self._flow,
            at=view.at,
            source=source,
            target=target,
            partitions=self._partitions,
            resets=tuple(self.books.resets.values()),
            counts=dict.fromkeys(view.names, 0) | self.books.counts,
            problems=tuple(dict.fromkeys(problems)),
        )

    def _hold(
        self,
        view: FlowView,
        news: News,
        syncs: dict[TopicPartition, list[Sync]],
    ) -> None:
        """Keep what came with a survey for the next one."""
        for sync in news.syncs:
            key = (sync.topic, sync.partition)
            place = self.books.places.get(key)
            kept = syncs.setdefault(key, [])
            if place is None or place.synced_at is None:
                # Nothing to hold it to: where it is now is the beginning.
                if not self._is_awaited(key):
                    kept.clear()
            elif (
                not self._held.complete and sync.written_at <= place.synced_at
            ):
                continue  # read again, after a restart of the agent
            kept.append(sync)
        self._held = _Held(view.caught_up, view.committed, syncs)

    def _is_awaited(self, place: TopicPartition) -> bool:
        """Tell whether the first sync of a place will decide something."""
        return self._held.complete and bool(
            self.books.open(Kind.SOURCE_RECREATED, *place)
        )

    def _judge(self, view: FlowView, source: ClusterView, news: News) -> None:
        books, held = self.books, self._held
        check_homes(
            books, news.homes, view, self._internal, from_end=news.from_end
        )
        new = check_topics(books, view, self._before, view.committed)
        moves = Moves(books, source, view.at, self._counted, self._gaps)
        for (topic, partition), syncs in held.syncs.items():
            if topic not in view.names:
                continue
            if (topic, partition) not in books.places:
                self._standing.fresh.add((topic, partition))
            left: Sequence[Sync] = syncs
            if topic in new:
                left = moves.leave_old(topic, partition, syncs)
            moves.take_syncs(topic, partition, left)
        self._gaps.look(books, source, view.at)
        self._take_commits(view, held.committed, moves, news)
        self._standing.look(view, source, news.empty_until)
        self._before = Before(source, view.target, view.names)

    def _take_commits(
        self,
        view: FlowView,
        committed: Mapping[TopicPartition, Committed],
        moves: Moves,
        news: News,
    ) -> None:
        deleted = []
        for key, fact in committed.items():
            if key[0] not in view.names:
                continue
            known = self.books.places.get(key)
            if known is None:
                self._standing.fresh.add(key)
            elif known.committed_at == fact.written_at:
                continue
            if moves.take_commit(fact):
                deleted.append(key)
        if deleted:
            self.books.begin(
                Kind.OFFSETS_DELETED,
                min(deleted)[0],
                view.at,
                counted={topic for topic, _ in deleted},
                settled=view.at,
                places=len(deleted),
                from_end=news.from_end,
            )
