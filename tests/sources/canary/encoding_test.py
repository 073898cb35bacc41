"""How probes are written: as JSON, or as Avro."""

import json
import struct
from datetime import UTC, datetime
from io import BytesIO
from typing import Any, cast

import fastavro
from hypothesis import given
from hypothesis import strategies as st

from mirrorwatch.domain.canary.model import PROBE_BYTES, ProbeMessage
from mirrorwatch.domain.report import Finding, Health
from mirrorwatch.exceptions import SourceUnavailableError
from mirrorwatch.sources.canary.encoding import (
    SCHEMA,
    Avro,
    Json,
    decode,
    hashed_key,
    is_same_schema,
    murmur2,
)
from mirrorwatch.sources.registry import (
    AGAIN,
    PROVED,
    WAITING,
    Registry,
    SchemaWorker,
)
from mirrorwatch.threads import Latest
from tests.support.builders import FLOW, NOON

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
    value = Json().encode(message, PROBE_BYTES)
    assert len(value) == PROBE_BYTES
    assert decode(b'{"run": 1}') is decode(b"\xff\x00") is None
    for wrong in ("-1", "1e3", "null", "[]", '"x"', str(2**63)):
        body = value.replace(b'"sequence":1', b'"sequence":' + wrong.encode())
        assert decode(body) is None


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


SUBJECT = "canary-value"


class FakeRegistry:
    """Has schemas, and may be away or not be written to."""

    def __init__(self, cluster: str) -> None:
        self.cluster = cluster
        self.schemas: dict[int, str] = {}
        self.next_id = 1
        self.away = self.read_only = False
        self.asked = 0

    def _answer(self) -> None:
        self.asked += 1
        if self.away:
            raise SourceUnavailableError(
                f"{self.cluster} is away", source="r", cluster=self.cluster
            )

    def find(self, subject: str, schema: str) -> int | None:
        self._answer()
        assert subject == SUBJECT
        found = [i for i, text in self.schemas.items() if text == schema]
        return found[0] if found else None

    def register(self, subject: str, schema: str) -> int:
        self._answer()
        assert (subject, self.read_only) == (SUBJECT, False)
        self.schemas[self.next_id] = schema
        return self.next_id

    def schema(self, schema_id: int) -> str | None:
        self._answer()
        return self.schemas.get(schema_id)

    def close(self) -> None:
        """Do nothing."""


class Stage:
    """A registrar between two registries, and a clock."""

    def __init__(self, *, with_target: bool = True) -> None:
        self.now = 0.0
        self.source, self.target = FakeRegistry("summit"), FakeRegistry("ldf")
        self.encoding = Avro()
        self.problems = Latest[tuple[Finding, ...]](())
        target = cast("Registry", self.target) if with_target else None
        self.registrar = SchemaWorker(
            flow=FLOW.name,
            topic="canary",
            encoding=self.encoding,
            source=cast("Registry", self.source),
            target=target,
            problems=self.problems,
            clock=lambda: self.now,
        )

    def after(self, seconds: float) -> tuple[Finding, ...]:
        self.now += seconds
        self.registrar.step()
        return self.problems.get()


def test_the_schema_is_registered_once_and_then_only_looked_at() -> None:
    stage = Stage()
    assert not stage.encoding.ready
    assert stage.after(0) == ()
    assert stage.encoding.schema_id == 1
    assert stage.source.schemas == {1: SCHEMA}
    asked = stage.source.asked
    assert stage.after(AGAIN - 1) == ()
    assert stage.source.asked == asked
    stage.source.read_only = True
    assert stage.after(1) == ()
    assert stage.source.asked == asked + 1


def test_a_schema_that_another_registered_needs_no_right_to_write() -> None:
    stage = Stage()
    stage.source.schemas, stage.source.read_only = {9: SCHEMA}, True
    assert stage.after(0) == ()
    assert stage.encoding.schema_id == 9


def test_no_probe_can_be_written_until_the_registry_has_the_schema() -> None:
    stage = Stage()
    stage.source.away = True
    (problem,) = stage.after(0)
    assert (problem.code, problem.health) == (
        "canary.unreadable",
        Health.UNKNOWN,
    )
    assert problem.numbers == {
        "problem": "summit is away",
        "schema": "canary-value",
    }
    assert not stage.encoding.ready
    stage.source.away = False
    assert stage.after(WAITING) == ()
    assert stage.encoding.ready


def test_probes_go_on_while_a_known_registry_is_away() -> None:
    stage = Stage()
    stage.after(0)
    stage.source.away = True
    (problem,) = stage.after(AGAIN)
    assert problem.health is Health.UNKNOWN
    assert problem.numbers["schema"] is None
    assert stage.encoding.ready


def test_a_registry_that_lost_the_schema_gets_it_again() -> None:
    stage = Stage()
    stage.after(0)
    stage.source.schemas, stage.source.next_id = {}, 5
    assert stage.after(AGAIN) == ()
    assert stage.encoding.schema_id == 5


def test_what_readers_cannot_resolve_is_told_until_they_can() -> None:
    stage = Stage()
    stage.after(0)
    assert stage.target.asked == 0
    stage.encoding.arrived_id = 1
    (problem,) = stage.after(1)
    assert problem.health is Health.WARNING
    assert (problem.code, problem.subject) == (
        "canary.undecodable",
        {"cluster": "ldf"},
    )
    assert problem.numbers == {"schema_id": 1, "registered": "unknown"}
    stage.target.schemas[1] = '{"type": "record", "name": "x", "fields": []}'
    (problem,) = stage.after(AGAIN)
    assert problem.numbers["registered"] == "a different schema"
    stage.target.schemas[1] = SCHEMA
    assert stage.after(AGAIN - 1) == (problem,)
    assert stage.after(1) == ()


def test_what_is_proved_is_seldom_asked_for_but_a_new_id_at_once() -> None:
    stage = Stage()
    stage.target.schemas[1] = SCHEMA
    stage.encoding.arrived_id = 1
    assert stage.after(0) == ()
    assert stage.after(PROVED - 1) == ()
    assert stage.target.asked == 1
    stage.encoding.arrived_id = 2
    (problem,) = stage.after(0)
    assert problem.numbers == {"schema_id": 2, "registered": "unknown"}
    stage.encoding.arrived_id = 1
    assert stage.after(0) == ()


def test_a_target_registry_that_is_away_leaves_the_question_open() -> None:
    stage = Stage()
    stage.target.away = True
    stage.encoding.arrived_id = 1
    (problem,) = stage.after(0)
    assert problem.health is Health.UNKNOWN
    assert problem.code == "canary.unreadable"
    assert stage.encoding.ready


def test_without_a_registry_at_the_target_nothing_is_asked_there() -> None:
    stage = Stage(with_target=False)
    stage.encoding.arrived_id = 1
    assert stage.after(0) == ()


def test_a_key_hashes_to_its_partition_as_in_java() -> None:
    # Of UtilsTest.testMurmur2 of Kafka.
    known = {
        b"21": -973932308,
        b"foobar": -790332482,
        b"a-little-bit-long-string": -985981536,
        b"a-little-bit-longer-string": -1486304829,
        b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8": -58897971,
        b"abc": 479470107,
    }
    for data, signed in known.items():
        assert murmur2(data) == signed % 2**32
    for partition in range(6):
        message = ProbeMessage(
            run="r", flow="a->b", partition=partition, sequence=7, sent_at=NOON
        )
        key = hashed_key(message, 6)
        assert key.startswith(message.key)
        assert (murmur2(key) & 0x7FFFFFFF) % 6 == partition
