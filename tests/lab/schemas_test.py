"""Schemas that readers at the target need, on real brokers.

The registries are stand-ins: what they say is what a test wants. Probes in
`canary_avro_test.py` have real ones.
"""

import struct
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Producer

from mirrorwatch.domain.report import Health, Verdict
from mirrorwatch_lab import CANARY_TOPIC, SOURCE, TARGET, Lab, LabSettings
from tests.support.lab import FLUSH_SECONDS
from tests.support.schemas import (
    StandInRegistry,
    avro,
    framed,
    standing_in,
)
from tests.support.watch import Watch

pytestmark = [pytest.mark.lab, pytest.mark.long]

TOPICS = {CANARY_TOPIC: 1, "orders": 2, "trips": 1, "plain": 1, "numbers": 1}

LIMITS = {"schemas": {"patience": "2s", "late_window": "8s"}}
"""Long enough to be seen, and short enough to be over in a test."""

OK = (
    "The one schema id in records of 1 topic is the same schema at summit "
    "and ldf"
)


@pytest.fixture(scope="module")
def plain_lab() -> Iterator[Lab]:
    with Lab(LabSettings(intervals="fast", topics=TOPICS)) as lab:
        yield lab


@pytest.fixture
def source() -> Iterator[StandInRegistry]:
    with standing_in(StandInRegistry()) as registry:
        yield registry


@pytest.fixture
def target() -> Iterator[StandInRegistry]:
    with standing_in(StandInRegistry()) as registry:
        yield registry


def write(lab: Lab, topic: str, *values: bytes, partition: int = 0) -> None:
    producer = Producer({"bootstrap.servers": lab.source.bootstrap})
    for value in values:
        producer.produce(topic, value, partition=partition)
    assert producer.flush(FLUSH_SECONDS) == 0


def watch(
    lab: Lab,
    source: StandInRegistry,
    target: StandInRegistry,
    state: Path | None = None,
) -> Watch:
    return Watch(
        lab,
        state=state,
        flow={"limits": LIMITS},
        registries={SOURCE: source.url, TARGET: target.url},
    )


def found(agent: Watch, health: Health, *saying: str) -> Verdict:
    return agent.wait_for(health, *saying, check="schemas")


def test_schemas_are_missed_late_mixed_up_and_healed(
    plain_lab: Lab,
    source: StandInRegistry,
    target: StandInRegistry,
    tmp_path: Path,
) -> None:
    lab, state = plain_lab, tmp_path / "state.db"
    order = avro("Order", "id")
    source.schemas[1] = order
    # Written by the registry in its own way.
    target.schemas[1] = avro("Order", "id", doc="An order")
    source.names, target.names = ["orders-value"], ["orders-value"]
    # What nothing is written with, but numbers look like it.
    source.schemas[2], target.schemas[2] = avro("A", "a"), avro("B", "b")
    write(lab, "orders", framed(1), framed(1, b"12"), partition=1)
    write(lab, "plain", b'{"a": 1}', b"\x00\xff")
    write(lab, "numbers", *(struct.pack(">Q", n) for n in (3, 50_000_000)))

    with watch(lab, source, target, state) as agent:
        found(agent, Health.OK, OK)
        agent.let_pass(5)
        verdict = found(agent, Health.OK, OK)
        assert verdict.evidence["topics_with_schemas"] == 1
        assert verdict.evidence["schema_ids_bad"] == 0
        assert verdict.evidence["registry_mode_summit"] == "READWRITE"

        # A schema that only the source has.
        source.schemas[3] = avro("Order", "id", "new")
        write(lab, "orders", framed(3))
        found(
            agent,
            Health.CRITICAL,
            "Records of orders cannot be decoded at ldf: schema id 3 is "
            "unknown in its schema registry for ",
            ". Copy the schemas of summit there with their ids (its mode is "
            "READWRITE)",
            "orders value schema id 3: missing, ",
            "newest at offset 0 of partition 0 at the ",
        )

    # What was proved stays reported over a restart, although the registry
    # does not answer now.
    target.down = True
    with watch(lab, source, target, state) as agent:
        found(
            agent,
            Health.CRITICAL,
            "schema id 3 is unknown in its schema registry",
            "The schema registry of ldf returned an error (status 503, down)",
        )
        target.schemas[3] = source.schemas[3]
        target.down = False
        found(
            agent,
            Health.WARNING,
            "Schema id 3 of orders arrived at ldf at most ",
            " after its first record, ",
        )
        found(
            agent,
            Health.OK,
            "All 2 schema ids in records of 1 topic are the same schema",
        )

        # Two registries gave one id to two schemas.
        source.schemas[4], target.schemas[4] = avro("C", "c"), avro("D", "d")
        write(lab, "trips", framed(4))
        verdict = found(
            agent,
            Health.CRITICAL,
            "Records of trips are decoded by a wrong schema at ldf: schema "
            "id 4 is another schema there than at summit, for ",
        )
        assert verdict.evidence["schema_ids_bad"] == 1
        target.schemas[4] = source.schemas[4]
        found(agent, Health.OK, "All 3 schema ids in records of 2 topics")

        # A schema that comes after its records.
        source.schemas[5] = avro("Trip", "to")
        write(lab, "trips", framed(5))
        found(
            agent,
            Health.CRITICAL,
            "Records of trips cannot be decoded at ldf: schema id 5",
        )
        target.schemas[5] = source.schemas[5]
        verdict = found(
            agent, Health.WARNING, "Schema id 5 of trips arrived at ldf "
        )
        assert "at most" not in verdict.reason
        found(agent, Health.OK, "All 4 schema ids in records of 2 topics")


def test_without_an_answer_of_a_registry_nothing_is_ok(
    plain_lab: Lab, source: StandInRegistry, target: StandInRegistry
) -> None:
    schema = avro("Order", "id")
    source.schemas = dict.fromkeys(range(1, 6), schema)
    target.schemas = dict(source.schemas)
    write(plain_lab, "orders", framed(1))
    with watch(plain_lab, source, target) as agent:
        found(agent, Health.OK, "in records of")
        for registry, alias in ((source, SOURCE), (target, TARGET)):
            registry.down = True
            found(
                agent,
                Health.UNKNOWN,
                f"The schema registry of {alias} returned an error (status "
                "503, down)",
            )
            registry.down = False
            found(agent, Health.OK, "in records of")
        source.mode = "IMPORT"
        found(
            agent,
            Health.WARNING,
            "Producers at summit cannot register schemas: its schema "
            "registry is in mode IMPORT",
        )
        source.mode = "READWRITE"
        found(agent, Health.OK, "in records of")


def test_topics_without_schemas_have_no_verdict(
    plain_lab: Lab, source: StandInRegistry, target: StandInRegistry
) -> None:
    """The ids in these records are in neither registry."""
    with watch(plain_lab, source, target) as agent:
        found(
            agent,
            Health.OFF,
            "No record that was sampled carries a schema id",
        )
