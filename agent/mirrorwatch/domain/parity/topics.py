"""Whether the target has what the flow carries."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import ClassVar

from ..cluster_view import ClusterView, FlowView
from ..conflicts import Conflict
from ..lag.model import LagObservation
from ..mirror_records import ConnectorSettings
from ..report import (
    Evidence,
    Finding,
    Health,
    Numbers,
    Verdict,
    agree,
    conclude,
    counted,
    every,
    seconds,
)
from ..topics import HEARTBEATS, DefaultNaming, FormatNaming, ReplicatedTopics

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
    """When it was first missed."""

    hidden: bool | None = None
    """Whether the target refuses to say if it is there; `None` as long as it
    was not asked for it by name."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PartitionMismatch:
    """A topic that is not divided alike."""

    topic: str
    source: int
    target: int
    since: datetime
    """When it was first seen to be so."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TopicsObservation:
    """How the topics of both sides compare."""

    flow: str
    at: datetime
    """When both sides last answered."""

    source_alias: str
    target_alias: str
    refresh: timedelta
    patience: timedelta
    refreshes: bool = True
    chosen: bool = True
    """Whether the flow's topics were configured: if not, it carries what its
    mirror wants."""

    known: bool = True
    carried: int = 0
    missing: tuple[MissingTopic, ...] = ()
    """Those that the target does not show."""

    unwanted: tuple[str, ...] = ()
    """Those that the mirror's own filter does not match."""

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
    """What is not alike, by the topics' names at the source."""

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
    """What the names at the target show by themselves.

    Names seldom change, and reading them costs more than all the rest: what
    they reported is kept until they do.
    """

    def __init__(self, carriage: ReplicatedTopics) -> None:
        self._carriage = carriage
        self._seen: tuple[frozenset[str], frozenset[str]] | None = None
        self.cycles: tuple[str, ...] = ()
        self.left_over: tuple[str, ...] = ()
        self.origins: Mapping[str, str] = {}
        """What those that are left over are named after."""

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
        How the topics of both sides compare.
    now
        The time.
    lag
        What is known of its lag: which topics are hidden.
    """
    return conclude(
        _find(seen, None if lag is None else lag.hidden),
        flow=flow,
        check="topics",
        now=now,
        evidence=_evidence(seen),
    )


def _find(
    seen: TopicsObservation | None, hidden: str | None
) -> Iterator[Finding]:
    if seen is None:
        yield Finding(
            "topics.no-data",
            Health.UNKNOWN,
            "Topics of both clusters are not known yet",
        )
        return
    if not seen.known:
        for text in seen.problems:
            yield Finding("topics.unreadable", Health.UNKNOWN, text)
        if not seen.problems:
            yield Finding(
                "topics.stale",
                Health.UNKNOWN,
                "Topics of both clusters could not be listed recently",
            )
        return
    if not seen.carried and not seen.internal:
        yield Finding(
            "topics.none",
            Health.UNKNOWN,
            f"Mirrorwatch sees no topic of this flow at {seen.source_alias}. "
            "Check topics.include and its permission DESCRIBE",
            subject={"cluster": seen.source_alias},
        )
        return
    yield from _find_unwanted(seen)
    yield from _find_missing(seen)
    yield from _find_mismatches(seen)
    yield from _find_cycles(seen)
    yield from _find_conflicts(seen)
    yield from _find_misread(seen)
    if hidden is not None:
        yield Finding("topics.hidden-topics", Health.UNKNOWN, hidden)
    carried = seen.carried - len(seen.unwanted)
    theirs = every(carried, "replicated topic")
    yield Finding(
        "topics.ok",
        Health.OK,
        f"{theirs[0].upper()}{theirs[1:]} {agree(carried, 'are present')} "
        f"at {seen.target_alias} with matching partitions"
        f"{_pending_note(seen)}{_unwanted_note(seen)}",
        numbers={
            "topics": carried,
            "pending_topics": len(seen.missing) + len(seen.mismatches),
        },
    )


def _find_unwanted(seen: TopicsObservation) -> Iterator[Finding]:
    if seen.unwanted and seen.chosen:
        number = len(seen.unwanted)
        them = agree(number, "them")
        yield Finding(
            "topics.filtered",
            Health.CRITICAL,
            "MirrorMaker's topic filter does not match "
            f"{names(seen.unwanted)}, so {agree(number, 'they')} "
            f"{agree(number, 'are')} not copied. Add {them} to the "
            f"connector's topics, or remove {them} from topics.include",
            subject={"topic": min(seen.unwanted)},
            numbers={"topics": number},
        )


UNREFRESHED = (
    "MirrorMaker finds new topics and partitions only when it starts "
    "(refresh.topics.enabled is false). Restart it"
)


def _find_missing(seen: TopicsObservation) -> Iterator[Finding]:
    there = seen.target_alias
    absent = [m for m in seen.late if m.hidden is False]
    if absent:
        oldest = min(m.since for m in absent)
        yield Finding(
            "topics.missing",
            Health.CRITICAL,
            f"Missing at {there} for {seconds(seen.at - oldest)}: "
            f"{names(m.topic for m in absent)}. "
            + (
                f"MirrorMaker refreshes topics every {seconds(seen.refresh)}. "
                "Check that it runs, and that it may read and create topics"
                if seen.refreshes
                else UNREFRESHED
            ),
            subject={"topic": min(m.topic for m in absent)},
            numbers={
                "topics": len(absent),
                "seconds": (seen.at - oldest).total_seconds(),
            },
        )
    hidden = [m.remote for m in seen.late if m.hidden]
    if hidden:
        yield Finding(
            "topics.hidden-topics",
            Health.UNKNOWN,
            f"Mirrorwatch cannot verify whether {names(hidden)} "
            f"{agree(len(hidden), 'exist')} at {there}. Grant it DESCRIBE on "
            "topics there",
            subject={"topic": min(hidden)},
            numbers={"topics": len(hidden)},
        )
    # After a restart they are due at once, and the target was not asked yet.
    unasked = [m.remote for m in seen.late if m.hidden is None]
    if unasked:
        yield Finding(
            "topics.no-data",
            Health.UNKNOWN,
            f"Whether {names(unasked)} {agree(len(unasked), 'exist')} at "
            f"{there} is not known yet: not listed there, and not looked up "
            "by name since mirrorwatch started",
            subject={"topic": min(unasked)},
            numbers={"topics": len(unasked)},
        )


def _find_mismatches(seen: TopicsObservation) -> Iterator[Finding]:
    """Say it of one topic in each direction, and name others: there may be
    very many.
    """
    fewer = [m for m in seen.divided if m.source > m.target]
    if fewer:
        first = min(fewer, key=lambda m: (m.since, m.topic))
        yield Finding(
            "topics.partitions",
            Health.WARNING,
            f"{first.topic} has {first.source} partitions at "
            f"{seen.source_alias} but only {first.target} at "
            f"{seen.target_alias} for {seconds(seen.at - first.since)}: "
            "records of the other partitions are not copied. "
            + (
                "Check that MirrorMaker runs and may ALTER the topic"
                if seen.refreshes
                else UNREFRESHED
            )
            + _likewise_note(first, fewer),
            subject={"topic": first.topic},
            numbers=_divided(first, fewer),
        )
    more = [m for m in seen.divided if m.source < m.target]
    if more:
        first = min(more, key=lambda m: m.topic)
        yield Finding(
            "topics.partitions",
            Health.WARNING,
            f"{first.topic} has {first.target} partitions at "
            f"{seen.target_alias} but only {first.source} at "
            f"{seen.source_alias}: MirrorMaker writes only to the first "
            "ones. Partitions were added at the target, or the source topic "
            "was recreated with fewer" + _likewise_note(first, more),
            subject={"topic": first.topic},
            numbers=_divided(first, more),
        )


def _divided(
    first: PartitionMismatch, found: list[PartitionMismatch]
) -> Numbers:
    return {
        "source_partitions": first.source,
        "target_partitions": first.target,
        "topics": len(found),
    }


def _likewise_note(
    first: PartitionMismatch, found: list[PartitionMismatch]
) -> str:
    others = names(m.topic for m in found if m is not first)
    return f" (also {others})" if others else ""


def _find_cycles(seen: TopicsObservation) -> Iterator[Finding]:
    if seen.cycles:
        yield Finding(
            "topics.loop",
            Health.WARNING,
            f"Replication loop: topics at {seen.target_alias} were copied "
            f"back to their origin: {names(seen.cycles)}. Use the same "
            "cluster aliases in all mirrors, then delete these topics",
            subject={"topic": min(seen.cycles)},
            numbers={"topics": len(seen.cycles)},
        )


def _find_conflicts(seen: TopicsObservation) -> Iterator[Finding]:
    for one in seen.conflicts:
        yield Finding(
            "topics.loop" if one.loop else "topics.overlap",
            Health.CRITICAL,
            f"{one.cause}: {names(one.topics)}. {one.remedy}",
            subject={"flow": one.other, "topic": one.topics[0]},
            numbers={"topics": len(one.topics)},
        )


def _find_misread(seen: TopicsObservation) -> Iterator[Finding]:
    """Find what the mirror does not copy because of its name alone."""
    if seen.mistaken:
        them = agree(len(seen.mistaken), "them")
        yield Finding(
            "topics.misnamed",
            Health.WARNING,
            f"MirrorMaker does not copy {names(seen.mistaken)}: it takes "
            f"topics with {seen.target_part} as a part of their name for "
            f"copies from {seen.target_alias}, but {seen.target_alias} has "
            f"no such original. Rename {them}, or add {them} to "
            "topics.exclude",
            subject={"topic": min(seen.mistaken)},
            numbers={"topics": len(seen.mistaken)},
        )
    if seen.internal and seen.chosen:
        them = agree(len(seen.internal), "them")
        yield Finding(
            "topics.misnamed",
            Health.WARNING,
            f"MirrorMaker does not copy {names(seen.internal)}: before Kafka "
            "4.0 it never copies topics whose names end in internal, and no "
            f"task has {them}. Update MirrorMaker, rename {them}, or add "
            f"{them} to topics.exclude",
            subject={"topic": min(seen.internal)},
            numbers={"topics": len(seen.internal)},
        )


def _pending_note(seen: TopicsObservation) -> str:
    pending = len(seen.missing) + len(seen.mismatches)
    if not pending:
        return ""
    new, grown = agree(pending, "are new"), agree(pending, "have grown")
    return f"; {pending} of them {new} or {grown}, not due yet"


def _unwanted_note(seen: TopicsObservation) -> str:
    """Say of how many topics the mirror's configuration says that they are
    not copied, where nobody else chose them.
    """
    left_out = 0 if seen.chosen else len(seen.unwanted) + len(seen.internal)
    if not left_out:
        return ""
    return (
        f"; {counted(left_out, 'more topic')} at {seen.source_alias} "
        f"{agree(left_out, 'are')} not copied, by MirrorMaker's own topic "
        "filter"
    )


def _evidence(seen: TopicsObservation | None) -> Evidence:
    if seen is None:
        return {}
    rare = {
        "topics_by": seen.carried_by,
        "internal_topics": names(seen.internal),
        "mistaken_for_copies": names(seen.mistaken),
    }
    return {
        **{name: value for name, value in rare.items() if value},
        "topics": seen.carried,
        "missing_topics": seen.absent,
        "awaited_topics": len(seen.missing) - len(seen.late),
        "partition_mismatches": len(seen.divided),
        "not_wanted_by_mirror": len(seen.unwanted),
        "not_wanted_topics": names(seen.unwanted) or None,
        "only_at_target": len(seen.left_over),
        "only_at_target_topics": names(seen.left_over) or None,
        "other_replication_factor": len(seen.other_replication),
        "other_replication_factor_topics": names(seen.other_replication)
        or None,
        "refresh_seconds": seen.refresh.total_seconds(),
    }
