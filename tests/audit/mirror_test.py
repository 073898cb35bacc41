"""What an audit takes from a mirror other than MirrorMaker 2."""

import json
from types import SimpleNamespace
from typing import Any

import pytest

from mirrorwatch.audit import mirror as audited
from mirrorwatch.audit.mirror import MirrorReader
from mirrorwatch.config import Config
from tests.support.builders import NOON

REPLICATOR = "io.confluent.connect.replicator.ReplicatorSourceConnector"
MIRUS = "com.salesforce.mirus.MirusSourceConnector"
WORKER = {
    "connectors": ["c"],
    "topics": {"offsets": "offsets", "configs": "configs"},
}


class Sites(dict[str, Any]):
    """Both clusters, whose topics are replaced by the fixture `topics`."""

    def __init__(self) -> None:
        for alias in ("a", "b"):
            self[alias] = SimpleNamespace(cluster=alias, properties={})


def reader(**mirror: Any) -> MirrorReader:
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
                    "topics": {"include": ["t"]},
                }
            ],
        }
    )
    (flow,) = config.audited_flows
    sites: Any = Sites()
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
    found = reader(kind=kind, **WORKER)
    found.read_configs()
    found.read_positions({("t", 0): 0, ("t", 1): 0})
    assert found.position(("t", 0)) == position
    assert found.position(("t", 1)) is None
    assert found.syncs(("t", 0)) == ()
    assert found.starts_at_end is False


@pytest.mark.parametrize(
    ("reset", "starts_at_end"), [("latest", True), ("earliest", False)]
)
def test_the_connector_says_whether_it_starts_at_the_end(
    topics: dict[str, list[tuple[bytes, Any]]],
    reset: str,
    starts_at_end: bool,
) -> None:
    found = reader(kind="mirus", **WORKER)
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
    found = reader(kind="replicator", **WORKER)
    found.read_configs()
    found.read_positions({("t", 0): 0})
    assert found.position(("t", 0)) is None


@pytest.mark.parametrize("kind", ["opaque", "k2k", "msk-replicator"])
def test_a_mirror_without_positions_has_none(kind: str) -> None:
    found = reader(kind=kind)
    found.read_configs()
    found.read_positions({("t", 0): 0})
    assert found.position(("t", 0)) is None
    assert found.syncs(("t", 0)) == ()
    assert found.starts_at_end is None
