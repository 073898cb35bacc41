"""A drill: the source is killed, and groups go on at the target.

The mirror is MirrorMaker 2 at its own intervals, but that of checkpoints and
of looking for groups.
"""

import csv
import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from mirrorwatch.domain.failover import texts
from mirrorwatch.domain.report import Health
from mirrorwatch_lab import CANARY_TOPIC, Lab, LabSettings
from mirrorwatch_lab.faults import drop_marked
from tests.support.failover import (
    OFTEN,
    Log,
    fill_with_gaps,
    is_as_announced,
    read_on,
)
from tests.support.findings import find
from tests.support.group import commit
from tests.support.lab import carry, copied, numbered, produce
from tests.support.skips import settled
from tests.support.watch import Watch, describe, wait_until

pytestmark = pytest.mark.lab

GROUPS: Mapping[str, Mapping[tuple[str, int], int]] = {
    "at-the-start": {("steady", 0): 0, ("steady", 1): 0, ("dropped", 0): 0},
    "stopped": {("steady", 0): 237, ("dropped", 0): 123, ("marked", 0): 57},
    "slow": {("steady", 1): 3, ("dropped", 0): 200, ("marked", 0): 10},
    "fast": {("steady", 0): 437, ("steady", 1): 60, ("dropped", 0): 252},
}
"""Offsets at the source. Records 120 to 126 and 217 to 221 of ``dropped`` are
dropped; ``marked`` holds three transactions of 40 records."""


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    settings = LabSettings(
        topics={
            CANARY_TOPIC: 1,
            "steady": 2,
            "dropped": 1,
            "marked": 1,
            "doomed": 1,
            "other": 1,
        },
        mirror_properties=OFTEN | drop_marked(),
    )
    with Lab(settings) as lab:
        yield lab


def fill(lab: Lab) -> None:
    produce(lab, "steady", numbered("b", 0, 60), partition=1)
    produce(lab, "steady", numbered("a", 0, 437))
    fill_with_gaps(lab)
    copied(lab, "steady", ["a 436", "b 59"])


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


@pytest.mark.long
def test_a_group_that_lost_its_start_is_named_until_it_has_one(
    lab: Lab,
) -> None:
    """Its target topic is deleted while no record comes."""
    limits = {"failover": {"rpo": "2s"}}
    groups = {"reads-on": "doomed", "rests": "doomed", "well": "other"}

    def commit_all(offset: int) -> None:
        for group, topic in groups.items():
            commit(lab.source.bootstrap, group, {(topic, 0): offset})

    with Watch(lab, flow={"limits": limits}) as watch:
        settled(watch)
        for topic in ("doomed", "other"):
            carry(lab, topic, numbered(topic, 0, 60))
        commit_all(40)
        watch.wait_for(Health.OK, "failover.ok", check="failover", groups=3)
        lab.mirror.stop()
        lab.target.topics.delete("doomed")
        lab.mirror.start()
        warning = watch.wait_for(
            Health.WARNING,
            "failover.no-start",
            check="failover",
            topic="doomed",
        )
        find(warning, "failover.ok", groups_without_start=2)
        commit(lab.source.bootstrap, "reads-on", {("doomed", 0): 45})
        critical = watch.wait_for(
            Health.CRITICAL,
            "failover.no-start",
            check="failover",
            group="reads-on",
            topic="doomed",
            partition=0,
        )
        assert "well" not in str(critical)
        # From here on it is at both sides again. The checkpoints that are
        # left are of the topic that is no more: a start there would miss what
        # was copied since.
        produce(lab, "doomed", numbered("doomed", 60, 90))
        copied(lab, "doomed", ["doomed 89"])
        watch.wait_for(
            Health.CRITICAL,
            "failover.no-start",
            check="failover",
            problem=texts.MISSES,
        )
        for group in ("reads-on", "rests"):
            commit(lab.source.bootstrap, group, {("doomed", 0): 75})
        watch.wait_for(
            Health.OK,
            "failover.ok",
            check="failover",
            groups=3,
            groups_without_start=0,
        )


@pytest.mark.long  # as a whole site does in failover_drill_test
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
    starts = {place: p for place, p in starts.items() if place[0] in GROUPS}
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
