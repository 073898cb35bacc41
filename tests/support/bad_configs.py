"""Configurations that nobody can use: made from the schema, and by hand."""

from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass
from datetime import timedelta
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin

import yaml
from pydantic import ByteSize

from mirrorwatch.config import Config
from mirrorwatch.config.base import Model, find_block

__all__ = ["SECRET", "BadConfig", "by_hand", "from_schema", "schema_keys"]
__all__ += ["put", "whole"]

SECRET = "hunter2-s3cret"  # noqa: S105

Path = tuple[str | int, ...]


@dataclass(frozen=True)
class BadConfig:
    """A configuration that must be refused."""

    name: str
    text: str

    key: str
    """What a line of the error must name; empty where the file is no YAML."""


def whole() -> dict[str, Any]:
    """Return a configuration that can be used, with every block in it."""
    server = {"url": "http://server:1", "username": "u", "password": "p"}
    return {
        "interval": "5s",
        "clusters": {
            "a": {
                "kafka": {"bootstrap.servers": "a:9092"},
                "cluster_id": "A",
                "schema_registry": dict(server),
            },
            "b": {"kafka": {"bootstrap.servers": "b:9092"}},
        },
        "flows": [
            {
                "name": "one",
                "source": "a",
                "target": "b",
                "naming": {"policy": "format", "format": "x.${topic}"},
                "topics": {
                    "include": ["y.*", "mirrorwatch[.]canary"],
                    "filtered": [{"pattern": "y.x"}],
                },
                "classes": {"y": "y.*"},
                "mirror": {
                    "source_alias": "a",
                    "mode": "connect",
                    "topics": {"offsets": "o", "configs": "c"},
                    "connect": server,
                    "jmx": {
                        "format": "jolokia",
                        "urls": ["http://m:1"],
                        "user": "u",
                        "password": "p",
                    },
                },
                "canary": {"sized": {"bytes": 1000}},
                "limits": {},
            }
        ],
        "web": {"listen": "127.0.0.1:0"},
        "sinks": {
            "influxdb": {
                "url": "http://i:1",
                "org": "o",
                "bucket": "b",
                "token": "t",
            },
            "notify": {
                "receivers": [
                    {"name": "r", "kind": "webhook", "url": "http://r:1"}
                ]
            },
        },
        "state": {},
        "audit": {},
    }


def put(data: dict[str, Any], path: Path, value: Any) -> dict[str, Any]:
    """Return a configuration with one value changed."""
    changed = deepcopy(data)
    block: Any = changed
    for part in path[:-1]:
        if isinstance(block, dict):
            block = block.setdefault(part, {})
        else:
            block = block[part]
    block[path[-1]] = value
    if path[:2] == ("sinks", "influxdb") and path[-1] in {
        *("database", "retention_policy", "username", "password")
    }:
        for key in ("org", "bucket", "token"):
            del block[key]
        old = {"database": "d", "username": "u", "password": "p"}
        changed["sinks"]["influxdb"] = old | block
    return changed


def schema_keys(
    model: type[Model] = Config, path: Path = ()
) -> Iterator[tuple[Path, Any]]:
    """Yield every key of the schema, with its type."""
    for name, field in model.model_fields.items():
        annotation = _strip(field.annotation)
        yield (*path, name), annotation
        block, inner = find_block(annotation), (*path, name)
        if get_origin(annotation) is dict:
            annotation = _strip(get_args(annotation)[1])
            block, inner = find_block(annotation), (*inner, "a")
        elif get_origin(annotation) is tuple:
            annotation = _strip(get_args(annotation)[0])
            block, inner = find_block(annotation), (*inner, 0)
        if block is not None:
            yield from schema_keys(block, inner)


def _strip(annotation: Any) -> Any:
    """Return a type without `None` and notes."""
    while True:
        if get_origin(annotation) in {Union, UnionType}:
            rest = [a for a in get_args(annotation) if a is not NoneType]
            annotation = rest[0]
        elif hasattr(annotation, "__metadata__"):
            annotation = annotation.__origin__
        else:
            return annotation


def _wrong(annotation: Any) -> Iterator[Any]:
    """Yield what a key of this type must not be."""
    origin = get_origin(annotation)
    block = find_block(annotation) is not None or origin in {dict, tuple}
    if origin is tuple:
        yield {"x": SECRET}
        yield -1
        yield [[SECRET]]
        return
    if block or annotation.__name__.endswith("Properties"):
        yield SECRET
        yield f"https://user:{SECRET}@host/"
        yield [SECRET]
        yield -1
        return
    yield [SECRET]
    yield {"x": SECRET}
    if origin is Literal:
        yield "no-such-choice"
        yield 7
    elif annotation is bool:
        yield "perhaps"
        yield 7
    elif annotation in {int, float, ByteSize}:
        yield "many"
        yield -1e300
        yield float("inf")
        yield float("nan")
    elif annotation is timedelta:
        yield 5
        yield "soon"
        yield "-1s"
        yield "99999999999d"
        yield "3650d"
    else:
        yield -1
        yield True


LONGEST_ARE_FINE = {"keep", "remind", "retention"}
"""Durations that may be ten years, or may disable what they are for."""


def from_schema() -> Iterator[BadConfig]:
    """Yield every key with values that it cannot have."""
    for path, annotation in schema_keys():
        for number, value in enumerate(_wrong(annotation)):
            key = path[-1]
            if value == "3650d" and key in LONGEST_ARE_FINE:
                continue
            if (key, value) == ("naming", SECRET):
                continue
            name = f"{'.'.join(map(str, path))}-{number}"
            data = put(whole(), path, value)
            yield BadConfig(name, _dumped(data), str(key))


def _dumped(data: Any) -> str:
    # Quicker than `safe_dump`: there are a thousand.
    text: str = yaml.dump(data, Dumper=yaml.CSafeDumper)
    return text


BASE = yaml.safe_dump(whole(), default_flow_style=None, width=10_000)


def _changed(name: str, path: str, value: Any) -> BadConfig:
    parts: Path = tuple(int(p) if p.isdigit() else p for p in path.split("/"))
    return BadConfig(
        name,
        _dumped(put(whole(), parts, value)),
        str(next(p for p in reversed(parts) if isinstance(p, str))),
    )


KAFKA = "clusters/a/kafka/"

NONSENSE = {
    # What Kafka or librdkafka would not take.
    **{
        f"servers-{n}": ("clusters/a/kafka/bootstrap.servers", value)
        for n, value in enumerate(
            [
                "PLAINTEXT://a:9092",
                f"user:{SECRET}@a:9092",
                "a:99999",
                "a:0",
                "a:b",
                "a b:1",
                "a:1;b:2",
                "http://a",
                ":9092",
                "a:9092,,b:1",
                "[::1:9092",
            ]
        )
    },
    **{
        f"dangerous-{key}": (f"clusters/a/kafka/{key}", SECRET)
        for key in (
            *("plugin.library.paths", "error_cb", "stats_cb", "oauth_cb"),
            *("test.mock.num.brokers", "test.mock.broker.rtt"),
            *("sasl.kerberos.kinit.cmd", "ssl.engine.location", "opaque"),
            *("ssl.engine.id", "ssl.providers", "dr_cb", "logger"),
            *("ssl.certificate.verify_cb", "interceptors", "connect_cb"),
            *("on_delivery", "throttle_cb", "rebalance_cb", "log_cb"),
            *("default.topic.config", "ssl_engine_callback_data"),
        )
    },
    **{
        f"librdkafka-{key}": (f"clusters/a/kafka/{key}", value)
        for key, value in {
            "foo.bar": 1,
            "socket.timeout.ms": "soon",
            "linger.ms": "x",
            "security.protocol": "TLS",
            "compression.type": "zip",
            "retries": -5,
            "client.rack": {"a": SECRET},
            "socket.keepalive.enable": "maybe",
            "message.max.bytes": 10**18,
            "broker.address.family": "v5",
            "ssl.ca.location": "/dev/zero",
            "ssl.key.location": "/dev/null",
            "sasl.oauthbearer.method": "magic",
            "acks": 0,
            "group.id": "g",
            "sasl.jaas.config": SECRET,
        }.items()
    },
    # Order and bounds.
    "latency": ("flows/0/limits/latency/warning", "10s"),
    "latency-critical": ("flows/0/limits/latency", {"critical": "1s"}),
    "retention": ("flows/0/limits/retention/warning", "1h"),
    "retention-share": ("flows/0/limits/retention/warning_share", 0.1),
    "deadline": ("flows/0/canary/deadline", "999ms"),
    "interval": ("flows/0/canary/interval", "31s"),
    "tick": ("interval", "1d"),
    "partitions": ("flows/0/canary/partitions", 10**9),
    "sized": ("flows/0/canary/sized/bytes", "1TiB"),
    "in-flight": ("flows/0/mirror/max_in_flight", 10**12),
    "request-size": ("flows/0/mirror/max_request_size", "1PiB"),
    "replication": ("sinks/influxdb/replication", 10**6),
    "settle": ("audit/settle", "3000d"),
    "slack": ("audit/slack", "3000d"),
    "timeout": ("audit/timeout", "1ms"),
    "memory": ("audit/memory", "999999999g"),
    "schedule": ("audit/schedule", "61 * * * *"),
    "spark-list": ("audit/spark", ["spark.x"]),
    "spark-other": ("audit/spark", {"fs.s3a.endpoint": "x"}),
    "spark-master": ("audit/spark", {"spark.master": "local"}),
    "spark-ansi": ("audit/spark", {"spark.sql.ansi.enabled": False}),
    "spark-nothing": ("audit/spark", {"spark.x": None}),
    "spark-block": ("audit/spark", {"spark.x": {"secret": SECRET}}),
    "java-servers": ("clusters/a/java", {"bootstrap.servers": "a:1"}),
    "java-isolation": ("clusters/a/java", {"isolation.level": "x"}),
    "java-block": ("clusters/a/java", {"client.id": [SECRET]}),
    "schedule-secret": ("audit/schedule", f"ftp://u:{SECRET}@x"),
    # Clusters, flows and names.
    "same": ("flows/0/target", "a"),
    "same-id": ("clusters/b/cluster_id", "A"),
    "stranger": ("flows/0/source", "c"),
    **{
        f"canary-{n}": ("flows/0/canary/topic", value)
        for n, value in enumerate(
            [
                *(".", "..", "a b", "a/b", "", "é", "x" * 250, "a\nb"),
                *("__consumer_offsets", "mm2-offset-syncs.b.internal", "o"),
                *("heartbeats", "a.checkpoints.internal", ".hidden"),
                *("my-internal", "mm2-status.a.internal", "x" * 249, "#x"),
            ]
        )
    },
    "alias": ("flows/0/naming/format", "a b/${topic}"),
    "format-twice": ("flows/0/naming/format", "${topic}${topic}"),
    "format-none": ("flows/0/naming/format", "topic"),
    # Patterns.
    **{
        f"pattern-{n}": ("flows/0/topics/include", [value])
        for n, value in enumerate(
            [
                *("(", "[", "*", "a**", r"\Q.*\E", "(?<x>a)", "a{2,1}"),
                *("(?P<n>x)", "[a&&b]", "a" * 110_000, "(" * 3000, "[a-"),
                *(r"(a+)+\1x", "((((a+)+)+)+)+(?<=b)x", "a{99999999999}"),
            ]
        )
    },
    # Addresses.
    **{
        f"address-{key.replace('/', '.')}-{n}": (key, value)
        for key in (
            *("web/url", "sinks/influxdb/url", "flows/0/mirror/connect/url"),
            "clusters/a/schema_registry/url",
        )
        for n, value in enumerate(
            [
                f"http://user:{SECRET}@host",
                f"http://host?token={SECRET}",
                f"host:1/{'x' * 9}",
                "http://host:99999",
                "http://",
                f"http://host#{SECRET}",
            ]
        )
    },
    "out": ("audit/out", f"s3a://KEY:{SECRET}@bucket/audit"),
    "out-query": ("audit/out", f"s3a://bucket/audit?secret={SECRET}"),
    "master": ("audit/master", f"spark://user:{SECRET}@host:7077"),
    "jmx": ("flows/0/mirror/jmx/urls", [f"http://u:{SECRET}@m:1"]),
    "receiver": ("sinks/notify/receivers/0/url", f"slack/{SECRET}"),
    "header": ("sinks/notify/receivers/0/authorization", f"x\n{SECRET}"),
    "listen": ("web/listen", "127.0.0.1:99999"),
    # Files.
    "state": ("state/path", "/"),
    "state-device": ("state/path", "/dev/zero"),
    "ca": ("sinks/influxdb/ca", "/dev/zero"),
    "from-device": ("sinks/influxdb/token", "${file:/dev/zero}"),
    "from-nowhere": ("sinks/influxdb/token", "${file:/no/where}"),
    "from-folder": ("sinks/influxdb/token", "${file:/}"),
    "from-vault": ("sinks/influxdb/token", "${vault:x}"),
    "from-unset": ("sinks/influxdb/token", "${env:NO_SUCH_VARIABLE}"),
}

MESS = {
    "empty": "",
    "comment": "# nothing\n",
    "text": f"{SECRET}\n",
    "list": "- a\n- b\n",
    "number": "5\n",
    "null": "null\n",
    "open": "clusters: {a: [\n",
    "tab": "clusters:\n\ta: 1\n",
    "alias": f"clusters: *{SECRET}\n",
    "two": "a: 1\n---\nb: 2\n",
    "control": 'clusters: "\x01"\n',
    "bomb": "a: &a [x,x,x,x,x,x,x,x,x]\n"
    + "".join(
        f"{chr(98 + n)}: &{chr(98 + n)} "
        f"[{','.join(['*' + chr(97 + n)] * 9)}]\n"
        for n in range(9)
    ),
    "merge-bomb": "a: &a {x: 1, y: 2}\n"
    + "".join(
        f"{chr(98 + n)}: &{chr(98 + n)} "
        f"{{<<: [{','.join(['*' + chr(97 + n)] * 9)}]}}\n"
        for n in range(12)
    ),
    "deep": "[" * 20_000,
    "deep-maps": "{a: " * 3000,
    "large": "interval: 5s\n" + "# x\n" * 100_000,
    "loop": "clusters: &c {a: *c}\n",
    "merge-loop": "clusters: &c {<<: *c}\n",
    "merge-text": "clusters: {<<: text}\n",
    "tag": "clusters: !!python/object/apply:os.system [date]\n",
    "tag-scalar": f"interval: !!python/name:os.{SECRET} x\n",
    "tag-own": "interval: !secret x\n",
    "tag-bool": "interval: !!bool perhaps\n",
    "tag-int": "interval: !!int ''\n",
    "tag-time": "interval: !!timestamp x\n",
    "tag-binary": "interval: !!binary x\n",
    "tag-set": "clusters: !!set {a, b}\n",
    "key-list": "? [a, b]\n: c\n",
    "key-map": "{a: 1}: c\n",
    "key-surrogate": '"\\ud800": x\n',
    "surrogate": 'interval: "\\ud800"\n',
    "nul": 'state: {path: "a\\0b"}\n',
    "escape": 'interval: "\\e[2J"\n',
    "huge-int": f"interval: {'9' * 5000}\n",
    "sexagesimal": "interval: 1:2:3:4:5:6:7:8:9\n",
    "date": "interval: 2026-11-22\n",
    "bad-date": "interval: 2026-99-99\n",
    "infinite": "interval: .inf\n",
    "twice": BASE + "interval: 6s\n",
    "unknown": BASE + "webb: {}\n",
    "secret-key": BASE + f'"https://u:{SECRET}@h": x\n',
    "secret-item": BASE + f'"webb": {{"x@y:{SECRET}": 1}}\n',
}


def by_hand() -> Iterator[BadConfig]:
    """Yield what people, editors and attackers write."""
    for name, (path, value) in NONSENSE.items():
        yield _changed(name, path, value)
    for name, text in MESS.items():
        yield BadConfig(f"mess-{name}", text, "")
