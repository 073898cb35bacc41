"""A drill: the source is killed, and groups go on at the target.

The mirror is MirrorMaker 2 at its own intervals, but that of checkpoints and
of looking for groups.
"""

import csv
import json
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml
from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition

from mirrorwatch_lab import CANARY_TOPIC, Lab, LabSettings
from mirrorwatch_lab.faults import MARK, drop_marked
from tests.support.lab import FLUSH_SECONDS, carry, copied, produce
from tests.support.skips import settled
from tests.support.watch import Watch, describe, wait_until

pytestmark = pytest.mark.lab

OFTEN = {
    "emit.checkpoints.interval.seconds": "5",
    "refresh.groups.interval.seconds": "5",
}
GROUPS: Mapping[str, Mapping[tuple[str, int], int]] = {
    "at-the-start": {("steady", 0): 0, ("steady", 1): 0, ("dropped", 0): 0},
    "stopped": {("steady", 0): 237, ("dropped", 0): 123, ("marked", 0): 57},
    "slow": {("steady", 1): 3, ("dropped", 0): 200, ("marked", 0): 10},
    "fast": {("steady", 0): 437, ("steady", 1): 60, ("dropped", 0): 252},
}
"""Offsets at the source. Records 120 to 126 and 217 to 221 of ``dropped`` are
dropped; ``marked`` holds three transactions of 40 records."""


@dataclass(frozen=True)
class Log:
    """Offsets and values of one partition."""

    records: Sequence[tuple[int, str]]

    @classmethod
    def read(cls, lab: Lab, side: str, topic: str, partition: int) -> "Log":
        site = lab.source if side == "source" else lab.target
        return cls(
            [
                (record.offset() or 0, (record.value() or b"").decode())
                for record in site.topics.read(topic)
                if record.partition() == partition
            ]
        )

    def values(self, first: int = 0) -> list[str]:
        return [value for offset, value in self.records if offset >= first]


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    settings = LabSettings(
        topics={CANARY_TOPIC: 1, "steady": 2, "dropped": 1, "marked": 1},
        mirror_properties=OFTEN | drop_marked(),
    )
    with Lab(settings) as lab:
        yield lab


def numbered(name: str, first: int, end: int) -> list[str]:
    return [f"{name} {n}" for n in range(first, end)]


def fill(lab: Lab) -> None:
    produce(lab, "steady", numbered("b", 0, 60), partition=1)
    produce(lab, "steady", numbered("a", 0, 437))
    carry(lab, "dropped", numbered("d", 0, 120))
    produce(lab, "dropped", numbered("x", 0, 7), headers={MARK: b""})
    carry(lab, "dropped", numbered("d", 120, 210))
    produce(lab, "dropped", numbered("y", 0, 5), headers={MARK: b""})
    carry(lab, "dropped", numbered("d", 210, 240))
    producer = Producer(
        {"bootstrap.servers": lab.source.bootstrap, "transactional.id": "t"}
    )
    producer.init_transactions(FLUSH_SECONDS)
    for first in (0, 40, 80):
        producer.begin_transaction()
        for value in numbered("m", first, first + 40):
            producer.produce("marked", value, partition=0)
        producer.commit_transaction(FLUSH_SECONDS)
    copied(lab, "steady", ["a 436", "b 59"])
    copied(lab, "marked", ["m 119"])


def group(bootstrap: str, name: str) -> Consumer:
    return Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": name,
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "auto.offset.reset": "error",
            "log_level": 0,
        }
    )


def commit(
    bootstrap: str, name: str, offsets: Mapping[tuple[str, int], int]
) -> None:
    consumer = group(bootstrap, name)
    places = [TopicPartition(t, p, o) for (t, p), o in offsets.items()]

    def is_taken() -> bool:
        try:
            consumer.commit(offsets=places, asynchronous=False)
        except KafkaException:
            return False  # its coordinator is being looked for
        return True

    wait_until(is_taken)
    consumer.close()


def read_on(
    lab: Lab, name: str, places: Sequence[tuple[str, int]]
) -> dict[tuple[str, int], list[str]]:
    """Return what a group reads at the target from its committed offsets."""
    consumer = group(lab.target.bootstrap, name)
    found: dict[tuple[str, int], list[str]] = {p: [] for p in places}
    ended: set[tuple[str, int]] = set()
    consumer.assign([TopicPartition(*place) for place in places])

    def has_ended() -> bool:
        for message in consumer.consume(500, timeout=1):
            place = message.topic() or "", message.partition() or 0
            if message.error():
                ended.add(place)
            else:
                found[place].append((message.value() or b"").decode())
        return len(ended) == len(places)

    wait_until(has_ended)
    consumer.close()
    return found


def ask(config: Path, *arguments: str) -> Any:
    command = [sys.executable, "-m", "mirrorwatch", "offsets", "--json"]
    result = subprocess.run(
        [*command, "--config", str(config), *arguments],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


def is_as_announced(start: Mapping[str, Any], repeated: int) -> bool:
    if start["exact"]:
        return bool(repeated == start["repeated"])
    return bool(repeated <= start["repeated"])


def test_groups_go_on_where_they_are_told(lab: Lab, tmp_path: Path) -> None:
    state = tmp_path / "state.db"
    config = tmp_path / "config.yaml"
    data = describe(lab) | {"state": {"path": str(state)}}
    config.write_text(yaml.safe_dump(data))
    with Watch(lab, state=state) as watch:
        settled(watch)
        fill(lab)
        for name, offsets in GROUPS.items():
            commit(lab.source.bootstrap, name, offsets)
        sources = {
            place: Log.read(lab, "source", *place)
            for offsets in GROUPS.values()
            for place in offsets
        }

        def is_known() -> bool:
            """Return whether all is in the file, with a checkpoint."""
            found = ask(config, "--all-groups", "--planned")["groups"]
            wanted = {(g, *p) for g, at in GROUPS.items() for p in at}
            places = {
                (each["group"], p["topic"], p["partition"]): p
                for each in found
                for p in each["partitions"]
            }
            by = {
                other["by"]
                for p in places.values()
                for other in (p, *p["others"])
            }
            drained = all(
                p["drained"] or p["topic"] == "marked" for p in places.values()
            )
            return wanted <= places.keys() and "checkpoint" in by and drained

        wait_until(is_known, what=lambda: ask(config, "--all-groups"))
        # The agent sees that both ends agree, and writes it down.
        watch.let_pass(3)
        lab.source.kill()
        watch.let_pass(3)

    reset = tmp_path / "reset.csv"
    found = ask(config, "--all-groups", "--reset-file", str(reset))
    starts = {
        (each["group"], p["topic"], p["partition"]): p
        for each in found["groups"]
        for p in each["partitions"]
    }
    lines = list(csv.reader(reset.read_text().splitlines()))
    assert len(lines) == len(starts)
    exact = 0
    for name, offsets in GROUPS.items():
        wanted = {
            (topic, int(partition)): int(offset)
            for of, topic, partition, offset in lines
            if of == name
        }
        assert wanted.keys() == offsets.keys()
        commit(lab.target.bootstrap, name, wanted)
        read = read_on(lab, name, list(wanted))
        for place, committed in offsets.items():
            start = starts[name, *place]
            copies = Log.read(lab, "target", *place)
            crossed = set(sources[place].values(committed)) & set(
                copies.values()
            )
            # Nothing that crossed is missed, and what is announced is so.
            assert start["missed"] == 0
            assert crossed - set(read[place]) == set()
            repeated = len(read[place]) - len(crossed)
            assert is_as_announced(start, repeated), (name, place, start)
            exact += start["exact"]
            for other in start["others"]:
                values = copies.values(other["offset"])
                missed = len(crossed - set(values))
                assert missed == other["missed"] == 0
                assert is_as_announced(other, len(values) - len(crossed))
    # Only within a gap that the mirror left nobody knows more.
    assert exact >= len(starts) - 2, starts

    single = ask(config, "--group", "stopped", "--reset-file", str(reset))
    assert [each["group"] for each in single["groups"]] == ["stopped"]
    assert len(reset.read_text().splitlines()[0].split(",")) == 3
