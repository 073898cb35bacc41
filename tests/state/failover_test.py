"""Offsets of groups outlive the agent and the source."""

from pathlib import Path

from mirrorwatch.domain.failover.recovery import RecoveryState
from mirrorwatch.domain.failover.translation import GroupOffset, GroupState
from mirrorwatch.state import Database
from mirrorwatch.state.documents import DocumentStore
from mirrorwatch.state.failover import GroupStore
from tests.support.builders import FLOW, NOON

OFFSETS = (
    GroupOffset(topic="t", partition=0, committed=7),
    GroupOffset(topic="t", partition=1, committed=9, upstream=8, downstream=6),
)


def test_groups_are_read_back(tmp_path: Path) -> None:
    database = Database(tmp_path / "state.db")
    GroupStore(database, FLOW.name).save(
        {"a": OFFSETS, "b": OFFSETS}, [], NOON
    )
    GroupStore(database, "other").save({"c": OFFSETS}, [], None)
    GroupStore(database, FLOW.name).save({"a": OFFSETS[:1]}, ["b"], NOON)
    database.close()
    again = Database(tmp_path / "state.db")
    assert GroupStore(again, FLOW.name).load() == {
        "a": GroupState(group="a", read_at=NOON, offsets=OFFSETS[:1])
    }
    assert GroupStore(again, "other").load() == {
        "c": GroupState(group="c", offsets=OFFSETS)
    }
    again.close()


def test_of_which_topics_a_time_is_proved_is_kept_with_it() -> None:
    state = RecoveryState(complete_until=NOON, topics=("t", "u"))
    store = DocumentStore(Database(None), "f", "recovery", RecoveryState)
    store.save(state)
    assert store.load() == state
