"""Where groups start, from the state file alone: no cluster answers."""

import csv
import json
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from click.testing import CliRunner, Result

from mirrorwatch.cli.root import main
from mirrorwatch.clock import utc_now
from mirrorwatch.domain.copies.tracker import CopyTracker
from mirrorwatch.domain.failover import texts
from mirrorwatch.domain.failover.translation import GroupOffset
from mirrorwatch.domain.position.model import PartitionPosition, PositionState
from mirrorwatch.exceptions import SourceError
from mirrorwatch.kafka.admin import Cluster
from mirrorwatch.state import Database
from mirrorwatch.state.copies import CopiesStore
from mirrorwatch.state.failover import GroupStore, SourceEndStore
from mirrorwatch.state.position import PositionStore
from tests.support.copies import log_pair
from tests.support.dead_sites import two_dead_sites

pytestmark = pytest.mark.slow


FLOW = "summit->ldf"


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Two sites that do not answer, and what an agent knew of them."""
    flow = {"naming": "default"}
    with two_dead_sites(tmp_path, monkeypatch, flow) as path:
        yield path


def keep(config: Path) -> None:
    database = Database(config.parent / "state.db")
    pair = log_pair((0, 359, 0), (359, 375, None, 359), (375, 475, 365))
    tracker = CopyTracker(pairs={("t", 1): pair}, changed={("t", 1)})
    CopiesStore(database, FLOW).save(tracker)
    t1 = GroupOffset(
        topic="t", partition=1, committed=366, upstream=301, downstream=301
    )
    t0 = GroupOffset(topic="t", partition=0, committed=5)
    read_at = utc_now() - timedelta(minutes=10)
    GroupStore(database, FLOW).save({"a": (t1,), "b,c": (t0, t1)}, [], read_at)
    database.close()


def run(config: Path, *arguments: str) -> Result:
    return CliRunner().invoke(
        main, ["offsets", "--config", str(config), *arguments]
    )


def test_a_group_starts_by_what_was_kept(config: Path) -> None:
    keep(config)
    file = config.parent / "reset.csv"
    result = run(config, "--group", "a", "--json", "--reset-file", str(file))
    # Of a target that does not answer, nobody knows what its log holds.
    assert result.exit_code == 3, result.output
    found = json.loads(result.stdout)
    (problem,) = found["problems"]
    assert "Ends of ldf are not compared" in problem
    assert "Run it again once ldf answers" in problem
    (group,) = found["groups"]
    assert (group["flow"], group["group"]) == (FLOW, "a")
    (partition,) = group["partitions"]
    (other,) = partition.pop("others")
    assert (other["by"], other["offset"], other["repeated"]) == (
        "checkpoint",
        301,
        None,
    )
    expected: dict[str, Any] = {
        "topic": "t",
        "target_topic": "summit.t",
        "partition": 1,
        "committed": 366,
        "offset": 359,
        "by": "sync",
        "repeated": None,
        "missed": None,
        "exact": False,
        "problem": None,
    }
    assert partition.pop("why")
    assert partition == expected
    assert file.read_text() == "summit.t,1,359\n"


def test_what_cannot_be_translated_is_said_and_left_out(config: Path) -> None:
    keep(config)
    file = config.parent / "reset.csv"
    result = run(config, "--all-groups", "--reset-file", str(file))
    assert result.exit_code == 3, result.output
    text = " ".join(result.output.split())
    assert "as of" in text
    assert "10 min ago" in text
    assert texts.NO_SYNCS in text
    assert list(csv.reader(file.read_text().splitlines())) == [
        ["a", "summit.t", "1", "359"],
        ["b,c", "summit.t", "1", "359"],
    ]


def test_a_source_that_does_not_answer_is_not_called_drained(
    config: Path,
) -> None:
    keep(config)
    result = run(config, "--group", "a", "--planned", "--json")
    (group,) = json.loads(result.stdout)["groups"]
    (partition,) = group["partitions"]
    assert (partition["drained"], partition["left"]) == (None, None)


def test_while_the_source_does_not_answer_no_planned_switch_is_safe(
    config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep(config)
    module = "mirrorwatch.cli.offsets"
    down = set[str]()

    def list_topics(cluster: Cluster) -> SimpleNamespace:
        if cluster.alias in down:
            raise SourceError("down", source="x", cluster=cluster.alias)
        return SimpleNamespace(partitions={"t": 2, "summit.t": 2})

    monkeypatch.setattr(f"{module}.list_topics", list_topics)
    monkeypatch.setattr(
        f"{module}.read_ends", lambda _, places: dict.fromkeys(places, 500)
    )
    monkeypatch.setattr(
        f"{module}.read_starts", lambda _, places: dict.fromkeys(places, 0)
    )
    monkeypatch.setattr(f"{module}.RangeReader.find_empty", lambda *_: set())
    arguments = ("--group", "a", "--json")
    assert run(config, *arguments, "--planned").exit_code == 0
    down.add("summit")
    # The source may be lost: a start misses nothing that was copied.
    assert run(config, *arguments).exit_code == 0
    result = run(config, *arguments, "--planned")
    assert result.exit_code == 3, result.output
    (problem,) = json.loads(result.stdout)["problems"]
    assert "It is not known what is left to copy" in problem


def test_a_group_that_nobody_knows_is_an_error(config: Path) -> None:
    keep(config)
    result = run(config, "--group", "nobody")
    assert result.exit_code == 1
    assert "Nothing is known of group nobody" in result.output


@pytest.mark.parametrize(
    "arguments",
    [(), ("--group", "a", "--all-groups"), ("--group", "a", "--flow", "x")],
)
def test_a_wrong_command_line_is_refused(
    config: Path, arguments: tuple[str, ...]
) -> None:
    assert run(config, *arguments).exit_code == 2


def test_without_an_agent_there_is_nothing_to_read(config: Path) -> None:
    result = run(config, "--all-groups")
    assert result.exit_code == 1
    assert "does not exist" in result.output


@pytest.mark.parametrize("is_empty", [True, False])
def test_markers_at_the_end_are_not_left_to_copy(
    config: Path, monkeypatch: pytest.MonkeyPatch, is_empty: bool
) -> None:
    """The group has read everything, and a marker follows."""
    database = Database(config.parent / "state.db")
    pairs = {("t", 0): log_pair((0, 10, 0))}
    tracker = CopyTracker(pairs=pairs, changed=set(pairs))
    CopiesStore(database, FLOW).save(tracker)
    place = PartitionPosition(committed=50)
    positions = PositionState(places={("t", 0): place})
    PositionStore(database, FLOW).save(positions, [("t", 0)])
    offset = GroupOffset(topic="t", partition=0, committed=51)
    GroupStore(database, FLOW).save({"a": (offset,)}, [], utc_now())
    database.close()
    ends = {"summit": {("t", 0): 51}, "ldf": {("summit.t", 0): 50}}
    module = "mirrorwatch.cli.offsets"
    monkeypatch.setattr(
        f"{module}.list_topics",
        lambda _: SimpleNamespace(partitions={"t": 1, "summit.t": 1}),
    )
    monkeypatch.setattr(
        f"{module}.read_ends", lambda cluster, _: ends[cluster.alias]
    )
    monkeypatch.setattr(
        f"{module}.read_starts", lambda _, places: dict.fromkeys(places, 0)
    )
    monkeypatch.setattr(
        f"{module}.RangeReader.find_empty",
        lambda _, wanted: {p for p, span in wanted if is_empty and len(span)},
    )
    result = run(config, "--group", "a", "--planned", "--json")
    (group,) = json.loads(result.stdout)["groups"]
    (found,) = group["partitions"]
    assert (found["drained"], found["left"]) == (is_empty, 1 - is_empty)
    assert (found["offset"], found["repeated"], found["exact"]) == (
        (50, 0, True) if is_empty else (10, 40, False)
    )


@pytest.mark.parametrize(
    ("kept", "is_empty", "status"),
    [
        (50, None, 0),  # by what the agent read last
        (51, None, 3),
        (50, True, 0),  # the source answers: a marker follows
        (50, False, 3),
    ],
)
def test_what_expired_after_it_was_read_is_not_missed(
    config: Path,
    monkeypatch: pytest.MonkeyPatch,
    kept: int,
    is_empty: bool | None,
    status: int,
) -> None:
    """A mirror that writes in transactions: all of its copies have expired."""
    database = Database(config.parent / "state.db")
    pairs = {("t", 0): log_pair((0, 50, 0))}
    tracker = CopyTracker(pairs=pairs, changed=set(pairs))
    tracker.is_transactional = True
    CopiesStore(database, FLOW).save(tracker)
    place = PartitionPosition(committed=50)
    positions = PositionState(places={("t", 0): place})
    PositionStore(database, FLOW).save(positions, [("t", 0)])
    SourceEndStore(database, FLOW).save({("t", 0): kept}, [], utc_now())
    offset = GroupOffset(topic="t", partition=0, committed=50)
    GroupStore(database, FLOW).save({"a": (offset,)}, [], utc_now())
    database.close()
    ends = {"summit": {("t", 0): 51}, "ldf": {("summit.t", 0): 52}}
    starts = {"summit": {("t", 0): 0}, "ldf": {("summit.t", 0): 52}}
    module = "mirrorwatch.cli.offsets"
    monkeypatch.setattr(
        f"{module}.list_topics",
        lambda _: SimpleNamespace(partitions={"t": 1, "summit.t": 1}),
    )
    monkeypatch.setattr(
        f"{module}.read_ends", lambda cluster, _: ends[cluster.alias]
    )
    monkeypatch.setattr(
        f"{module}.read_starts", lambda cluster, _: starts[cluster.alias]
    )
    monkeypatch.setattr(
        f"{module}.RangeReader.find_empty",
        lambda _, wanted: {p for p, span in wanted if is_empty and len(span)},
    )
    planned = [] if is_empty is None else ["--planned"]
    result = run(config, "--group", "a", "--json", *planned)
    assert result.exit_code == status, result.output
    (group,) = json.loads(result.stdout)["groups"]
    (found,) = group["partitions"]
    assert found["offset"] == (None if status else 52)


def test_a_topic_that_is_not_at_the_target_has_no_start(
    config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep(config)
    module = "mirrorwatch.cli.offsets"
    there = {"summit.t": 2}
    monkeypatch.setattr(
        f"{module}.list_topics", lambda _: SimpleNamespace(partitions=there)
    )
    monkeypatch.setattr(
        f"{module}.read_ends", lambda _, places: dict.fromkeys(places, 500)
    )
    monkeypatch.setattr(
        f"{module}.read_starts", lambda _, places: dict.fromkeys(places, 0)
    )
    result = run(config, "--group", "a", "--json")
    assert result.exit_code == 0, result.output
    (group,) = json.loads(result.stdout)["groups"]
    assert group["partitions"][0]["missed"] == 0
    there.clear()
    result = run(config, "--group", "a", "--json")
    assert result.exit_code == 3, result.output
    (group,) = json.loads(result.stdout)["groups"]
    (partition,) = group["partitions"]
    assert partition["offset"] is None
    assert partition["problem"] == texts.ABSENT


def test_a_start_by_time_that_may_miss_records_is_not_safe(
    config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep(config)
    module = "mirrorwatch.cli.offsets"
    monkeypatch.setattr(
        f"{module}.list_topics",
        lambda _: SimpleNamespace(partitions={"summit.t": 2}),
    )
    monkeypatch.setattr(
        f"{module}.read_ends", lambda _, places: dict.fromkeys(places, 500)
    )
    monkeypatch.setattr(
        f"{module}.read_starts", lambda _, places: dict.fromkeys(places, 0)
    )
    monkeypatch.setattr(
        f"{module}.find_first_since",
        lambda _, times: dict.fromkeys(times, 7),
    )
    time = "2026-11-21T00:00Z"
    result = run(config, "--group", "b,c", "--at", time, "--json")
    assert result.exit_code == 3, result.output
    (group,) = json.loads(result.stdout)["groups"]
    assert [(p["by"], p["missed"]) for p in group["partitions"]] == [
        ("time", None),
        ("sync", 0),
    ]
    # One that is known to miss nothing is, whatever else is asked for.
    result = run(config, "--group", "a", "--at", time, "--json")
    assert result.exit_code == 0, result.output
