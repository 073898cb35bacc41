"""Whether the target has what a flow carries, by the surveys of both."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from threading import Lock

from ..domain.carriage import Carriage
from ..domain.habits import Habits
from ..domain.parity.comparison import Comparison, Names, compare
from ..domain.parity.topics import (
    MissingTopic,
    PartitionMismatch,
    TopicsObservation,
)
from ..domain.positions import Connector
from ..domain.standing import Standing
from ..domain.verdicts import Flow
from ..domain.view import ClusterView, FlowView
from ..state.standing import StandingStore
from .positions import Positions

__all__ = ["Parity", "ParitySettings"]

LEAST_PATIENCE = timedelta(minutes=1)
"""How old facts may be at least: what is judged here takes minutes, so one
survey that fails changes nothing."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ParitySettings:
    """How patient it is with the mirror. The configuration says why."""

    refreshes: float = 2
    """Refreshes of the mirror within which a topic must be there."""

    least: timedelta = timedelta(minutes=1)
    """Time that it is given, however often it refreshes."""

    chosen: bool = True
    """Whether the flow's topics were configured: if not, it carries what its
    mirror wants."""

    def patience(self, refresh: timedelta) -> timedelta:
        """Return how long the mirror may take."""
        return max(self.refreshes * refresh, self.least)


@dataclass(frozen=True, slots=True)
class _Sides:
    """The newest view in which both sides answered."""

    names: Mapping[str, str]
    source: ClusterView
    target: ClusterView


class Parity:
    """Compares topics at each survey, and reports what is not alike.

    Parameters
    ----------
    flow
        The flow.
    carriage
        Which topics it carries.
    positions
        Where the mirror's configuration is learned from.
    store
        Keeps since when things are as they are.
    settings
        How patient it is.
    interval
        How often the clusters are surveyed.
    """

    def __init__(
        self,
        *,
        flow: Flow,
        carriage: Carriage,
        positions: Positions,
        store: StandingStore,
        settings: ParitySettings,
        interval: timedelta,
    ) -> None:
        self.name = f"topics {flow.name}"
        self._flow = flow
        self._positions = positions
        self._store = store
        self._settings = settings
        self._patience = max(LEAST_PATIENCE, 3 * interval)
        self._standing = Standing(store.load())
        self._names = Names(carriage)
        self._connectors: tuple[Connector, ...] = ()
        self._habits = Habits()
        self._lock = Lock()
        self._seen: TopicsObservation | None = None
        self._sides: _Sides | None = None
        self._hidden: Mapping[str, bool] = {}

    def take(self, view: FlowView) -> None:
        """Compare both sides of a view.

        Raises
        ------
        StateError
            Raised if what began or ended could not be written.
        """
        if view.source is None or view.target is None:
            with self._lock:
                if self._seen is not None:
                    self._seen = replace(self._seen, problems=view.problems)
                else:
                    self._seen = self._blank(view)
            return
        self._learn_habits(view)
        found = compare(view, view.source, view.target, self._habits)
        self._names.update(view.source, view.target)
        changes = self._standing.update(
            (condition for _, condition in _conditions(found, view.source)),
            view.at,
        )
        seen = self._observe(view, view.source, found)
        with self._lock:
            self._seen = seen
            self._sides = _Sides(view.names, view.source, view.target)
        self._store.save(changes)

    def observe(self, now: datetime) -> Sequence[TopicsObservation]:
        with self._lock:
            seen, hidden = self._seen, self._hidden
        if seen is None:
            return []
        missing = tuple(
            replace(m, hidden=hidden.get(m.remote)) for m in seen.missing
        )
        fresh = seen.known and now - seen.at <= self._patience
        return [replace(seen, missing=missing, known=fresh)]

    def sides(self) -> _Sides | None:
        """Return both sides as they last answered, for who asks for more."""
        with self._lock:
            return self._sides

    def missing(self) -> tuple[str, ...]:
        """Return the names at the target of topics that are missed there."""
        with self._lock:
            missing = self._seen.missing if self._seen else ()
        return tuple(m.remote for m in missing)

    def note_hidden(self, hidden: Mapping[str, bool]) -> None:
        """Note of missed topics whether the target refused to tell."""
        with self._lock:
            self._hidden = hidden

    def habits(self) -> Habits:
        """Return how the mirror goes about topics."""
        return self._habits

    def _learn_habits(self, view: FlowView) -> None:
        """Learn how the mirror goes about topics, once all of it was read:
        an older configuration may wait for a newer one.
        """
        connectors = self._positions.connectors() if view.caught_up else ()
        if connectors != self._connectors:
            self._connectors, self._habits = connectors, Habits.of(connectors)

    def _blank(self, view: FlowView) -> TopicsObservation:
        return TopicsObservation(
            flow=self._flow.name,
            at=view.at,
            source_alias=self._flow.source,
            target_alias=self._flow.target,
            refresh=self._habits.refresh,
            patience=self._settings.patience(self._habits.refresh),
            chosen=self._settings.chosen,
            known=False,
            problems=view.problems,
        )

    def _observe(
        self,
        view: FlowView,
        source: ClusterView,
        found: Comparison,
    ) -> TopicsObservation:
        since = {
            topic: self._standing.since(condition)
            for topic, condition in _conditions(found, source)
        }
        return replace(
            self._blank(view),
            known=True,
            carried=len(view.names),
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
            left_over=self._names.left_over,
        )


def _conditions(
    found: Comparison, source: ClusterView
) -> list[tuple[str, str]]:
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
