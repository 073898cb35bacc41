"""What an audit takes from a mirror other than MirrorMaker 2."""

import json
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from mirrorwatch.audit import mirror as audited
from mirrorwatch.audit.mirror import MirrorReader
from mirrorwatch.config import Config
from mirrorwatch.domain.cluster_view import TopicFacts
from tests.domain.record_matching_test import World, written
from tests.sources.record_matching_test import WorkerOnLogs
from tests.support.builders import NOON

REPLICATOR = "io.confluent.connect.replicator.ReplicatorSourceConnector"
MIRUS = "com.salesforce.mirus.MirusSourceConnector"
WORKER = {
    "connectors": ["c"],
    "topics": {"offsets": "offsets", "configs": "configs"},
}


class Sites(dict[str, Any]):
    """Both clusters, of which the topics t and r are those of a world."""

    def __init__(self, world: World) -> None:
        self.asked: list[str] = []
        for alias, name, logs in (
            ("a", "t", world.source),
            ("b", "rt", world.target),
        ):
            self[alias] = SimpleNamespace(
                alias=alias,
                cluster=SimpleNamespace(alias=alias),
                properties={},
                describe=lambda alias=alias, name=name, logs=logs: (
                    self._describe(alias, name, len(logs))
                ),
                ends=lambda wanted, logs=logs, **_: {
                    key: logs[key[1]].end for key in wanted
                },
                starts=lambda wanted, logs=logs: {
                    key: logs[key[1]].start for key in wanted
                },
            )

    def _describe(self, alias: str, name: str, count: int) -> Any:
        self.asked.append(alias)
        facts = TopicFacts(id=name, partitions=count, replication_factor=1)
        return SimpleNamespace(id=alias, topics={name: facts})


def reader(world: World, **mirror: Any) -> MirrorReader:
    cluster = {"kafka": {"bootstrap.servers": "127.0.0.1:1"}}
    config = Config.from_mapping(
        {
            "clusters": {"a": cluster, "b": cluster},
            "flows": [
                {
                    "source": "a",
                    "target": "b",
                    "mirror": mirror,
                    "canary": {"enabled": False},
                    "topics": {"include": ["t", "gone"]},
                    "naming": {"format": "r${topic}"},
                }
            ],
        }
    )
    (flow,) = config.audited_flows
    sites: Any = Sites(world)
    return MirrorReader(flow, sites, lambda: NOON)


@pytest.fixture
def topics(
    monkeypatch: pytest.MonkeyPatch,
) -> dict[str, list[tuple[bytes, Any]]]:
    """Return the records of the worker's topics."""
    found: dict[str, list[tuple[bytes, Any]]] = {"offsets": [], "configs": []}

    def read_all(*given: Any) -> list[Any]:
        return [
            SimpleNamespace(
                key=lambda key=key: key,
                value=lambda value=value: json.dumps(value).encode(),
                timestamp=lambda: (0, 0),
            )
            for key, value in found[given[-1]]
        ]

    monkeypatch.setattr(audited, "read_all", read_all)
    monkeypatch.setattr(audited, "written_at", lambda _: NOON)
    return found


def connector(kind: str, **more: str) -> tuple[bytes, Any]:
    properties = {"connector.class": kind} | {
        key.replace("__", "."): value for key, value in more.items()
    }
    return b"connector-c", {"properties": properties}


def offset(value: int) -> tuple[bytes, Any]:
    return b'["c",{"topic":"t","partition":0}]', {"offset": value}


@pytest.mark.parametrize(
    ("kind", "name", "position"),
    [("mirus", MIRUS, 7), ("replicator", REPLICATOR, 8)],
)
def test_positions_of_mirrors_on_connect(
    topics: dict[str, list[tuple[bytes, Any]]],
    kind: str,
    name: str,
    position: int,
) -> None:
    """Mirus writes the next offset, Replicator the last."""
    topics["configs"] = [connector(name)]
    topics["offsets"] = [offset(5), offset(7)]
    found = reader(World(), kind=kind, **WORKER)
    found.read_configs()
    found.read_positions({("t", 0): 0, ("t", 1): 0})
    assert found.position(("t", 0)) == position
    assert found.position(("t", 1)) is None
    assert found.syncs(("t", 0)) == ()
    assert found.starts_at_end is False
    assert found.scattered == frozenset()


@pytest.mark.parametrize(
    ("reset", "starts_at_end"), [("latest", True), ("earliest", False)]
)
def test_the_connector_says_whether_it_starts_at_the_end(
    topics: dict[str, list[tuple[bytes, Any]]],
    reset: str,
    starts_at_end: bool,
) -> None:
    found = reader(World(), kind="mirus", **WORKER)
    assert found.starts_at_end is None
    topics["configs"] = [connector(MIRUS, consumer__auto__offset__reset=reset)]
    found.read_configs()
    assert found.starts_at_end is starts_at_end


def test_positions_that_the_mirror_does_not_obey_prove_nothing(
    topics: dict[str, list[tuple[bytes, Any]]],
) -> None:
    """Those of Connect may be far ahead of the group that it starts from."""
    obeying = {"offset__start": "consumer", "src__consumer__group__id": "g"}
    topics["configs"] = [connector(REPLICATOR, **obeying)]
    topics["offsets"] = [offset(7)]
    found = reader(World(), kind="replicator", **WORKER)
    found.read_configs()
    found.read_positions({("t", 0): 0})
    assert found.position(("t", 0)) is None


def matched(
    monkeypatch: pytest.MonkeyPatch, world: World, **mirror: Any
) -> MirrorReader:
    def make(**given: Any) -> WorkerOnLogs:
        return WorkerOnLogs(world, given["positions"])

    monkeypatch.setattr(audited, "RecordMatchingWorker", make)
    found = reader(world, **({"kind": "opaque"} | mirror))
    found.read_configs()
    found.read_positions({("t", p): 0 for p in range(world.partitions)})
    return found


def test_newest_copies_are_positions_where_nothing_else_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = World(partitions=3)
    written(world, *range(10))
    world.copy(0, 1, 5, 6)
    # What is altered, and what is not copied yet, proves nothing.
    world.source[1].add(*world.source[0].records.values())
    world.target[1].add(replace(world.source[1].records[0], content=-1))
    found = matched(monkeypatch, world)
    assert [found.position(("t", p)) for p in range(3)] == [7, None, None]
    assert found.syncs(("t", 0)) == ()
    assert found.starts_at_end is None
    assert found.scattered == frozenset()
    sites: Any = found._sites  # noqa: SLF001 - the order in which it is read
    # Of the source is read last: what is copied meanwhile has a record.
    assert sites.asked == ["b", "a"]


def test_a_topic_that_was_deleted_meanwhile_has_no_position(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def make(**given: Any) -> WorkerOnLogs:
        return WorkerOnLogs(World(), given["positions"])

    monkeypatch.setattr(audited, "RecordMatchingWorker", make)
    found = reader(World(), kind="opaque")
    found.read_positions({("t", 0): 0, ("gone", 0): 0})
    assert found.position(("gone", 0)) is None


def test_topics_whose_partitions_are_not_kept_are_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = World(partitions=2)
    written(world, *range(10))
    world.target[1].add(*(world.source[0].records[n] for n in range(5)))
    found = matched(monkeypatch, world)
    assert found.scattered == {"rt"}
    assert found.position(("t", 0)) is None
