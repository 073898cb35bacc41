"""Connect's REST API, as it answers on a good day and on others."""

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, cast

import pytest
import structlog

from mirrorwatch.domain.mirror_records import TaskState
from mirrorwatch.domain.report import Health, Verdict
from mirrorwatch.domain.tasks.check import TasksLimits, judge_tasks
from mirrorwatch.exceptions import (
    SourceDeniedError,
    SourceError,
    SourceUnavailableError,
)
from mirrorwatch.http import HttpAddress
from mirrorwatch.mirrors.mirrormaker2 import MirrorMaker2
from mirrorwatch.sources.connect import (
    ConnectApi,
    ConnectWorker,
    to_committed,
    to_states,
)
from mirrorwatch.sources.mirror_state import MirrorState
from mirrorwatch.sources.tasks import TaskFacts, TasksSource, TasksState
from tests.support.builders import FLOW, NOON

PASSWORD = "hunter2-of-connect"  # noqa: S105 - of nobody

STATUS = {
    "connector": {"state": "RUNNING", "worker_id": "w:1"},
    "tasks": [
        {"id": 0, "state": "FAILED", "worker_id": "w:1", "trace": "x"},
    ],
}


class Worker(BaseHTTPRequestHandler):
    answers: Mapping[str, tuple[int, Any]] = {}

    def do_GET(self) -> None:
        status, body = self.answers.get(self.path, (404, {}))
        self.send_response(status)
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextmanager
def asking(**answers: tuple[int, Any]) -> Iterator[ConnectApi]:
    handler = type("Given", (Worker,), {"answers": answers})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    api = ask(server.server_address[1])
    try:
        yield api
    finally:
        api.close()
        server.shutdown()
        server.server_close()
        thread.join()


def ask(port: int) -> ConnectApi:
    address = HttpAddress(
        url=f"http://127.0.0.1:{port}", username="agent", password=PASSWORD
    )
    assert PASSWORD not in repr(address)
    return ConnectApi("summit->ldf", "ldf", address)


ALL = "/connectors?expand=status&expand=info"


def test_connectors_tasks_and_offsets_are_read() -> None:
    answers = {
        ALL: (200, {"a b": {"status": STATUS}}),
        "/connectors/a%20b/tasks": (200, [{"id": {"task": 0}}]),
        "/connectors/a%20b/offsets": (200, {"offsets": []}),
    }
    with asking(**answers) as api:
        assert set(api.connectors()) == {"a b"}
        assert len(api.tasks("a b")) == 1
        assert api.offsets("a b") == []


@pytest.mark.parametrize(
    ("answer", "version"),
    [
        ((200, {"version": "4.3.0", "commit": "c0ffee"}), "4.3.0"),
        ((200, []), None),
        ((200, {}), None),
        # What a proxy may say that lets only connectors be asked for.
        ((403, {}), None),
    ],
)
def test_the_version_is_told_where_it_is_known(
    answer: tuple[int, Any], version: str | None
) -> None:
    with asking(**{"/": answer}) as api:
        assert api.version() == version


def test_a_connector_is_asked_for_by_its_name() -> None:
    answers = {
        "/connectors/a%20b": (200, {"name": "a b"}),
        "/connectors/c": (409, {"error_code": 409}),
    }
    with asking(**answers) as api:
        assert api.has("a b")
        assert not api.has("b")
        with pytest.raises(SourceError, match="409 is a rebalance"):
            api.has("c")


def test_before_kafka_3_5_nobody_knows_offsets() -> None:
    with asking() as api:
        assert api.offsets("a") is None


@pytest.mark.parametrize(
    ("status", "body", "kind", "said"),
    [
        (401, {}, SourceDeniedError, "Check username and password"),
        (409, {}, SourceError, "409 is a rebalance"),
        (500, {"message": PASSWORD}, SourceError, "status 500"),
        (200, b"<html>", SourceError, "leads to another server"),
        (200, [], SourceError, "leads to another server"),
        (404, {}, SourceError, "status 404"),
    ],
)
def test_what_is_no_answer_is_told_without_what_it_says(
    status: int, body: Any, kind: type[SourceError], said: str
) -> None:
    with asking(**{ALL: (status, body)}) as api:
        with pytest.raises(kind, match=said) as caught:
            api.connectors()
        assert PASSWORD not in str(caught.value)


def test_a_worker_that_is_gone_is_unavailable() -> None:
    with asking() as api:
        pass
    gone = ask(1)
    with pytest.raises(SourceUnavailableError, match="cannot be reached"):
        gone.connectors()
    gone.close()
    assert api is not gone


def test_states_are_read_with_their_traces() -> None:
    connector, task = to_states("c", STATUS, NOON)
    assert (connector.task, connector.state) == (None, "RUNNING")
    assert (task.task, task.state, task.trace) == (0, "FAILED", "x")
    with pytest.raises(ValueError, match="lacks 'tasks'"):
        list(to_states("c", {"connector": STATUS["connector"]}, NOON))


def test_offsets_are_those_after_the_last_that_was_copied() -> None:
    place = {"cluster": "summit", "topic": "t", "partition": 3}
    other = {**place, "cluster": "elsewhere"}
    offsets: list[Mapping[str, Any]] = [
        {"partition": place, "offset": {"offset": 123}},
        {"partition": other, "offset": {"offset": 9}},
        {"partition": {**place, "partition": 4}, "offset": None},
    ]
    (fact,) = to_committed("c", offsets, "summit", NOON)
    assert (fact.connector, fact.topic) == ("c", "t")
    assert (fact.partition, fact.position) == (3, 124)
    with pytest.raises(ValueError, match="offsets lack"):
        list(to_committed("c", [{}], "summit", NOON))


MINUTE = timedelta(minutes=1)


class Cluster:
    """A Connect cluster with one task, and the agent's worker that asks it."""

    def __init__(self) -> None:
        self.now = NOON
        self.state, self.trace = "RUNNING", ""
        self.listed = self.exists = True
        self.starts = False
        self.config = {
            "connector.class": "MirrorSourceConnector",
            "source.cluster.alias": "summit",
            "target.cluster.alias": "ldf",
        }
        self.told: str | None = "4.1.1"
        self.mirror = MirrorMaker2(
            source_alias="summit", target_alias="ldf", topics={}
        )
        self.positions, found = MirrorState(), TasksState()
        facts = TaskFacts(
            positions=self.positions,
            state=found,
            status="status",
            cluster="ldf",
            has_rest=True,
        )
        self.source = TasksSource(
            flow=FLOW.name, positions=self.positions, facts=facts, state=found
        )
        self.worker = ConnectWorker(
            flow=FLOW.name,
            api=cast("ConnectApi", self),
            mirror=self.mirror,
            positions=self.positions,
            state=found,
            clock=lambda: self.now,
            logger=structlog.get_logger(),
        )

    def connectors(self) -> Mapping[str, Any]:
        if not self.listed:
            return {}
        task = {"id": 0, "state": self.state, "trace": self.trace}
        return {
            "c": {
                "info": {"config": self.config, "tasks": [{"task": 0}]},
                "status": {
                    "connector": {"state": "RUNNING", "worker_id": "w"},
                    "tasks": [{**task, "worker_id": "w"}],
                },
            }
        }

    def has(self, _: str) -> bool:
        if self.starts:
            raise SourceError("status 409", source="connect", cluster="ldf")
        return self.exists

    def version(self) -> str | None:
        return self.told

    def tasks(self, _: str) -> list[Any]:
        return []

    def offsets(self, _: str) -> None:
        return None

    def close(self) -> None:
        """Do nothing."""

    def write(self, state: str, trace: str = "") -> None:
        """Let a task come to a state, and say so in the status topic."""
        self.now += MINUTE
        self.state, self.trace = state, trace
        if self.positions.optional.get("status").readable:
            self.positions.note(
                TaskState(
                    connector="c",
                    task=0,
                    state=state,
                    worker="w",
                    trace=trace,
                    generation=1,
                    written_at=self.now,
                )
            )

    def verdict(self) -> Verdict:
        self.now += MINUTE
        with suppress(SourceError):
            self.worker.step()
        (seen,) = self.source.observe(self.now)
        return judge_tasks(FLOW.name, seen, TasksLimits(), self.now)

    def health(self) -> Health:
        return self.verdict().health


@pytest.mark.parametrize(
    ("first", "then"),
    [("RUNNING", "FAILED"), ("FAILED", "RUNNING")],
)
def test_the_api_is_believed_where_the_topic_is_no_longer_read(
    first: str, then: str
) -> None:
    traces = {"FAILED": "it is too large"}
    healths = {"RUNNING": Health.OK, "FAILED": Health.CRITICAL}
    cluster = Cluster()
    cluster.write(first, traces.get(first, ""))
    assert cluster.health() is healths[first]
    # From now on the topic rules, until it may not be read any more.
    cluster.positions.optional.catch_up("status", 0)
    cluster.write(then, traces.get(then, ""))
    assert cluster.health() is healths[then]
    cluster.positions.optional.fail("status", "Mirrorwatch lacks READ")
    cluster.write(first, traces.get(first, ""))
    assert cluster.health() is healths[first]


@pytest.mark.parametrize("exists", [True, False])
def test_a_connector_that_is_left_out_once_is_not_removed(
    exists: bool,
) -> None:
    cluster = Cluster()
    cluster.write("FAILED", "it is too large")
    assert cluster.health() is Health.CRITICAL
    cluster.listed, cluster.exists = False, exists
    assert cluster.health() is Health.CRITICAL
    assert [c.name for c in cluster.positions.connectors()] == ["c"]
    cluster.listed = True
    assert cluster.health() is Health.CRITICAL


def test_a_deleted_connector_is_noticed_a_poll_later() -> None:
    cluster = Cluster()
    cluster.write("FAILED", "it is too large")
    assert cluster.health() is Health.CRITICAL
    cluster.listed = cluster.exists = False
    cluster.health()
    assert cluster.health() is Health.UNKNOWN
    assert cluster.positions.connectors() == ()
    # It is created again, and fails again.
    cluster.listed = cluster.exists = True
    assert cluster.health() is Health.CRITICAL


def test_a_worker_that_starts_says_nothing_of_connectors() -> None:
    cluster = Cluster()
    assert cluster.health() is Health.OK
    cluster.listed, cluster.starts = False, True
    assert cluster.health() is Health.OK
    for _ in range(3):
        assert cluster.verdict().code == "tasks.unreadable"
    assert [c.name for c in cluster.positions.connectors()] == ["c"]
    cluster.listed = True
    assert cluster.health() is Health.OK


def test_a_connector_without_a_state_is_unknown() -> None:
    cluster = Cluster()
    assert cluster.health() is Health.OK
    cluster.listed = False
    assert cluster.health() is Health.OK
    verdict = cluster.verdict()
    assert (verdict.health, verdict.code) == (
        Health.UNKNOWN,
        "tasks.unreadable",
    )
    # The status topic has it.
    cluster.positions.optional.catch_up("status", 0)
    assert cluster.health() is Health.OK


@pytest.mark.parametrize(
    ("told", "obeyed"),
    [
        ("3.9.2", True),
        ("4.0.0", False),
        # Kafka 3.9: Confluent counts its platform.
        ("7.9.0-ccs", True),
        ("7.9.0-ce", True),
        (None, True),
        ("trunk", True),
    ],
)
def test_settings_that_kafka_4_removed_count_before_it(
    told: str | None, *, obeyed: bool
) -> None:
    cluster = Cluster()
    cluster.config["topics.blacklist"] = "secret.*"
    cluster.config["config.properties.blacklist"] = "retention.*"
    cluster.told = told
    cluster.worker.step()
    for _ in range(2):
        (found,) = cluster.positions.connectors()
        assert found.selection.matches("secret.x") is not obeyed
        assert ("retention.*" in found.config_excluded) is obeyed
        # The configs topic, which names no version, is read later.
        cluster.positions.note(
            cluster.mirror.to_fact("c", dict(cluster.config))
        )


def test_the_version_is_known_while_nobody_tells_it() -> None:
    cluster = Cluster()
    cluster.config["topics.blacklist"] = "secret.*"
    cluster.worker.step()
    cluster.told, cluster.now = None, cluster.now + MINUTE
    cluster.worker.step()
    (found,) = cluster.positions.connectors()
    assert found.selection.matches("secret.x")


def test_groups_that_kafka_4_does_not_exclude_have_checkpoints() -> None:
    cluster = Cluster()
    cluster.config["connector.class"] = "MirrorCheckpointConnector"
    cluster.config["groups.blacklist"] = "reader"
    cluster.worker.step()
    (found,) = cluster.positions.companions()
    assert found.groups is not None
    assert found.groups.matches("reader")
