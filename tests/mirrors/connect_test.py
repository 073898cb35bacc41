"""Mirus's records, as a real one wrote them, and Confluent Replicator's, as
its users show them.
"""

import json
from datetime import timedelta

import pytest
import structlog

from mirrorwatch.clock import utc_now
from mirrorwatch.domain.mirror_records import (
    Assignment,
    Committed,
    Companion,
    Connector,
    ConnectorSettings,
    TaskCount,
    TaskState,
)
from mirrorwatch.domain.topics import IdentityNaming, Selection
from mirrorwatch.exceptions import ConfigError
from mirrorwatch.mirrors.mirus import Mirus
from mirrorwatch.mirrors.replicator import Replicator
from mirrorwatch.ports import MirrorSettings
from tests.support.builders import NOON

TOPICS = {"offsets": "o", "configs": "c", "status": "s"}


def settings(
    *connectors: str,
    topics: dict[str, str | None] | None = None,
    group: str | None = None,
) -> MirrorSettings:
    return MirrorSettings(
        source_alias="summit",
        target_alias="ldf",
        naming=IdentityNaming(alias="summit", separator="."),
        selection=Selection(),
        connectors=connectors,
        topics=TOPICS if topics is None else topics,
        group=group,
    )


MIRUS = Mirus(settings("mirus"))
REPLICATOR = Replicator(settings("replicator"))


def connector(mirror: Mirus | Replicator, **properties: str) -> Connector:
    kind = (
        "com.salesforce.mirus.MirusSourceConnector"
        if isinstance(mirror, Mirus)
        else "io.confluent.connect.replicator.ReplicatorSourceConnector"
    )
    given = {"connector.class": kind} | {
        key.replace("__", "."): value for key, value in properties.items()
    }
    (name,) = mirror.settings.connectors
    record = json.dumps({"properties": given}).encode()
    fact = mirror.decode("configs", f"connector-{name}".encode(), record, NOON)
    assert isinstance(fact, Connector)
    return fact


def test_where_the_worker_keeps_what_it_knows() -> None:
    topics = [(t.kind, t.name, t.optional) for t in MIRUS.internal_topics()]
    assert topics == [
        ("offsets", "o", False),
        ("configs", "c", False),
        ("status", "s", True),
    ]
    bare = Mirus(settings("mirus", topics={"offsets": "o"}))
    with pytest.raises(ConfigError, match=r"config\.storage\.topic"):
        bare.internal_topics()
    grouped = Replicator(settings("replicator", group="g"))
    assert [t.kind for t in grouped.internal_topics()] == ["configs", "status"]
    assert (grouped.group, REPLICATOR.group, MIRUS.group) == ("g", None, None)


@pytest.mark.parametrize("mirror", [MIRUS, REPLICATOR])
def test_heartbeats_are_topics_as_others(mirror: Mirus | Replicator) -> None:
    """Missed at the target only if the mirror's own filter names them."""
    key = "topics__whitelist" if mirror is MIRUS else "topic__whitelist"
    known = ConnectorSettings.of([connector(mirror, **{key: "a"})])
    for topic in ("heartbeats", "summit.heartbeats", "my-heartbeats"):
        assert not known.wants(topic)
        named = ConnectorSettings.of([connector(mirror, **{key: topic})])
        assert named.wants(topic)
    assert known.wants("a")


def test_mirus_writes_the_next_offset() -> None:
    key = b'["mirus",{"topic":"x","partition":1}]'
    assert MIRUS.decode("offsets", key, b'{"offset":20}', NOON) == Committed(
        topic="x",
        partition=1,
        position=20,
        written_at=NOON,
        connector="mirus",
    )
    for gone in (None, b'{"offset":null}'):
        assert MIRUS.decode("offsets", key, gone, NOON) == Committed(
            topic="x",
            partition=1,
            position=None,
            written_at=NOON,
            connector="mirus",
        )
    # Another connector may copy the same topic, from another source.
    other = b'["other",{"topic":"x","partition":1}]'
    assert MIRUS.decode("offsets", other, b'{"offset":5}', NOON) is None


def test_replicator_writes_the_last_offset() -> None:
    key = b'["replicator",{"topic":"london","partition":0}]'
    said = REPLICATOR.decode("offsets", key, b'{"offset":125}', NOON)
    assert said == Committed(
        topic="london",
        partition=0,
        position=126,
        written_at=NOON,
        connector="replicator",
    )


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (b'["mirus",{"topic":"x"}]', b'{"offset":1}'),
        (b'["mirus",{"topic":"x","partition":0}]', b'{"offset":-1}'),
        (b'["mirus",{"topic":"x","partition":0}]', b'{"offset":"one"}'),
        (b'["mirus",{"topic":"x","partition":0}]', b"[]"),
        (b'{"mirus":1}', b'{"offset":1}'),
        (b"\x00", b'{"offset":1}'),
    ],
)
def test_what_is_no_offset_is_refused(key: bytes, value: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        MIRUS.decode("offsets", key, value, NOON)


def test_mirus_gives_partitions_as_a_text_in_its_json() -> None:
    record = (
        rb'{"properties":{"partitions":"[{\"topic\":\"expires\",'
        rb'\"partition\":0},{\"topic\":\"x\",\"partition\":1}]",'
        b'"task.class":"com.salesforce.mirus.MirusSourceTask"}}'
    )
    assert MIRUS.decode("configs", b"task-mirus-0", record, NOON) == (
        Assignment(
            connector="mirus",
            task=0,
            partitions=frozenset({("expires", 0), ("x", 1)}),
            written_at=NOON,
        )
    )
    assert MIRUS.decode("configs", b"task-other-0", record, NOON) is None
    assert REPLICATOR.decode(
        "configs", b"task-replicator-0", record, NOON
    ) is (None)
    assert MIRUS.decode("configs", b"commit-mirus", b'{"tasks":2}', NOON) == (
        TaskCount(connector="mirus", tasks=2)
    )


def test_the_session_key_is_not_even_read() -> None:
    secret = b'{"key":"c2VjcmV0","algorithm":"HmacSHA256","creation-times'
    with structlog.testing.capture_logs() as logged:
        for mirror in (MIRUS, REPLICATOR):
            assert mirror.decode("configs", b"session-key", secret, NOON) is (
                None
            )
    assert logged == []


def test_states_of_its_tasks() -> None:
    record = (
        b'{"state":"RUNNING","trace":null,"worker_id":"h:1","generation":3}'
    )
    state = MIRUS.decode("status", b"status-task-mirus-1", record, NOON)
    assert isinstance(state, TaskState)
    assert (state.connector, state.task, state.state) == (
        "mirus",
        1,
        "RUNNING",
    )
    topic = b"status-topic-x:connector-mirus"
    assert MIRUS.decode("status", topic, b'{"topic":{}}', NOON) is None


def test_how_mirus_is_configured() -> None:
    found = connector(
        MIRUS,
        topics__whitelist="a.b, c",
        topics__regex="d{1,2}",
        topics__regex__list="e.*,f",
        monitor__poll__wait__ms="1000",
        destination__topic__name__prefix="summit.",
        destination__topic__name__suffix=".copy",
    )
    matching = [
        t
        for t in ("a.b", "axb", "c", "dd", "ddd", "ex", "f", "g")
        if found.selection.matches(t)
    ]
    assert matching == ["a.b", "c", "dd", "ex", "f"]
    assert found.refresh == timedelta(seconds=1)
    assert found.renames == "summit.${topic}.copy"
    assert not found.emits_syncs
    assert found.config_sync is None
    assert not connector(MIRUS).selection.matches("a")


@pytest.mark.parametrize("mirror", [MIRUS, REPLICATOR])
def test_what_transforms_call_a_topic_is_not_known(
    mirror: Mirus | Replicator,
) -> None:
    assert connector(mirror).renames == "${topic}"
    assert connector(mirror, transforms="route").renames is None


@pytest.mark.parametrize(
    ("reset", "starts", "resumes"),
    [
        ({}, False, True),
        ({"consumer__auto__offset__reset": "latest"}, True, True),
        ({"consumer__auto__offset__reset": "earliest"}, False, False),
        ({"consumer__auto__offset__reset": "none"}, False, False),
    ],
)
def test_where_mirus_begins_and_where_it_resumes(
    reset: dict[str, str], *, starts: bool, resumes: bool
) -> None:
    found = connector(MIRUS, **reset)
    assert (found.starts_at_end, found.resumes_at_end) == (starts, resumes)


@pytest.mark.parametrize(
    ("mirror", "properties", "keeps"),
    [
        (MIRUS, {}, False),
        (MIRUS, {"enable__partition__matching": "true"}, True),
        (REPLICATOR, {}, True),
        (REPLICATOR, {"topic__preserve__partitions": "false"}, False),
    ],
)
def test_whether_partitions_are_kept(
    mirror: Mirus | Replicator, properties: dict[str, str], keeps: bool
) -> None:
    assert connector(mirror, **properties).keeps_partitions is keeps


def test_how_replicator_is_configured() -> None:
    found = connector(
        REPLICATOR,
        topic__whitelist="london,paris",
        topic__regex="r.*",
        topic__blacklist="rome",
        topic__rename__format="${topic}.replica",
        offset__start="consumer",
        src__consumer__group__id="g",
    )
    matching = [
        t
        for t in ("london", "paris", "rome", "riga", "oslo")
        if found.selection.matches(t)
    ]
    assert matching == ["london", "paris", "riga"]
    assert found.renames == "${topic}.replica"
    assert found.obeys_group == "g"
    plain = connector(REPLICATOR, src__consumer__group__id="g")
    assert (plain.obeys_group, plain.renames) == (None, "${topic}")


def test_a_connector_of_others_is_a_neighbour() -> None:
    record = b'{"properties":{"connector.class":"org.x.S3Sink"}}'
    for name in ("mirus", "other"):
        key = f"connector-{name}".encode()
        assert MIRUS.decode("configs", key, record, utc_now()) == Companion(
            name=name, role="neighbour"
        )
    assert MIRUS.decode("configs", b"connector-mirus", None, NOON) == (
        Companion(name="mirus", role="removed")
    )
