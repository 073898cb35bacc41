"""A schema registry as any other client sees it, and a reader that asks it."""

import json
import struct
from io import BytesIO
from typing import Any

import fastavro

from mirrorwatch.domain.canary.model import ProbeMessage
from mirrorwatch.sources.canary.encoding import decode
from mirrorwatch_lab.registry import SchemaRegistry
from tests.support.http import HTTP

__all__ = ["PlainReader", "find_schema", "register", "subjects"]

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
