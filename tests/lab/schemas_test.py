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
from tests.support.findings import find
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
        found(agent, Health.OK, "schemas.ok")
        agent.let_pass(5)
        verdict = found(agent, Health.OK, "schemas.ok")
        find(verdict, "schemas.ok", schemas=1, topics=1)
        assert verdict.evidence["registry_mode_summit"] == "READWRITE"

        # A schema that only the source has.
        source.schemas[3] = avro("Order", "id", "new")
        write(lab, "orders", framed(3))
        verdict = found(agent, Health.CRITICAL, "schemas.missing")
        find(
            verdict,
            "schemas.missing",
            topic="orders",
            part="value",
            schema="schema id 3",
            newest_partition=0,
            newest_offset=0,
        )

    # What was proved stays reported over a restart, although the registry
    # does not answer now.
    target.down = True
    with watch(lab, source, target, state) as agent:
        found(
            agent,
            Health.CRITICAL,
            "schemas.missing",
            "schemas.unreadable",
        )
        target.schemas[3] = source.schemas[3]
        target.down = False
        found(agent, Health.WARNING, "schemas.late")
        verdict = found(agent, Health.OK, "schemas.ok")
        find(verdict, "schemas.ok", schemas=2, topics=1)

        # Two registries gave one id to two schemas.
        source.schemas[4], target.schemas[4] = avro("C", "c"), avro("D", "d")
        write(lab, "trips", framed(4))
        verdict = found(agent, Health.CRITICAL, "schemas.different")
        find(verdict, "schemas.different", topic="trips", schemas=1)
        target.schemas[4] = source.schemas[4]
        verdict = found(agent, Health.OK, "schemas.ok")
        find(verdict, "schemas.ok", schemas=3, topics=2)

        # A schema that comes after its records.
        source.schemas[5] = avro("Trip", "to")
        write(lab, "trips", framed(5))
        verdict = found(agent, Health.CRITICAL, "schemas.missing")
        find(verdict, "schemas.missing", topic="trips", schemas=1)
        target.schemas[5] = source.schemas[5]
        verdict = found(agent, Health.WARNING, "schemas.late")
        find(verdict, "schemas.late", topic="trips")
        verdict = found(agent, Health.OK, "schemas.ok")
        find(verdict, "schemas.ok", schemas=4, topics=2)


def test_without_an_answer_of_a_registry_nothing_is_ok(
    plain_lab: Lab, source: StandInRegistry, target: StandInRegistry
) -> None:
    schema = avro("Order", "id")
    source.schemas = dict.fromkeys(range(1, 6), schema)
    target.schemas = dict(source.schemas)
    write(plain_lab, "orders", framed(1))
    with watch(plain_lab, source, target) as agent:
        found(agent, Health.OK, "schemas.ok")
        for registry, alias in ((source, SOURCE), (target, TARGET)):
            registry.down = True
            found(
                agent,
                Health.UNKNOWN,
                "schemas.unreadable",
                f"The schema registry of {alias}",
            )
            registry.down = False
            found(agent, Health.OK, "schemas.ok")
        source.mode = "IMPORT"
        found(
            agent,
            Health.WARNING,
            "schemas.mode",
        )
        source.mode = "READWRITE"
        found(agent, Health.OK, "schemas.ok")


def test_topics_without_schemas_have_no_verdict(
    plain_lab: Lab, source: StandInRegistry, target: StandInRegistry
) -> None:
    """The ids in these records are in neither registry."""
    with watch(plain_lab, source, target) as agent:
        found(
            agent,
            Health.OFF,
            "schemas.off",
        )
