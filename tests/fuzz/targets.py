"""What decodes, and what of it must hold whatever it gets.

A target goes as far as the facts of the domain, and where that is cheap to
the lines and samples that are made of them.
"""

import asyncio
import logging
import math
import tempfile
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields, is_dataclass
from datetime import UTC, datetime, timedelta
from functools import cache, partial
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import httpx
import structlog

from mirrorwatch.config import Config
from mirrorwatch.domain.bottleneck.model import ErrorCounters, MBean
from mirrorwatch.domain.canary.model import ProbeMessage
from mirrorwatch.domain.checks import CHECKS
from mirrorwatch.domain.heartbeats import (
    HeartbeatsLimits,
    HeartbeatTracker,
    judge_heartbeats,
)
from mirrorwatch.domain.mirror_records import (
    ConnectorSettings,
    Heartbeat,
    MirrorFact,
    TaskState,
)
from mirrorwatch.domain.schemas.model import IdKind, SchemaId
from mirrorwatch.domain.tasks.model import (
    find_cause,
    name_partitions,
)
from mirrorwatch.exceptions import (
    ConfigError,
    SinkError,
    SourceError,
    SourceUnavailableError,
)
from mirrorwatch.http import HttpAddress
from mirrorwatch.mirrors.mirrormaker2 import MirrorMaker2
from mirrorwatch.mirrors.mirrormaker2_jmx import WANTED
from mirrorwatch.sinks.influxdb import (
    InfluxDbOutlet,
    password_access,
    to_batch,
    token_access,
)
from mirrorwatch.sinks.prometheus import PrometheusSink
from mirrorwatch.sources.canary.encoding import (
    SCHEMA,
    decode,
    is_same_schema,
)
from mirrorwatch.sources.connect import (
    ConnectApi,
    ConnectWorker,
)
from mirrorwatch.sources.heartbeats import HeartbeatsSource
from mirrorwatch.sources.jmx.readers import (
    JmxAddress,
    JmxReader,
    JolokiaReader,
    PrometheusReader,
)
from mirrorwatch.sources.jmx.source import JmxReading, JmxSource
from mirrorwatch.sources.mirror_state import MirrorState
from mirrorwatch.sources.registry import RegisteredSchema, Registry
from mirrorwatch.sources.schemas import compare_schemas
from mirrorwatch.sources.tasks import TasksState
from mirrorwatch.state import Database
from mirrorwatch.state.documents import DocumentStore
from mirrorwatch.state.queue import Batch
from mirrorwatch.threads import Latest
from mirrorwatch.web.headers import protected
from tests.mirrors.mbeans import DEFAULT, a_flow
from tests.support.builders import FLOW, NOON, a_report
from tests.support.stage import Stage

from .inputs import parts_of

__all__ = ["TARGETS", "Target"]


@dataclass(frozen=True)
class Target:
    """Something that takes bytes of others."""

    name: str
    run: Callable[[bytes], object]
    raises: tuple[type[Exception], ...] = ()


MIRROR = MirrorMaker2(source_alias="summit", target_alias="ldf", topics={})

LARGEST = 2**63 - 1
"""Largest offset of Kafka, and integer of SQLite."""


def _sound(value: Any) -> None:
    match value:
        case None | bool() | datetime():
            pass
        case int():
            assert 0 <= value <= LARGEST, value
        case float():
            assert math.isfinite(value), value
        case timedelta():
            # Multiples of it are added to and taken from times.
            assert timedelta() <= value <= timedelta(days=36600), value
        case str():
            value.encode()
        case tuple() | frozenset():
            for item in value:
                _sound(item)
        case _:
            assert is_dataclass(value), repr(value)
            for field in fields(value):
                _sound(getattr(value, field.name))


def _record(kind: str, data: bytes) -> None:
    key, value = parts_of(data, 2)
    fact = MIRROR.decode(kind, key, value, NOON)
    if fact is not None:
        _take(fact)


def _take(fact: MirrorFact) -> None:
    _sound(fact)
    state = MirrorState()
    state.note(fact)
    state.note(fact)
    _read(state)
    if isinstance(fact, Heartbeat):
        _judge_beat(fact)


def _read(state: MirrorState) -> None:
    for found in (
        *state.all_committed().values(),
        *state.all_syncs().values(),
        *state.connectors(),
        *state.companions(),
        *state.assignments(),
        *state.tasks(),
        *state.heartbeats(),
        *state.checkpoints(),
    ):
        _sound(found)
    state.assigned_topics()
    state.cadence()
    settings = ConnectorSettings.of(state.connectors())
    settings.wants("lsst.sal.a")
    settings.excludes("retention.ms")
    for given in state.assignments():
        name_partitions(given.partitions, 3).encode()
    for task in state.tasks():
        assert isinstance(task, TaskState)
        find_cause(task.trace).encode()
    sorted(state.tasks(), key=lambda t: (t.connector, t.task or -1))


def _judge_beat(beat: Heartbeat) -> None:
    tracker = HeartbeatTracker()
    tracker.note([beat], NOON)
    source = HeartbeatsSource("f", MirrorState(), ("summit", "ldf"))
    source._begun = True  # noqa: SLF001 - topics were read
    for seen in source.observe(NOON):
        judge_heartbeats("f", seen, HeartbeatsLimits(), NOON)
    for pair in tracker.carried():
        assert pair.pair


Handler = Callable[[httpx.Request], httpx.Response]


def _answer_by(client: Any, handle: Handler) -> None:
    client._http._transport = httpx.MockTransport(handle)  # noqa: SLF001


def _answer(head: bytes | None, body: bytes | None) -> httpx.Response:
    """Return an answer; its head is a status and headers, a line each."""
    status, *lines = (head or b"").split(b"\n") or [b""]
    digits = status.strip()
    known = digits.isdigit() and len(digits) == 3 and digits >= b"200"
    headers = [
        (name.strip(), value.strip())
        for name, colon, value in (line.partition(b":") for line in lines)
        if colon and name.strip().lower() != b"content-length"
    ]
    return httpx.Response(
        int(digits) if known else 200,
        headers=headers,
        stream=httpx.ByteStream(body or b""),
    )


SILENT = structlog.wrap_logger(
    structlog.PrintLogger(),
    wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL),
)
"""Only errors are of interest here."""


@cache
def _connect_api() -> ConnectApi:
    return ConnectApi("f", "ldf", HttpAddress(url="http://x"))


def _connect(data: bytes) -> None:
    head, connectors, tasks, offsets, version = parts_of(data, 5)

    def handle(request: httpx.Request) -> httpx.Response:
        path = request.url.path
        if path == "/connectors":
            return _answer(head, connectors)
        if path.endswith("/tasks"):
            return _answer(head, tasks)
        if path.endswith("/offsets"):
            return _answer(head, offsets)
        return _answer(head, version)

    api, positions, state = _connect_api(), MirrorState(), TasksState()
    _answer_by(api, handle)
    worker = ConnectWorker(
        flow="f",
        api=api,
        mirror=MIRROR,
        positions=positions,
        state=state,
        clock=lambda: NOON,
        logger=SILENT,
    )
    try:
        worker.step()
    finally:
        _read(positions)
        answer = state.answer.get()
        if answer is not None:
            _sound(answer.version)


@cache
def _database() -> Database:
    return Database(None)


JMX = JmxAddress(
    url="http://x/jmx", cluster="ldf", timeout=timedelta(seconds=3)
)


@cache
def _reader(kind: Callable[[JmxAddress], JmxReader]) -> JmxReader:
    return kind(JMX)


def _jmx(kind: Callable[[JmxAddress], JmxReader], data: bytes) -> None:
    head, body = parts_of(data, 2)
    reader = _reader(kind)
    _answer_by(reader, lambda _: _answer(head, body))
    _measure(reader.read(WANTED))


def _measure(mbeans: Sequence[MBean]) -> None:
    reading = JmxReading(mbeans=mbeans, at=NOON, lasts=timedelta(minutes=1))
    source = JmxSource(
        flow=FLOW.name,
        readings={JMX.url: Latest(reading)},
        interpret=a_flow(DEFAULT).metrics,
        store=DocumentStore(_database(), FLOW.name, "jmx", ErrorCounters),
    )
    seen = source.observe(NOON)
    check = CHECKS["bottleneck"]
    limits = {} if check.limits is None else {check.name: check.limits()}
    for one in seen:
        verdict = check.verdict(FLOW.name, {type(one): one}, limits, NOON)
        verdict.reason.encode()
    report = a_report(observations=seen)
    batch = to_batch(report)
    assert b"=nan" not in batch.body
    assert b"=inf" not in batch.body
    sink = PrometheusSink()
    sink.publish(report)
    sink.exposition()


@cache
def _registry() -> Registry:
    return Registry("summit", HttpAddress(url="http://x"))


def _ask_registry(data: bytes) -> None:
    head, body = parts_of(data, 2)
    registry = _registry()
    _answer_by(registry, lambda _: _answer(head, body))
    for ask in (registry.subjects, registry.mode):
        with suppress(SourceError):
            ask()
    for kind in IdKind:
        with suppress(SourceError):
            found_schema = registry.look_up(SchemaId(kind, "1"))
            probes = RegisteredSchema(SCHEMA)
            compare_schemas(found_schema, probes)
            compare_schemas(probes, found_schema)
    schema = registry.schema(1)
    if schema is not None:
        is_same_schema(schema)
    for found in (registry.find("s", "{}"), registry.register("s", "{}")):
        assert found is None or 0 <= found < 2**32


SECRET = "hunter2"  # noqa: S105 - of nobody


@cache
def _influxdb() -> tuple[InfluxDbOutlet, InfluxDbOutlet]:
    return (
        InfluxDbOutlet(
            token_access(url="http://x", org="o", bucket="b", token=SECRET)
        ),
        InfluxDbOutlet(
            password_access(
                url="http://x", database="d", username="u", password=SECRET
            )
        ),
    )


def _write(data: bytes) -> None:
    head, body = parts_of(data, 2)
    for client in _influxdb():
        _answer_by(client, lambda _: _answer(head, body))
        try:
            client.send(Batch(b"a b=1", 1), timedelta(seconds=3))
        except SinkError as e:
            _shown(e)


def _shown(error: SinkError) -> None:
    assert SECRET not in str(error)
    assert len(str(error)) < 1000
    str(error).encode()
    _sound(getattr(error, "points", None))
    assert error.retry_after is None or error.retry_after >= timedelta()


@cache
def _folder() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="fuzz")


def _configure(data: bytes) -> None:
    file = Path(_folder().name) / "mirrorwatch.yaml"
    file.write_bytes(data)
    config = Config.from_file(file)
    for flow in config.flows:
        config.to_limits(flow)
        flow.selection.matches("lsst.sal.a")
    repr(config).encode()


@cache
def _stage() -> Stage:
    stage = Stage(hosts=("x",), audits=Path(_folder().name))
    stage.tick(a_report())
    return stage


def _get(data: bytes) -> None:
    """Ask the web server; the first line is the target, then headers."""
    target, *lines = data.split(b"\n")
    path, _, query = target.strip().partition(b"?")
    # What uvicorn does, and it refuses what is not ASCII.
    path = bytes(byte for byte in path if 0x20 < byte < 0x7F)
    query = bytes(byte for byte in query if 0x20 < byte < 0x7F)
    headers = [
        (name.strip().lower(), value.strip())
        for name, colon, value in (line.partition(b":") for line in lines)
        if colon
    ]
    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": "GET",
        "scheme": "http",
        "path": unquote(path.decode()) or "/",
        "raw_path": path,
        "query_string": query,
        "root_path": "",
        "headers": headers,
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 80),
    }
    said: list[dict[str, Any]] = []

    asked = [{"type": "http.request", "body": b"", "more_body": False}]

    async def receive() -> dict[str, Any]:
        if not asked:
            await asyncio.Event().wait()  # who asks stays
        return asked.pop()

    async def send(message: Any) -> None:
        said.append(message)

    app = protected(_stage().app, _stage().hosts)
    asyncio.run(app(scope, receive, send))  # type: ignore[arg-type]
    status = said[0]["status"]
    assert status < 500, status


def _probe(data: bytes) -> None:
    found = decode(data)
    if found is not None:
        assert isinstance(found, ProbeMessage)
        _sound(found)
        assert found.sent_at.tzinfo is UTC


TARGETS = {
    target.name: target
    for target in (
        *(
            Target(kind, partial(_record, kind), (ValueError,))
            for kind in ("syncs", "checkpoints", "heartbeats", "carried")
        ),
        *(
            Target(kind, partial(_record, kind), (ValueError,))
            for kind in ("offsets", "status", "configs")
        ),
        Target("connect", _connect, (SourceError,)),
        Target(
            "jolokia", partial(_jmx, JolokiaReader), (SourceUnavailableError,)
        ),
        Target(
            "exporter",
            partial(_jmx, PrometheusReader),
            (SourceUnavailableError,),
        ),
        Target("registry", _ask_registry, (SourceError,)),
        Target("influxdb", _write, (SinkError,)),
        Target("yaml", _configure, (ConfigError,)),
        Target("http", _get),
        Target("probe", _probe),
    )
}
"""Every target by its name, which is that of its folder in the corpus."""
