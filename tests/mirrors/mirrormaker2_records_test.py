"""States, tasks, checkpoints and heartbeats, as read from a live mirror."""

import json
import struct
from datetime import UTC, datetime, timedelta

import pytest

from mirrorwatch.domain.mirror_records import (
    Assignment,
    Checkpoint,
    Companion,
    Connector,
    Heartbeat,
    MirrorFact,
    TaskCount,
    TaskState,
)
from mirrorwatch.mirrors import MirrorMaker2

NOW = datetime(2026, 1, 1, tzinfo=UTC)
MIRROR = MirrorMaker2(source_alias="summit", target_alias="ldf", topics={})
OURS = {"source.cluster.alias": "summit", "target.cluster.alias": "ldf"}
PACKAGE = "org.apache.kafka.connect.mirror."


def string(text: str) -> bytes:
    return struct.pack(">h", len(text)) + text.encode()


def status(key: str, value: bytes | None) -> MirrorFact | None:
    return MIRROR.decode("status", key.encode(), value, NOW)


def config(key: str, **properties: str) -> MirrorFact | None:
    value = json.dumps({"properties": properties}).encode()
    return MIRROR.decode("configs", key.encode(), value, NOW)


def test_the_state_of_a_task_of_kafka_4_3_and_of_3_9() -> None:
    new = (
        b'{"state":"FAILED","trace":"x\\n\\tat y","worker_id":"localhost/'
        b'summit->ldf/93027239","generation":5,"version":"4.3.1"}'
    )
    old = (
        b'{"state":"RUNNING","trace":null,"worker_id":"summit->ldf",'
        b'"generation":6}'
    )
    assert status("status-task-a-b-12", new) == TaskState(
        connector="a-b",
        task=12,
        state="FAILED",
        worker="localhost/summit->ldf/93027239",
        trace="x\n\tat y",
        generation=5,
        written_at=NOW,
    )
    assert status("status-connector-a-1", old) == TaskState(
        connector="a-1",
        task=None,
        state="RUNNING",
        worker="summit->ldf",
        trace="",
        generation=6,
        written_at=NOW,
    )


def test_a_state_that_was_deleted_is_none() -> None:
    found = status("status-task-a-0", None)
    assert isinstance(found, TaskState)
    assert found.state is None


def test_topics_that_connectors_use_are_no_states() -> None:
    key = "status-topic-summit.heartbeats:connector-MirrorSourceConnector"
    assert status(key, b'{"topic":{"name":"t"}}') is None


def test_a_task_is_told_its_partitions() -> None:
    found = config(
        "task-MirrorSourceConnector-3",
        **OURS,
        **{"task.assigned.partitions": "a.b-0,a.b-1,with-dash-12"},
    )
    assert found == Assignment(
        connector="MirrorSourceConnector",
        task=3,
        partitions=frozenset({("a.b", 0), ("a.b", 1), ("with-dash", 12)}),
        written_at=NOW,
    )
    other = {**OURS, "source.cluster.alias": "elsewhere"}
    assert config("task-x-0", **other) is None
    assert config("task-MirrorHeartbeatConnector-0", **OURS) is None


def test_how_many_tasks_there_are_is_committed_after_them() -> None:
    found = MIRROR.decode("configs", b"commit-a-b", b'{"tasks":2}', NOW)
    assert found == TaskCount(connector="a-b", tasks=2)


@pytest.mark.parametrize(
    "key", ["session-key", "target-state-x", "restart-connector-x"]
)
def test_what_else_connect_keeps_is_of_no_concern(key: str) -> None:
    value = b'{"state":"PAUSED"}'
    assert MIRROR.decode("configs", key.encode(), value, NOW) is None


def test_connectors_beside_the_one_that_copies_are_known_by_their_role() -> (
    None
):
    for role, kind, more, every in (
        ("checkpoints", "MirrorCheckpointConnector", {}, 60),
        ("heartbeats", "MirrorHeartbeatConnector", {}, 1),
        (
            "checkpoints",
            f"{PACKAGE}MirrorCheckpointConnector",
            {"emit.checkpoints.interval.seconds": "5"},
            5,
        ),
        (
            "heartbeats",
            f"{PACKAGE}MirrorHeartbeatConnector",
            {"emit.heartbeats.enabled": "false"},
            None,
        ),
    ):
        found = config(
            "connector-x", **OURS, **{"connector.class": kind}, **more
        )
        assert isinstance(found, Companion)
        wanted = None if every is None else timedelta(seconds=every)
        assert (found.role, found.interval) == (role, wanted)


def test_a_connector_that_was_deleted_is_told() -> None:
    found = MIRROR.decode("configs", b"connector-x", None, NOW)
    assert found == Companion(name="x", role="removed")


def copying(**properties: str) -> Connector:
    kind = {"connector.class": f"{PACKAGE}MirrorSourceConnector"}
    found = config("connector-x", **OURS, **kind, **properties)
    assert isinstance(found, Connector)
    return found


def test_a_connector_that_says_nothing_has_mirror_makers_defaults() -> None:
    found = copying()
    assert not found.read_committed
    assert not found.starts_at_end
    assert not found.tolerates_errors
    assert not found.transforms
    assert found.flush is None
    assert found.config_sync == timedelta(minutes=10)
    assert r"min\.insync\.replicas" in found.config_excluded


@pytest.mark.parametrize(
    "prefix", ["source.consumer.", "consumer.", "source.cluster."]
)
def test_settings_of_the_consumer_are_found(prefix: str) -> None:
    found = copying(
        **{
            f"{prefix}isolation.level": "read_committed",
            f"{prefix}auto.offset.reset": "latest",
        }
    )
    assert found.read_committed
    assert found.starts_at_end


def test_the_nearest_setting_of_the_consumer_rules() -> None:
    found = copying(
        **{
            "consumer.isolation.level": "read_committed",
            "source.consumer.isolation.level": "read_uncommitted",
            # Connect's own way does not reach this consumer.
            "consumer.override.auto.offset.reset": "latest",
        }
    )
    assert not found.read_committed
    assert not found.starts_at_end


def test_other_settings_that_checks_need_are_found() -> None:
    found = copying(
        **{
            "errors.tolerance": "all",
            "transforms": "route,filter",
            "target.cluster.offset.flush.interval.ms": "1500",
            "sync.topic.configs.enabled": "false",
            "config.properties.blacklist": "a, b",
            "topics.blacklist": "secret.*",
        }
    )
    assert found.tolerates_errors
    assert found.transforms
    assert found.flush == timedelta(seconds=1.5)
    assert found.config_sync is None
    assert found.config_excluded == ("a", "b")
    assert not found.selection.matches("secret.x")


def test_a_checkpoint_is_where_a_group_would_go_on() -> None:
    key = string("group") + string("summit.t") + struct.pack(">i", 7)
    value = struct.pack(">hqq", 0, 375, 365) + string("")
    assert MIRROR.decode("checkpoints", key, value, NOW) == Checkpoint(
        group="group",
        topic="summit.t",
        partition=7,
        upstream=375,
        downstream=365,
        written_at=NOW,
    )
    assert MIRROR.decode("checkpoints", key, None, NOW) is None


BEAT = struct.pack(">hq", 0, 1795272252957)
CARRIED = string("ldf") + string("summit")
DIRECT = string("summit") + string("ldf")


def place(kind: str, key: bytes, mirror: MirrorMaker2 = MIRROR) -> str | None:
    found = mirror.decode(kind, key, BEAT, NOW)
    if found is None:
        return None
    assert isinstance(found, Heartbeat)
    assert found.beat_at.isoformat() == "2026-11-21T14:44:12.957000+00:00"
    return found.place


def test_heartbeats_are_told_apart_by_their_way() -> None:
    assert place("beats", CARRIED) == "source"
    assert place("carried", CARRIED) == "carried"
    assert place("heartbeats", DIRECT) == "target"
    # Those of other flows into the same target.
    assert place("heartbeats", string("base") + string("ldf")) is None


def test_where_one_topic_holds_all_heartbeats_the_aliases_tell() -> None:
    mirror = MirrorMaker2(
        source_alias="", target_alias="d", separator="", topics={}
    )
    own, other = string("") + string("d"), string("d") + string("")
    assert place("carried", own, mirror) == "target"
    assert place("carried", other, mirror) == "carried"
