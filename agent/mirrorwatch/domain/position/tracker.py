"""Follows the positions of one flow, survey by survey."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from ..cluster_view import (
    ClusterView,
    FlowView,
    PartitionView,
    SyncBuffer,
    TopicPartition,
)
from ..mirror_records import LONGEST_FLUSH, Committed, Sync
from ..skips.balance import Shortfall
from .growth import UnprovedGrowth
from .model import (
    PartitionPosition,
    PositionObservation,
    PositionState,
    Reset,
    ResetKind,
)
from .moves import PositionMoves, UnexplainedGaps

__all__ = ["PositionInputs", "PositionTracker"]


def check_clusters(
    state: PositionState, view: FlowView, accepted: Mapping[str, str]
) -> bool:
    """Pin the ids of both clusters; return whether they are those pinned.

    Parameters
    ----------
    state
        The state.
    view
        What was seen.
    accepted
        Ids that the configuration gives, by alias: they rule.
    """
    same = True
    for side, cluster in (("source", view.source), ("target", view.target)):
        if cluster is None:
            continue
        alias = cluster.alias
        pinned = state.pins.get(("cluster", alias))
        wanted = accepted.get(alias) or pinned or cluster.id
        known = state.open(ResetKind.OTHER_CLUSTER, alias)
        if wanted != cluster.id:
            same = False
            if known is not None and known.now != cluster.id:
                state.change(known, now=cluster.id)
            elif known is None:
                state.begin(
                    ResetKind.OTHER_CLUSTER,
                    alias,
                    view.at,
                    counted=(),
                    before=wanted,
                    now=cluster.id,
                )
            continue
        if known is not None:
            state.drop(known)
        if pinned is not None and pinned != cluster.id:
            _start_over(state, side)
        state.pin("cluster", alias, cluster.id)
    return same


def _start_over(state: PositionState, side: str) -> None:
    """Forget what was known of a cluster that another one has replaced."""
    state.unpin(side)
    if side == "source":
        for place in state.places.values():
            place.reached = place.committed = place.upstream = None
            place.downstream = None
    else:
        for place in state.places.values():
            place.downstream = None
    state.touched.update(state.places)


AWAY_AFTER = timedelta(minutes=1)
"""How long a topic must be away: a cluster that comes up may not know all of
its topics at once."""


@dataclass(slots=True)
class InternalTopics:
    """Looks at the topics in which the mirror keeps its positions.

    Parameters
    ----------
    state
        The state.
    names
        Names of these topics, by kind.
    """

    state: PositionState
    names: Mapping[str, str]
    _missing: dict[str, datetime] = field(default_factory=dict)
    """Since when a topic has not been seen, by kind."""

    _seen: set[str] = field(default_factory=set)

    def see(self, homes: Mapping[str, str | None], at: datetime) -> None:
        """Note which of them are there."""
        for what, found in homes.items():
            if found is None:
                self._missing.setdefault(what, at)
            else:
                self._missing.pop(what, None)
                self._seen.add(what)

    def awaits(self, what: str, at: datetime) -> bool:
        """Return whether a topic that was there before the agent started has
        not been seen since, and may yet be.
        """
        return (
            ("internal", what) in self.state.pins
            and what in self._missing
            and what not in self._seen
            and not self._is_gone(what, at)
        )

    def _is_gone(self, what: str, at: datetime) -> bool:
        return at - self._missing.get(what, at) >= AWAY_AFTER

    def look(
        self,
        homes: Mapping[str, str | None],
        view: FlowView,
        *,
        from_end: bool,
    ) -> None:
        """Pin their ids, and find those that are gone or replaced.

        Parameters
        ----------
        homes
            Ids of the topics that were looked for, by kind.
        view
            What was seen.
        from_end
            Whether a mirror without a position begins at the end.

        Notes
        -----
        One that comes back with the same id was not seen for a while, and
        nothing was lost.
        """
        for what, kind in (
            ("offsets", ResetKind.OFFSETS_GONE),
            ("syncs", ResetKind.SYNCS_GONE),
        ):
            if what not in homes:
                continue
            found = homes[what]
            pinned = self.state.pins.get(("internal", what))
            name = self.names.get(what, what)
            known = self.state.open(kind, name)
            if found is None and not self._is_gone(what, view.at):
                continue
            if known is not None and found == pinned:
                self.state.drop(known)
                continue
            if pinned is not None and found != pinned and known is None:
                known = self._lose(kind, name, pinned, view.at, from_end)
            if found is None:
                continue
            if known is not None:
                self.state.change(known, settled=view.at, now=found)
            self.state.pin("internal", what, found)

    def _lose(
        self,
        kind: ResetKind,
        name: str,
        pinned: str,
        at: datetime,
        from_end: bool,  # noqa: FBT001 - passed on
    ) -> Reset:
        had = [
            place
            for place, kept in self.state.places.items()
            if kept.committed is not None
        ]
        offsets = kind is ResetKind.OFFSETS_GONE
        return self.state.begin(
            kind,
            name,
            at,
            counted={t for t, _ in had} if offsets else (),
            places=len(had),
            before=pinned,
            from_end=from_end,
        )


BEYOND_AFTER = timedelta(seconds=15)
"""How long a position must lie beyond the end: a new leader may not know for
some seconds how far its followers are."""

UNSURE_AFTER = timedelta(minutes=3)
"""How long a position that is only known by commits must lie before the log's
start: a commit comes with the flush interval, 60 s by default."""

Spot = tuple[ResetKind, TopicPartition]


@dataclass(slots=True)
class OutOfRangePositions:
    """Looks at every position, survey by survey.

    Parameters
    ----------
    state
        The state.
    estimates
        Whether the target's ends may be counted back to positions: not where
        a mirror writes in transactions.
    """

    state: PositionState
    estimates: bool = True
    fresh: set[TopicPartition] = field(default_factory=set)
    """Places that were not known before."""

    foreign: AbstractSet[TopicPartition] = frozenset()
    """Places with records of others at the target."""

    exact: AbstractSet[str] = frozenset()
    """Topics without syncs of which nothing is copied beyond commits."""

    resumes_at_end: bool = False
    """Whether a mirror goes on at the end where its position has expired."""

    growth: UnprovedGrowth = field(default_factory=UnprovedGrowth)
    """Where the target's end grows and nothing is committed."""

    _since: dict[Spot, datetime] = field(default_factory=dict)
    _lowest: dict[TopicPartition, int] = field(default_factory=dict)
    """Lowest ends of logs that positions lie beyond, not yet for long."""

    _copied: dict[TopicPartition, int] = field(default_factory=dict)
    """Where the mirror was when these logs ended below that, by its copies."""

    def look(
        self,
        view: FlowView,
        empty_until: Mapping[TopicPartition, int],
    ) -> None:
        """Find positions outside of the log.

        Parameters
        ----------
        view
            What was seen.
        empty_until
            Up to where no data follows positions, by partition.
        """
        since, self._since = self._since, {}
        lowest, self._lowest = self._lowest, {}
        self._leave(view, since)
        watched = {
            (r.topic, r.partition)
            for r in self.state.resets.values()
            if r.settled is None
        }
        for key, place in self.state.places.items():
            seen = view.partitions.get(key)
            if seen is None or seen.unproved:
                continue
            start, end = seen.log_start, seen.source_end
            reached = self._see(key, place, seen, view.at)
            inside = reached is not None and start <= reached <= end
            if inside and key not in watched:
                # Nearly all of them, at every tick.
                self.fresh.discard(key)
                continue
            waiting = self.state.open(ResetKind.SOURCE_RECREATED, *key)
            if waiting is not None:
                self.state.change(waiting, log_end=end)
            if reached is None:
                continue
            if reached > end or start > reached:
                known = empty_until.get(key, 0)
                if known > place.empty_until:
                    place.empty_until = known
                    self.state.touched.add(key)
            if reached > end:
                self._lowest[key] = min(end, lowest.get(key, end))
                self._beyond(key, reached, end, view.at, since)
            elif start > reached:
                self._expired(view.at, key, place, seen, since)
            else:
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
            reached = place.estimate(place.target_end)
            if reached is not None and end < reached:
                self._copied[key] = min(reached, place.source_end or 0)
                place.downstream = None
                self.state.touched.add(key)
        place.source_end, place.target_end = end, seen.target_end
        if self.estimates and self.growth.look(
            key, place, seen.target_end, at
        ):
            self.state.touched.add(key)
        if self._copied.get(key, 0) <= end or place.downstream is not None:
            self._copied.pop(key, None)  # or a sync says where it is now
            return place.reached
        return max(place.reached or 0, self._copied[key])

    def _beyond(
        self,
        key: TopicPartition,
        reached: int,
        end: int,
        at: datetime,
        since: Mapping[Spot, datetime],
    ) -> None:
        known = self.state.open(ResetKind.BEYOND, *key)
        if known is not None:
            lowest = min(end, known.first or 0)
            self.state.change(known, first=lowest, log_end=end)
        elif self._stands((ResetKind.BEYOND, key), at, since, BEYOND_AFTER):
            self.state.begin(
                ResetKind.BEYOND,
                key[0],
                at,
                partition=key[1],
                first=self._lowest[key],
                end=reached,
                log_end=end,
            )

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
            first = known.first or 0
            if key in self.foreign and not known.at_most:
                first = first if known.proved is None else known.proved
            self.state.change(
                known,
                first=max(first, min(place.proved, start)),
                proved=min(place.proved, start),
                at_most=known.at_most or key in self.foreign,
                end=max(known.end or 0, start),
                log_end=end,
            )
            return
        reached, sure = self._reached(seen, place)
        sure = sure or (key[0] in self.exact and place.upstream is None)
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
        patience = timedelta() if sure else UNSURE_AFTER
        if self._stands((ResetKind.EXPIRED, key), at, since, patience):
            self.state.begin(
                ResetKind.EXPIRED, key[0], at, partition=key[1], **what
            )

    def _over(
        self,
        key: TopicPartition,
        place: PartitionPosition,
        end: int,
        at: datetime,
    ) -> None:
        """Note what became of a position that lies within the log again."""
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
        """Settle what nothing will decide, as the topic is gone.

        Notes
        -----
        A source topic that was recreated stays open all the same, unreported:
        the mirror still holds the old position, should there be a third one.
        """
        for reset in list(self.state.resets.values()):
            if reset.settled is not None or reset.partition is None:
                continue
            if reset.topic in view.names:
                self.state.change(reset, away=False)
                continue
            spot = (reset.kind, (reset.topic, reset.partition))
            if not self._stands(spot, view.at, since, AWAY_AFTER):
                continue
            if reset.kind is ResetKind.BEYOND:
                self.state.drop(reset)  # it comes again with the topic
            elif reset.kind is ResetKind.SOURCE_RECREATED:
                self.state.change(reset, away=True)
            else:
                self.state.change(reset, away=True, settled=view.at)

    def _reached(
        self, seen: PartitionView, place: PartitionPosition
    ) -> tuple[int, bool]:
        """Return the next offset to copy, and whether that is up to date."""
        if not self.estimates:
            return place.proved, True  # committed with the records themselves
        if seen.target_end is None or place.downstream is None:
            return place.proved, False
        found = place.estimate(seen.target_end) or place.proved
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


def check_topics(
    state: PositionState,
    view: FlowView,
    before: FlowView | None,
    newest: Mapping[TopicPartition, Committed],
) -> set[str]:
    """Pin the ids of all topics; return those that are new at the source.

    Parameters
    ----------
    state
        The state.
    view
        What was seen; the source has answered.
    before
        What was seen one survey earlier, if anything.
    newest
        Newest commit of each partition: of the topic that is no more.
    """
    assert view.source is not None  # noqa: S101 - the caller looked
    _check_target(state, view, before)
    found = set()
    for topic in view.names:
        id_ = view.source.topics[topic].id
        pinned = state.pins.get(("source", topic))
        if pinned != id_:
            if pinned is not None:
                found.add(topic)
                _replace(state, view, newest, topic)
                _note_uncopied(state, view, before, topic)
            state.pin("source", topic, id_)
    return found


def _replace(
    state: PositionState,
    view: FlowView,
    newest: Mapping[TopicPartition, Committed],
    topic: str,
) -> None:
    """Open a reset for each partition of a recreated topic.

    Notes
    -----
    One that was recreated before, of which the mirror had not shown what it
    makes: of the topic in between, nobody knows which records it copied.
    """
    source = view.source
    assert source is not None  # noqa: S101 - the caller looked
    for (name, partition), place in list(state.places.items()):
        key = (topic, partition)
        waiting = state.open(ResetKind.SOURCE_RECREATED, topic, partition)
        if name != topic or (place.reached is None and waiting is None):
            continue
        reached = place.estimate(place.target_end) or 0
        gone, unseen = max(0, (place.source_end or 0) - reached), False
        if waiting is not None:
            # It may go on where it was in either of the two.
            reached = max(reached, waiting.end or 0)
            gone, unseen = gone + waiting.gone, waiting.unseen
            state.drop(waiting)
        for kind in (ResetKind.EXPIRED, ResetKind.BEYOND, ResetKind.REWIND):
            known = state.open(kind, topic, partition)
            if known is not None:
                state.change(known, settled=view.at)
        log_end, target_end = source.ends.get(key), view.target_end(key)
        # Where the target grew, some copies may be of the new topic already.
        unsure = (log_end is None or log_end > reached) and (
            target_end is None
            or place.target_end is None
            or target_end > place.target_end
        )
        state.begin(
            ResetKind.SOURCE_RECREATED,
            topic,
            view.at,
            partition=partition,
            # Every log begins there, whatever has expired of it since.
            first=0,
            end=reached,
            proved=reached if unsure else None,
            at_least=unsure,
            log_end=log_end,
            target_end=target_end,
            gone=gone,
            unseen=unseen or place.source_end is None,
        )
        fact = newest.get(key)
        state.places[key] = PartitionPosition(
            committed_at=fact.written_at if fact else place.committed_at,
            # Syncs that go on from there are still of the old topic.
            upstream=place.upstream,
            downstream=place.downstream,
            synced_at=place.synced_at,
        )
        state.touched.add(key)


def _note_uncopied(
    state: PositionState, view: FlowView, before: FlowView | None, topic: str
) -> None:
    """Note what was lost with partitions of which nothing was copied yet."""
    if before is None or before.source is None:
        return
    for key, end in before.source.ends.items():
        gone = end - before.source.starts.get(key, 0)
        if key[0] == topic and key not in state.places and gone:
            state.begin(
                ResetKind.SOURCE_RECREATED,
                topic,
                view.at,
                partition=key[1],
                settled=view.at,
                gone=gone,
                harmless=True,
            )


def _check_target(
    state: PositionState, view: FlowView, before: FlowView | None
) -> None:
    if view.target is None:
        return
    seen = before.target if before else None
    new: dict[str, int] = {}
    for remote in set(view.names.values()):
        known = seen.topics.get(remote) if seen else None
        facts = view.target.topics.get(remote)
        if facts is None:
            # Once it is created again, nobody can count what it held.
            if seen is not None and known is not None:
                state.deleted[remote] = _copies(seen, remote)
            continue
        held = state.deleted.pop(remote, 0)
        pinned = state.pins.get(("target", remote))
        if pinned is not None and pinned != facts.id:
            new[remote] = _copies(seen, remote) if seen and known else held
        state.pin("target", remote, facts.id)
    for topic, remote in view.names.items():
        places = dict(state.places_of(topic)) if remote in new else {}
        if not places:
            continue
        for partition, place in places.items():
            place.downstream = None
            state.touched.add((topic, partition))
        state.begin(
            ResetKind.TARGET_RECREATED,
            topic,
            view.at,
            settled=view.at,
            places=len(places),
            gone=new[remote],
            now=remote,
        )


def _copies(target: ClusterView, remote: str) -> int:
    """Return how many offsets a topic held at the target."""
    places = [(remote, n) for n in range(target.topics[remote].partitions)]
    return sum(
        target.ends[place] - target.starts.get(place, 0)
        for place in places
        if place in target.ends
    )


def _moved_at(view: FlowView) -> datetime | None:
    """Return when the mirror last said that it went on."""
    said = [
        *(fact.written_at for fact in view.committed.values()),
        *(sync.written_at for sync in (*view.syncs.values(), *view.new_syncs)),
    ]
    return max(said, default=None)


SYNCS_KEPT = 10_000
"""Syncs that are kept of topics that are not seen: hours of some topics."""

READING = "MirrorMaker's internal topics are still being read"


@dataclass(frozen=True, kw_only=True, slots=True)
class PositionInputs:
    """What is known beside a survey."""

    homes: Mapping[str, str | None] = field(default_factory=dict)
    """Ids of the mirror's own topics, by kind."""

    empty_until: Mapping[TopicPartition, int] = field(default_factory=dict)
    """Up to where no data follows positions, by partition."""

    from_end: bool = False
    """Whether a mirror without a position begins at the end."""

    foreign: AbstractSet[TopicPartition] = frozenset()
    """Source partitions at whose copies others write, too, or two tasks of the
    mirror, as was seen by comparing records: there, the target's end counts
    no copies."""

    flush: timedelta = LONGEST_FLUSH
    """How often the mirror commits, at most."""

    problems: Sequence[str] = ()
    """What keeps the mirror's own topics from being read."""

    exact: AbstractSet[str] = frozenset()
    """Topics without syncs of which nothing is copied beyond commits."""

    resumes_at_end: bool = False
    """Whether a mirror goes on at the end where its position has expired."""

    shortfalls: Sequence[Shortfall] = ()
    """What did not add up between two rests of topics without syncs."""


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
        What is known from before.
    accepted
        Cluster ids that the configuration gives, by alias.
    internal
        Names of the mirror's own topics, by kind.
    estimates
        Whether the target's ends may be counted back to positions: not where
        a mirror writes in transactions.
    keeps_offsets
        Whether commits are ends at the target, where records have the offsets
        that they have at the source.
    merged
        Returns of a source topic whether others write to its target topic as
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
        self._gaps = UnexplainedGaps()
        # What came with the survey before, to be judged by the next one.
        self._syncs = SyncBuffer()
        self._committed: Mapping[TopicPartition, Committed] = {}
        self._complete = False
        self._before: FlowView | None = None
        self._partitions = len(state.places)

    def take(
        self, view: FlowView, news: PositionInputs
    ) -> PositionObservation:
        """Learn from a survey, and say what is known."""
        problems = [*news.problems, *view.problems]
        if view.unproved_problem is not None:
            problems.append(view.unproved_problem)
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
            carried = sum(topic in view.names for topic, _ in places)
            self._partitions = carried or len(places)
        source, target = self._aliases
        return PositionObservation(
            flow=self._flow,
            at=view.at,
            source=source,
            target=target,
            partitions=self._partitions,
            resets=tuple(self.state.resets.values()),
            counts=dict.fromkeys(view.names, 0) | self.state.counts,
            problems=tuple(dict.fromkeys(problems)),
            moved_at=_moved_at(view) if self.state.resets else None,
            keeps_offsets=self._keeps_offsets,
        )

    def _hold(self, view: FlowView) -> None:
        """Keep what came with a survey for the next one."""
        for sync in view.new_syncs:
            place = self.state.places.get(sync.key)
            if place is None or place.synced_at is None:
                # Nothing to compare it with: it is where the mirror begins,
                # unless the first sync of a recreated topic is pending.
                pending = self._complete and self.state.open(
                    ResetKind.SOURCE_RECREATED, *sync.key
                )
                if not pending:
                    self._syncs.drop(sync.key)
            elif not self._complete and sync.written_at <= place.synced_at:
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
        foreign = self._standing.foreign = news.foreign | growth.found
        for key in foreign:
            place = state.places.get(key)
            if place is not None and place.downstream is not None:
                place.downstream = None
                state.touched.add(key)
        self._internal.look(news.homes, view, from_end=news.from_end)
        new = check_topics(state, view, self._before, view.committed)
        moves = PositionMoves(
            state, view, self._counted, self._gaps, self._keeps_offsets
        )
        for (topic, partition), syncs in self._syncs.release().items():
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
        self._gaps.look(state, view)
        self._take_commits(view, moves, news)
        self._standing.exact = news.exact
        self._standing.resumes_at_end = news.resumes_at_end
        self._standing.look(view, news.empty_until)
        self._take_shortfalls(news.shortfalls, view.at)
        self._before = view

    def _take_shortfalls(
        self, shortfalls: Iterable[Shortfall], at: datetime
    ) -> None:
        """Report what a mirror skipped that went on at the end of a log.

        Where it went on, no position says: what it committed next is behind
        records that it copied. But at rest, all that was passed and has no
        copy is known by topic, and what had expired is part of it.
        """
        for found in shortfalls:
            known = self.state.newest(ResetKind.JUMPED, found.topic)
            since = None if known is None else known.settled
            expired = [
                reset
                for reset in self.state.resets.values()
                if reset.kind is ResetKind.EXPIRED
                and reset.topic == found.topic
                and reset.from_end
                and reset.settled is not None
                and reset.settled <= found.at
                and (since is None or reset.settled > since)
            ]
            number = found.missing + found.unverifiable
            if expired and number > sum(reset.count for reset in expired):
                self.state.begin(
                    ResetKind.JUMPED,
                    found.topic,
                    at,
                    counted=(),
                    settled=at,
                    places=len(expired),
                    gone=number,
                )

    def _keep(self, syncs: Iterable[Sync]) -> None:
        """Keep syncs of a topic that is not seen now, for when it is: it may
        be denied or hidden, and its records expire all the same.
        """
        for sync in syncs:
            self._syncs.hold(sync)
        self._syncs.trim(SYNCS_KEPT)

    def _take_commits(
        self,
        view: FlowView,
        moves: PositionMoves,
        news: PositionInputs,
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
