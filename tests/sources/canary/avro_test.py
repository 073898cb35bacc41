"""Probes as Avro, beside JSON."""

import json
import struct
from datetime import UTC, datetime
from io import BytesIO
from typing import Any

import fastavro
from hypothesis import given
from hypothesis import strategies as st

from mirrorwatch.domain.canary.model import PROBE_BYTES, ProbeMessage
from mirrorwatch.sources.canary.avro import SCHEMA, Avro, is_same_schema
from mirrorwatch.sources.canary.encoding import Json, decode

messages = st.builds(
    ProbeMessage,
    run=st.text(max_size=20),
    flow=st.text(max_size=60),
    partition=st.integers(0, 2**31 - 1),
    sequence=st.integers(1, 2**63 - 1),
    sent_at=st.datetimes(
        datetime(1970, 1, 1),  # noqa: DTZ001 - the strategy adds the zone
        timezones=st.just(UTC),
    ),
)
ids = st.integers(0, 2**32 - 1)


def avro(schema_id: int) -> Avro:
    encoding = Avro()
    encoding.schema_id = schema_id
    return encoding


@given(messages, ids)
def test_a_probe_comes_back_as_it_was_sent(
    message: ProbeMessage, schema_id: int
) -> None:
    encoding = avro(schema_id)
    value = encoding.encode(message, PROBE_BYTES)
    assert decode(value) == message
    encoding.note_arrival(value)
    assert encoding.arrived_id == schema_id


@given(messages, st.integers(0, 70_000))
def test_a_probe_has_the_size_that_is_asked_for_if_it_fits(
    message: ProbeMessage, size: int
) -> None:
    bare = len(avro(1).encode(message, 0))
    written = len(avro(1).encode(message, size))
    assert written <= max(size, bare)
    # Where one byte more of padding needs one more for its length, no size
    # fits exactly.
    assert written >= size - 1


def test_a_plain_reader_finds_id_schema_and_every_field() -> None:
    sent_at = datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=UTC)
    message = ProbeMessage(
        run="r", flow="a->b", partition=3, sequence=7, sent_at=sent_at
    )
    value = avro(260).encode(message, PROBE_BYTES)
    assert len(value) == PROBE_BYTES
    assert value[:5] == b"\x00" + struct.pack(">I", 260)
    schema = fastavro.parse_schema(json.loads(SCHEMA))
    body: Any = fastavro.schemaless_reader(BytesIO(value[5:]), schema, None)
    assert set(body.pop("padding")) == {0}
    assert body == {
        "run": "r",
        "flow": "a->b",
        "partition": 3,
        "sequence": 7,
        "sent_at": sent_at,
    }


@given(messages)
def test_both_formats_are_always_read(message: ProbeMessage) -> None:
    assert decode(Json().encode(message, PROBE_BYTES)) == message
    assert decode(avro(1).encode(message, PROBE_BYTES)) == message


@given(st.binary(max_size=300))
def test_whatever_else_is_in_the_topic_is_no_probe_and_no_error(
    body: bytes,
) -> None:
    decode(body)
    decode(b"\x00" + body)


def test_what_is_cut_off_or_empty_is_no_probe() -> None:
    message = ProbeMessage(
        run="r",
        flow="f",
        partition=0,
        sequence=1,
        sent_at=datetime(2026, 1, 1, tzinfo=UTC),
    )
    value = avro(1).encode(message, PROBE_BYTES)
    assert decode(None) is decode(b"") is decode(b"\x00") is None
    assert {decode(value[:end]) for end in range(PROBE_BYTES)} == {None}


def test_a_schema_is_the_same_however_a_registry_writes_it() -> None:
    schema = json.loads(SCHEMA)
    schema.pop("doc")
    reordered = dict(reversed(list(schema.items())))
    assert is_same_schema(json.dumps(reordered, indent=2))
    assert is_same_schema(SCHEMA)


def test_another_schema_is_not_the_same() -> None:
    schema = json.loads(SCHEMA)
    schema["fields"][2]["type"] = "string"
    assert not is_same_schema(json.dumps(schema))
    for text in ("", "{", "[]", "{}", '"string"', '{"type": "record"}', "7"):
        assert not is_same_schema(text)
