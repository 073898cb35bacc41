"""What never came to the target, from the state file alone: no cluster
answers.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from datetime import timedelta
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result

from mirrorwatch.cli.root import main
from mirrorwatch.clock import utc_now
from mirrorwatch.domain.cluster_view import TopicPartition
from mirrorwatch.domain.copies.tracker import CopyTracker
from mirrorwatch.domain.failover import texts
from mirrorwatch.domain.offsets import OffsetRange
from mirrorwatch.domain.position.model import PartitionPosition, PositionState
from mirrorwatch.exceptions import SourceUnavailableError
from mirrorwatch.kafka.admin import Cluster
from mirrorwatch.kafka.reader import RangeReader
from mirrorwatch.state import Database
from mirrorwatch.state.copies import CopiesStore
from mirrorwatch.state.failover import SourceEndStore
from mirrorwatch.state.position import PositionStore
from tests.support.builders import NOON
from tests.support.copies import log_pair
from tests.support.dead_sites import two_dead_sites

pytestmark = pytest.mark.slow


FLOW = "summit->ldf"


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Two sites that do not answer."""
    flow = {
        "topics": {"merged": ["merged"], "filtered": ["filtered"]},
    }
    with two_dead_sites(tmp_path, monkeypatch, flow) as path:
        yield path


def keep(
    config: Path,
    ends: dict[tuple[str, int], int],
    target_end: int = 0,
) -> None:
    database = Database(config.parent / "state.db")
    pairs = {
        (topic, 0): log_pair((0, 10, 0), (17, 51, 10))
        for topic in ("t", "filtered")
    }
    pairs["t", 0].target_end = target_end
    tracker = CopyTracker(pairs=pairs, changed=set(pairs))
    CopiesStore(database, FLOW).save(tracker)
    places = {
        ("t", 0): PartitionPosition(committed=58),
        ("merged", 0): PartitionPosition(committed=3),
    }
    PositionStore(database, FLOW).save(PositionState(places=places), places)
    if ends:
        SourceEndStore(database, FLOW).save(ends, [], NOON)
    database.close()


def run(config: Path, *arguments: str) -> Result:
    return CliRunner().invoke(
        main, ["failback", "--config", str(config), *arguments]
    )


def test_ranges_are_known_with_both_sides_lost(config: Path) -> None:
    keep(
        config,
        {("t", 0): 100, ("merged", 0): 9, ("filtered", 0): 60, ("new", 0): 2},
    )
    result = run(config, "--json")
    assert result.exit_code == 3, result.output
    (flow,) = json.loads(result.stdout)["flows"]
    assert [tuple(each.values()) for each in flow["ranges"]] == [
        ("filtered", 0, 51, 59, 9, False, texts.TRANSFORMED),
        ("merged", 0, 3, 8, 6, False, texts.MERGED),
        ("new", 0, 0, 1, 2, False, texts.NO_SYNC),
        ("t", 0, 10, 16, 7, True, None),
        ("t", 0, 51, 99, 49, False, texts.SILENT),
    ]
    assert (flow["count"], flow["exact"]) == (73, False)
    assert flow["source_ends_at"] == NOON.isoformat()
    there, here = flow["problems"]
    assert "What MirrorMaker copied last is not known" in there
    assert f"What was written there since {NOON:%Y-%m-%d %H:%M}" in here

    text = " ".join(run(config).output.split())
    assert "at most 73 source offsets of 4 partitions never came" in text
    assert "t[0] 10 16 7" in text
    assert "t[0] 51 99 ≤ 49" in text


def test_nothing_to_copy_is_said_of_a_time(config: Path) -> None:
    keep(config, {("merged", 0): 3})
    result = run(config)
    assert result.exit_code == 0, result.output
    text = " ".join(result.output.split())
    assert f"all that summit held at {NOON:%Y-%m-%d %H:%M:%S} UTC" in text


def test_an_agent_that_read_nothing_yet_lists_nothing(config: Path) -> None:
    keep(config, {})
    result = run(config, "--json")
    assert result.exit_code == 3, result.output
    (flow,) = json.loads(result.stdout)["flows"]
    assert flow["source_ends_at"] is None
    assert not flow["exact"]
    assert "has not read the ends" in flow["problems"][-1]


def answer(
    monkeypatch: pytest.MonkeyPatch,
    sides: Mapping[str, Mapping[TopicPartition, tuple[int, int]]],
    empty: Iterable[TopicPartition] = (),
) -> None:
    """Let both sides answer with log starts and ends."""

    def list_topics(cluster: Cluster) -> Any:
        partitions = {topic: p + 1 for topic, p in sides[cluster.alias]}
        return SimpleNamespace(partitions=partitions)

    def read(
        number: int, cluster: Cluster, places: Iterable[TopicPartition]
    ) -> dict[TopicPartition, int]:
        logs = sides[cluster.alias]
        # Those without a leader have no end.
        return {p: logs[p][number] for p in places if p in logs}

    def find_empty(
        _: RangeReader, wanted: Iterable[tuple[TopicPartition, OffsetRange]]
    ) -> set[TopicPartition]:
        return {place for place, span in wanted if len(span)} & set(empty)

    module = "mirrorwatch.cli.failback"
    monkeypatch.setattr(f"{module}.list_topics", list_topics)
    monkeypatch.setattr(f"{module}.read_starts", partial(read, 0))
    monkeypatch.setattr(f"{module}.read_ends", partial(read, 1))
    monkeypatch.setattr(RangeReader, "find_empty", find_empty)


def test_a_source_that_answers_is_taken_as_it_is_now(
    config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep(config, {("t", 0): 100, ("new", 0): 2, ("gone", 0): 5})
    answer(
        monkeypatch,
        {
            "summit": {("t", 0): (12, 120), ("new", 0): (0, 3)},
            "ldf": {("summit.t", 0): (0, 60)},
        },
    )
    result = run(config, "--json")
    assert result.exit_code == 3, result.output
    (flow,) = json.loads(result.stdout)["flows"]
    assert flow["problems"] == []
    assert flow["exact"]
    assert [tuple(each.values())[:4] for each in flow["ranges"]] == [
        ("new", 0, 0, 2),
        ("t", 0, 12, 16),
        ("t", 0, 67, 119),
    ]


def test_markers_at_the_end_are_no_records_to_copy(
    config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep(config, {("t", 0): 100})
    logs = {"summit": {("t", 0): (17, 100)}, "ldf": {("summit.t", 0): (0, 92)}}
    answer(monkeypatch, logs)
    assert run(config).exit_code == 3
    answer(monkeypatch, logs, empty=[("t", 0)])
    result = run(config)
    assert result.exit_code == 0, result.output


def test_what_came_to_the_source_after_the_agent_is_listed(
    config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = yaml.safe_load(config.read_text())
    data["flows"][0]["topics"]["include"] = ["t", "new", "a[.]internal"]
    config.write_text(yaml.safe_dump(data))
    keep(config, {("t", 0): 100})
    answer(
        monkeypatch,
        {
            "summit": {
                ("t", 0): (17, 100),
                ("t", 1): (0, 50),
                ("new", 0): (5, 9),
                ("other", 0): (0, 9),
                # Of MirrorMaker before 4.0 nobody knows that it copies it.
                ("a.internal", 0): (0, 9),
            },
            "ldf": {("summit.t", 0): (0, 93)},
        },
    )

    result = run(config, "--json")

    assert result.exit_code == 3, result.output
    (flow,) = json.loads(result.stdout)["flows"]
    assert [tuple(each.values())[:6] for each in flow["ranges"]] == [
        ("new", 0, 5, 8, 4, True),
        ("t", 1, 0, 49, 50, True),
    ]


@pytest.mark.parametrize("age", [timedelta(seconds=20), timedelta(hours=1)])
@pytest.mark.parametrize("others", [True, False])
def test_topics_that_may_be_newer_are_not_said_to_be_complete(
    config: Path,
    monkeypatch: pytest.MonkeyPatch,
    *,
    age: timedelta,
    others: bool,
) -> None:
    keep(config, {("t", 0): 100})
    database = Database(config.parent / "state.db")
    SourceEndStore(database, FLOW).save({("t", 0): 100}, [], utc_now() - age)
    database.close()
    summit = {("t", 0): (17, 100)} | ({("n", 0): (0, 9)} if others else {})
    logs = {"summit": summit, "ldf": {("summit.t", 0): (0, 93)}}
    answer(monkeypatch, logs)
    result = run(config)
    text = " ".join(result.output.split())
    may_be = others and age > timedelta(minutes=1)
    assert result.exit_code == (3 if may_be else 0), result.output
    assert ("all that summit held" in text) is not may_be
    assert ("since mirrorwatch has read it, 60 min ago," in text) is may_be


@pytest.mark.parametrize("known", [True, False])
def test_a_partition_without_a_leader_is_not_said_to_be_complete(
    config: Path, monkeypatch: pytest.MonkeyPatch, *, known: bool
) -> None:
    keep(config, {("t", 0): 100, ("t", 2): 0} if known else {("t", 0): 100})
    logs = {"summit": {("t", 0): (17, 100)}, "ldf": {("summit.t", 0): (0, 93)}}
    answer(monkeypatch, logs)
    listed = SimpleNamespace(partitions={"t": 3, "summit.t": 1})
    module = "mirrorwatch.cli.failback"
    monkeypatch.setattr(f"{module}.list_topics", lambda _: listed)

    result = run(config)

    assert result.exit_code == 3, result.output
    text = " ".join(result.output.split())
    assert "! No leader at summit: t[1-2]. What" in text
    assert "all that summit held" not in text


@pytest.mark.parametrize("source", ["lost", "back"])
@pytest.mark.parametrize("written", [3, 7, 50])
def test_what_producers_write_after_a_failover_is_no_copy(
    config: Path, monkeypatch: pytest.MonkeyPatch, source: str, written: int
) -> None:
    """The same name at both sides: producers go on in the copy."""
    data = yaml.safe_load(config.read_text())
    data["flows"][0]["naming"] = "identity"
    config.write_text(yaml.safe_dump(data))
    # The mirror came to 60 of 67 when the source was lost: 53 copies.
    keep(config, {("t", 0): 67}, target_end=53)
    summit = {("t", 0): (17, 67)}
    answer(monkeypatch, {"summit": summit, "ldf": {("t", 0): (0, 53)}})
    before = json.loads(run(config, "--json").stdout)["flows"][0]["ranges"]
    assert [(r["first"], r["last"], r["exact"]) for r in before] == [
        (60, 66, True)
    ]
    there = {("t", 0): (0, 53 + written)}
    answer(monkeypatch, {"summit": summit, "ldf": there})
    if source == "lost":
        listing = "mirrorwatch.cli.failback.list_topics"
        monkeypatch.setattr(listing, partial(lose_summit, {"t": 1}))
    result = run(config, "--json")
    assert result.exit_code == 3, result.output
    (flow,) = json.loads(result.stdout)["flows"]
    (tail,) = [r for r in flow["ranges"] if r["last"] == 66]
    assert tail["first"] <= 60
    assert not tail["exact"]


def lose_summit(topics: Mapping[str, int], cluster: Cluster) -> Any:
    """List topics, where only the target answers."""
    if cluster.alias == "summit":
        raise SourceUnavailableError("lost", source="kafka", cluster="summit")
    return SimpleNamespace(partitions=topics)
