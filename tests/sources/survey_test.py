"""What one survey asks, in which order, and who learns of it."""

from collections.abc import Callable, Iterable
from concurrent.futures import Future
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest

from mirrorwatch.domain.carriage import Carriage
from mirrorwatch.domain.naming import DefaultNaming
from mirrorwatch.domain.positions import Committed, Connector, Sync
from mirrorwatch.domain.selection import Selection
from mirrorwatch.domain.verdicts import Flow
from mirrorwatch.domain.view import FlowView, TopicPartition
from mirrorwatch.exceptions import SourceUnavailableError, StateError
from mirrorwatch.sources.cluster import Cluster
from mirrorwatch.sources.ends import Ends
from mirrorwatch.sources.positions import Positions
from mirrorwatch.sources.survey import STARTS_EVERY, Survey
from mirrorwatch.sources.surveyed import Surveyed
from tests.support.builders import NOON


class FakeCluster(Cluster):
    """A cluster of topics with so many partitions each, or none at all."""

    def __init__(self, alias: str, told: list[str]) -> None:
        self.alias = alias
        self.topics: dict[str, tuple[str, int]] = {}
        self.up = True
        self._told = told
        self._error = None

    def call(self, question: Callable[..., Any], right: str) -> Any:
        if not self.up:
            raise SourceUnavailableError(
                f"{self.alias} is down", source="kafka", cluster=self.alias
            )
        return question(self)

    def list_topics(self, timeout: float) -> SimpleNamespace:
        return SimpleNamespace(cluster_id=self.alias, topics=self.topics)

    def describe_topics(
        self, names: Any, request_timeout: float
    ) -> dict[str, Future[SimpleNamespace]]:
        self._told.append(f"topics of {self.alias}")
        found = {}
        for name, (topic_id, partitions) in self.topics.items():
            found[name] = Future[SimpleNamespace]()
            found[name].set_result(
                SimpleNamespace(
                    topic_id=topic_id,
                    partitions=[SimpleNamespace(replicas=[1])] * partitions,
                )
            )
        return found


class FakeEnds(Ends):
    """Every partition ends at 100, at 90 for who reads committed."""

    def __init__(self, alias: str, told: list[str]) -> None:
        self._alias = alias
        self._told = told
        self.start = 0

    def read(
        self, places: Iterable[TopicPartition], *, read_committed: bool = False
    ) -> dict[TopicPartition, int]:
        how = " committed" if read_committed else ""
        self._told.append(f"ends of {self._alias}{how}")
        return dict.fromkeys(places, 90 if read_committed else 100)

    def read_starts(
        self, places: Iterable[TopicPartition]
    ) -> dict[TopicPartition, int]:
        self._told.append(f"starts of {self._alias}")
        return dict.fromkeys(places, self.start)


class FakePositions(Positions):
    def __init__(self, told: list[str]) -> None:
        super().__init__()
        self._told = told

    def all_committed(self) -> dict[TopicPartition, Committed]:
        self._told.append("positions")
        return {}

    def all_syncs(self) -> dict[TopicPartition, Sync]:
        return {}


class Learner:
    def __init__(self) -> None:
        self.views: list[FlowView] = []
        self.failing = False

    def take(self, view: FlowView) -> None:
        if self.failing:
            raise StateError("disk full")
        self.views.append(view)


class World:
    """Two flows out of one cluster, to two others."""

    def __init__(self) -> None:
        self.told: list[str] = []
        self.now = NOON
        aliases = ("summit", "ldf", "base")
        self.clusters = {a: FakeCluster(a, self.told) for a in aliases}
        self.ends = {a: FakeEnds(a, self.told) for a in aliases}
        self.positions = {a: FakePositions(self.told) for a in ("ldf", "base")}
        self.learners = {a: (Learner(), Learner()) for a in ("ldf", "base")}
        self.survey = Survey(
            flows=[self._flow("ldf", "sal[.].*"), self._flow("base", ".*")],
            clusters=self.clusters,
            ends=self.ends,
            interval=timedelta(seconds=5),
            clock=lambda: self.now,
        )
        self.clusters["summit"].topics = {"sal.a": ("1", 2), "b": ("2", 1)}
        self.clusters["ldf"].topics = {"summit.sal.a": ("3", 2)}

    def _flow(self, target: str, include: str) -> Surveyed:
        return Surveyed(
            flow=Flow(name=f"to {target}", source="summit", target=target),
            carriage=Carriage(
                selection=Selection(include=(include,)),
                naming=DefaultNaming(alias="summit"),
                target_alias=target,
            ),
            positions=self.positions[target],
            readers=self.learners[target],
        )

    def look(self, after: timedelta = timedelta()) -> list[str]:
        """Return what was asked by a survey."""
        self.now += after
        self.told.clear()
        self.survey.step()
        return self.told

    def view(self, target: str) -> FlowView:
        return self.learners[target][0].views[-1]


def test_a_follower_is_read_before_its_leader() -> None:
    told = World().look()
    assert told[:2] == ["positions"] * 2
    ends = [t for t in told if t.startswith("ends")]
    assert ends == ["ends of base", "ends of ldf", "ends of summit"]


def test_each_cluster_is_asked_once_for_all_flows() -> None:
    world = World()
    told = world.look()
    assert told.count("positions") == 2  # of each flow its own
    assert len(told) - 1 == len(set(told))
    out, all_out = world.view("ldf"), world.view("base")
    assert out.source is not None
    assert all_out.source is not None
    assert dict(out.names) == {"sal.a": "summit.sal.a"}
    assert dict(all_out.names) == {"sal.a": "summit.sal.a", "b": "summit.b"}
    assert out.source.ends == all_out.source.ends
    assert set(out.source.ends) == {("sal.a", 0), ("sal.a", 1), ("b", 0)}
    assert out.target is not None
    assert set(out.target.ends) == {("summit.sal.a", n) for n in (0, 1)}


def test_ends_are_those_that_the_mirror_reads() -> None:
    world = World()
    world.positions["ldf"].note(
        Connector(
            name="c",
            selection=Selection(),
            refresh=timedelta(minutes=10),
            max_in_flight=1,
            read_committed=True,
        )
    )
    world.look()
    committed, other = world.view("ldf"), world.view("base")
    assert committed.source is not None
    assert other.source is not None
    assert committed.target is not None
    assert set(committed.source.ends.values()) == {90}
    assert set(other.source.ends.values()) == {100}
    assert set(committed.target.ends.values()) == {100}


def test_starts_are_read_now_and_then_and_at_once_where_topics_are_new() -> (
    None
):
    world, read = World(), "starts of summit"
    assert read in world.look()
    assert read not in world.look(timedelta(seconds=5))
    assert read in world.look(STARTS_EVERY)
    world.clusters["summit"].topics["sal.a"] = ("1", 3)
    assert read in world.look(timedelta(seconds=5))
    assert read not in world.look(timedelta(seconds=5))
    world.clusters["summit"].topics["sal.a"] = ("anew", 3)
    world.ends["summit"].start = 7
    assert read in world.look(timedelta(seconds=5))
    view = world.view("ldf")
    assert view.source is not None
    assert view.source.starts["sal.a", 0] == 7


def test_a_cluster_that_is_down_is_a_problem_of_its_flows_only() -> None:
    world = World()
    world.clusters["ldf"].up = False
    world.look()
    assert world.view("ldf").target is None
    assert world.view("ldf").source is not None
    assert world.view("ldf").problems == ("ldf is down",)
    assert world.view("base").target is not None
    assert world.view("base").problems == ()
    world.clusters["summit"].up = False
    world.look()
    assert world.view("base").source is None
    assert dict(world.view("base").names) == {}
    assert world.view("base").problems == ("summit is down",)
    assert world.view("ldf").problems == ("summit is down", "ldf is down")


def test_one_who_cannot_learn_keeps_nobody_else_from_it() -> None:
    world = World()
    world.learners["ldf"][0].failing = True
    with pytest.raises(StateError):
        world.survey.step()
    assert len(world.learners["ldf"][1].views) == 1
    assert [len(x.views) for x in world.learners["base"]] == [1, 1]
