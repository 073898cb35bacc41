"""How a mirror is added: docs/development.md, "A new mirror"."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial

import pytest
import structlog
from confluent_kafka import Producer

from mirrorwatch.clock import Clock, utc_now
from mirrorwatch.config import Config, FlowConfig
from mirrorwatch.domain.bottleneck.model import (
    ClassMetrics,
    ErrorCounters,
    MBean,
    MBeanQuery,
    MirrorMetrics,
)
from mirrorwatch.domain.mirror_kinds import KINDS
from mirrorwatch.domain.mirror_records import Committed, MirrorFact
from mirrorwatch.domain.mirror_traits import MirrorTraits
from mirrorwatch.exceptions import ConfigError
from mirrorwatch.kafka.admin import Cluster, Topic
from mirrorwatch.mirrors import MIRRORS, MirrorAdapter
from mirrorwatch.ports import InternalTopic, MirrorSettings
from mirrorwatch.sources.jmx.source import JmxReading, JmxSource, JmxWorker
from mirrorwatch.sources.mirror_state import MirrorState
from mirrorwatch.state import Database
from mirrorwatch.state.documents import DocumentStore
from mirrorwatch.state.history import History
from mirrorwatch.threads import Latest
from mirrorwatch.wiring.context import (
    FlowParts,
    WiringContext,
    to_mirror,
    to_mirror_jmx,
)
from mirrorwatch.wiring.flows import wire_tails, wire_tasks
from tests.support.builders import NOON
from tests.support.watch import wait_until

pytestmark = pytest.mark.slow


POSITIONS = "ferry-positions"


# 1. mirrors/ferry.py: its internal topics, and what their records mean.


@dataclass(frozen=True, slots=True)
class Ferry:
    """A mirror that commits its positions as JSON, at the target."""

    settings: MirrorSettings
    group = None

    def internal_topics(self) -> tuple[InternalTopic, ...]:
        name = self.settings.topics.get("offsets") or POSITIONS
        return (InternalTopic(kind="offsets", side="target", name=name),)

    def decode(
        self,
        kind: str,
        key: bytes | None,
        value: bytes | None,
        written_at: datetime,
    ) -> MirrorFact | None:
        assert kind == "offsets"
        place = json.loads(key or b"")
        if place["from"] != self.settings.source_alias:
            return None
        return Committed(
            topic=place["topic"],
            partition=place["partition"],
            position=None if value is None else int(value),
            written_at=written_at,
        )


# 2. mirrors/ferry_jmx.py: its JMX metrics.


@dataclass(frozen=True, slots=True)
class FerryJmx:
    settings: MirrorSettings

    @property
    def wanted(self) -> Sequence[MBeanQuery]:
        keys = {"topic": "*"}
        numbers = ("rate",)
        return [
            MBeanQuery(
                domain="ferry", type="copied", keys=keys, numbers=numbers
            )
        ]

    def metrics(self, read: Mapping[str, Sequence[MBean]]) -> MirrorMetrics:
        rate = sum(
            float(mbean.attributes["rate"])
            for mbeans in read.values()
            for mbean in mbeans
            if self.settings.selection.matches(mbean.properties["topic"])
        )
        return MirrorMetrics(
            classes={"other": ClassMetrics(records_per_second=rate)}
        )


# Then a line in mirrors/__init__.py, under its word for `mirror.kind`, and
# what it can prove in domain/mirror_kinds.py.

FERRY = MirrorAdapter(topics=Ferry, jmx=FerryJmx)
TRAITS = MirrorTraits(
    title="Ferry", off={"heartbeats": "Ferry writes no heartbeats"}
)


@pytest.fixture
def flow(monkeypatch: pytest.MonkeyPatch) -> FlowConfig:
    monkeypatch.setitem(MIRRORS, "ferry", FERRY)
    monkeypatch.setitem(KINDS, "ferry", TRAITS)
    cluster = {"kafka": {"bootstrap.servers": "127.0.0.1:1"}}
    config = Config.from_mapping(
        {
            "clusters": {"summit": cluster, "ldf": cluster},
            "flows": [
                {
                    "source": "summit",
                    "target": "ldf",
                    "topics": {"include": ["events"]},
                    "mirror": {"connect": {"url": "http://127.0.0.1:1"}},
                }
            ],
        }
    )
    (flow,) = config.flows
    mirror = flow.mirror.model_copy(update={"kind": "ferry"})
    return flow.model_copy(update={"mirror": mirror})


class OneBroker(Cluster):
    """librdkafka's own broker, which describes no topic."""

    def describe_topic(
        self, name: str, *, right: str = "DESCRIBE"
    ) -> Topic | None:
        del right
        return Topic(name=name, id="t1", leaders={0: 1})


@pytest.fixture
def producer() -> Iterator[Producer]:
    producer = Producer({"test.mock.num.brokers": 1, "log_level": 0})
    yield producer
    producer.flush(10)


def context(properties: Mapping[str, str]) -> WiringContext:
    database = Database(None)
    clusters: dict[str, Cluster] = {
        alias: OneBroker(alias, properties) for alias in ("summit", "ldf")
    }
    return WiringContext(
        clusters=clusters,
        properties=dict.fromkeys(clusters, properties),
        database=database,
        history=History(database, timedelta(seconds=1)),
        interval=timedelta(seconds=1),
        clock=Clock(),
        logger=structlog.get_logger(),
    )


def parts(flow: FlowConfig) -> FlowParts:
    return FlowParts(
        config=flow, mirror=to_mirror(flow), positions=MirrorState()
    )


def test_its_positions_are_followed(
    flow: FlowConfig, producer: Producer
) -> None:
    brokers = producer.list_topics(timeout=10).brokers.values()
    servers = ",".join(f"{b.host}:{b.port}" for b in brokers)
    watched = parts(flow)
    tails = wire_tails([watched], context({"bootstrap.servers": servers}))
    (tail,) = tails.workers

    def commit(source: str, partition: int, offset: int) -> None:
        place = {"from": source, "topic": "events", "partition": partition}
        key, value = json.dumps(place).encode(), str(offset).encode()
        producer.produce(POSITIONS, value, key, partition=0)
        producer.flush(10)

    def positions() -> dict[int, int | None]:
        tail.step()
        found = watched.positions.committed("events")
        return {n: fact.position for n, fact in found.items()}

    commit("summit", 0, 7)
    commit("elsewhere", 1, 3)
    commit("summit", 0, 9)
    try:
        wait_until(lambda: positions() == {0: 9})
        wait_until(
            lambda: (
                positions() == {0: 9}
                and not watched.positions.behind(utc_now())
            )
        )
        commit("summit", 2, 4)
        wait_until(lambda: positions() == {0: 9, 2: 4})
        assert watched.positions.problems() == ()
    finally:
        tail.close()


class Process:
    """One process of the mirror."""

    busy_seconds = 0.0

    def read(self, wanted: Sequence[MBeanQuery]) -> Sequence[MBean]:
        (query,) = wanted
        assert query.pattern == "ferry:type=copied,topic=*"
        return [
            MBean(
                domain="ferry",
                properties={"type": "copied", "topic": topic},
                attributes={"rate": 5.0},
            )
            for topic in ("events", "not of this flow")
        ]

    def close(self) -> None:
        pass


def test_its_jmx_metrics_are_read(flow: FlowConfig) -> None:
    reading, mirror = Latest(JmxReading()), to_mirror_jmx(flow)
    worker = JmxWorker(
        url="http://ferry",
        reader=Process(),
        wanted=mirror.wanted,
        reading=reading,
        interval=timedelta(seconds=5),
        timeout=timedelta(seconds=4),
        clock=lambda: NOON,
    )
    source = JmxSource(
        flow=flow.name,
        readings={"http://ferry": reading},
        interpret=mirror.metrics,
        store=DocumentStore(
            Database(None), flow.name, "mirror_errors", ErrorCounters
        ),
    )
    worker.step()
    (seen,) = source.observe(NOON)
    assert seen.answering == ("http://ferry",)
    assert seen.metrics.classes["other"].records_per_second == 5.0


def test_one_that_does_not_run_on_connect_is_not_asked_there(
    flow: FlowConfig,
) -> None:
    wire = partial(wire_tasks, parts(flow), context({}))
    with pytest.raises(ConfigError, match="ferry does not run on Kafka"):
        wire()
