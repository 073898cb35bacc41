"""Names and record layouts, as measured on a live MirrorMaker 2."""

import json
import struct
from datetime import UTC, datetime, timedelta

import pytest

from mirrorwatch.domain.mirror_records import (
    Committed,
    Companion,
    Connector,
    Sync,
)
from mirrorwatch.exceptions import ConfigError
from mirrorwatch.mirrors import MirrorMaker2

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
        topic="t", partition=3, position=124, written_at=NOW
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


@pytest.mark.parametrize("prefix", ["producer.override.", "target.producer."])
def test_settings_of_the_producer_are_found(prefix: str) -> None:
    fact = connector(
        **{
            f"{prefix}max.in.flight.requests.per.connection": "5",
            f"{prefix}max.request.size": "1000",
        }
    )
    assert isinstance(fact, Connector)
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
