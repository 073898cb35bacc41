"""Parity: differences between a flow's topics at the source and at the target,
by the surveys of both.
"""

from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from ..domain.cluster_view import ClusterView, FlowView, TopicConfigs
from ..domain.mirror_records import Connector, ConnectorSettings
from ..domain.parity.configs import (
    MATTERS,
    ConfigDrift,
    ConfigsLimits,
    ConfigsObservation,
    compare_configs,
)
from ..domain.parity.topics import (
    Comparison,
    MissingTopic,
    Names,
    PartitionMismatch,
    TopicsLimits,
    TopicsObservation,
    compare_sides,
)
from ..domain.parity.tracker import Condition, FirstSeen
from ..domain.position.internal_topics import AWAY_AFTER
from ..domain.report import Flow
from ..domain.topics import ReplicatedTopics
from ..kafka.admin import Cluster
from ..kafka.errors import denial
from ..kafka.topic_configs import find_hidden, read_configs
from ..state.documents import FirstSeenStore
from ..threads import Latest
from .mirror_state import MirrorState

__all__ = [
    "ConfigsWorker",
    "FlowConfigs",
    "ParitySource",
]


LEAST_PATIENCE = timedelta(minutes=1)
"""Minimum staleness limit of the observation: its findings take minutes, so
one survey that fails changes nothing."""


UNLEARNED = "The mirror's internal topics are still being read"


@dataclass(frozen=True, slots=True)
class TopicsOnBothSides:
    """The newest view in which both sides answered."""

    names: Mapping[str, str]
    target: ClusterView


class ParitySource:
    """Compares topics at each survey, and reports what is not alike.

    Parameters
    ----------
    flow
        The flow.
    carriage
        Which topics it carries.
    positions
        State that holds the mirror's configuration.
    store
        Keeps since when things are as they are.
    limits
        Longest times that a topic may be missing.
    chosen
        The flow's topics are configured; if not, it carries the topics that
        its mirror selects.
    interval
        Interval between surveys.
    """

    def __init__(
        self,
        *,
        flow: Flow,
        carriage: ReplicatedTopics,
        positions: MirrorState,
        store: FirstSeenStore,
        limits: TopicsLimits,
        chosen: bool,
        interval: timedelta,
    ) -> None:
        self.name = f"topics {flow.name}"
        self._flow = flow
        self._positions = positions
        self._store = store
        self._limits = limits
        self._chosen = chosen
        self._patience = max(LEAST_PATIENCE, 3 * interval)
        self._standing = FirstSeen(store.load())
        self._carriage = carriage
        self._names = Names(carriage)
        self._unlisted: dict[str, datetime] = {}
        """Since when the source has not listed topics that differ."""

        self._connectors: tuple[Connector, ...] = ()
        self._habits = ConnectorSettings()
        self._learned = False
        self._seen = Latest[TopicsObservation | None](None)
        self.sides = Latest[TopicsOnBothSides | None](None)
        """Both sides as they last answered."""
        self.hidden = Latest[Mapping[str, bool]]({})
        """Of missing topics, whether the target refused to say; set by who
        asks for them by name."""

    def take(self, view: FlowView) -> None:
        """Compare both sides of a view.

        Raises
        ------
        StateError
            Raised if what began or ended could not be written.
        """
        if view.source is None or view.target is None:
            before = self._seen.get() or self._blank(view)
            self._seen.set(replace(before, problems=view.problems))
            return
        self._learn_habits(view)
        if not self._learned:
            # Judged as if by the defaults, what is due would look new.
            self._seen.set(replace(self._blank(view), problems=(UNLEARNED,)))
            return
        found = compare_sides(view, view.source, view.target, self._habits)
        self._names.update(view.source, view.target)
        conditions = dict(_conditions(found, view.source))
        conditions |= self._recall(found, view, view.source, view.target)
        changes = self._standing.update(conditions.values(), view.at)
        self._seen.set(self._observe(view, found, conditions))
        self.sides.set(TopicsOnBothSides(view.names, view.target))
        self._store.save(changes)

    def observe(self, now: datetime) -> Sequence[TopicsObservation]:
        seen, hidden = self._seen.get(), self.hidden.get()
        if seen is None:
            return []
        missing = tuple(
            replace(m, hidden=hidden.get(m.remote)) for m in seen.missing
        )
        fresh = seen.known and now - seen.at <= self._patience
        return [replace(seen, missing=missing, known=fresh)]

    def missing(self) -> tuple[str, ...]:
        """Return the names at the target of topics that are missed there."""
        seen = self._seen.get()
        return tuple(m.remote for m in seen.missing) if seen else ()

    def copied(self) -> frozenset[str]:
        """Return source topics that are not listed there, and that the target
        seems to have copies of: where a topic keeps its name and nobody chose
        the flow's topics, one of that name may as well be the target's own.
        """
        return frozenset(
            origin
            for remote, origin in self._names.origins.items()
            if self._chosen or origin != remote
        )

    def habits(self) -> ConnectorSettings:
        """Return how the mirror goes about topics."""
        return self._habits

    def _learn_habits(self, view: FlowView) -> None:
        """Learn how the mirror goes about topics, once all of it was read:
        an older configuration may wait for a newer one. Until then what was
        learned before holds.
        """
        connectors = self._positions.connectors()
        self._learned |= view.caught_up
        if view.caught_up and connectors != self._connectors:
            self._connectors, self._habits = (
                connectors,
                ConnectorSettings.of(connectors),
            )

    def _recall(
        self,
        found: Comparison,
        view: FlowView,
        source: ClusterView,
        target: ClusterView,
    ) -> dict[str, Condition]:
        """Add what is remembered of topics that the source has not listed for
        less than a minute: they may still be there.
        """
        recalled: dict[str, Condition] = {}
        before, self._unlisted = self._unlisted, {}
        for condition in self._standing:
            what, topic, _, *numbers = condition.split()
            remote = self._carriage.names([topic]).get(topic)
            if topic in source.topics or remote is None:
                continue
            since = self._unlisted[topic] = before.get(topic, view.at)
            if view.at - since >= AWAY_AFTER:
                continue
            if what == "partitions":
                here, there = map(int, numbers)
                found.partitions[topic] = (here, there)
            elif remote not in target.topics:
                found.missing[topic] = remote
            else:
                continue
            recalled[topic] = condition
        return recalled

    def _blank(self, view: FlowView) -> TopicsObservation:
        return TopicsObservation(
            flow=self._flow.name,
            at=view.at,
            source_alias=self._flow.source,
            refresh=self._habits.refresh,
            patience=self._limits.patience(self._habits.refresh),
            refreshes=self._habits.refreshes,
            chosen=self._chosen,
            known=False,
            problems=view.problems,
        )

    def _observe(
        self,
        view: FlowView,
        found: Comparison,
        conditions: Mapping[str, Condition],
    ) -> TopicsObservation:
        since = {
            topic: self._standing.since(condition)
            for topic, condition in conditions.items()
        }
        return replace(
            self._blank(view),
            known=True,
            # Those that the mirror leaves out are counted, and told.
            carried=len(view.names) + len(view.carried.unwanted),
            carried_by=view.carried.by,
            internal=view.carried.internal,
            mistaken=tuple(filter(self._habits.wants, self._names.mistaken)),
            target_part=self._names.target_part,
            missing=tuple(
                MissingTopic(topic=topic, remote=remote, since=since[topic])
                for topic, remote in found.missing.items()
            ),
            unwanted=tuple(found.unwanted),
            mismatches=tuple(
                PartitionMismatch(
                    topic=topic, source=here, target=there, since=since[topic]
                )
                for topic, (here, there) in found.partitions.items()
            ),
            other_replication=tuple(found.other_replication),
            cycles=self._names.cycles,
            conflicts=view.conflicts,
            left_over=self._names.left_over,
        )


def _conditions(
    found: Comparison, source: ClusterView
) -> list[tuple[str, Condition]]:
    """Return what is so of which topic; a new topic id is a new topic."""
    missing = [
        (topic, f"missing {topic} {source.topics[topic].id}")
        for topic in found.missing
    ]
    divided = [
        (topic, f"partitions {topic} {source.topics[topic].id} {here} {there}")
        for topic, (here, there) in found.partitions.items()
    ]
    return missing + divided


@dataclass(frozen=True, slots=True)
class FlowConfigs:
    """The newest known configuration of a flow's topics, by their names."""

    source: Mapping[str, TopicConfigs] = field(default_factory=dict)
    target: Mapping[str, TopicConfigs] = field(default_factory=dict)
    refused: AbstractSet[str] = frozenset()


MISSED = 3
"""Readings that may fail in a row before what is known is too old."""


class ConfigsWorker:
    """Reads configurations, and asks for topics that are missed by name.

    Parameters
    ----------
    flow
        The flow.
    source, target
        Its clusters.
    parity
        Knows the topics of both sides.
    configs
        Configurations that were read, shared with other threads.
    store
        Keeps since when drifts are known.
    limits
        Interval between readings, and time after which a drift counts.
    interval
        Interval between checks for pending readings.
    clock
        Gives the time.
    """

    def __init__(
        self,
        *,
        flow: Flow,
        source: Cluster,
        target: Cluster,
        parity: ParitySource,
        configs: Latest[FlowConfigs],
        store: FirstSeenStore,
        limits: ConfigsLimits,
        interval: timedelta,
        clock: Callable[[], datetime],
    ) -> None:
        self.name = f"configs {flow.name}"
        self.interval = interval
        self._flow = flow
        self._source = source
        self._target = target
        self._parity = parity
        self._configs = configs
        self._store = store
        self._limits = limits
        self._clock = clock
        self._standing = FirstSeen(store.load())
        self._read_at: datetime | None = None
        self._denied: dict[str, list[str]] = {}
        self._unanswered: AbstractSet[str] = frozenset()
        """Source topics that the last reading asked for, and did not get."""
        self._seen = Latest[ConfigsObservation | None](None)

    def step(self) -> None:
        """Ask for what is missed; read all topics if it is time, else new
        ones.
        """
        sides = self._parity.sides.get()
        try:
            if sides is not None and self._limits.enabled:
                self._read_due(sides)
        finally:
            # One question says nothing of the other.
            missing = self._parity.missing()
            self._parity.hidden.set(
                find_hidden(self._target, missing) if missing else {}
            )

    def _read_due(self, sides: TopicsOnBothSides) -> None:
        habits = self._parity.habits()
        topics = [
            (topic, remote)
            for topic, remote in sides.names.items()
            if remote in sides.target.topics and habits.wants(topic)
        ]
        now = self._clock()
        if self._read_at is None or (
            now - self._read_at >= self._limits.every
        ):
            self._read(list(sides.names), [r for _, r in topics], anew=True)
            self._read_at = now
        elif not self._read_new(list(sides.names), [r for _, r in topics]):
            return
        self._compare(topics, self._read_at, now)

    def observe(self, now: datetime) -> Sequence[ConfigsObservation]:
        seen = self._seen.get()
        if seen is None:
            return []
        age = now - seen.at
        return [replace(seen, fresh=age <= MISSED * self._limits.every)]

    def close(self) -> None:
        """Do nothing: what is known is written down."""

    def _read_new(self, here: list[str], there: list[str]) -> bool:
        known, denied = self._configs.get(), self._denied
        ours = {*known.source, *denied.get("source", ())}
        theirs = {*known.target, *denied.get("target", ())}
        new_here = [t for t in here if t not in ours]
        new_there = [t for t in there if t not in theirs]
        if not new_here and not new_there:
            return False
        self._read(new_here, new_there, anew=False)
        return True

    def _read(
        self, here: Sequence[str], there: Sequence[str], *, anew: bool
    ) -> None:
        """Read topics of both sides, and add them to what is known, or, if
        `anew`, forget what was known.

        Notes
        -----
        The time to loss rests on the source alone. A retention that is raised
        while the target does not answer must show.
        """
        known = FlowConfigs() if anew else self._configs.get()
        ours = self._read_side("source", self._source, here, anew=anew)
        before, self._unanswered = self._unanswered, {*here} - ours.keys()
        self._configs.set(
            FlowConfigs(
                {**known.source, **ours},
                self._configs.get().target,
                # One that has just come, or gone, is asked for twice.
                {*self._denied["source"]} | (before & self._unanswered),
            )
        )
        theirs = self._read_side("target", self._target, there, anew=anew)
        self._configs.set(
            replace(self._configs.get(), target={**known.target, **theirs})
        )

    def _read_side(
        self, side: str, cluster: Cluster, topics: Sequence[str], *, anew: bool
    ) -> dict[str, TopicConfigs]:
        found, denied = read_configs(cluster, topics)
        before = [] if anew else self._denied.get(side, [])
        self._denied[side] = [*before, *denied]
        return found

    def _compare(
        self,
        topics: Sequence[tuple[str, str]],
        read_at: datetime,
        at: datetime,
    ) -> None:
        habits = self._parity.habits()
        known = self._configs.get()
        ours, theirs = known.source, known.target
        found = list(compare_configs(topics, ours, theirs))
        drifts = [d for d in found if _matters(d, habits)]
        unread = {t for t, r in topics if t not in ours or r not in theirs}
        changes = self._standing.update(
            (d.condition for d in drifts),
            at,
            # What cannot be read for a while is not mended by that.
            unseen=lambda condition: condition.split()[0] in unread,
        )
        sync = habits.config_sync
        seen = ConfigsObservation(
            flow=self._flow.name,
            at=read_at,
            compared=len(topics) - len(unread),
            drifts=tuple(
                replace(d, since=self._standing.since(d.condition))
                for d in drifts
            ),
            told=tuple(d for d in found if not _matters(d, habits)),
            sync=sync,
            patience=timedelta()
            if sync is None
            else sync + self._limits.slack,
            problems=tuple(self._problems()),
        )
        self._seen.set(seen)
        self._store.save(changes)

    def _problems(self) -> list[str]:
        clusters = {"source": self._source, "target": self._target}
        return [
            denial(
                f"DESCRIBE_CONFIGS on topic {topics[0]}"
                + (f" and {len(topics) - 1} more" if len(topics) > 1 else ""),
                clusters[side].alias,
            )
            for side, topics in self._denied.items()
            if topics
        ]


def _matters(drift: ConfigDrift, habits: ConnectorSettings) -> bool:
    return drift.name in MATTERS and not habits.excludes(drift.name)
