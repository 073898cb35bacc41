"""Names and record layouts, as measured on a live MirrorMaker 2."""

import json
import struct
from datetime import UTC, datetime, timedelta

import pytest

from mirrorwatch.domain.mirror_records import (
    Assignment,
    Checkpoint,
    Committed,
    Companion,
    Connector,
    ConnectorSettings,
    Heartbeat,
    MirrorFact,
    Sync,
    TaskCount,
    TaskState,
)
from mirrorwatch.exceptions import ConfigError
from mirrorwatch.mirrors.mirrormaker2 import (
    MirrorMaker2,
    accompanies,
    copies_records,
)

NOW = datetime(2026, 1, 1, tzinfo=UTC)
MIRROR = MirrorMaker2(source_alias="summit", target_alias="ldf", topics={})


def names(mirror: MirrorMaker2) -> list[tuple[str, str]]:
    return [(t.side, t.name) for t in mirror.internal_topics()]


def test_a_dedicated_mirrors_topics_are_derived() -> None:
    assert names(MIRROR) == [
        ("source", "mm2-offset-syncs.ldf.internal"),
        ("target", "mm2-offsets.summit.internal"),
        ("target", "mm2-configs.summit.internal"),
        ("target", "mm2-status.summit.internal"),
        ("target", "summit.checkpoints.internal"),
        ("source", "heartbeats"),
        ("target", "heartbeats"),
        ("target", "summit.heartbeats"),
    ]


def test_a_mirror_may_do_without_all_but_three_of_its_topics() -> None:
    needed = [t.kind for t in MIRROR.internal_topics() if not t.optional]
    assert needed == ["syncs", "offsets", "configs"]


def test_syncs_at_the_target_are_named_after_the_source() -> None:
    mirror = MirrorMaker2(
        source_alias="summit",
        target_alias="ldf",
        separator="_",
        syncs_location="target",
        topics={},
    )
    assert names(mirror)[0] == ("target", "mm2-offset-syncs_summit_internal")


def test_empty_aliases_and_separator_are_a_real_sites_setting() -> None:
    mirror = MirrorMaker2(
        source_alias="",
        target_alias="destn",
        separator="",
        dedicated=False,
        topics={"offsets": "o", "configs": "c"},
    )
    kinds = {t.kind: t.name for t in mirror.internal_topics()}
    assert kinds["syncs"] == "mm2-offset-syncsdestninternal"
    assert kinds["checkpoints"] == "checkpointsinternal"
    assert kinds["carried"] == kinds["heartbeats"] == "heartbeats"
    # Nothing tells where a Connect cluster keeps its states.
    assert "status" not in kinds


def test_a_separator_goes_into_the_names_of_the_mirrors_own_topics() -> None:
    mirror = MirrorMaker2(
        source_alias="summit", target_alias="ldf", separator="_", topics={}
    )
    kinds = {t.kind: t.name for t in mirror.internal_topics()}
    assert kinds["checkpoints"] == "summit_checkpoints_internal"
    assert kinds["carried"] == "summit_heartbeats"
    # Connect's own are made by MirrorMaker 2 with a dot all the same.
    assert kinds["offsets"] == "mm2-offsets.summit.internal"


def test_names_that_are_configured_go_over_derived_ones() -> None:
    topics = {"status": "s", "checkpoints": "c", "syncs": "y"}
    mirror = MirrorMaker2(
        source_alias="summit",
        target_alias="ldf",
        topics=topics,
        carried_heartbeats="from.heartbeats",
    )
    kinds = {t.kind: t.name for t in mirror.internal_topics()}
    assert {kind: kinds[kind] for kind in topics} == topics
    assert kinds["carried"] == "from.heartbeats"


def test_a_connect_clusters_topics_must_be_configured() -> None:
    mirror = MirrorMaker2(
        source_alias="a", target_alias="b", dedicated=False, topics={}
    )
    with pytest.raises(ConfigError, match=r"offset\.storage\.topic"):
        mirror.internal_topics()


def offset_key(
    connector: str = "MirrorSourceConnector", **more: object
) -> bytes:
    partition = {"cluster": "summit", "partition": 3, "topic": "t", **more}
    return json.dumps([connector, partition]).encode()


def test_a_committed_offset_is_of_the_last_copied_record() -> None:
    fact = MIRROR.decode("offsets", offset_key(), b'{"offset":123}', NOW)
    assert fact == Committed(
        topic="t",
        partition=3,
        position=124,
        written_at=NOW,
        connector="MirrorSourceConnector",
    )


def test_a_deleted_offset_is_no_position() -> None:
    fact = MIRROR.decode("offsets", offset_key(), None, NOW)
    assert isinstance(fact, Committed)
    assert fact.position is None


def test_offsets_of_others_are_no_concern() -> None:
    other = offset_key(cluster="elsewhere")
    heartbeat = b'["MirrorHeartbeatConnector",{"sourceClusterAlias":"a"}]'
    for key in (other, heartbeat):
        assert MIRROR.decode("offsets", key, b'{"offset":0}', NOW) is None


def test_a_sync_is_a_pair_of_offsets() -> None:
    key = struct.pack(">h", 1) + b"t" + struct.pack(">i", 3)
    value = struct.pack(">qq", 375, 365)
    assert MIRROR.decode("syncs", key, value, NOW) == Sync(
        topic="t", partition=3, upstream=375, downstream=365, written_at=NOW
    )


def connector(**more: str) -> object:
    properties = {
        "connector.class": (
            "org.apache.kafka.connect.mirror.MirrorSourceConnector"
        ),
        "source.cluster.alias": "summit",
        "topics": "a.*, b",
        **more,
    }
    value = json.dumps({"properties": properties}).encode()
    return MIRROR.decode("configs", b"connector-X", value, NOW)


def test_the_connectors_configuration_tells_filter_and_order() -> None:
    fact = connector()
    assert isinstance(fact, Connector)
    assert fact.selection.matches("abc")
    assert not fact.selection.matches("c")
    assert (fact.refresh, fact.max_in_flight) == (timedelta(minutes=10), 1)
    assert fact.max_request_bytes is None


@pytest.mark.parametrize("name", ["MirrorSourceConnector", "MirrorSource"])
def test_a_class_is_known_by_the_short_names_that_connect_takes(
    name: str,
) -> None:
    assert isinstance(connector(**{"connector.class": name}), Connector)


@pytest.mark.parametrize(
    ("topic", "settings", "wanted"),
    [
        ("heartbeats", {}, True),
        ("base.heartbeats", {}, True),
        ("x.base.heartbeats", {}, True),
        # A topic of somebody else, as ``originalTopic`` has it.
        ("my-heartbeats", {}, False),
        ("base.heartbeats", {"replication.policy.separator": "_"}, False),
        ("base_heartbeats", {"replication.policy.separator": "_"}, True),
        ("heartbeats.x", {}, False),
        ("heartbeats", {"heartbeats.replication.enabled": "false"}, False),
        (
            "heartbeats",
            {"heartbeats.replication.enabled": "false", "topics": "hea.*"},
            True,
        ),
        ("my-heartbeats", {"replication.policy.class": "org.x.Own"}, True),
        (
            "my-heartbeats",
            {
                "replication.policy.class": "org.apache.kafka.connect.mirror."
                "IdentityReplicationPolicy"
            },
            False,
        ),
        ("my-heartbeats", {"topics": "my-.*"}, True),
    ],
)
def test_heartbeats_are_taken_whatever_the_filter_says(
    topic: str, settings: dict[str, str], wanted: bool
) -> None:
    fact = connector(**settings)
    assert isinstance(fact, Connector)
    assert ConnectorSettings.of([fact]).wants(topic) is wanted


@pytest.mark.parametrize("prefix", ["producer.override.", "target.producer."])
def test_settings_of_the_producer_are_found(prefix: str) -> None:
    fact = connector(
        **{
            f"{prefix}max.in.flight.requests.per.connection": "5",
            f"{prefix}max.request.size": "1000",
            f"{prefix}compression.type": "zstd",
        }
    )
    assert isinstance(fact, Connector)
    assert fact.compresses
    assert not copying(**{f"{prefix}compression.type": "none"}).compresses
    assert not copying().compresses
    assert (fact.max_in_flight, fact.max_request_bytes) == (5, 1000)


def test_other_connectors_are_no_concern() -> None:
    other = Companion(name="X", role="neighbour")
    assert connector(**{"source.cluster.alias": "elsewhere"}) == other
    assert connector(**{"target.cluster.alias": "elsewhere"}) == other
    assert connector(**{"connector.class": "another"}) == other
    assert MIRROR.decode("configs", b"session-key", b"{}", NOW) is None


@pytest.mark.parametrize(
    ("kind", "key", "value"),
    [
        ("syncs", b"\x00", b""),
        ("status", b"status-connector-x", b"{}"),
        ("status", b"status-task-x-0", b"[]"),
        ("checkpoints", b"\x00\x01g", b""),
        ("checkpoints", b"\x7f\xffg", b"\x00"),
        ("heartbeats", b"\x00\x01a\x00\x01b", b"\x00\x01" + b"\x00" * 8),
        ("configs", b"commit-x", b"{}"),
        ("configs", b"task-x-0", b"[]"),
        ("offsets", b"not json", b"{}"),
        ("offsets", b"[1, 2]", b"{}"),
        ("configs", b"connector-x", b"[]"),
    ],
)
def test_a_record_of_another_layout_is_a_value_error(
    kind: str, key: bytes, value: bytes
) -> None:
    with pytest.raises(ValueError, match=r".+"):
        MIRROR.decode(kind, key, value, NOW)


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


@pytest.mark.parametrize(
    ("given", "group", "wanted"),
    [
        ({}, "efd-loader", True),
        ({}, "connect-efd", False),
        ({}, "console-consumer-7", False),
        ({"groups": "efd.*,x"}, "efd-loader", True),
        ({"groups": "efd.*,x"}, "reader", False),
        ({"groups.exclude": "reader"}, "connect-efd", True),
        ({"groups.blacklist": "reader"}, "reader", False),
    ],
)
def test_the_groups_that_have_checkpoints_are_known(
    given: dict[str, str], group: str, wanted: bool
) -> None:
    kind = {"connector.class": f"{PACKAGE}MirrorCheckpointConnector"}
    found = config("connector-x", **OURS, **kind, **given)
    assert isinstance(found, Companion)
    assert found.groups is not None
    assert found.groups.matches(group) is wanted


@pytest.mark.parametrize(
    ("given", "known"),
    [
        ({"topic.filter.class": "org.site.OwnFilter"}, False),
        ({"topic.filter.class": f"{PACKAGE}DefaultTopicFilter"}, True),
        ({"topics": "${file:/opt/mirror:topics}"}, False),
        ({"topics.exclude": "${file:/opt/mirror:exclude}"}, False),
    ],
)
def test_what_a_filter_that_cannot_be_read_takes_is_not_known(
    given: dict[str, str], *, known: bool
) -> None:
    fact = connector(**{"topics": "a.*", **given})
    assert isinstance(fact, Connector)
    settings = ConnectorSettings.of([fact])
    assert settings.wants("a1")
    assert settings.wants("b") is not known
    assert bool(settings.selections) is known


@pytest.mark.parametrize(
    "given",
    [
        {"groups": "efd.*", "group.filter.class": "org.site.OwnFilter"},
        {"groups": "${file:/opt/mirror:groups}"},
    ],
)
def test_groups_that_a_filter_takes_that_cannot_be_read_are_not_known(
    given: dict[str, str],
) -> None:
    kind = {"connector.class": f"{PACKAGE}MirrorCheckpointConnector"}
    found = config("connector-x", **OURS, **kind, **given)
    assert isinstance(found, Companion)
    assert found.groups is None


def test_a_filter_of_groups_that_python_cannot_read_is_not_known() -> None:
    kind = {"connector.class": f"{PACKAGE}MirrorCheckpointConnector"}
    found = config("connector-x", **OURS, **kind, groups="[a&&b]+(?")
    assert isinstance(found, Companion)
    assert found.groups is None


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


@pytest.mark.parametrize("prefix", ["source.consumer.", "consumer."])
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


def test_a_number_that_only_the_worker_knows_hides_no_connector() -> None:
    names = (
        "refresh.topics.interval.seconds",
        "sync.topic.configs.interval.seconds",
        "target.cluster.offset.flush.interval.ms",
        "producer.override.max.request.size",
    )
    placeholder = "${file:/opt/mirror:number}"
    assert copying(**dict.fromkeys(names, placeholder)) == copying()
    # Of the order of records nothing is assumed then.
    in_flight = "producer.override.max.in.flight.requests.per.connection"
    assert copying(**{in_flight: placeholder}).max_in_flight > 1
    kind = {"connector.class": f"{PACKAGE}MirrorCheckpointConnector"}
    every = {"emit.checkpoints.interval.seconds": placeholder}
    found = config("connector-x", **OURS, **kind, **every)
    assert isinstance(found, Companion)
    assert found.interval == timedelta(minutes=1)


def test_settings_that_have_no_effect_there_are_not_believed() -> None:
    found = copying(
        **{
            "source.cluster.isolation.level": "read_committed",
            "source.cluster.auto.offset.reset": "latest",
            "offset.flush.interval.ms": "1000",
            "exactly.once.source.support": "enabled",
        }
    )
    assert found == copying()


def test_other_settings_that_checks_need_are_found() -> None:
    found = copying(
        **{
            "errors.tolerance": "all",
            "transforms": "route,filter",
            "target.cluster.offset.flush.interval.ms": "1500",
            "target.cluster.exactly.once.source.support": "enabled",
            "sync.topic.configs.enabled": "false",
            "refresh.topics.enabled": "false",
            "config.properties.blacklist": "a, b",
            "topics.blacklist": "secret.*",
        }
    )
    assert found.tolerates_errors
    assert found.transforms
    assert found.flush == timedelta(seconds=1.5)
    assert found.exactly_once
    assert found.config_sync is None
    assert not found.refreshes
    assert found.config_excluded == ("a", "b")
    assert not found.selection.matches("secret.x")


def test_what_kafka_4_ignores_is_kept_apart() -> None:
    old = {"topics.blacklist": "secret.*"}
    found = copying(**old).since_kafka_4
    assert found == copying()
    assert copying(**old, **{"topics.exclude": "b"}).since_kafka_4 is None


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


@pytest.mark.parametrize("end", ["Connector", ""])
@pytest.mark.parametrize("package", ["org.apache.kafka.connect.mirror.", ""])
def test_a_class_is_known_by_each_name_that_connect_takes(
    package: str, end: str
) -> None:
    def of(kind: str) -> dict[str, str]:
        return {"connector.class": f"{package}Mirror{kind}{end}"}

    if package and not end:
        assert not copies_records(of("Source"))  # the name of no class
        return
    assert copies_records(of("Source"))
    assert accompanies(of("Checkpoint"))
    assert accompanies(of("Heartbeat"))
    assert not copies_records(of("Checkpoint"))
    assert not accompanies(of("Source"))
