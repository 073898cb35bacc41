"""Reads topic configs: what one side refuses hides nothing of the other."""

from collections.abc import Iterable, Sequence
from datetime import timedelta
from types import SimpleNamespace
from typing import cast

import pytest

from mirrorwatch.domain.cluster_view import TopicConfigs
from mirrorwatch.domain.mirror_records import Connector
from mirrorwatch.domain.parity.configs import ConfigsLimits, judge_configs
from mirrorwatch.domain.report import Health, Verdict
from mirrorwatch.domain.topics import Selection
from mirrorwatch.exceptions import SourceUnavailableError
from mirrorwatch.kafka.admin import Cluster
from mirrorwatch.sources import parity
from mirrorwatch.sources.parity import ConfigsWorker, FlowConfigs
from mirrorwatch.state.documents import FirstSeenStore
from mirrorwatch.threads import Latest
from tests.domain.parity.world import FLOW, MINUTE
from tests.domain.parity.world import World as Topics

HOUR_MS = 3_600_000
LIMITS = ConfigsLimits()


class World:
    """Two clusters, how their topics are configured, and who may know."""

    def __init__(self) -> None:
        self.topics = Topics()
        self.topics.positions.note(
            Connector(
                name="MirrorSourceConnector",
                selection=Selection(),
                refresh=10 * MINUTE,
                max_in_flight=1,
                config_sync=10 * MINUTE,
            )
        )
        self.kept = {
            "summit": {"a": HOUR_MS, "b": HOUR_MS},
            "ldf": {"a": HOUR_MS, "b": HOUR_MS},
        }
        self.silent: set[str] = set()
        self.denied: set[tuple[str, str]] = set()
        self.configs = Latest(FlowConfigs())
        self.start()

    def start(self) -> None:
        self.topics.start()
        self.worker = ConfigsWorker(
            flow=FLOW,
            source=_cluster("summit"),
            target=_cluster("ldf"),
            parity=self.topics.parity,
            configs=self.configs,
            store=FirstSeenStore(self.topics.database, FLOW.name, "configs"),
            limits=LIMITS,
            interval=timedelta(seconds=5),
            clock=lambda: self.topics.now,
        )

    def step(self, after: timedelta = LIMITS.every) -> Verdict:
        self.topics.now += after
        both = dict.fromkeys(self.kept["summit"], 1)
        if "ldf" not in self.silent:
            self.topics.survey(both, dict(both))
        try:
            self.worker.step()
        except SourceUnavailableError:
            assert self.silent
        seen = next(iter(self.worker.observe(self.topics.now)), None)
        return judge_configs(FLOW.name, seen, LIMITS, self.topics.now)

    def retention(self) -> int | None:
        return self.configs.get().source["a"].retention_ms

    def read(
        self, cluster: Cluster, topics: Iterable[str]
    ) -> tuple[dict[str, TopicConfigs], list[str]]:
        """Read configs as the two clusters give them."""
        self._ask(cluster)
        denied = [t for t in topics if (cluster.alias, t) in self.denied]
        return {
            t: TopicConfigs(
                retention_ms=self.kept[cluster.alias][t],
                own=frozenset({"retention.ms"}),
            )
            for t in topics
            if t not in denied
        }, denied

    def find_hidden(
        self, cluster: Cluster, topics: Sequence[str]
    ) -> dict[str, bool]:
        self._ask(cluster)
        return dict.fromkeys(topics, False)

    def _ask(self, cluster: Cluster) -> None:
        if cluster.alias in self.silent:
            raise SourceUnavailableError(
                "No broker answers", source="kafka", cluster=cluster.alias
            )


def _cluster(alias: str) -> Cluster:
    return cast("Cluster", SimpleNamespace(alias=alias))


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> World:
    world = World()
    monkeypatch.setattr(parity, "read_configs", world.read)
    monkeypatch.setattr(parity, "find_hidden", world.find_hidden)
    return world


def test_retention_is_read_while_the_target_is_silent(world: World) -> None:
    assert world.step().health is Health.OK
    world.silent = {"ldf"}
    world.step()
    # As the check `retention` advises.
    world.kept["summit"]["a"] = 14 * 24 * HOUR_MS
    world.step()
    assert world.retention() == 14 * 24 * HOUR_MS
    # What was known of the target is no older than before.
    assert world.configs.get().target.keys() == {"a", "b"}
    # Nor is it called even, as nobody could compare.
    assert world.step(2 * LIMITS.every).health is Health.UNKNOWN


def test_missing_topics_are_asked_for_while_the_source_is_silent(
    world: World,
) -> None:
    world.step()
    world.topics.survey({"a": 1, "b": 1}, {"a": 1})
    world.topics.parity.hidden.set({})
    world.silent = {"summit"}
    world.topics.now += LIMITS.every
    with pytest.raises(SourceUnavailableError):
        world.worker.step()
    assert world.topics.parity.hidden.get() == {"b": False}


@pytest.mark.parametrize("side", ["summit", "ldf"])
def test_a_drift_that_cannot_be_read_for_a_while_is_not_new_then(
    world: World, side: str
) -> None:
    world.kept["ldf"]["a"] *= 2
    for _ in range(3):
        world.step()
    assert world.step().health is Health.WARNING
    world.denied = {(side, "a")}
    assert world.step().health is Health.UNKNOWN
    world.start()
    assert world.step().health is Health.UNKNOWN
    world.denied = set()
    assert world.step().health is Health.WARNING
    world.kept["ldf"]["a"] = HOUR_MS
    assert world.step().health is Health.OK
    # It is another one, which the mirror may mend in time.
    world.kept["ldf"]["a"] *= 2
    assert world.step().health is Health.OK
