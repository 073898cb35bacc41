"""Asks the clusters, once a tick, what the canary cannot know by itself."""

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timedelta

from ...domain.canary import (
    ORDER_GRACE,
    MirrorPosition,
    Settlement,
    Survey,
    TopicState,
    uncovered,
)
from ...domain.observations import Problem
from ...domain.positions import Connector
from ...domain.verdicts import Health
from ..cluster import Brokers, Cluster, Topic
from ..inquiry import Inquiry
from ..positions import Positions
from .board import Board
from .settings import CanarySettings
from .settler import Settler
from .topic import create, missing, read_size_limit

__all__ = ["Surveyor"]


class Surveyor:
    """Surveys the surroundings of one flow's canary.

    Parameters
    ----------
    settings
        What the canary was told.
    source, target
        The clusters.
    positions
        What the mirror says of itself.
    settler
        Resolves doubtful sends.
    board
        Where surveys go.
    interval
        The tick.
    clock
        Gives the time.
    """

    def __init__(
        self,
        *,
        settings: CanarySettings,
        source: Cluster,
        target: Cluster,
        positions: Positions,
        settler: Settler,
        board: Board,
        interval: timedelta,
        clock: Callable[[], datetime],
    ) -> None:
        self.name = f"surveyor {settings.flow.name}"
        self.interval = interval
        self._settings = settings
        self._source = source
        self._target = target
        self._positions = positions
        self._settler = settler
        self._board = board
        self._clock = clock

    def step(self) -> None:
        at, inquiry = self._clock(), Inquiry()
        connectors = self._positions.connectors()
        ordered = bool(connectors) and all(
            c.max_in_flight == 1 for c in connectors
        )
        # The order matters: see domain.canary.survey.Survey.
        positions = self._read_positions(at, ordered=ordered)
        remote = self._settings.remote_topic
        target = inquiry.find_topic(self._target, remote, "READ")
        ends = None
        if target is not None:
            leaders = target.leaders
            ends = inquiry.ask(self._target, lambda c: c.ends(remote, leaders))
        source = self._find_source(inquiry)
        members = [
            inquiry.ask(cluster, lambda c: c.brokers())
            for cluster in (self._source, self._target)
        ]
        inquiry.problems += [
            *map(Problem.unknown, self._positions.problems()),
            *self._judge_filter(connectors),
        ]
        for cluster, brokers, topic in zip(
            (self._source, self._target),
            members,
            (source, target),
            strict=True,
        ):
            if brokers is not None and topic is not None:
                missed = uncovered(brokers.ids, topic.leaders)
                inquiry.problems += _uncovered(cluster.alias, missed, topic)
        survey = Survey(
            at=at,
            positions=positions,
            target=_state(target),
            ends=ends or {},
            source=_state(source),
            source_cluster=_cluster_id(members[0]),
            target_cluster=_cluster_id(members[1]),
            settlements=tuple(self._settle(inquiry, source)),
            ordered=ordered,
            refresh=max((c.refresh for c in connectors), default=None),
            size_limit=self._read_size_limit(inquiry, source, target),
            problems=tuple(inquiry.problems),
        )
        self._board.tell(survey)

    def close(self) -> None:
        """Do nothing: the clusters' connections end with the process."""

    def _find_source(self, inquiry: Inquiry) -> Topic | None:
        name, settings = self._settings.topic, self._settings
        found = inquiry.find_topic(self._source, name, "WRITE", "READ")
        if found is None and inquiry.reached(self._source):
            if not settings.create:
                inquiry.problems.append(missing(settings))
                return None
            inquiry.ask(self._source, lambda c: create(c, settings))
        return found

    def _read_positions(
        self, at: datetime, *, ordered: bool
    ) -> dict[int, tuple[MirrorPosition, ...]]:
        """Return what counts as a proof, by partition."""
        topic = self._settings.topic
        found: dict[int, tuple[MirrorPosition, ...]] = {
            partition: (
                MirrorPosition(
                    origin="The mirror's committed position",
                    position=fact.position,
                    seen_at=fact.written_at,
                    counts_at=at,
                ),
            )
            for partition, fact in self._positions.committed(topic).items()
            if fact.position is not None
        }
        if not ordered:
            return found
        for partition, sync in self._positions.syncs(topic).items():
            position = MirrorPosition(
                origin="The mirror's offset sync",
                position=sync.upstream + 1,
                seen_at=sync.written_at,
                counts_at=sync.written_at + ORDER_GRACE,
            )
            found[partition] = (*found.get(partition, ()), position)
        return found

    def _judge_filter(self, connectors: Sequence[Connector]) -> list[Problem]:
        topic = self._settings.topic
        if not connectors or any(
            c.selection.matches(topic) for c in connectors
        ):
            return []
        patterns = ", ".join(connectors[0].selection.include)
        return [
            Problem(
                Health.CRITICAL,
                f"The mirror's topic filter ({patterns}) does not match the "
                f"canary topic {topic}: add it to the connector's topics, or "
                "name one that it matches in canary.topic",
            )
        ]

    def _settle(
        self, inquiry: Inquiry, source: Topic | None
    ) -> Iterator[Settlement]:
        seen = self._board.seen()
        if source is None or seen is None:
            return
        settler = self._settler
        if seen.doubts:
            yield from (
                inquiry.ask(
                    self._source, lambda _: settler.settle(seen.doubts)
                )
                or ()
            )
        gaps = self._board.take_gaps()
        inquiry.problems += (
            inquiry.ask(self._source, lambda _: settler.look_into(gaps)) or ()
        )

    def _read_size_limit(
        self, inquiry: Inquiry, source: Topic | None, target: Topic | None
    ) -> int | None:
        settings = self._settings
        if settings.sized_bytes is None or source is None or target is None:
            return None
        limit = inquiry.ask(
            self._source,
            lambda c: read_size_limit(
                c,
                self._target,
                (source, target),
                settings,
                self._positions.connectors(),
            ),
        )
        if limit is not None and settings.sized_bytes > limit:
            inquiry.problems.append(
                Problem(
                    Health.WARNING,
                    f"Large probes of {settings.sized_bytes} bytes are not "
                    f"sent: the smallest limit on the way is {limit} bytes",
                )
            )
        return limit


def _state(topic: Topic | None) -> TopicState | None:
    if topic is None:
        return None
    return TopicState(id=topic.id, partitions=frozenset(topic.leaders))


def _cluster_id(brokers: Brokers | None) -> str | None:
    return None if brokers is None else brokers.cluster_id


def _uncovered(
    cluster: str, brokers: frozenset[int], topic: Topic
) -> list[Problem]:
    if not brokers:
        return []
    names = ", ".join(str(broker) for broker in sorted(brokers))
    return [
        Problem(
            Health.WARNING,
            f"Broker {names} of {cluster} leads no partition of {topic.name}, "
            "so nothing proves that records pass it: add partitions",
        )
    ]
