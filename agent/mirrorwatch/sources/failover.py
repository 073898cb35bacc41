"""Failover: offsets of consumer groups, and their start at the target."""

from collections import defaultdict
from collections.abc import (
    Callable,
    Container,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from collections.abc import Set as AbstractSet
from dataclasses import replace
from datetime import datetime, timedelta

from ..domain.cluster_view import ClusterView, FlowView, TopicPartition
from ..domain.failover import texts
from ..domain.failover.check import (
    STALE,
    FailoverObservation,
    FailoverTracker,
    GroupStart,
    select_starts,
)
from ..domain.failover.recovery import (
    CopyFacts,
    RecoveryState,
    RecoveryTracker,
)
from ..domain.failover.translation import (
    CopiedPartition,
    GroupOffset,
    Start,
    merge,
    translate,
)
from ..domain.finding import render
from ..state.documents import DocumentStore, FirstSeenStore
from ..state.failover import GroupStore, SourceEndStore
from ..threads import Latest
from .groups import GroupReading
from .mirror_state import MirrorState

__all__ = ["FailoverSource"]

Offsets = Mapping[str, tuple[GroupOffset, ...]]

Copied = Callable[
    [Iterable[TopicPartition]], Mapping[TopicPartition, CopiedPartition]
]
"""Returns where the copies of source partitions are, as far as known."""


LISTED_FOR = timedelta(minutes=1)
"""Grace period of a topic or partition that is no longer listed: a broker that
has just started may not know it."""


class ListedNames:
    """Names at the target of the topics that a flow carries, also of those
    that were not listed for a moment.
    """

    def __init__(self) -> None:
        self._listed: Mapping[str, str] = {}
        self._at: datetime | None = None
        self._gone: dict[str, tuple[datetime, str]] = {}

    def take(self, names: Mapping[str, str], at: datetime) -> dict[str, str]:
        """Take the names in a survey; return all that are there."""
        for topic in self._listed.keys() - names.keys():
            self._gone[topic] = self._at or at, self._listed[topic]
        self._listed, self._at = names, at
        self._gone = {
            topic: (seen, name)
            for topic, (seen, name) in self._gone.items()
            if topic not in names and at - seen <= LISTED_FOR
        }
        return {t: name for t, (_, name) in self._gone.items()} | dict(names)


class FailoverSource:
    """Saves and judges the offsets of all groups of one flow, by each
    reading of them.

    Parameters
    ----------
    flow
        Name of the flow.
    positions
        State of the mirror's internal topics.
    store
        Store of the groups' offsets.
    first_seen
        Store of the times since when groups have no start.
    copied
        Returns where copies are.
    copy_facts
        Returns what else is known of copies.
    recovery
        Store of the time until when the flow was complete.
    source_ends
        Store of the source's end offsets.

    Notes
    -----
    While the source does not answer, what was read before stays.
    """

    def __init__(
        self,
        *,
        flow: str,
        positions: MirrorState,
        store: GroupStore,
        first_seen: FirstSeenStore,
        copied: Copied,
        copy_facts: Callable[[], CopyFacts],
        recovery: DocumentStore[RecoveryState],
        source_ends: SourceEndStore,
    ) -> None:
        self.name = f"failover {flow}"
        self._flow = flow
        self._positions = positions
        self._store = store
        self._first_seen = first_seen
        self._copied = copied
        self._copy_facts = copy_facts
        self._recovery_store = recovery
        self._recovery = RecoveryTracker(recovery.load())
        self._source_ends = source_ends
        self._ends = dict(source_ends.load().ends)
        self._source = Latest[ClusterView | None](None)
        self._tracker = FailoverTracker(first_seen.load())
        self._view = Latest[FlowView | None](None)
        self._names = Latest[Mapping[str, str]]({})
        self._listed = ListedNames()
        self._target_ends: Mapping[TopicPartition, int] = {}
        self._target_starts: Mapping[TopicPartition, int] = {}
        self._unlisted: Mapping[TopicPartition, datetime] = {}
        """Partitions that groups need and the target does not list, and since
        when."""

        self._seen = Latest[FailoverObservation | None](None)
        kept = store.load()
        self._kept = {name: found.offsets for name, found in kept.items()}
        self._read_at = next((g.read_at for g in kept.values()), None)
        self._whole_at: datetime | None = None

        self._deleted: AbstractSet[str] = store.deleted()
        """Groups without offsets at the source, by the last answer."""

    def take(self, view: FlowView) -> None:
        """Learn which topics the flow carries, and the target's ends."""
        self._view.set(view)
        self._recovery.take(view, self._copy_facts())
        if view.names:
            self._names.set(self._listed.take(view.names, view.at))
        if view.source is not None:
            self._source.set(view.source)

    def observe(self, now: datetime) -> Sequence[FailoverObservation]:
        """Return what the last reading of the groups came to, and what the
        last survey says of the recovery point.
        """
        seen, point = self._seen.get(), self._recovery.point
        if seen is None and point is None:
            return []
        if seen is None:
            seen = FailoverObservation(
                flow=self._flow,
                at=now,
                problems=(texts.NOT_READ,),
            )
        return [replace(seen, recovery=point)]

    def named(self) -> tuple[str, ...]:
        """Return none: of a group that is not listed, checkpoints suffice."""
        return ()

    def take_groups(self, reading: GroupReading) -> None:
        """Save what was read of the groups, and judge it.

        Raises
        ------
        StateError
            Raised if it cannot be kept; it is with the next reading.
        """
        # Of a group that was deleted, checkpoints may be left. One of which
        # nothing was learned now is as it was before.
        answered = reading.asked - reading.denied
        deleted = answered - {group for group, _, _ in reading.offsets}
        self._deleted = deleted | (self._deleted - answered)
        names = self._names.get()
        self._recovery_store.save(self._recovery.to_state())
        self._keep_ends(names)
        if names:
            self._keep(reading, names)
        if names or reading.problem is not None:
            self._judge(reading, names)

    def _keep_ends(self, names: Mapping[str, str]) -> None:
        """Save where the source ends: what never came to the target is asked
        for when the source is lost.
        """
        source = self._source.get()
        if source is None or not names:
            return
        there = {
            topic: source.topics[topic].partitions
            for topic in names
            if topic in source.topics
        }
        # What has no leader now has the end that it had.
        changed = {
            place: end
            for place, end in source.ends.items()
            if self._ends.get(place) != end
            and place[1] < there.get(place[0], 0)
        }
        gone = [p for p in self._ends if p[1] >= there.get(p[0], 0)]
        self._source_ends.save(changed, gone, source.at)
        self._ends |= changed
        for place in gone:
            del self._ends[place]

    def _keep(self, reading: GroupReading, names: Mapping[str, str]) -> None:
        if reading.problem is None:
            self._read_at = reading.at
        groups, read = reading.listed, _select(reading, names)
        checkpoints = self._checkpoints(names)
        found = {
            name: merge(
                read.get(name, ())
                if name in groups or name in read
                else self._kept.get(name, ()),
                checkpoints.get(name, ()),
            )
            for name in {*self._kept, *read, *checkpoints}
            if name in groups or name in checkpoints or not reading.is_whole
        }
        found = {name: offsets for name, offsets in found.items() if offsets}
        changed = {
            name: offsets
            for name, offsets in found.items()
            if self._kept.get(name) != offsets
        }
        self._store.save(
            changed,
            self._kept.keys() - found,
            self._read_at,
            self._deleted & found.keys(),
        )
        self._kept = found

    def _judge(self, reading: GroupReading, names: Mapping[str, str]) -> None:
        view = self._view.get()
        problems = [reading.problem, *(() if view is None else view.problems)]
        if reading.problem is None and not self._knows_all(reading):
            problems.append(texts.UNLISTED)
        target = None if view is None else view.target
        if target is not None and reading.at - target.at > STALE:
            # Starts move on, and seem to be beyond an end that is old.
            age = (reading.at - target.at).total_seconds()
            problems.append(render(texts.ENDS_STALE, {"seconds": age}))
            target = None
        if target is None:
            # When it is back, its brokers may just have started.
            self._unlisted = {}
        seen = replace(
            self._seen.get()
            or FailoverObservation(flow=self._flow, at=reading.at),
            at=reading.at,
            read_at=self._read_at,
            groups=len(self._kept),
            denied=len(reading.denied),
            unasked=len(reading.listed - reading.asked),
            problems=tuple(dict.fromkeys(p for p in problems if p)),
        )
        if target is not None and names:
            starts = list(self._start(target, names))
            missing, old, changes = self._tracker.look(
                starts, reading.at, self._excluded
            )
            self._first_seen.save(changes)
            costs = [(g, s.chosen.repeated) for g, s in starts if s.chosen]
            seen = replace(
                seen,
                compared_at=reading.at,
                groups=len({group for group, _ in starts}),
                missing=missing,
                old=old,
                repeated=max((n for _, n in costs if n), default=0),
                uncounted=len({group for group, n in costs if n is None}),
                starts=select_starts(
                    [
                        GroupStart(
                            group=group,
                            remote=names[start.place.topic],
                            start=start,
                        )
                        for group, start in starts
                    ]
                ),
                starts_total=len(starts),
                problems=(
                    *seen.problems,
                    *_find_unknown(starts, names, self._target_ends),
                ),
            )
        elif self._seen.get() is None and not seen.problems:
            return  # nothing was judged yet
        self._seen.set(seen)

    def _knows_all(self, reading: GroupReading) -> bool:
        """Return whether all groups were listed, not long ago."""
        if reading.is_whole:
            self._whole_at = reading.at
        whole_at = self._whole_at
        return whole_at is not None and reading.at - whole_at <= STALE

    def _start(
        self, target: ClusterView, names: Mapping[str, str]
    ) -> Iterator[tuple[str, Start]]:
        """Yield where each group would start, by partition."""
        places = {
            (o.topic, o.partition) for g in self._kept.values() for o in g
        }
        copied = self._copied(places)
        carried = set(names.values())
        absent = self._find_absent(
            target, {(names[t], p) for t, p in places if t in names}
        )
        # What has no leader now has the start and the end that it had.
        ends = self._target_ends = _replaced(
            self._target_ends, target.ends, carried, absent
        )
        starts = self._target_starts = _replaced(
            self._target_starts, target.starts, carried, absent
        )
        source = self._source.get()
        source_starts = {} if source is None else source.starts
        known = {}
        for key in places:
            if key[0] in names:
                copy = names[key[0]], key[1]
                known[key] = replace(
                    copied.get(key, CopiedPartition()),
                    start=starts.get(copy),
                    end=ends.get(copy),
                    absent=copy in absent,
                    source_start=source_starts.get(key),
                    source_end=self._ends.get(key),
                )
        for group, offsets in self._kept.items():
            for each in offsets if group not in self._deleted else ():
                found = known.get((each.topic, each.partition))
                if found is not None:
                    yield group, translate(each, found)

    def _find_absent(
        self, target: ClusterView, copies: Iterable[TopicPartition]
    ) -> AbstractSet[TopicPartition]:
        """Return the partitions that the target has not listed for long."""
        self._unlisted = {
            copy: self._unlisted.get(copy, target.at)
            for copy in copies
            if not _is_listed(copy, target)
        }
        return {
            copy
            for copy, since in self._unlisted.items()
            if target.at - since > LISTED_FOR
        }

    def _excluded(self, group: str) -> bool:
        filters = [
            found.groups
            for found in self._positions.companions()
            if found.role == "checkpoints"
        ]
        return bool(filters) and not any(
            each is None or each.matches(group) for each in filters
        )

    def _checkpoints(self, names: Mapping[str, str]) -> Offsets:
        """Return the checkpoints of all groups, by the source's topics: not
        those of a topic that was recreated since, at either side.
        """
        topics = {remote: topic for topic, remote in names.items()}
        found: defaultdict[str, tuple[GroupOffset, ...]] = defaultdict(tuple)
        for each in self._positions.checkpoints():
            topic = topics.get(each.topic)
            if topic is None or self._recovery.is_void(
                (topic, each.partition), each.upstream, each.written_at
            ):
                continue
            found[each.group] += (
                GroupOffset(
                    topic=topic,
                    partition=each.partition,
                    upstream=each.upstream,
                    downstream=each.downstream,
                ),
            )
        return found


def _replaced(
    before: Mapping[TopicPartition, int],
    now: Mapping[TopicPartition, int],
    topics: Container[str],
    absent: Container[TopicPartition],
) -> Mapping[TopicPartition, int]:
    """Return offsets as they are now, and those of before where none is known
    now, of topics that are carried and partitions that are still there.
    """
    if before.keys() <= now.keys():
        return now  # nearly always: all have a leader
    return {
        place: offset
        for place, offset in before.items()
        if place[0] in topics and place not in absent
    } | dict(now)


def _is_listed(copy: TopicPartition, target: ClusterView) -> bool:
    topic, partition = copy
    facts = target.topics.get(topic)
    return facts is not None and partition < facts.partitions


def _find_unknown(
    starts: Iterable[tuple[str, Start]],
    names: Mapping[str, str],
    ends: Container[TopicPartition],
) -> Iterator[str]:
    """Yield the problem of starts in partitions without a known end, if there
    are any.
    """
    unknown = [
        (group, copy)
        for group, start in starts
        if start.chosen
        and (copy := (names[start.place.topic], start.place.partition))
        not in ends
    ]
    if unknown:
        groups = len({group for group, _ in unknown})
        copies = sorted({copy for _, copy in unknown})
        topic, partition = copies[0]
        yield render(
            texts.NO_END,
            {
                "topic": topic,
                "partition": partition,
                "partitions": len(copies),
                "groups": groups,
            },
        )


def _select(reading: GroupReading, names: Mapping[str, str]) -> Offsets:
    found: defaultdict[str, tuple[GroupOffset, ...]] = defaultdict(tuple)
    for (group, topic, partition), committed in reading.offsets.items():
        if topic in names:
            found[group] += (
                GroupOffset(
                    topic=topic, partition=partition, committed=committed
                ),
            )
    return found
