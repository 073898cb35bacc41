"""Reads how topics are configured on both sides, now and then."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from threading import Lock

from ..domain.habits import Habits
from ..domain.parity.configs import (
    MATTERS,
    ConfigDrift,
    ConfigsObservation,
    compare,
)
from ..domain.standing import Standing
from ..domain.topic_configs import TopicConfigs
from ..domain.verdicts import Flow
from ..state.standing import StandingStore
from .bulk_configs import find_hidden, read_configs
from .cluster import Cluster
from .configs import Configs
from .kafka import denial
from .parity import Parity

__all__ = ["ConfigReader", "ConfigSettings"]

MISSED = 3
"""Readings that may fail in a row before what is known is too old."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ConfigSettings:
    """How often, and how patient. The configuration says why."""

    enabled: bool = True
    """Whether configurations are compared at all."""

    every: timedelta = timedelta(minutes=5)
    """How often all topics are read."""

    slack: timedelta = timedelta(minutes=1)
    """What the mirror is given beyond its interval."""


class ConfigReader:
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
        Where other threads find what was read.
    store
        Keeps since when drifts are known.
    settings
        How often, and how patient.
    interval
        How often to look whether there is something to read.
    clock
        Gives the time.
    """

    def __init__(
        self,
        *,
        flow: Flow,
        source: Cluster,
        target: Cluster,
        parity: Parity,
        configs: Configs,
        store: StandingStore,
        settings: ConfigSettings,
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
        self._settings = settings
        self._clock = clock
        self._standing = Standing(store.load())
        self._read_at: datetime | None = None
        self._denied: dict[str, list[str]] = {}
        self._lock = Lock()
        self._seen: ConfigsObservation | None = None

    def step(self) -> None:
        """Ask for what is missed; read all topics if it is time, else new
        ones.
        """
        missing = self._parity.missing()
        self._parity.note_hidden(
            find_hidden(self._target, missing) if missing else {}
        )
        sides = self._parity.sides()
        if sides is None or not self._settings.enabled:
            return
        habits = self._parity.habits()
        topics = [
            (topic, remote)
            for topic, remote in sides.names.items()
            if remote in sides.target.topics and habits.wants(topic)
        ]
        now = self._clock()
        if self._read_at is None or (
            now - self._read_at >= self._settings.every
        ):
            self._denied = {}
            self._read(list(sides.names), [r for _, r in topics], {}, {})
            self._read_at = now
        elif not self._read_new(list(sides.names), [r for _, r in topics]):
            return
        self._compare(topics, self._read_at, now)

    def observe(self, now: datetime) -> Sequence[ConfigsObservation]:
        with self._lock:
            seen = self._seen
        if seen is None:
            return []
        age = now - seen.at
        return [replace(seen, fresh=age <= MISSED * self._settings.every)]

    def close(self) -> None:
        """Do nothing: what is known is written down."""

    def _read_new(self, here: list[str], there: list[str]) -> bool:
        """Read what came since; tell whether something did."""
        known_here, known_there = (
            self._configs.sources(),
            self._configs.targets(),
        )
        denied = self._denied
        new_here = [
            t
            for t in here
            if t not in known_here and t not in denied.get("source", ())
        ]
        new_there = [
            t
            for t in there
            if t not in known_there and t not in denied.get("target", ())
        ]
        if not new_here and not new_there:
            return False
        self._read(new_here, new_there, known_here, known_there)
        return True

    def _read(
        self,
        here: Sequence[str],
        there: Sequence[str],
        known_here: Mapping[str, TopicConfigs],
        known_there: Mapping[str, TopicConfigs],
    ) -> None:
        """Read topics of both sides, and add them to what is known."""
        ours, denied_here = read_configs(self._source, here)
        theirs, denied_there = read_configs(self._target, there)
        self._denied.setdefault("source", []).extend(denied_here)
        self._denied.setdefault("target", []).extend(denied_there)
        self._configs.note({**known_here, **ours}, {**known_there, **theirs})

    def _compare(
        self,
        topics: Sequence[tuple[str, str]],
        read_at: datetime,
        at: datetime,
    ) -> None:
        habits = self._parity.habits()
        ours, theirs = self._configs.sources(), self._configs.targets()
        found = list(compare(topics, ours, theirs))
        drifts = [d for d in found if _matters(d, habits)]
        changes = self._standing.update((d.condition for d in drifts), at)
        sync = habits.config_sync
        seen = ConfigsObservation(
            flow=self._flow.name,
            at=read_at,
            source_alias=self._flow.source,
            target_alias=self._flow.target,
            compared=sum(t in ours and r in theirs for t, r in topics),
            drifts=tuple(
                replace(d, since=self._standing.since(d.condition))
                for d in drifts
            ),
            told=tuple(d for d in found if not _matters(d, habits)),
            sync=sync,
            patience=timedelta()
            if sync is None
            else sync + self._settings.slack,
            problems=tuple(self._problems()),
        )
        with self._lock:
            self._seen = seen
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


def _matters(drift: ConfigDrift, habits: Habits) -> bool:
    return drift.name in MATTERS and not habits.excludes(drift.name)
