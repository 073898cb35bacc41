"""The spool against a model of it: a list with a limit."""

from hypothesis import given
from hypothesis import strategies as st

from mirrorwatch.sinks.queue import Batch, Rows, Spool
from mirrorwatch.state import Database
from tests.support.isolation import kept_bytes

BODIES = st.text("abcdefgh", min_size=1, max_size=40)


def a_batch(body: str) -> Batch:
    return Batch(body.encode(), len(body))


def drain(spool: Spool, most_points: int) -> list[str]:
    bodies = []
    while (found := spool.oldest(most_points)) is not None:
        rows, batch = found
        bodies += batch.body.decode().split("\n")
        spool.remove(rows)
    return bodies


@given(
    st.lists(st.lists(BODIES, min_size=1, max_size=3), max_size=20),
    st.integers(20, 300),
    st.integers(1, 100),
)
def test_what_is_kept_is_the_newest_within_the_limit_in_order(
    puts: list[list[str]], limit: int, most_points: int
) -> None:
    spool = Spool(Database(None), "a", limit_bytes=limit)
    model: list[str] = []
    for bodies in puts:
        _, dropped = spool.append([a_batch(body) for body in bodies])
        before, model = model, [*model, *bodies]
        oldest = len(before)
        lost = 0
        while sum(map(kept_bytes, model)) > limit and oldest:
            lost += len(model.pop(0))
            oldest -= 1
        assert dropped == lost
        assert spool.points == sum(map(len, model))
    assert drain(spool, most_points) == model
    assert spool.points == 0


@given(st.lists(BODIES, min_size=1, max_size=20), st.integers(1, 200))
def test_pieces_hold_as_much_as_was_asked_for_and_at_least_one(
    bodies: list[str], most_points: int
) -> None:
    spool = Spool(Database(None), "a", limit_bytes=10**6)
    spool.append([a_batch(body) for body in bodies])
    while (found := spool.oldest(most_points)) is not None:
        rows, piece = found
        alone = rows.first == rows.last
        assert alone or piece.points <= most_points
        assert piece.points == len(piece.body.replace(b"\n", b""))
        spool.remove(rows)


def test_rows_under_way_are_spared_wherever_they_stand() -> None:
    spool = Spool(Database(None), "a", limit_bytes=3 * kept_bytes("a"))
    spool.append([a_batch(body) for body in "abc"])
    _, dropped = spool.append(
        [a_batch("d"), a_batch("e")], under_way=Rows(2, 2)
    )
    assert dropped == 2
    assert "".join(drain(spool, 1)) == "bde"


def test_two_sinks_on_one_state_file_do_not_meet() -> None:
    database = Database(None)
    one, other = (
        Spool(database, name, limit_bytes=2 * kept_bytes("a"))
        for name in ("one", "other")
    )
    one.append([a_batch(body) for body in "ab"])
    other.append([a_batch("z")])
    one.append([a_batch("c")])
    assert (one.points, other.points) == (2, 1)
    assert drain(one, 100) == ["b", "c"]
    assert drain(other, 100) == ["z"]
