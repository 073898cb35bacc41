"""Asks all clusters, once a tick, how far every topic is."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import partial
from itertools import chain
from typing import Protocol, Self

from ..domain.carriage import Carriage, CarriedTopics
from ..domain.cluster_view import (
    ClusterAnswer,
    ClusterView,
    FlowView,
    PartitionView,
    TopicPartition,
)
from ..domain.conflicts import FlowTopics, find_conflicts
from ..domain.mirror_records import Committed, Sync
from ..domain.report import Flow
from ..exceptions import (
    MirrorwatchError,
    SourceError,
    SourceUnavailableError,
)
from ..kafka.admin import Cluster, Described, describe_topics, list_topics
from ..kafka.offsets import read_ends, read_starts
from ..ports import Guard, unguarded
from .mirror_state import MirrorState

__all__ = [
    "DESCRIBE_ALL_EVERY",
    "DESCRIBE_EVERY",
    "STARTS_EVERY",
    "STARTS_WHOLE_EVERY",
    "SurveyWorker",
    "SurveyedFlow",
    "ViewListener",
]


DESCRIBE_EVERY = timedelta(minutes=1)
"""Longest age of a topic's description while nothing moves on the topic."""

DESCRIBE_ALL_EVERY = timedelta(minutes=10)
"""Longest age of the description of a topic that never had a record: whoever
recreates it loses none, and its first record moves its end."""


class TopicCatalogue:
    """Knows the topics of one cluster.

    Parameters
    ----------
    cluster
        The cluster.
    clock
        Gives the time.

    Notes
    -----
    The list of all topics is read each time: 8 ms of processor time for
    1,200 of them. Only a description of each returns its id, for which
    the library makes a future and an object of every replica: 54 ms. So
    topics are described when they are new or have other partitions, and
    otherwise every minute; who saw something move on one has it confirmed
    that the topic is the same. One that was recreated without a trace, in
    the list, its ends and what the mirror says, is known within the minute,
    if it ever had a record.
    """

    def __init__(
        self, cluster: Cluster, clock: Callable[[], datetime]
    ) -> None:
        self._cluster = cluster
        self._clock = clock
        self._described_at: datetime | None = None
        self._all_described_at: datetime | None = None
        self.took = timedelta()

        self.described = Described("", {})
        """Latest descriptions of the topics: replaced as a whole, never
        changed."""

        self.changed: set[str] = set()
        """Topics that had another id before the last reading."""

    def read(self, unwritten: Callable[[], AbstractSet[str]]) -> Described:
        """Read which topics there are.

        Parameters
        ----------
        unwritten
            Returns the topics that never had a record.

        Raises
        ------
        SourceError
            Raised if the cluster cannot be asked.
        """
        now = self._clock()
        listed = list_topics(self._cluster)
        self.took = self._clock() - now
        known, at = self.described.topics, self._described_at
        all_at = self._all_described_at
        if listed.id != self.described.id or not _is_young(
            all_at, now, DESCRIBE_ALL_EVERY
        ):
            known, at, all_at = {}, now, now
        elif not _is_young(at, now, DESCRIBE_EVERY):
            known, at = {n: known[n] for n in unwritten() & known.keys()}, now
        same = {
            name: known[name]
            for name, partitions in listed.partitions.items()
            if name in known and known[name].partitions == partitions
        }
        found = describe_topics(
            self._cluster, listed.partitions.keys() - same.keys()
        )
        self._described_at, self._all_described_at = at, all_at
        before = self.described.topics
        self.changed = {
            name
            for name, facts in found.items()
            if name in before and before[name].id != facts.id
        }
        self.described = Described(listed.id, {**same, **found})
        return self.described

    def confirm(self, names: Iterable[str]) -> bool:
        """Ask again of some topics which they are.

        Returns
        -------
        bool
            All ids are the known ones, so that whatever was read of the topics
            since then was read of these: ids do not come back.

        Raises
        ------
        SourceError
            Raised if the cluster cannot be asked.
        """
        known = self.described.topics
        found = describe_topics(
            self._cluster, [name for name in names if name in known]
        )
        others = {
            name: facts
            for name, facts in found.items()
            if facts.id != known[name].id
        }
        if others:
            self.described = Described(self.described.id, {**known, **others})
        return not others


def _is_young(at: datetime | None, now: datetime, age: timedelta) -> bool:
    return at is not None and at <= now < at + age


STARTS_EVERY = timedelta(seconds=30)
"""Polling interval of log start offsets: retention moves them by whole
segments, seldom."""

STARTS_WHOLE_EVERY = timedelta(minutes=10)
"""Polling interval of the log start offsets of empty logs too, which do not
move: a new leader that lags may still hold what the one before had deleted."""

Wanted = Mapping[bool, Mapping[str, int]]
"""Topics of which the ends are needed, with how many partitions they have, by
whether as they are read committed."""


ROUND_TRIPS = 720
"""Times that a cluster took to answer, of an hour at the usual interval: what
goes on for longer is the usual."""

LEAST_ROUND_TRIPS = 6
"""Times from which the usual one is known."""


class AnswerTracker:
    """Follows whether one cluster answers, and how fast.

    Parameters
    ----------
    alias
        Our alias of it.
    """

    def __init__(self, alias: str) -> None:
        self.answer = ClusterAnswer(alias=alias)

        self._took: deque[timedelta] = deque(maxlen=ROUND_TRIPS)

    def note(self, at: datetime, took: timedelta) -> None:
        """Take an answer."""
        before = self._took[-1] if self._took else took
        self._took.append(took)
        known = len(self._took) >= LEAST_ROUND_TRIPS
        # The lower quartile: what was slow for a while is not the usual.
        usual = sorted(self._took)[len(self._took) // 4] if known else None
        self.answer = replace(
            self.answer,
            answered_at=at,
            answering_since=self.answer.answering_since or at,
            silent_since=None,
            took=min(before, took),
            usual=usual,
        )

    def fail(self, at: datetime, error: SourceError) -> None:
        """Take that it was asked in vain."""
        silent = isinstance(error, SourceUnavailableError)
        since = self.answer.silent_since or at
        self.answer = replace(
            self.answer,
            answering_since=None,
            silent_since=since if silent else None,
        )


@dataclass(frozen=True, slots=True)
class _Starts:
    """The log starts of one cluster, with what they were read of."""

    at: datetime
    whole_at: datetime
    topics: Mapping[str, tuple[str, int]]
    starts: Mapping[TopicPartition, int]

    @property
    def is_complete(self) -> bool:
        """All partitions had a leader."""
        return len(self.starts) == sum(n for _, n in self.topics.values())


@dataclass(frozen=True, slots=True)
class _Asked:
    """Offsets that one cluster answered in one survey."""

    at: datetime
    ends: Mapping[bool, Mapping[TopicPartition, int]]
    starts: Mapping[TopicPartition, int]

    def moved(self, before: "_Asked") -> Iterator[str]:
        """Yield the topics of which anything is not as it was before."""
        for committed, ends in self.ends.items():
            yield from _moved(ends, before.ends.get(committed, {}))
        if self.starts is not before.starts:
            yield from _moved(self.starts, before.starts)


class ClusterSurvey:
    """Asks one cluster for its topics and their ends, survey by survey.

    Parameters
    ----------
    alias
        Our alias of it.
    cluster
        The cluster.
    clock
        Gives the time.
    """

    def __init__(
        self,
        alias: str,
        cluster: Cluster,
        clock: Callable[[], datetime],
    ) -> None:
        self._alias = alias
        self._topics = TopicCatalogue(cluster, clock)
        self._answers = AnswerTracker(alias)
        self._cluster = cluster
        self._clock = clock
        self._starts: _Starts | None = None
        self._before: _Asked | None = None
        self._asked: _Asked | None = None
        self._wanted: Wanted = {}
        self._places: Mapping[bool, Sequence[TopicPartition]] = {}
        """Of what was wanted last."""

    def describe(self) -> Described:
        """Read which topics there are; the first question of a survey.

        Raises
        ------
        SourceError
            Raised if the cluster cannot be asked.
        """
        self._asked = None
        at = self._clock()
        try:
            found = self._topics.read(self._unwritten)
        except SourceError as e:
            self._answers.fail(at, e)
            raise
        self._answers.note(self._clock(), self._topics.took)
        return found

    @property
    def answer(self) -> ClusterAnswer:
        """Answer state of the cluster, with its latency."""
        return self._answers.answer

    def ask(self, wanted: Wanted, reported: AbstractSet[str]) -> None:
        """Read the ends of partitions, and make sure of what topics.

        Parameters
        ----------
        wanted
            Which ends.
        reported
            Topics of which the mirror said something since the survey before.

        Raises
        ------
        SourceError
            Raised if the cluster cannot be asked.

        Notes
        -----
        A topic on which anything moved is made sure of after its end was
        read: if it is still the one that it was, so is what was read. What
        is said of it was read before, so it is of that topic, too.
        """
        try:
            asked = self._read(wanted)
            moved = asked.moved(self._before) if self._before else ()
            # Nor is another id believed that one broker alone answers with.
            changed = self._topics.changed
            if not self._topics.confirm({*reported, *moved, *changed}):
                # What was read may be of the topics that are no more.
                asked = self._read(wanted)
        except SourceError as e:
            self._answers.fail(self._clock(), e)
            raise
        self._before = self._asked = asked

    def view(self, *, read_committed: bool) -> ClusterView | None:
        """Return what was answered; `None` if that was not all."""
        asked, described = self._asked, self._topics.described
        if asked is None:
            return None
        return ClusterView(
            alias=self._alias,
            id=described.id,
            at=asked.at,
            topics=described.topics,
            ends=asked.ends.get(read_committed, {}),
            starts=asked.starts,
        )

    def close(self) -> None:
        """Let go of connections."""
        self._cluster.close()

    def _unwritten(self) -> set[str]:
        """Return the topics that never had a record, by the last answer."""
        if self._before is None:
            return set()
        ends: dict[TopicPartition, int] = {}
        for found in self._before.ends.values():
            ends |= found
        return {
            topic
            for topic, facts in self._topics.described.topics.items()
            if all(ends.get((topic, p)) == 0 for p in range(facts.partitions))
        }

    def _read(self, wanted: Wanted) -> _Asked:
        at = self._clock()
        if wanted != self._wanted:
            # Otherwise the same objects: an answer would have its own of each
            # partition, and is kept beside others.
            self._wanted = {c: dict(topics) for c, topics in wanted.items()}
            self._places = {c: _places(topics) for c, topics in wanted.items()}
        ends = {
            committed: read_ends(
                self._cluster,
                places,
                read_committed=committed,
            )
            for committed, places in self._places.items()
        }
        return _Asked(at, ends, self._read_starts(wanted, ends, at))

    def _read_starts(
        self,
        wanted: Wanted,
        ends: Mapping[bool, Mapping[TopicPartition, int]],
        at: datetime,
    ) -> Mapping[TopicPartition, int]:
        facts, topics = self._topics.described.topics, dict[str, int]()
        for each in wanted.values():
            topics.update(each)
        # A topic of another id has other starts, whatever its name.
        asked = {topic: (facts[topic].id, n) for topic, n in topics.items()}
        kept = self._starts
        if (
            kept is not None
            and at - kept.at < STARTS_EVERY
            and kept.topics == asked
            and kept.is_complete
        ):
            return kept.starts
        empty: dict[TopicPartition, int] = {}
        whole_at = at
        if (
            kept is not None
            and at - kept.whole_at < STARTS_WHOLE_EVERY
            and kept.topics == asked
        ):
            # What was empty, and ends where it did, starts there, too.
            empty = {
                place: end
                for found in ends.values()
                for place, end in found.items()
                if kept.starts.get(place) == end
            }
            whole_at = kept.whole_at
        every = chain.from_iterable(self._places.values())
        starts = empty | read_starts(
            self._cluster, (place for place in every if place not in empty)
        )
        self._starts = _Starts(at, whole_at, asked, starts)
        return starts


def _places(topics: Mapping[str, int]) -> Sequence[TopicPartition]:
    return [
        (topic, partition)
        for topic, partitions in topics.items()
        for partition in range(partitions)
    ]


def _moved(
    now: Mapping[TopicPartition, int], before: Mapping[TopicPartition, int]
) -> Iterator[str]:
    return (
        place[0]
        for place, offset in now.items()
        if before.get(place) != offset
    )


class ViewListener(Protocol):
    """Takes every view of one flow, in order."""

    def take(self, view: FlowView) -> None:
        """Learn from a view. Never waits: other flows wait for it.

        Raises
        ------
        MirrorwatchError
            Raised if what was learned could not be kept.
        """
        ...


@dataclass(frozen=True, kw_only=True)
class SurveyedFlow:
    """Surveyed flow: its topics, positions and listeners."""

    flow: Flow
    carriage: Carriage
    positions: MirrorState
    listeners: Sequence[ViewListener]
    exactly_once: bool | None = None
    """The mirror writes in transactions; `None` to follow its
    configuration."""

    is_merged: Callable[[str], bool] = lambda _: False
    ends: Callable[[Mapping[str, str], ClusterView | None], None] | None = None
    """Takes positions from the ends at the target; `None` where the mirror
    says its positions itself."""


Facts = Mapping[TopicPartition, Committed | Sync]


@dataclass(frozen=True, slots=True)
class _Said:
    """Positions and offset syncs of one mirror as known before a survey."""

    caught_up: bool = False
    committed: Mapping[TopicPartition, Committed] = field(default_factory=dict)
    syncs: Mapping[TopicPartition, Sync] = field(default_factory=dict)

    @classmethod
    def of(cls, positions: MirrorState, now: datetime) -> Self:
        return cls(
            # Caught up first: what it covers was read before the positions.
            positions.behind(now) == 0,
            positions.all_committed(),
            positions.all_syncs(),
        )

    def news(self, before: Self) -> set[str]:
        """Return the source topics of which it is not what it was before."""
        return {
            *_changed(self.committed, before.committed),
            *_changed(self.syncs, before.syncs),
        }


class SurveyWorker:
    """Surveys all clusters for all flows, so that each is asked once.

    Parameters
    ----------
    flows
        Flows to survey.
    clusters
        Clusters by alias.
    ends
        Lookups of the ends of their partitions, by alias.
    interval
        Interval between surveys.
    clock
        Gives the time.
    guard
        Lets what learns from the view of one flow crash alone.

    Notes
    -----
    Clusters that only receive are asked before those that send, and
    positions are read before both: see `FlowView`.
    """

    name = "survey"

    def __init__(
        self,
        *,
        flows: Sequence[SurveyedFlow],
        clusters: Mapping[str, Cluster],
        interval: timedelta,
        clock: Callable[[], datetime],
        guard: Guard = unguarded,
    ) -> None:
        self.interval = interval
        self._guard = guard
        self._flows = flows
        for flow in flows:
            flow.positions.keep_every_sync()
        self._sides = {
            alias: ClusterSurvey(alias, clusters[alias], clock)
            for alias in sorted({a for f in flows for a in _aliases(f)})
        }
        self._clock = clock
        # What of it was made sure of: with the last answer of both sides.
        self._known = [_Said() for _ in flows]
        # Carried when the source last answered: while it does not, their
        # copies show whether the mirror goes on.
        self._carried = [CarriedTopics() for _ in flows]
        # As the view before had them.
        self._partitions: list[Mapping[TopicPartition, PartitionView | None]]
        self._partitions = [{} for _ in flows]

    def step(self) -> None:
        at = self._clock()
        mirrors = [_Said.of(flow.positions, at) for flow in self._flows]
        described, problems = self._describe()
        carried = self._carry(mirrors, described)
        reported = self._translate(mirrors, carried)
        for n, flow in enumerate(self._flows):
            if flow.flow.source in described:
                self._carried[n] = carried[n]
        conflicts = find_conflicts(
            [
                FlowTopics(
                    flow=flow.flow, names=known.names, is_merged=flow.is_merged
                )
                for flow, known in zip(self._flows, self._carried, strict=True)
            ]
        )
        wanted = self._want(described)
        for alias in self._in_order(described):
            try:
                self._sides[alias].ask(wanted[alias], reported[alias])
            except SourceError as e:
                problems[alias] = str(e)
        failed: MirrorwatchError | None = None
        for n, flow in enumerate(self._flows):
            source, target = _aliases(flow)
            here = self._sides[source].view(
                read_committed=_reads_committed(flow)
            )
            there = self._sides[target].view(read_committed=False)
            said = _take_ends(flow, carried[n], there, at) or mirrors[n]
            view = FlowView(
                flow=flow.flow.name,
                at=at,
                committed=said.committed,
                syncs=said.syncs,
                caught_up=said.caught_up,
                target=there,
                source=here,
                names={} if here is None else carried[n].names,
                exactly_once=_writes_in_transactions(flow),
                carried=carried[n],
                conflicts=conflicts[n],
                problems=tuple(
                    problems[alias]
                    for alias in (source, target)
                    if alias in problems
                ),
                new_syncs=flow.positions.take_syncs(),
                answers=(
                    self._sides[source].answer,
                    self._sides[target].answer,
                ),
                before=self._partitions[n],
            )
            if view.source is not None and view.target is not None:
                self._known[n] = said
            try:
                self._guard(
                    f"view {flow.flow.name}",
                    partial(_hand_out, view, flow.listeners),
                )
            except MirrorwatchError as e:
                # The other flows must learn all the same.
                failed = failed or e
            self._partitions[n] = view.partitions
        if failed is not None:
            raise failed

    def close(self) -> None:
        for side in self._sides.values():
            side.close()

    def _describe(self) -> tuple[dict[str, Described], dict[str, str]]:
        found: dict[str, Described] = {}
        problems: dict[str, str] = {}
        for alias, side in self._sides.items():
            try:
                found[alias] = side.describe()
            except SourceError as e:
                problems[alias] = str(e)
        return found, problems

    def _carry(
        self, mirrors: Iterable[_Said], described: Mapping[str, Described]
    ) -> list[CarriedTopics]:
        found = []
        for flow, said in zip(self._flows, mirrors, strict=True):
            positions, here = flow.positions, described.get(flow.flow.source)
            if said.caught_up:
                # Before, an older configuration may wait for a newer one.
                flow.carriage.learn(
                    positions.connectors(), positions.assigned_topics
                )
            found.append(flow.carriage.divide(here.topics if here else ()))
        return found

    def _translate(
        self, mirrors: Iterable[_Said], carried: Iterable[CarriedTopics]
    ) -> dict[str, set[str]]:
        reported: dict[str, set[str]] = {alias: set() for alias in self._sides}
        for flow, said, known, topics in zip(
            self._flows, mirrors, self._known, carried, strict=True
        ):
            source, target = _aliases(flow)
            news = said.news(known) & topics.names.keys()
            reported[source] |= news
            reported[target] |= {topics.names[topic] for topic in news}
        return reported

    def _in_order(self, aliases: Iterable[str]) -> list[str]:
        sources = {flow.flow.source for flow in self._flows}
        return sorted(aliases, key=lambda alias: (alias in sources, alias))

    def _want(
        self, described: Mapping[str, Described]
    ) -> dict[str, dict[bool, dict[str, int]]]:
        wanted: dict[str, dict[bool, dict[str, int]]] = {
            alias: {} for alias in described
        }
        for flow, topics in zip(self._flows, self._carried, strict=True):
            source, target = _aliases(flow)
            names = topics.names
            if source in described:
                here, committed = (
                    described[source].topics,
                    _reads_committed(flow),
                )
                wanted[source].setdefault(committed, {}).update(
                    (topic, here[topic].partitions) for topic in names
                )
            if target not in described:
                continue
            there = described[target].topics
            wanted[target].setdefault(False, {}).update(
                (remote, there[remote].partitions)
                for remote in names.values()
                if remote in there
            )
        return wanted


def _hand_out(view: FlowView, listeners: Iterable[ViewListener]) -> None:
    failed: MirrorwatchError | None = None
    for listener in listeners:
        try:
            listener.take(view)
        except MirrorwatchError as e:
            # The others must learn all the same.
            failed = failed or e
    if failed is not None:
        raise failed


def _take_ends(
    flow: SurveyedFlow,
    carried: CarriedTopics,
    target: ClusterView | None,
    at: datetime,
) -> _Said | None:
    """Return what the ends at the target say of a mirror's positions, which
    are read before those at the source; `None` where they say nothing.
    """
    if flow.ends is None:
        return None
    flow.ends(carried.names, target)
    return _Said.of(flow.positions, at)


def _aliases(flow: SurveyedFlow) -> tuple[str, str]:
    return flow.flow.source, flow.flow.target


def _reads_committed(flow: SurveyedFlow) -> bool:
    connectors = flow.positions.connectors()
    return bool(connectors) and all(c.read_committed for c in connectors)


def _writes_in_transactions(flow: SurveyedFlow) -> bool:
    if flow.exactly_once is not None:
        return flow.exactly_once
    return any(c.exactly_once for c in flow.positions.connectors())


def _changed(now: Facts, before: Facts) -> Iterator[str]:
    return (
        place[0]
        for place, fact in now.items()
        if before.get(place) is not fact
    )
