"""`mirrorwatch doctor` without Kafka: servers that are wrong in one way."""

import json
import socket
from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import structlog
import yaml
from click.testing import CliRunner

from mirrorwatch.cli import main
from mirrorwatch.cli.doctor import to_document
from mirrorwatch.config import Config
from mirrorwatch.doctor import (
    Diagnosis,
    carried,
    connection,
    examination,
    examine,
    flows,
)
from mirrorwatch.domain.doctor import DoctorFinding, FindingSeverity
from mirrorwatch.exceptions import (
    SourceDeniedError,
    SourceError,
    SourceUnavailableError,
)
from mirrorwatch.kafka.admin import Topic
from mirrorwatch.mirrors.mirrormaker2 import PACKAGE
from tests.doctor.connection_test import listener, secured
from tests.support.http import (
    Answer,
    answering,
    handling,
    serving_connect,
)
from tests.support.tcp import black_hole, closed_port, frozen

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "PATIENCE", 0.5)


def describe(
    mirror: Mapping[str, Any] | None = None,
    *,
    registry: Mapping[str, Any] | None = None,
    sinks: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Return a configuration whose clusters do not answer."""
    summit: dict[str, Any] = {
        "kafka": {"bootstrap.servers": f"127.0.0.1:{closed_port()}"}
    }
    if registry is not None:
        summit["schema_registry"] = dict(registry)
    return {
        "clusters": {
            "summit": summit,
            "ldf": {
                "kafka": {"bootstrap.servers": f"127.0.0.1:{closed_port()}"}
            },
        },
        "flows": [
            {
                "source": "summit",
                "target": "ldf",
                "naming": "identity",
                "mirror": dict(mirror or {}),
            }
        ],
        "sinks": dict(sinks or {}),
    }


def diagnose(data: Mapping[str, Any]) -> Diagnosis:
    config = Config.from_mapping(data)
    return examine(config, logger=structlog.get_logger("mirrorwatch"))


def others(data: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """Return what is found beside the two clusters."""
    return [
        (f.subject, f.cause, f.remedy)
        for f in diagnose(data).findings
        if not f.subject.startswith("cluster ")
    ]


def test_a_cluster_that_cannot_be_reached_is_one_finding() -> None:
    found = diagnose(describe())
    assert [f.subject for f in found.findings] == [
        "cluster summit",
        "cluster ldf",
    ]
    assert all("connection refused" in f.cause for f in found.findings)
    assert found.failed
    assert found.seconds < 5


def test_a_dead_one_of_several_bootstrap_servers_is_no_second_cause() -> None:
    data = describe()
    one, two = closed_port(), closed_port()
    kafka = data["clusters"]["summit"]["kafka"]
    kafka["bootstrap.servers"] = f"127.0.0.1:{one},127.0.0.1:{two}"
    found = diagnose(data)
    (summit, _) = found.findings
    for port in (one, two):
        assert f"127.0.0.1:{port}" in summit.cause
    assert "likewise" in summit.cause


def test_what_does_not_answer_holds_nothing_else_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with black_hole() as hole, frozen() as ice:
        data = describe(sinks=receiver(f"http://127.0.0.1:{hole}/x"))
        for alias, port in (("summit", hole), ("ldf", ice)):
            kafka = data["clusters"][alias]["kafka"]
            kafka["bootstrap.servers"] = f"127.0.0.1:{port}"
        found = diagnose(data)
    assert {f.check for f in found.findings} == {"tcp", "metadata"}
    assert len(found.findings) == 3
    assert found.seconds < examination.LONGEST.total_seconds()
    # Even what has no deadline of its own is waited for no longer.
    monkeypatch.setattr(examination, "connect", lambda *_, **__: wait_for(ice))
    config = Config.from_mapping(describe())
    lines: list[str] = []
    with frozen() as ice:
        found = examine(
            config,
            logger=structlog.get_logger("mirrorwatch"),
            progress=lines.append,
            longest=timedelta(seconds=0.5),
        )
    assert {f.check for f in found.findings} == {"deadline"}
    # What waits for a cluster is no cause of its own.
    assert {f.subject for f in found.findings} == {
        *("cluster summit", "cluster ldf")
    }
    assert "waiting for cluster summit" in lines[0]


def wait_for(port: int) -> None:
    connected = socket.create_connection(("127.0.0.1", port))
    with connected:
        connected.recv(1)


def receiver(url: str, kind: str = "webhook") -> dict[str, Any]:
    one = {"name": "hook", "kind": kind, "url": url}
    return {"notify": {"receivers": [one]}}


def test_a_registry_that_refuses_or_is_none() -> None:
    with answering(Answer(status=401)) as server:
        (found,) = others(describe(registry={"url": server.url}))
    assert found[0] == "schema registry summit"
    assert "rejects mirrorwatch (status 401)" in found[1]
    assert "username and password of clusters.summit" in found[2]
    with answering(Answer(status=404, body=b"<html>")) as server:
        (found,) = others(describe(registry={"url": server.url}))
    assert "leads to another server" in found[1]
    assert "/apis/ccompat/v7" in found[2]
    none = b'{"error_code": 40403, "message": "Schema not found"}'
    with answering(Answer(status=404, body=none)) as server:
        assert others(describe(registry={"url": server.url})) == []


def test_a_registry_must_list_its_subjects_where_they_are_compared() -> None:
    def handle(request: BaseHTTPRequestHandler) -> None:
        listed = request.path.startswith("/subjects")
        request.send_response(403 if listed else 404)
        body = b'{"error_code": 40403, "message": "no"}'
        request.send_header("Content-Length", str(len(body)))
        request.end_headers()
        request.wfile.write(body)

    with handling(handle) as url:
        data = describe(registry={"url": url})
        assert others(data) == []
        data["clusters"]["ldf"]["schema_registry"] = {"url": url}
        found = others(data)
    assert {subject for subject, _, _ in found} == {
        *("schema registry summit", "schema registry ldf")
    }
    assert all("rejects mirrorwatch (status 403)" in c for _, c, _ in found)


def test_a_connect_that_refuses_is_one_finding() -> None:
    with answering(Answer(status=401)) as server:
        (found,) = others(describe({"connect": {"url": server.url}}))
    assert found[0] == "Connect summit->ldf"
    assert "username and password under mirror.connect" in found[2]


INFLUXDB_2 = {"org": "o", "bucket": "b", "token": "hunter2hunter2"}


@pytest.mark.parametrize(
    ("status", "code", "cause", "remedy"),
    [
        (401, "unauthorized", "answered 401", "Correct token of"),
        (403, "forbidden", "answered 403", "Grant it write permission on"),
        (404, "not found", "answered 404", "Create 'b', or correct"),
    ],
)
def test_influxdb_is_asked_as_a_write_is(
    status: int, code: str, cause: str, remedy: str
) -> None:
    body = json.dumps({"code": code, "message": "no"}).encode()
    with answering(Answer(status=status, body=body)) as server:
        sinks = {"influxdb": {"url": server.url, **INFLUXDB_2}}
        (found,) = others(describe(sinks=sinks))
        assert server.asked[0].startswith("/api/v2/write?")
    assert cause in found[1]
    assert found[2].startswith(remedy)
    assert "hunter" not in str(found)


@pytest.mark.parametrize(
    "answer",
    [
        Answer(status=204),
        Answer(status=400, body=b'{"code": "invalid", "message": "empty"}'),
    ],
    ids=["takes nothing", "wants a point"],
)
def test_influxdb_that_lets_us_in_is_no_finding(answer: Answer) -> None:
    with answering(answer) as server:
        sinks = {"influxdb": {"url": server.url, **INFLUXDB_2}}
        assert others(describe(sinks=sinks)) == []


def test_a_missing_mapping_for_influxql_is_a_warning() -> None:
    body = b'{"code": "not found", "message": "unable to find DBRP"}'

    def handle(request: BaseHTTPRequestHandler) -> None:
        missing = request.path == "/write?db=efd+5"
        request.rfile.read(int(request.headers["Content-Length"]))
        request.send_response(404 if missing else 204)
        request.send_header("Content-Length", str(missing * len(body)))
        request.end_headers()
        request.wfile.write(body * missing)

    with handling(handle) as url:
        influxdb = {"url": url, **INFLUXDB_2, "bucket": "efd 5"}
        found = diagnose(describe(sinks={"influxdb": influxdb})).findings
    (mapping,) = (f for f in found if f.subject == "InfluxDB")
    assert mapping.check == "mapping"
    assert mapping.severity is FindingSeverity.WARNING
    assert (
        "influx v1 dbrp create --org o --db 'efd 5' --rp autogen --default "
        "--bucket-id \"$(influx bucket list --org o --name 'efd 5' "
        '--hide-headers | cut -f 1)"' in mapping.remedy
    )


@contextmanager
def jolokia(path: str) -> Iterator[str]:
    """Serve Jolokia's answers under one path only; yield the server."""

    def handle(request: BaseHTTPRequestHandler) -> None:
        size = int(request.headers.get("Content-Length", 0))
        asked = json.loads(request.rfile.read(size))
        found = request.path == path
        request.send_response(200 if found else 404)
        body = json.dumps([{"status": 404} for _ in asked]).encode()
        request.send_header("Content-Length", str(len(body)))
        request.end_headers()
        request.wfile.write(body)

    with handling(handle) as url:
        yield url


@pytest.mark.parametrize(
    ("served", "configured", "word"),
    [("/jolokia/", "/jolokia", "with"), ("/jolokia", "/jolokia/", "without")],
)
def test_jolokia_is_tried_with_and_without_the_slash(
    served: str, configured: str, word: str
) -> None:
    with jolokia(served) as url:
        jmx = {"format": "jolokia", "urls": [url + configured]}
        (found,) = others(describe({"jmx": jmx}))
    assert found[0] == "JMX summit->ldf"
    assert found[1].endswith(f"{url}{served} is")
    assert found[2].startswith(f"Write it {word} the slash")


def test_jolokia_of_another_process_has_no_mbean_of_the_mirror() -> None:
    with jolokia("/jolokia") as url:
        jmx = {"format": "jolokia", "urls": [f"{url}/jolokia"]}
        (found,) = others(describe({"jmx": jmx}))
    assert "has no MBean of MirrorMaker" in found[1]


def test_a_web_hook_is_not_sent_to_and_its_address_not_shown() -> None:
    with answering(Answer()) as server:
        hook = f"{server.url}/services/hunter2hunter2"
        assert others(describe(sinks=receiver(hook))) == []
        assert server.asked == []
    port = closed_port()
    (found,) = others(
        describe(sinks=receiver(f"http://127.0.0.1:{port}/hunter2"))
    )
    assert found[0] == "receiver hook"
    assert found[1] == "cannot reach its address: connection refused"
    assert "hunter" not in str(found)
    assert str(port) not in str(found)


@pytest.mark.parametrize(
    "url",
    [
        "slack://T1JJ3T3L2/A1BRTD4JD/TIiajkdnlazkcOXrIdevi7FQ/",
        # What follows its colon is no port.
        "tgram://123456789:abcdefg_hijklmnop/12315544/",
    ],
)
def test_no_name_service_is_asked_for_a_token(
    monkeypatch: pytest.MonkeyPatch, url: str
) -> None:
    asked: list[str] = []

    def note(host: str, *_: object, **__: object) -> None:
        asked.append(host)

    monkeypatch.setattr("mirrorwatch.doctor.servers.connect", note)
    assert others(describe(sinks=receiver(url, "apprise"))) == []
    assert asked == []


def test_a_service_that_apprise_does_not_know_is_a_finding() -> None:
    (found,) = others(describe(sinks=receiver("nobody://hunter2/", "apprise")))
    assert found[0] == "receiver hook"
    assert "Apprise does not know the url of hook" in found[1]
    assert "such as opsgenie://API_KEY" in found[2]
    assert "hunter2" not in str(found)


def test_a_crash_of_one_part_is_a_finding(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def crash(*_: object, **__: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(examination, "connect", crash)
    found = diagnose(describe())
    assert {f.check for f in found.findings} == {"internal"}
    assert "ZeroDivisionError" in found.findings[0].cause


def test_the_command_prints_findings_and_fails(tmp_path: Path) -> None:
    file = tmp_path / "config.yaml"
    file.write_text(yaml.safe_dump(describe()))
    result = CliRunner().invoke(main, ["doctor", "--config", str(file)])
    assert result.exit_code == 1
    assert "error  cluster summit (tcp)" in result.stdout
    assert "3 parts checked" in result.stdout
    assert "2 errors, 0 warnings" in result.stdout
    result = CliRunner().invoke(
        main, ["doctor", "--config", str(file), "--json"]
    )
    assert result.exit_code == 1
    document = json.loads(result.stdout)
    assert document["ok"] is False
    (first, _) = document["findings"]
    assert set(first) == {
        *("severity", "subject", "check", "cause", "remedy", "reference")
    }


def test_warnings_do_not_fail() -> None:
    warning = DoctorFinding(
        severity=FindingSeverity.WARNING,
        subject="x",
        check="y",
        cause="z",
        remedy="",
    )
    found = Diagnosis(findings=(warning,), checked=("x",), seconds=0.1)
    assert not found.failed
    assert to_document(found)["ok"] is True


def test_once_names_a_cluster_that_cannot_be_reached_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mirrorwatch.cli.once.wait_for_signal", lambda _: None)
    file = tmp_path / "config.yaml"
    file.write_text(yaml.safe_dump(describe()))
    result = CliRunner().invoke(
        main, ["once", "--config", str(file), "--for", "1s", "--json"]
    )
    assert result.exit_code == 3
    json.loads(result.stdout)
    for alias in ("summit", "ldf"):
        start = f"cluster {alias}: cannot reach 127.0.0.1:"
        (line,) = (
            li for li in result.stderr.splitlines() if li.startswith(start)
        )
        assert ": connection refused. Check that it runs" in line


@dataclass
class Site:
    """What a cluster has, and which rights on it are missing."""

    topics: set[str]
    denied: dict[str, set[str]] = field(default_factory=dict)
    id: str = ""
    brokers: Sequence[tuple[str, int]] = ()


SOUND = {
    "summit": {
        "mirrorwatch.canary",
        "orders",
        "mm2-offset-syncs.ldf.internal",
    },
    "ldf": {
        *("mirrorwatch.canary", "mm2-offsets.summit.internal"),
        "mm2-configs.summit.internal",
    },
}

ALL = frozenset({"READ", "WRITE", "DESCRIBE", "DESCRIBE_CONFIGS"})

SOURCE = {
    "connector.class": f"{PACKAGE}MirrorSourceConnector",
    "source.cluster.alias": "summit",
    "target.cluster.alias": "ldf",
    "replication.policy.class": f"{PACKAGE}IdentityReplicationPolicy",
    "topics": ".*",
}


class Memory:
    """A cluster that answers from memory."""

    def __init__(
        self, sites: Mapping[str, Site], alias: str, _: object
    ) -> None:
        self.alias, self.site = alias, sites[alias]

    def metadata(self) -> Any:
        topic = SimpleNamespace(partitions={0: None})
        return SimpleNamespace(
            cluster_id=self.site.id,
            brokers={
                number: SimpleNamespace(host=host, port=port)
                for number, (host, port) in enumerate(self.site.brokers)
            },
            topics=dict.fromkeys(self.site.topics, topic),
        )

    def describe_topic(self, name: str, *, right: str) -> Topic | None:
        denied = self.site.denied.get(name, set())
        if denied == ALL:
            raise SourceDeniedError(
                "no", source="kafka", cluster=self.alias, right=right
            )
        if name not in self.site.topics:
            return None
        return Topic(name=name, id="x", leaders={0: 1}, allowed=ALL - denied)

    def list_offsets(self, *_: object, **__: object) -> Any:
        """Answer as brokers before 3.0, which know no newest timestamp."""
        raise SourceError("no", source="kafka", cluster=self.alias)

    def call(self, question: Callable[[Any], Any], _: str) -> Any:
        unknown = SourceError("no", source="kafka", cluster=self.alias)

        def describe_topics(
            asked: Any,
            *,
            include_authorized_operations: bool = False,
            **_: Any,
        ) -> dict[str, str]:
            if not include_authorized_operations:
                raise unknown  # whatever else one asks of topics
            return {name: name for name in asked.topic_names}

        try:
            admin = SimpleNamespace(describe_topics=describe_topics)
            return question(admin)
        except AttributeError:
            raise unknown from None

    def wait(self, name: str, right: str) -> Any:
        topic = self.describe_topic(name, right=right)
        allowed = () if topic is None else topic.allowed
        return SimpleNamespace(
            authorized_operations=[
                SimpleNamespace(name=operation) for operation in allowed or ()
            ]
        )


@pytest.fixture
def sites(monkeypatch: pytest.MonkeyPatch) -> dict[str, Site]:
    """Two clusters that answer from memory."""
    sites = {
        alias: Site(set(topics), id=f"id-of-{alias}")
        for alias, topics in SOUND.items()
    }

    def read_all(*_: object) -> Iterator[Any]:
        value = json.dumps({"properties": SOURCE}).encode()
        yield SimpleNamespace(
            key=lambda: b"connector-MirrorSourceConnector",
            value=lambda: value,
        )
        yield SimpleNamespace(key=lambda: b"task-x-0", value=lambda: b"?")

    def connect(*place: Any, key: str) -> str | None:
        if key.startswith("clusters."):
            return None
        return connection.connect(*place, key=key)

    monkeypatch.setattr(examination, "Cluster", partial(Memory, sites))
    monkeypatch.setattr(examination, "connect", connect)
    monkeypatch.setattr(flows, "read_all", read_all)
    return sites


def said(data: Mapping[str, Any]) -> list[str]:
    return [
        f"{f.severity.label} {f.check}: {f.cause}. {f.remedy}"
        for f in diagnose(data).findings
    ]


@pytest.mark.usefixtures("sites")
def test_nothing_is_found_where_all_is_well() -> None:
    assert said(describe()) == []


def test_the_server_of_tokens_is_named_and_no_password(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(examination, "connect", lambda *_, **__: None)
    data = describe()
    data["clusters"]["summit"]["kafka"] |= {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "OAUTHBEARER",
        "sasl.oauthbearer.method": "oidc",
        "sasl.oauthbearer.client.id": "agent",
        "sasl.oauthbearer.client.secret": "hunter2",
        "sasl.oauthbearer.token.endpoint.url": "http://127.0.0.1:"
        f"{closed_port()}/token",
    }
    (found,) = [f for f in diagnose(data).findings if f.check == "sasl"]
    assert "No token to log in at summit" in found.cause
    assert "Check the server that gives tokens" in found.remedy
    assert "password" not in found.remedy


@pytest.mark.usefixtures("sites")
def test_flows_that_copy_the_same_topics_are_named(
    sites: dict[str, Site],
) -> None:
    data = describe()
    for topics in (["orders"], ["o.*"]):
        data["flows"].append(
            {
                "source": "summit",
                "target": "ldf",
                "name": topics[0],
                "naming": "identity",
                "topics": {"include": topics},
                "canary": {"enabled": False},
            }
        )
    sites["summit"].topics.add("orders")
    found = [f for f in diagnose(data).findings if f.check == "overlap"]
    assert [f.subject for f in found] == ["flow o.*"]
    assert "orders" in found[0].cause


class Silent:
    """A cluster that accepts connections and does not answer."""

    trouble = "Disconnected: SSL"

    def __init__(self, alias: str, _: object) -> None:
        self.alias = alias

    def metadata(self) -> None:
        raise SourceUnavailableError("no", source="kafka", cluster=self.alias)


def test_what_kafka_does_not_answer_is_told_by_librdkafka_or_by_tls(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(examination, "Cluster", Silent)
    data = describe()
    with secured(tmp_path) as (tls, _), listener() as plain:
        for alias, port in (("summit", tls), ("ldf", plain)):
            kafka = data["clusters"][alias]["kafka"]
            kafka["bootstrap.servers"] = f"127.0.0.1:{port}"
        summit, ldf = diagnose(data).findings
    assert (summit.subject, summit.check) == ("cluster summit", "tls")
    assert "security.protocol" in summit.remedy
    assert (ldf.subject, ldf.check) == ("cluster ldf", "metadata")
    assert Silent.trouble in ldf.cause


def test_brokers_are_connected_to_as_the_cluster_advertises_them(
    tmp_path: Path, sites: dict[str, Site]
) -> None:
    data = describe()
    kafka = data["clusters"]["summit"]["kafka"]
    with secured(tmp_path) as (port, trusting):
        sites["summit"].brokers = [("127.0.0.1", port)]
        kafka |= trusting
        assert said(data) == []
    with secured(tmp_path, "kafka.example") as (port, trusting):
        sites["summit"].brokers = [("127.0.0.1", port)]
        kafka |= trusting
        (found,) = said(data)
    assert found.startswith("error advertised: ")
    assert f"the certificate of 127.0.0.1:{port} is rejected" in found
    sites["summit"].brokers = [("127.0.0.1", closed_port())]
    (found,) = said(data)
    assert "connection refused. Correct advertised.listeners" in found


@pytest.mark.parametrize(
    ("alias", "topic", "denied", "right"),
    [
        ("summit", "mirrorwatch.canary", {"WRITE"}, "WRITE"),
        ("summit", "mirrorwatch.canary", {"READ"}, "READ"),
        ("summit", "mirrorwatch.canary", ALL, "WRITE and READ"),
        ("summit", "mm2-offset-syncs.ldf.internal", ALL, "READ"),
        ("ldf", "mirrorwatch.canary", ALL, "READ"),
        ("ldf", "mm2-offsets.summit.internal", {"READ"}, "READ"),
        ("ldf", "mm2-configs.summit.internal", ALL, "READ"),
    ],
)
def test_a_right_that_is_missing_is_one_finding(
    sites: dict[str, Site],
    alias: str,
    topic: str,
    denied: AbstractSet[str],
    right: str,
) -> None:
    sites[alias].denied[topic] = set(denied)
    (one,) = said(describe())
    start = f"error rights: mirrorwatch lacks {right} on topic {topic}"
    assert one.startswith(f"{start} at {alias}. Grant it: kafka-acls.sh --add")


@pytest.mark.parametrize("side", ["summit", "ldf"])
@pytest.mark.parametrize(
    ("operation", "check"),
    [("DESCRIBE_CONFIGS", "configs"), ("READ", "audit")],
)
def test_what_the_flow_s_topics_lack_is_named_with_its_check(
    sites: dict[str, Site], side: str, operation: str, check: str
) -> None:
    sites["ldf"].topics.add("orders")
    data = describe() | {"audit": {}}
    assert said(data) == []
    sites[side].denied["orders"] = {operation}
    (one,) = said(data)
    assert one.startswith(
        f"warning rights: mirrorwatch lacks {operation} on topic orders at "
        f"{side}: the check {check} is unknown without it. Grant it: "
    )
    # What nobody compares, nobody needs to read.
    (flow,) = data["flows"]
    flow["limits"] = {"configs": {"enabled": False}}
    del data["audit"]
    assert said(data) == []


def test_groups_of_readers_that_are_not_seen_are_named(
    sites: dict[str, Site], monkeypatch: pytest.MonkeyPatch
) -> None:
    sites["ldf"].topics.add("orders")
    seen = {"connect-efd", "alerts"}
    denied = set[str]()
    monkeypatch.setattr(carried, "list_groups", lambda _: (seen, True))
    monkeypatch.setattr(carried, "read_group_offsets", lambda *_: ({}, denied))
    data = describe()
    (flow,) = data["flows"]
    flow["readers"] = {"groups": ["alert.*"], "connectors": ["efd"]}
    assert said(data) == []
    seen.clear()
    missing, unseen = said(data)
    assert missing.startswith(
        "warning readers: consumer group connect-efd does not exist at ldf. "
    )
    assert unseen.startswith(
        "warning readers: mirrorwatch sees no consumer group alert.* at ldf. "
        "Grant DESCRIBE on it"
    )
    denied.add("connect-efd")
    lacking, unseen = said(data)
    assert "lacks DESCRIBE on group connect-efd at ldf" in lacking
    assert "alert.*" in unseen


def test_what_an_optional_topic_lacks_is_a_warning(
    sites: dict[str, Site],
) -> None:
    sites["ldf"].denied["summit.checkpoints.internal"] = set(ALL)
    (one,) = said(describe())
    assert one.startswith("warning rights: mirrorwatch lacks READ on topic")


def test_internal_topics_of_another_name_are_named(
    sites: dict[str, Site],
) -> None:
    (one,) = said(describe({"source_alias": "s"}))
    assert one.startswith(
        "error internal-topics: mirrorwatch does not see "
        "mm2-offsets.s.internal, mm2-configs.s.internal at ldf."
    )
    assert "mm2-offsets.summit.internal, mm2-configs.summit" in one
    sites["summit"].topics.remove("mm2-offset-syncs.ldf.internal")
    (one,) = said(describe())
    assert "mirror.syncs_location" in one


@pytest.mark.usefixtures("sites")
def test_another_location_of_the_syncs_is_one_cause() -> None:
    (one,) = said(describe({"syncs_location": "target"}))
    assert one.startswith("error syncs-location: MirrorSourceConnector keeps")


@pytest.mark.parametrize("hidden", [True, False], ids=["denied", "absent"])
def test_a_topic_that_is_not_seen_is_a_right_or_another_name(
    sites: dict[str, Site],
    *,
    hidden: bool,
) -> None:
    """With an authorizer, a topic that is absent is refused, too."""
    ldf = sites["ldf"]
    wrong = ("mm2-offsets.s.internal", "mm2-configs.s.internal")
    if hidden:
        ldf.denied |= {name: set(ALL) for name in wrong}
    (one,) = said(describe({"source_alias": "s"}))
    assert one.startswith("error internal-topics: ")
    assert "mirror.source_alias" in one
    assert ("grant READ" in one) is hidden
    # Of another mirror is one as well, and either may be right.
    ldf.topics.add("mm2-offsets.other.internal")
    ldf.denied = {"mm2-offsets.summit.internal": set(ALL)}
    (one,) = said(describe())
    assert "does not see mm2-offsets.summit.internal at ldf" in one
    assert "there is mm2-offsets.other.internal. If the names" in one


def test_a_topic_of_another_flow_is_no_other_name(
    sites: dict[str, Site],
) -> None:
    ldf, data = sites["ldf"], describe()
    syncs = "mm2-offset-syncs.ldf.internal"
    sites["cerro"] = Site({"trips", syncs}, id="id-of-cerro")
    data["clusters"]["cerro"] = data["clusters"]["summit"]
    (flow,) = data["flows"]
    flow["topics"] = {"include": ["orders"]}
    other = {"topics": {"include": ["trips"]}, "canary": {"enabled": False}}
    data["flows"].append({**flow, **other, "source": "cerro"})
    for name in ("mm2-offsets.cerro.internal", "mm2-configs.cerro.internal"):
        ldf.denied[name] = set(ALL)
    found = said(data)
    assert not [one for one in found if "internal-topics" in one]
    for kind in ("offsets", "configs"):
        right = f"lacks READ on topic mm2-{kind}.cerro.internal at ldf"
        (_,) = (one for one in found if right in one)


@pytest.mark.parametrize("emits", [True, False])
def test_a_topic_that_a_connector_writes_is_missed(
    sites: dict[str, Site], *, emits: bool
) -> None:
    heartbeats = SOURCE | {
        "connector.class": f"{PACKAGE}MirrorHeartbeatConnector",
        "emit.heartbeats.enabled": str(emits).lower(),
    }
    configs = {"m": SOURCE, "beat": heartbeats}
    body = json.dumps(
        {name: {"info": {"config": c}} for name, c in configs.items()}
    ).encode()
    with answering(Answer(status=200, body=body)) as server:
        data = describe({"connect": {"url": server.url}})
        (one,) = said(data)
        sites["ldf"].topics.add("heartbeats")
        after = said(data)
    missed = (
        "warning internal-topics: mirrorwatch does not see heartbeats at ldf"
    )
    assert one.startswith(missed if emits else "warning emission-off")
    assert after == ([] if emits else [one])


@pytest.mark.parametrize("key", ["naming", "separator"])
def test_another_policy_is_one_cause(sites: dict[str, Site], key: str) -> None:
    data = describe({"separator": "_"} if key == "separator" else {})
    if key == "naming":
        data["flows"][0]["naming"] = "default"
        sites["ldf"].denied["summit.mirrorwatch.canary"] = set(ALL)
    else:
        syncs = "mm2-offset-syncs_ldf_internal"
        sites["summit"].denied[syncs] = set(ALL)
    (one,) = said(data)
    trap = "policy" if key == "naming" else "separator"
    assert one.startswith(f"error {trap}: MirrorSourceConnector uses the")


def test_a_mirror_of_other_aliases_names_those_that_are_there(
    sites: dict[str, Site],
) -> None:
    sites["summit"].topics.add("mm2-offset-syncs.l.internal")
    (one,) = said(describe({"target_alias": "l"}))
    assert one.startswith(
        "error connectors: no MirrorSourceConnector replicates summit->l; "
        "there are summit->ldf."
    )


@pytest.mark.usefixtures("sites")
def test_a_mirror_without_a_target_alias_has_kafkas_default(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delitem(SOURCE, "target.cluster.alias")
    topics = {k: f"mm2-{k}.summit.internal" for k in ("offsets", "configs")}
    (one,) = said(describe({"source_alias": "s", "topics": topics}))
    assert "; there are summit->target." in one


def test_two_names_of_one_cluster_are_one_finding(
    sites: dict[str, Site],
) -> None:
    sites["ldf"].id = sites["summit"].id
    (one,) = said(describe())
    assert "summit and ldf are one cluster (id-of-summit)" in one


def test_a_cluster_of_another_id_and_a_flow_without_topics(
    sites: dict[str, Site],
) -> None:
    data = describe()
    data["clusters"]["summit"]["cluster_id"] = "other"
    (one,) = said(data)
    assert "summit has the cluster id id-of-summit, not other" in one
    sites["summit"].topics.remove("orders")
    (one,) = said(describe())
    assert one.startswith("warning rights: mirrorwatch sees no topic of")


def test_a_canary_topic_that_nobody_may_create(
    sites: dict[str, Site],
) -> None:
    sites["summit"].topics.remove("mirrorwatch.canary")
    data = describe()
    data["flows"][0]["canary"] = {"create": False}
    (one,) = said(data)
    assert (
        "the canary topic mirrorwatch.canary does not exist at summit" in one
    )


@pytest.mark.usefixtures("sites")
def test_a_trap_of_the_mirror_is_found_by_its_configs_topic(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(SOURCE, "topics", "orders")
    (one,) = said(describe())
    assert one.startswith("error canary-filter: the topic filter of")


@pytest.mark.usefixtures("sites")
def test_a_trap_of_the_mirror_is_found_by_rest() -> None:
    config = SOURCE | {"errors.tolerance": "all"}
    body = json.dumps({"m": {"info": {"config": config}}}).encode()
    with answering(Answer(status=200, body=body)) as server:
        (one,) = said(describe({"connect": {"url": server.url}}))
    assert one.startswith("warning errors-uncounted: m drops records")


@pytest.mark.usefixtures("sites")
@pytest.mark.parametrize(
    ("version", "found"),
    [
        ("3.9.2", ["error canary-filter", "warning removed-setting"]),
        ("4.3.1", ["warning removed-setting"]),
    ],
)
def test_what_kafka_4_removed_is_told_and_leaves_out_no_topic(
    version: str, found: list[str]
) -> None:
    config = SOURCE | {"topics.blacklist": "mirrorwatch[.].*"}
    with serving_connect({"m": {"info": {"config": config}}}, version) as url:
        told = said(describe({"connect": {"url": url}}))
    assert [one.partition(":")[0] for one in told] == found
