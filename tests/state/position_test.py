"""Resets of a position, kept in the state file."""

from datetime import timedelta
from pathlib import Path

from mirrorwatch.domain.losses.model import LostRecords
from mirrorwatch.domain.position.model import (
    KEPT,
    PartitionPosition,
    PositionState,
    ResetKind,
)
from mirrorwatch.state import Database
from mirrorwatch.state.position import PositionStore
from tests.support.builders import NOON

LATER = NOON + timedelta(minutes=3)


def test_books_outlive_the_agent(tmp_path: Path) -> None:
    books = PositionState()
    books.pin("source", "t", "s1")
    books.places["t", 3] = PartitionPosition(
        reached=7,
        committed=5,
        committed_at=NOON,
        empty_until=8,
        source_end=12,
    )
    books.places["u", 0] = PartitionPosition()
    over = books.begin(
        ResetKind.EXPIRED, "t", NOON, partition=3, first=1, end=4
    )
    books.change(over, settled=LATER)
    books.begin(
        ResetKind.OFFSETS_GONE, "o", NOON, counted=["t", "u"], places=2
    )
    database = Database(tmp_path / "state.db")
    PositionStore(database, "f").save(books, books.places)
    database.close()

    database = Database(tmp_path / "state.db")
    found = PositionStore(database, "f").load()
    other = PositionStore(database, "g").load()
    database.close()
    assert found == books
    assert found.counts == {"t": 2, "u": 1}
    assert found.open(ResetKind.OFFSETS_GONE, "o") == books.resets[2]
    assert found.open(ResetKind.EXPIRED, "t", 3) is None
    assert other == PositionState()


def test_only_places_are_written_while_nothing_else_changed() -> None:
    store = PositionStore(Database(None), "f")
    books = PositionState(places={("t", 0): PartitionPosition(reached=1)})
    books.pin("source", "t", "s1")
    store.save(books, books.places)
    books.urgent = False
    books.pins["source", "t"] = "s2"
    books.places["t", 0].reached = 2
    store.save(books, books.places)
    found = store.load()
    assert found.pins == {("source", "t"): "s1"}
    assert found.places["t", 0].reached == 2


def test_the_oldest_of_too_many_resets_are_summed_up() -> None:
    store = PositionStore(Database(None), "f")
    books = PositionState()
    for partition in range(KEPT + 300):
        over = books.begin(
            ResetKind.EXPIRED, "t", NOON, partition=partition, first=1, end=4
        )
        books.change(over, settled=NOON + timedelta(seconds=partition))
    still = books.begin(ResetKind.BEYOND, "t", NOON, partition=0)
    hour = timedelta(hours=1)
    for _ in range(2):
        books.forget(LATER, hour)
        store.save(books, books.places)
        books = store.load()
        assert sum(r.count for r in books.resets.values()) == 3 * (KEPT + 300)
        assert len(books.resets) == KEPT + 2
        assert books.newest(ResetKind.EXPIRED, "t") is None
        assert books.newest(ResetKind.EXPIRED, "t", 0) is None
        assert books.newest(ResetKind.EXPIRED, "t", 300) is not None
        assert books.open(ResetKind.BEYOND, "t", 0) == still
    # The sum is forgotten when the newest of it is.
    books.forget(NOON + hour + timedelta(seconds=298), hour)
    assert sum(r.summed for r in books.resets.values()) == 300
    books.forget(NOON + hour + timedelta(seconds=300), hour)
    assert sum(r.summed for r in books.resets.values()) == 0
    assert books.counts == {"t": KEPT + 301}
    assert books.lost == {"t": LostRecords(expired=3 * (KEPT + 300))}
