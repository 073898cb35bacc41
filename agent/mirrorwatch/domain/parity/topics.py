"""Parity of topics: the target has what the flow carries."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import ClassVar

from ..cluster_view import ClusterView, FlowView
from ..conflicts import Conflict
from ..finding import Code, Finding, Health, Scalar, Subject
from ..lag.model import LagObservation
from ..mirror_records import ConnectorSettings
from ..report import Verdict, conclude
from ..topics import HEARTBEATS, DefaultNaming, FormatNaming, ReplicatedTopics
from . import topics_texts as texts

__all__ = [
    "Comparison",
    "MissingTopic",
    "Names",
    "PartitionMismatch",
    "TopicsLimits",
    "TopicsObservation",
    "compare_sides",
    "judge_topics",
    "names",
]


@dataclass(frozen=True, kw_only=True, slots=True)
class TopicsLimits:
    """Limits of the check `topics`."""

    refreshes: ClassVar[float] = 2
    """Number of MirrorMaker's topic refreshes within which a new topic or
    partition must exist at the target. It can narrowly miss the first. The
    interval is read from MirrorMaker's configuration."""

    least: ClassVar[timedelta] = timedelta(minutes=1)
    """Minimum time for a new topic or partition, whatever the refresh interval
    is. MirrorMaker needs some seconds to create topics and to assign them to
    its tasks."""

    def patience(self, refresh: timedelta) -> timedelta:
        """Return how long the mirror may take, by its refresh interval."""
        return max(self.refreshes * refresh, self.least)


@dataclass(frozen=True, kw_only=True, slots=True)
class MissingTopic:
    """A topic that the flow carries and the target does not show."""

    topic: str
    remote: str
    since: datetime
    """Time at which the topic was first missed."""

    hidden: bool | None = None
    """Target refuses to say if the topic is there; `None` as long as it was
    not asked for it by name."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PartitionMismatch:
    """A topic that is not divided alike."""

    topic: str
    source: int
    target: int
    since: datetime
    """Time at which the mismatch was first seen."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TopicsObservation:
    """Comparison of the topics of both sides."""

    flow: str
    at: datetime
    """Time of the last survey in which both sides answered."""

    source_alias: str
    refresh: timedelta
    patience: timedelta
    refreshes: bool = True
    chosen: bool = True
    """Topics of the flow were configured: if not, it carries what its mirror
    wants."""

    known: bool = True
    carried: int = 0
    missing: tuple[MissingTopic, ...] = ()
    """Topics that the target does not list."""

    unwanted: tuple[str, ...] = ()
    """Topics that the mirror's own filter does not match."""

    carried_by: str = ""
    internal: tuple[str, ...] = ()
    """Topics at the source that only MirrorMaker since Kafka 4.0 copies, by
    the end of their names."""

    mistaken: tuple[str, ...] = ()
    """Topics at the source that MirrorMaker takes for copies, by a part of
    their names, though the target has no original."""

    target_part: str = ""
    mismatches: tuple[PartitionMismatch, ...] = ()
    other_replication: tuple[str, ...] = ()
    cycles: tuple[str, ...] = ()
    conflicts: tuple[Conflict, ...] = ()
    left_over: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()

    @property
    def late(self) -> tuple[MissingTopic, ...]:
        """Topics that have been missing for longer than they may."""
        return tuple(
            m for m in self.missing if self.at - m.since > self.patience
        )

    @property
    def absent(self) -> int:
        """Topics that are not copied and should be by now: a new one is not
        counted, nor one that the agent may not see.
        """
        unwanted = len(self.unwanted) if self.chosen else 0
        return unwanted + sum(m.hidden is False for m in self.late)

    @property
    def divided(self) -> tuple[PartitionMismatch, ...]:
        """Topics that are not divided alike and should be by now."""
        return tuple(
            m
            for m in self.mismatches
            if m.source < m.target or self.at - m.since > self.patience
        )


def names(topics: Iterable[str]) -> str:
    """Name some topics: three of them, and how many more there are."""
    found = sorted(topics)
    shown = ", ".join(found[:3])
    return shown + (f" and {len(found) - 3} more" if len(found) > 3 else "")


@dataclass(slots=True)
class Comparison:
    """Differences between both sides, by the topics' names at the source."""

    missing: dict[str, str] = field(default_factory=dict)
    """Names at the target, where they are not."""

    unwanted: list[str] = field(default_factory=list)
    """Topics that the mirror's own filter does not match."""

    partitions: dict[str, tuple[int, int]] = field(default_factory=dict)
    """Numbers of partitions here and there, where they differ."""

    other_replication: list[str] = field(default_factory=list)


def compare_sides(
    view: FlowView,
    source: ClusterView,
    target: ClusterView,
    habits: ConnectorSettings,
) -> Comparison:
    """Compare what the flow carries with what is at the target."""
    found = Comparison(unwanted=[*view.carried.unwanted])
    for topic, remote in view.names.items():
        here, there = source.topics[topic], target.topics.get(remote)
        if not habits.wants(topic):
            # One of that name at the target is not a copy.
            found.unwanted.append(topic)
            continue
        if there is None:
            found.missing[topic] = remote
            continue
        if here.partitions != there.partitions:
            found.partitions[topic] = (here.partitions, there.partitions)
        if here.replication_factor != there.replication_factor:
            found.other_replication.append(topic)
    return found


class Names:
    """Evidence from the topic names at the target alone.

    Names seldom change, and reading them costs more than all the rest: what
    they reported is kept until they do.
    """

    def __init__(self, carriage: ReplicatedTopics) -> None:
        self._carriage = carriage
        self._seen: tuple[frozenset[str], frozenset[str]] | None = None
        self.cycles: tuple[str, ...] = ()
        self.left_over: tuple[str, ...] = ()
        self.origins: Mapping[str, str] = {}
        """Topics after which left-over topics are named."""

        self.mistaken: tuple[str, ...] = ()
        self.target_part = carriage.target_alias

    def update(self, source: ClusterView, target: ClusterView) -> None:
        """Read the names on both sides."""
        if self._seen is not None and (
            source.topics.keys() == self._seen[0]
            and target.topics.keys() == self._seen[1]
        ):
            return
        here, there = frozenset(source.topics), frozenset(target.topics)
        self._seen = here, there
        self.cycles = tuple(sorted(self._find_cycles(there)))
        self.origins = dict(self._find_left_over(here, there))
        self.left_over = tuple(sorted(self.origins))
        self.mistaken = tuple(
            sorted(t for t in here if self._carriage.is_mistaken(t, there))
        )

    def _find_left_over(
        self, here: frozenset[str], there: frozenset[str]
    ) -> Iterator[tuple[str, str]]:
        for remote in there:
            origin = self._carriage.naming.origin(remote)
            gone = origin is not None and origin not in here
            if origin is not None and gone and self._carriage.carries(origin):
                yield remote, origin

    def _find_cycles(self, there: frozenset[str]) -> list[str]:
        """Find names that a topic gets on a second round.

        Notes
        -----
        ``summit.ldf.topic`` at ldf, where ``topic`` is as well: MirrorMaker 2
        refuses to make it, but only if all its nodes know the clusters by the
        same aliases (KAFKA-9914). Of heartbeats it is enough that an alias
        comes twice: nobody else makes topics of that name.
        """
        naming = self._carriage.naming
        if isinstance(naming, FormatNaming) or not naming.separator:
            return []
        prefixed = DefaultNaming(
            alias=naming.alias, separator=naming.separator
        )
        found = []
        for remote in there:
            origin = prefixed.origin(remote)
            if origin is None:
                continue
            *aliases, last = origin.split(naming.separator)
            if last == HEARTBEATS and naming.alias in aliases:
                found.append(remote)
            elif self._carriage.target_alias in aliases:
                at = aliases.index(self._carriage.target_alias)
                rest = naming.separator.join([*aliases[at + 1 :], last])
                if rest in there:
                    found.append(remote)
        return found


def judge_topics(
    flow: str,
    seen: TopicsObservation | None,
    now: datetime,
    lag: LagObservation | None = None,
) -> Verdict:
    """Judge topics and their numbers of partitions.

    Parameters
    ----------
    flow
        Name of the flow.
    seen
        Comparison of the topics of both sides.
    now
        The time.
    lag
        Lag observation; it tells which topics are hidden.
    """
    return conclude(
        _find(seen, None if lag is None else lag.hidden),
        flow=flow,
        check="topics",
        now=now,
        evidence={}
        if seen is None
        else {
            "topics_by": seen.carried_by,
            "not_wanted_topics": names(seen.unwanted),
        },
    )


def _find(
    seen: TopicsObservation | None, hidden: str | None
) -> Iterator[Finding]:
    if seen is None:
        yield texts.NO_DATA.found(Health.UNKNOWN)
        return
    if not seen.known:
        for problem in seen.problems:
            yield texts.UNREADABLE.found(Health.UNKNOWN, problem=problem)
        if not seen.problems:
            yield texts.STALE.found(Health.UNKNOWN)
        return
    if not seen.carried and not seen.internal:
        yield texts.NONE.found(Health.UNKNOWN, {"cluster": seen.source_alias})
        return
    if seen.unwanted and seen.chosen:
        yield _found(texts.FILTERED, Health.CRITICAL, seen.unwanted)
    yield from _find_missing(seen)
    yield from _find_mismatches(seen)
    yield from _find_loops(seen)
    yield from _find_misnamed(seen)
    if hidden is not None:
        yield texts.HIDDEN_TOPICS.found(Health.UNKNOWN, problem=hidden)
    left_out = 0 if seen.chosen else len(seen.unwanted) + len(seen.internal)
    yield texts.OK.found(
        Health.OK,
        topics=seen.carried - len(seen.unwanted),
        pending_topics=len(seen.missing) + len(seen.mismatches),
        filtered_topics=left_out or None,
    )


def _found(
    code: Code,
    health: Health,
    topics: Sequence[str],
    subject: Subject | None = None,
    **numbers: Scalar,
) -> Finding:
    """Return one finding about several topics, under the first by name."""
    return code.found(
        health,
        subject or {"topic": min(topics)},
        topics=len(topics),
        more_topics=len(topics) - 1 or None,
        **numbers,
    )


UNREFRESHED = "refresh.topics.enabled=false"


def _find_missing(seen: TopicsObservation) -> Iterator[Finding]:
    absent = [m for m in seen.late if m.hidden is False]
    if absent:
        since = min(m.since for m in absent)
        yield _found(
            texts.MISSING,
            Health.CRITICAL,
            [m.topic for m in absent],
            seconds=(seen.at - since).total_seconds(),
            setting=None if seen.refreshes else UNREFRESHED,
        )
    hidden = [m.remote for m in seen.late if m.hidden]
    if hidden:
        yield _found(texts.HIDDEN_TOPICS, Health.UNKNOWN, hidden)
    # After a restart they are due at once, and the target was not asked yet.
    unasked = [m.remote for m in seen.late if m.hidden is None]
    if unasked:
        yield _found(texts.NO_DATA, Health.UNKNOWN, unasked)


def _find_mismatches(seen: TopicsObservation) -> Iterator[Finding]:
    """Yield one finding in each direction: there may be very many topics."""
    for found in (
        [m for m in seen.divided if m.source > m.target],
        [m for m in seen.divided if m.source < m.target],
    ):
        if not found:
            continue
        first = min(found, key=lambda m: (m.since, m.topic))
        is_missed = first.source > first.target
        yield _found(
            texts.PARTITIONS,
            Health.WARNING,
            [m.topic for m in found],
            {"topic": first.topic},
            source_partitions=first.source,
            target_partitions=first.target,
            seconds=(seen.at - first.since).total_seconds(),
            setting=UNREFRESHED if is_missed and not seen.refreshes else None,
        )


def _find_loops(seen: TopicsObservation) -> Iterator[Finding]:
    if seen.cycles:
        yield _found(texts.LOOP, Health.WARNING, seen.cycles)
    for one in seen.conflicts:
        code = texts.LOOP if one.loop else texts.OVERLAP
        subject = {"flow": one.other, "topic": one.topics[0]}
        yield _found(code, Health.CRITICAL, one.topics, subject)


def _find_misnamed(seen: TopicsObservation) -> Iterator[Finding]:
    if seen.mistaken:
        yield _found(
            texts.MISNAMED,
            Health.WARNING,
            seen.mistaken,
            alias=seen.target_part,
        )
    if seen.internal and seen.chosen:
        yield _found(
            texts.MISNAMED, Health.WARNING, seen.internal, suffix="internal"
        )
