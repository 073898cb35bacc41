"""What the named faults do, on a mirror at its own intervals."""

import socket
from collections.abc import Callable
from datetime import timedelta

import pytest
from confluent_kafka import TopicCollection

from mirrorwatch_lab import CANARY_TOPIC, Lab, LabSettings
from mirrorwatch_lab.faults import (
    MARK,
    alter_marked,
    drop_marked,
    exactly_once,
    expire,
    recreate_topic,
    reroute_marked,
)
from mirrorwatch_lab.process import KAFKA_VERSIONS
from mirrorwatch_lab.waiting import wait_until
from tests.support.lab import copied, produce, values

pytestmark = [pytest.mark.lab, pytest.mark.long]

Factory = Callable[[LabSettings], Lab]
MARKED = {MARK: b""}


@pytest.mark.parametrize("kafka", KAFKA_VERSIONS)
def test_exactly_the_marked_records_are_dropped(
    fresh_lab: Factory, kafka: str
) -> None:
    lab = fresh_lab(LabSettings(kafka=kafka, topics={CANARY_TOPIC: 1}))
    produce(lab, CANARY_TOPIC, ["passed 0"])
    copied(lab, CANARY_TOPIC, ["passed 0"])
    lab.mirror.stop()
    # Written while it is down: a mirror that ran its stored configuration
    # for a while must not be ready before it drops.
    lab.mirror.start(drop_marked())
    produce(
        lab, CANARY_TOPIC, [f"dropped {n}" for n in range(10)], headers=MARKED
    )
    produce(lab, CANARY_TOPIC, ["passed 1"])
    copied(lab, CANARY_TOPIC, ["passed 1"])
    assert values(lab, "target", CANARY_TOPIC) == ["passed 0", "passed 1"]

    lab.mirror.stop()
    lab.mirror.start()
    produce(lab, CANARY_TOPIC, ["not dropped any more"], headers=MARKED)
    copied(lab, CANARY_TOPIC, ["not dropped any more"])


def test_marked_records_are_altered_or_sent_elsewhere(
    fresh_lab: Factory,
) -> None:
    settings = LabSettings(
        topics={CANARY_TOPIC: 1}, mirror_properties=alter_marked()
    )
    lab = fresh_lab(settings)
    produce(lab, CANARY_TOPIC, ["altered"], headers={**MARKED, "kept": b"x"})
    produce(lab, CANARY_TOPIC, ["as it was"], headers={"kept": b"x"})
    copied(lab, CANARY_TOPIC, ["altered", "as it was"])
    headers = [m.headers() for m in lab.read("target", CANARY_TOPIC)]
    assert headers == [[("kept", b"x")], [("kept", b"x")]]

    lab.target.topics.create("elsewhere", 1, {})
    lab.mirror.stop()
    lab.mirror.start(reroute_marked("elsewhere"))
    produce(lab, CANARY_TOPIC, ["rerouted"], headers=MARKED)
    wait_until(
        lambda: values(lab, "target", "elsewhere") == ["rerouted"],
        limit=timedelta(seconds=400),
        what="the record did not come to the other topic",
    )
    assert "rerouted" not in values(lab, "target", CANARY_TOPIC)


def test_a_mirror_goes_on_after_crashes_of_every_part(
    fresh_lab: Factory,
) -> None:
    lab = fresh_lab(LabSettings(topics={CANARY_TOPIC: 1}, intervals="fast"))
    for part in (lab.mirror, lab.target, lab.source):
        part.kill()
        assert not part.running
        part.start()
        produce(lab, CANARY_TOPIC, [f"after {part.name}"])
        copied(lab, CANARY_TOPIC, [f"after {part.name}"])

    lab.mirror.freeze()
    produce(lab, CANARY_TOPIC, ["while frozen"])
    lab.mirror.thaw()
    copied(lab, CANARY_TOPIC, ["while frozen"])

    lab.link_mirror.cut()
    with pytest.raises(ConnectionRefusedError):
        _connect(lab.source.mirror_bootstrap)
    _connect(lab.source.agent_bootstrap)
    produce(lab, CANARY_TOPIC, ["while cut"])
    assert "while cut" not in values(lab, "target", CANARY_TOPIC)
    lab.link_mirror.restore()
    copied(lab, CANARY_TOPIC, ["while cut"])

    # A second node takes over from one that seems dead.
    lab.mirror.freeze()
    lab.add_mirror().start()
    produce(lab, CANARY_TOPIC, ["by the second node"])
    copied(lab, CANARY_TOPIC, ["by the second node"])
    lab.mirror.thaw()


def test_topics_of_the_source_are_grown_emptied_and_made_again(
    lab_for: Factory,
) -> None:
    lab = lab_for(LabSettings(start_mirror=False))
    lab.create_topic("worked.on", 2, {"max.message.bytes": "2000"})
    topics = lab.source.topics
    produce(lab, "worked.on", ["a", "b", "c"], partition=1)

    lab.grow("worked.on", 3)
    assert topics.names()["worked.on"] == 3
    lab.delete_records("worked.on", {1: 2})
    assert values(lab, "source", "worked.on") == ["c"]
    assert topics.ends("worked.on")[1] == (2, 3)
    expire(topics, "worked.on")
    assert topics.ends("worked.on")[1] == (3, 3)

    before = _topic_id(lab, "worked.on")
    recreate_topic(topics, "worked.on", 1)
    assert _topic_id(lab, "worked.on") != before
    assert topics.ends("worked.on") == {0: (0, 0)}
    topics.delete("worked.on")


def test_a_mirror_can_write_in_transactions(fresh_lab: Factory) -> None:
    settings = LabSettings(
        topics={CANARY_TOPIC: 1}, mirror_properties=exactly_once()
    )
    lab = fresh_lab(settings)
    produce(lab, CANARY_TOPIC, ["in a transaction"])
    copied(lab, CANARY_TOPIC, ["in a transaction"])
    # The marker of its commit is an offset without a record.
    wait_until(
        lambda: lab.target.topics.ends(CANARY_TOPIC)[0] == (0, 2),
        limit=timedelta(seconds=400),
        what="there is no commit marker",
    )


def _connect(address: str) -> None:
    host, _, port = address.rpartition(":")
    socket.create_connection((host, int(port)), timeout=60).close()


def _topic_id(lab: Lab, name: str) -> str:
    described = lab.source.topics.admin.describe_topics(
        TopicCollection([name])
    )
    return str(described[name].result(90).topic_id)
