"""Small books of a flow in the state file."""

from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import pytest

from mirrorwatch.domain.parity.tracker import FirstSeenChanges
from mirrorwatch.domain.report import Health, keep_since
from mirrorwatch.exceptions import StateError
from mirrorwatch.state import Database
from mirrorwatch.state.documents import (
    DocumentStore,
    FirstSeenStore,
    VerdictStore,
)
from mirrorwatch.state.queue import Batch, DurableQueue
from tests.support.builders import NOON, a_verdict


@dataclass(frozen=True)
class Shelf:
    books: int = 0


def test_a_value_is_kept_for_its_flow_and_name_alone(tmp_path: Path) -> None:
    file = tmp_path / "state.db"
    database = Database(file)
    DocumentStore(database, "a", "one", Shelf).save(Shelf(3))
    DocumentStore(database, "a", "one", Shelf).save(Shelf(4))
    DocumentStore(database, "a", "two", Shelf).save(Shelf(5))
    database.close()
    again = Database(file)
    kept = {
        (flow, name): DocumentStore(again, flow, name, Shelf).load().books
        for flow in ("a", "b")
        for name in ("one", "two")
    }
    again.close()
    assert kept == {
        ("a", "one"): 4,
        ("a", "two"): 5,
        ("b", "one"): 0,
        ("b", "two"): 0,
    }


LATER = NOON + timedelta(minutes=3)


def test_since_survives_a_restart_but_not_a_long_pause() -> None:
    store = VerdictStore(Database(None))
    store.save([a_verdict(Health.WARNING, evidence={"lost": 1})], NOON)

    (before,) = store.load(LATER)

    assert before == a_verdict(Health.WARNING, evidence={"lost": 1})
    assert store.load(NOON + timedelta(minutes=6)) == ()


def test_since_is_kept_while_the_health_is_the_same() -> None:
    before = [a_verdict(Health.OK), a_verdict(Health.OK, check="latency")]
    now = [
        a_verdict(Health.OK, since=LATER, reason="Another"),
        a_verdict(Health.CRITICAL, check="latency", since=LATER),
    ]
    same, changed = keep_since(now, before)
    assert (same.since, same.reason) == (NOON, "Another")
    assert changed.since == LATER


def test_two_agents_cannot_share_a_state_file(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    first = Database(path)
    with pytest.raises(
        StateError, match="Another mirrorwatch uses the state file"
    ):
        Database(path)
    first.close()
    Database(path).close()


def test_a_transaction_within_another_is_part_of_it() -> None:
    database = Database(None)
    store = DocumentStore(database, "a", "one", Shelf)
    queue = DurableQueue(database, "a")

    def save_and_fail() -> None:
        with database.transaction() as sql:
            store.save(Shelf(1))
            queue.append([Batch(b"x", 1)])
            sql.execute("no SQL")

    with pytest.raises(StateError):
        save_and_fail()
    assert (store.load(), queue.points, queue.oldest(1)) == (Shelf(), 0, None)
    with database.transaction():
        store.save(Shelf(1))
        queue.append([Batch(b"x", 1)])
        assert queue.points == 0  # counted once it is committed
    assert (store.load(), queue.points) == (Shelf(1), 1)


def test_conditions_that_could_not_be_written_are_with_the_next() -> None:
    database = Database(None)
    store = FirstSeenStore(database, "a", "topics")
    with database.transaction() as sql:
        sql.execute("ALTER TABLE documents RENAME TO away")
    with pytest.raises(StateError):
        store.save(FirstSeenChanges({"x": NOON}, frozenset()))
    with database.transaction() as sql:
        sql.execute("ALTER TABLE away RENAME TO documents")
    store.save(FirstSeenChanges({}, frozenset()))
    assert store.load() == {"x": NOON}
