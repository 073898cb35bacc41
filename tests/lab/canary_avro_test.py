"""Probes as Avro, with the registries of both sites."""

import json
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from confluent_kafka import Producer

from mirrorwatch.clock import utc_now
from mirrorwatch.domain.canary.model import IndeterminateProbe, ProbeMessage
from mirrorwatch.domain.report import Flow, Health
from mirrorwatch.kafka.admin import Cluster
from mirrorwatch.sources.canary.encoding import Avro
from mirrorwatch.sources.canary.settings import CanarySettings
from mirrorwatch.sources.canary.surveyor import ProbeSettler
from mirrorwatch_lab import CANARY_TOPIC, SOURCE, TARGET, Lab, LabSettings
from tests.support.lab import FLUSH_SECONDS
from tests.support.schemas import PlainReader, find_schema, register, subjects
from tests.support.truth import Truth
from tests.support.watch import Watch, wait_until

pytestmark = [pytest.mark.lab, pytest.mark.long]

SUBJECT = f"{CANARY_TOPIC}-value"

AVRO = {"format": "avro", "deadline": "120s"}
JSON = {"format": "json", "deadline": "120s"}
"""A deadline that no pause of these tests reaches: nothing may be late."""

CLEAN = {"lost": 0, "late": 0, "failed": 0}


@pytest.fixture(scope="module")
def schema_lab() -> Iterator[Lab]:
    with Lab(LabSettings(registries=True, intervals="fast")) as lab:
        yield lab


def drain(watch: Watch) -> None:
    """Wait until what was held up has arrived, then stop."""
    wait_until(lambda: watch.counts["outstanding"] == 0)
    watch.stop()


def test_probes_wait_for_the_registry_and_readers_for_the_schema(
    schema_lab: Lab,
) -> None:
    source = schema_lab.registries[SOURCE]
    target = schema_lab.registries[TARGET]
    reader = PlainReader(source)
    source.stop()
    limits = {"schemas": {"patience": "2s", "late_window": "5s"}}
    with Watch(schema_lab, canary=AVRO, flow={"limits": limits}) as watch:
        away = "The schema registry of summit cannot be reached"
        watch.wait_for(Health.UNKNOWN, "canary.unreadable", away)
        watch.let_pass(3)
        assert watch.counts["sent"] == 0

        source.start()
        watch.wait_for(Health.WARNING, "canary.undecodable")
        # The schema is where every reader of this site looks for it.
        assert subjects(source) == [SUBJECT]
        assert subjects(target) == []
        schema_id, schema = find_schema(source, SUBJECT)
        assert json.loads(schema)["name"] == "Probe"
        watch.wait_for(
            Health.WARNING, "canary.undecodable", schema_id=schema_id
        )
        watch.wait_for(
            Health.CRITICAL,
            "schemas.missing",
            check="schemas",
            topic=CANARY_TOPIC,
            part="value",
            schema=f"schema id {schema_id}",
        )

        assert register(target, SUBJECT, schema) == schema_id
        watch.wait_for(Health.OK)
        watch.wait_for(Health.OK, "schemas.ok", check="schemas")
        delivered = watch.counts["delivered"]
        watch.wait_for_count("delivered", delivered + 60)
        drain(watch)
    truth = Truth(schema_lab, decode=reader.decode)
    truth.wait_for_the_rest(watch)
    totals = truth.check(watch)
    assert {name: totals[name] for name in CLEAN} == CLEAN
    assert totals["arrived"] + totals["outstanding"] == totals["sent"] > 60
    assert reader.json_read == 0


def test_a_change_of_the_format_loses_nothing(
    schema_lab: Lab, tmp_path: Path
) -> None:
    """With probes of the old format under way at each change."""
    state = tmp_path / "state.db"
    mirror = schema_lab.mirror
    for canary in (JSON, AVRO, JSON):
        with Watch(schema_lab, state=state, canary=canary) as watch:
            mirror.thaw()
            wait_until(lambda: watch.counts["sent"] > 0)
            sent = watch.counts["sent"]
            watch.wait_for_count("delivered", sent + 60)
            mirror.freeze()
            watch.wait_for_count("outstanding", 24)
    mirror.thaw()
    with Watch(schema_lab, state=state, canary=AVRO) as watch:
        watch.wait_for(Health.OK)
        drain(watch)
    reader = PlainReader(schema_lab.registries[SOURCE])
    truth = Truth(schema_lab, decode=reader.decode)
    truth.wait_for_the_rest(watch)
    totals = truth.check(watch)
    assert {name: totals[name] for name in CLEAN} == CLEAN
    assert totals["arrived"] + totals["outstanding"] == totals["sent"]
    assert totals["sent"] > 4 * 60
    assert min(reader.avro_read, reader.json_read) > 100


def test_a_doubtful_send_is_found_at_the_source(schema_lab: Lab) -> None:
    """Where it is read to find out whether it was written."""
    schema_lab.create_topic("doubtful")
    properties = {"bootstrap.servers": schema_lab.source.bootstrap}
    settings = CanarySettings(
        flow=Flow(name="f", source=SOURCE, target=TARGET),
        topic="doubtful",
        remote_topic="doubtful",
        interval=timedelta(seconds=1),
        deadline=timedelta(seconds=30),
        warmup=timedelta(minutes=10),
        create=True,
    )
    encoding = Avro()
    encoding.schema_id = 1
    sent_at = utc_now() - timedelta(minutes=10)
    producer = Producer(properties)
    for sequence in (1, 3):
        message = ProbeMessage(
            run="r", flow="f", partition=0, sequence=sequence, sent_at=sent_at
        )
        producer.produce("doubtful", encoding.encode(message, 256))
    assert producer.flush(FLUSH_SECONDS) == 0
    settler = ProbeSettler(
        cluster=Cluster(SOURCE, properties),
        properties=properties,
        settings=settings,
        run="r",
        clock=utc_now,
    )
    settled = settler.settle(
        IndeterminateProbe(
            partition=0,
            sequence=sequence,
            floor=0,
            sent_at=sent_at,
            current=True,
        )
        for sequence in (1, 2, 3)
    )
    assert {s.sequence: s.source_offset for s in settled} == {
        1: 0,
        2: None,
        3: 1,
    }


def test_a_registry_that_crashed_has_its_schemas_still(
    schema_lab: Lab,
) -> None:
    registry = schema_lab.registries[TARGET]
    before = register(registry, "kept-value", '"string"')
    registry.kill()
    assert not registry.running
    registry.start()
    assert find_schema(registry, "kept-value") == (before, '"string"')
