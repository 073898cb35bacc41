"""Clusters that are surveyed, without any Kafka."""

from collections.abc import Callable, Mapping
from concurrent.futures import Future
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

from mirrorwatch.domain.carriage import Carriage
from mirrorwatch.domain.cluster_view import (
    ClusterView,
    FlowView,
    TopicPartition,
)
from mirrorwatch.domain.mirror_records import Committed
from mirrorwatch.domain.report import Flow
from mirrorwatch.domain.topics import (
    DefaultNaming,
    ReplicatedTopics,
    Selection,
)
from mirrorwatch.exceptions import SourceUnavailableError, StateError
from mirrorwatch.kafka.admin import Cluster
from mirrorwatch.kafka.list_offsets import EARLIEST
from mirrorwatch.ports import Guard, unguarded
from mirrorwatch.sources.mirror_state import MirrorState
from mirrorwatch.sources.survey import SurveyedFlow, SurveyWorker
from tests.support.builders import NOON

__all__ = ["World", "an_unseen_view"]


def an_unseen_view(flow: str, names: Mapping[str, str]) -> FlowView:
    """Return a view of a flow of which only the names of topics are known."""
    return FlowView(
        flow=flow,
        at=NOON,
        committed={},
        syncs={},
        caught_up=True,
        target=None,
        source=None,
        names=names,
    )


class FakeCluster(Cluster):
    """A cluster of topics with so many partitions each, or none at all.

    Every partition ends at 100, at 90 for who reads committed.
    """

    def __init__(self, alias: str, told: list[str]) -> None:
        self.alias = self.cluster_id = alias
        self.topics: dict[str, tuple[str, int]] = {}
        self.described: set[str] = set()
        self.up = True
        self.known: dict[TopicPartition, int] = {}
        self.start = 0
        self.starts_read: set[TopicPartition] = set()
        """Of which the start was read last."""

        self.after_ends: Callable[[], None] = lambda: None
        """Of all leaders; `None` if they do not say."""
        self._told = told
        self._error, self._failures = None, 0

    def call(self, question: Callable[..., Any], right: str) -> Any:
        if not self.up:
            raise SourceUnavailableError(
                f"{self.alias} is down", source="kafka", cluster=self.alias
            )
        return question(self)

    def close(self) -> None:
        pass

    def offsets(
        self,
        wanted: Mapping[TopicPartition, int],
        *,
        read_committed: bool = False,
        strict: bool = False,
    ) -> dict[TopicPartition, int]:
        if not wanted:
            return {}
        if EARLIEST in wanted.values():
            self._told.append(f"starts of {self.alias}")
            self.starts_read = set(wanted)
            return dict.fromkeys(wanted, self.start)
        how = " committed" if read_committed else ""
        self._told.append(f"ends of {self.alias}{how}")
        end = 90 if read_committed else 100
        found = {place: self.known.get(place, end) for place in wanted}
        self.after_ends()
        return found

    def metadata(self) -> Any:
        return self.call(lambda _: self._listed(), "DESCRIBE")

    def _listed(self) -> SimpleNamespace:
        topics = {
            name: SimpleNamespace(partitions=range(partitions))
            for name, (_, partitions) in self.topics.items()
        }
        return SimpleNamespace(
            cluster_id=self.cluster_id, brokers={1: None}, topics=topics
        )

    def describe_topics(
        self, names: Any, request_timeout: float
    ) -> dict[str, Future[SimpleNamespace]]:
        self._told.append(f"topics of {self.alias}")
        self.described = set(names.topic_names)
        found = {}
        for name in names.topic_names:
            topic_id, partitions = self.topics[name]
            found[name] = Future[SimpleNamespace]()
            found[name].set_result(
                SimpleNamespace(
                    topic_id=topic_id,
                    partitions=[SimpleNamespace(replicas=[1])] * partitions,
                )
            )
        return found


class FakePositions(MirrorState):
    def __init__(self, told: list[str]) -> None:
        super().__init__()
        self._told = told

    def all_committed(self) -> dict[TopicPartition, Committed]:
        self._told.append("positions")
        return dict(super().all_committed())


class Learner:
    def __init__(self) -> None:
        self.views: list[FlowView] = []
        self.failing = False
        self.crashing = False

    def take(self, view: FlowView) -> None:
        if self.failing:
            raise StateError("disk full")
        if self.crashing:
            raise KeyError("x")
        self.views.append(view)


class World:
    """Two flows out of one cluster, to two others."""

    def __init__(self, guard: Guard = unguarded) -> None:
        self.told: list[str] = []
        self.now = NOON
        aliases = ("summit", "ldf", "base")
        self.clusters = {a: FakeCluster(a, self.told) for a in aliases}
        self.positions = {a: FakePositions(self.told) for a in ("ldf", "base")}
        self.learners = {a: (Learner(), Learner()) for a in ("ldf", "base")}
        self.survey = SurveyWorker(
            flows=[self._flow("ldf", "sal[.].*"), self._flow("base", ".*")],
            clusters=self.clusters,
            interval=timedelta(seconds=5),
            clock=lambda: self.now,
            guard=guard,
        )
        self.clusters["summit"].topics = {"sal.a": ("1", 2), "b": ("2", 1)}
        self.clusters["ldf"].topics = {"summit.sal.a": ("3", 2)}

    def _flow(self, target: str, include: str) -> SurveyedFlow:
        return SurveyedFlow(
            flow=Flow(name=f"to {target}", source="summit", target=target),
            carriage=Carriage(
                ReplicatedTopics(
                    selection=Selection(include=(include,)),
                    naming=DefaultNaming(alias="summit"),
                    target_alias=target,
                )
            ),
            positions=self.positions[target],
            listeners=self.learners[target],
        )

    def look(self, after: timedelta = timedelta()) -> list[str]:
        """Return what was asked by a survey."""
        self.now += after
        self.told.clear()
        self.survey.step()
        return self.told

    def view(self, target: str) -> FlowView:
        return self.learners[target][0].views[-1]

    def source(self) -> ClusterView:
        """Return the source as the newest view has it."""
        found = self.view("ldf").source
        assert found is not None
        return found
