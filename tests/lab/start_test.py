import socket
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Literal

import pytest

from mirrorwatch_lab import CANARY_TOPIC, Lab, LabSettings
from mirrorwatch_lab.exceptions import LabError
from mirrorwatch_lab.process import KAFKA_VERSIONS
from tests.support.http import HTTP
from tests.support.lab import copied, produce, values

pytestmark = pytest.mark.lab

Factory = Callable[[LabSettings], Lab]


@pytest.mark.parametrize(
    ("kafka", "naming"),
    [
        (KAFKA_VERSIONS[0], "default"),
        (KAFKA_VERSIONS[1], "identity"),
    ],
)
@pytest.mark.long
def test_a_lab_copies_every_record_under_its_naming(
    fresh_lab: Factory,
    kafka: str,
    naming: Literal["identity", "default"],
    capsys: pytest.CaptureFixture[str],
) -> None:
    started = time.monotonic()
    lab = fresh_lab(LabSettings(kafka=kafka, naming=naming))
    seconds = time.monotonic() - started
    with capsys.disabled():
        print(f"\nKafka {kafka}: lab up in {seconds:.1f} s")

    sent = [f"{partition}-{n}" for partition in range(6) for n in range(20)]
    for partition in range(6):
        mine = [value for value in sent if value.startswith(f"{partition}-")]
        produce(lab, CANARY_TOPIC, mine, partition=partition)
    copied(lab, CANARY_TOPIC, sent)

    name = "summit.mirrorwatch.canary" if naming == "default" else CANARY_TOPIC
    assert sorted(values(lab, "target", name)) == sorted(sent)
    assert lab.target.topics.names()[name] == 6
    assert lab.source.cluster_id != lab.target.cluster_id

    mbeans = HTTP.get(
        f"{lab.mirror.jolokia_url}/search/kafka.connect.mirror:*", timeout=120
    ).json()["value"]
    assert any(f"topic={name}" in mbean for mbean in mbeans)


@pytest.mark.long
def test_two_labs_side_by_side_do_not_meet(fresh_lab: Factory) -> None:
    settings = LabSettings(start_mirror=False)
    with ThreadPoolExecutor() as threads:
        labs = [*threads.map(fresh_lab, (settings, settings))]

    for number, lab in enumerate(labs):
        produce(lab, CANARY_TOPIC, [f"lab {number}"])
    for number, lab in enumerate(labs):
        assert values(lab, "source", CANARY_TOPIC) == [f"lab {number}"]
    assert labs[0].source.cluster_id != labs[1].source.cluster_id


def test_a_broker_comes_back_after_a_crash_as_it_was(
    lab_for: Factory,
) -> None:
    lab = lab_for(LabSettings(start_mirror=False))
    produce(lab, CANARY_TOPIC, ["before"])
    address, cluster = lab.source.bootstrap, _cluster_id(lab)

    lab.source.kill()
    assert not lab.source.running
    lab.source.start()

    assert lab.source.bootstrap == address
    assert _cluster_id(lab) == cluster == lab.source.cluster_id
    assert "before" in values(lab, "source", CANARY_TOPIC)


def test_a_broker_that_crashes_while_starting_shows_its_log(
    fresh_lab: Factory,
) -> None:
    settings = LabSettings(source_properties={"num.io.threads": "none"})
    with pytest.raises(LabError, match="summit") as error:
        fresh_lab(settings)
    assert "num.io.threads" in str(error.value)
    assert "ConfigException" in str(error.value)


@pytest.mark.long
def test_a_mirror_that_crashes_while_starting_shows_its_log(
    fresh_lab: Factory,
) -> None:
    settings = LabSettings(
        mirror_properties={"ldf.offset.flush.interval.ms": "soon"}
    )
    with pytest.raises(LabError, match="mirror ended") as error:
        fresh_lab(settings)
    assert "offset.flush.interval.ms" in str(error.value)


def test_topics_are_not_made_by_asking_for_them(lab_for: Factory) -> None:
    lab = lab_for(LabSettings(start_mirror=False))
    assert values(lab, "source", "nobody.made.this") == []
    assert "nobody.made.this" not in lab.source.topics.names()


def test_everything_listens_on_loopback_only(lab_for: Factory) -> None:
    lab = lab_for(LabSettings(start_mirror=False))
    port = int(lab.source.bootstrap.rpartition(":")[2])
    # Another address of this machine, if there is a network at all.
    with pytest.raises(OSError, match="refused"):
        socket.create_connection(("127.0.0.2", port), timeout=5)


def _cluster_id(lab: Lab) -> Any:
    described = lab.source.topics.admin.describe_cluster(request_timeout=60)
    return described.result(90).cluster_id
