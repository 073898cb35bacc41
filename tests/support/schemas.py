"""Schema registries as other clients see them, and one of a few lines."""

import json
import struct
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from io import BytesIO
from typing import Any
from urllib.parse import unquote

import fastavro

from mirrorwatch.domain.canary.model import ProbeMessage
from mirrorwatch.sources.canary.encoding import decode
from mirrorwatch_lab.registry import SchemaRegistry
from tests.support.http import HTTP, handling

__all__ = ["PlainReader", "StandInRegistry", "avro", "find_schema"]
__all__ += ["framed", "register", "standing_in", "subjects"]

SECONDS = 60.0
"""Longest wait for an answer, on a machine that does other things."""


def subjects(registry: SchemaRegistry) -> list[str]:
    found: list[str] = _get(registry, "subjects")
    return found


def find_schema(registry: SchemaRegistry, subject: str) -> tuple[int, str]:
    """Return id and text of a subject's latest schema."""
    latest = _get(registry, f"subjects/{subject}/versions/latest")
    return latest["id"], latest["schema"]


def register(registry: SchemaRegistry, subject: str, schema: str) -> int:
    """Register a schema, and return its id."""
    answer = HTTP.post(
        f"{registry.url}/subjects/{subject}/versions",
        json={"schema": schema},
        timeout=SECONDS,
    )
    answer.raise_for_status()
    found: int = answer.json()["id"]
    return found


def avro(name: str, *fields: str, **also: Any) -> str:
    """Return an Avro record of strings, with more attributes."""
    return json.dumps(
        {
            "type": "record",
            "name": name,
            "fields": [{"name": f, "type": "string"} for f in fields],
            **also,
        }
    )


def framed(schema_id: int, payload: bytes = b"payload") -> bytes:
    """Return a payload in Confluent's wire format."""
    return struct.pack(">xI", schema_id) + payload


@dataclass
class StandInRegistry:
    """A registry that has what a test puts into it, by Confluent's API."""

    schemas: dict[int, str] = field(default_factory=dict)
    kinds: dict[int, str] = field(default_factory=dict)
    """Their types, where that is not Avro."""

    contents: dict[str, str] = field(default_factory=dict)
    names: list[str] = field(default_factory=list)
    mode: str | None = "READWRITE"
    modes: dict[str, str] = field(default_factory=dict)
    refused: frozenset[int] = frozenset()
    """Ids of schemas that whoever asks may not know."""

    down: bool = False
    path: str = ""
    url: str = ""
    asked: Counter[str] = field(default_factory=Counter)
    """Requests by the first part of their path."""

    def answer(self, path: str) -> tuple[int, Any]:
        """Return status and body."""
        if self.down:
            return 503, {"message": "down"}
        inner = path.removeprefix(self.path).lstrip("/")
        self.asked[inner.partition("/")[0]] += 1
        found: Any = None
        lacking: dict[str, Any] = {"error_code": 40403, "message": "none"}
        match inner.split("/"):
            case ["apis", "registry", "v2", "ids", *rest]:
                content = self.contents.get("/".join(rest))
                lacking = {"name": "ContentNotFoundException"}
                found = None if content is None else json.loads(content)
            case ["schemas", "ids", number] if int(number) in self.refused:
                return 403, {"error_code": 40301, "message": "denied"}
            case ["schemas", "ids", number] if int(number) in self.schemas:
                kind = self.kinds.get(int(number))
                found = {"schema": self.schemas[int(number)]}
                found |= {"schemaType": kind} if kind else {}
            case ["subjects"]:
                found = self.names
            case ["subjects", name, *_] if unquote(name) in self.names:
                found = {"id": 1}
            case ["mode"] if self.mode is not None:
                found = {"mode": self.mode}
            case ["mode", name]:
                own = self.modes.get(unquote(name))
                lacking = {"error_code": 40409, "message": "none"}
                found = None if own is None else {"mode": own}
            case _:
                pass
        return (404, lacking) if found is None else (200, found)


@contextmanager
def standing_in(registry: StandInRegistry) -> Iterator[StandInRegistry]:
    """Serve a registry on a free port of loopback."""

    def handle(request: BaseHTTPRequestHandler) -> None:
        status, body = registry.answer(request.path)
        data = json.dumps(body).encode()
        request.send_response(status)
        request.send_header("Content-Length", str(len(data)))
        request.end_headers()
        request.wfile.write(data)

    with handling(handle) as url:
        registry.url = f"{url}{registry.path}"
        yield registry


class PlainReader:
    """Reads probes knowing nothing of them but what a registry says."""

    def __init__(self, registry: SchemaRegistry) -> None:
        self._registry = registry
        self._schemas: dict[int, Any] = {}
        self.avro_read = self.json_read = 0

    def decode(self, value: bytes | None) -> ProbeMessage | None:
        assert value is not None
        if not value.startswith(b"\x00"):
            self.json_read += 1
            return decode(value)
        self.avro_read += 1
        (schema_id,) = struct.unpack(">I", value[1:5])
        body: Any = fastavro.schemaless_reader(
            BytesIO(value[5:]), self._schema(schema_id), None
        )
        return ProbeMessage(
            **{k: v for k, v in body.items() if k != "padding"},
        )

    def _schema(self, schema_id: int) -> Any:
        if schema_id not in self._schemas:
            found = _get(self._registry, f"schemas/ids/{schema_id}")
            parsed = fastavro.parse_schema(json.loads(found["schema"]))
            self._schemas[schema_id] = parsed
        return self._schemas[schema_id]


def _get(registry: SchemaRegistry, path: str) -> Any:
    answer = HTTP.get(f"{registry.url}/{path}", timeout=SECONDS)
    answer.raise_for_status()
    return answer.json()
