"""Small books of a flow in the state file."""

from dataclasses import dataclass
from pathlib import Path

from mirrorwatch.state import Database
from mirrorwatch.state.documents import DocumentStore


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
