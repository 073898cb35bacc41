"""Any history of a mirror: groups that start by what is known miss nothing."""

from hypothesis import example, given
from hypothesis import strategies as st

from mirrorwatch.domain.offsets import OffsetRun, SafeStart
from tests.domain.skips.world import KEY, World
from tests.support.examples import examples

COPYING = ["write", "write", "write", "copy", "copy 3", "flush", "look"]
KILLED = ["crash", "restart", "die", "mark"]
ONE = [*KILLED, "drop", "drop 3", "fail"]
TWO = ["takeover", "copy_other 2", "copy_other 2", "fence"]
LOST = ["forget", "crash_hard"]
HIDDEN = [*["write"] * 3, "takeover", "copy 3", "copy_other 2"]
"""A second task ends before it copies the third record again. What another
producer writes then takes the room of that."""


def histories(*actions: str) -> st.SearchStrategy[list[str]]:
    return st.lists(st.sampled_from(actions), max_size=60)


def starts(world: World) -> list[tuple[SafeStart, int]]:
    """Return each start, and how many records are read twice from there."""
    state, target = world.books.states[KEY], world.target
    copies = [up for up in target if up is not None and up >= 0]
    found = []
    for committed in range(len(world.source) + 2):
        start = state.copies.start(
            committed, len(target), marked=world.books.marked
        )
        if start is None:
            continue
        left = {up for up in copies if up >= committed}
        read = [up for up in target[start.offset :] if up is not None]
        read = [up for up in read if up >= 0]
        assert left <= set(read), (committed, start)
        found.append((start, len(read) - len(left)))
    return found


def judge(world: World) -> None:
    noisy = world.books.states[KEY].noisy
    for start, repeated in starts(world):
        assert repeated <= start.repeated, start
        if start.exact and not noisy:
            assert repeated == start.repeated, start


@given(histories(*COPYING, *ONE))
@examples(200)
def test_one_writer_that_drops_and_goes_back(actions: list[str]) -> None:
    world = World().do("look", *actions)
    world.finish()
    judge(world)


@given(histories(*COPYING, *ONE, "commit_target"))
@examples(200)
def test_a_mirror_that_writes_in_transactions(actions: list[str]) -> None:
    world = World()
    world.books.marked = True
    world.do("look", *(a for a in actions if a != "crash"))
    world.finish()
    judge(world)


@given(
    histories(
        *(action for action in (*COPYING, *KILLED) if action != "mark"),
        *(*TWO, *LOST, "stranger"),
    )
)
@example([*HIDDEN, "stranger"])
@example(["write", *HIDDEN, "stranger"])
@examples(200)
def test_two_writers_and_lost_syncs_hide_no_record(
    actions: list[str],
) -> None:
    """As long as each offset is copied: where one is left out (a marker, or a
    drop) and another copied twice, and the syncs of both are lost, positions
    are those of a mirror that did neither.
    """
    world = World().do("look", *actions)
    world.finish()
    starts(world)  # a rewind of which the sync is lost is not known


def test_what_was_read_is_known_record_by_record() -> None:
    world = World().do("look", "write 20", "copy 20", "flush", "look")
    world.do("write 12", "copy 3", "drop 7", "copy 2", "flush")
    world.do("look", "look", "look")
    copies = world.books.states[KEY].copies
    # It began before the first record.
    assert list(copies) == [(-1, -1, 24), (30, 23, 2)]
    assert copies.start(27) == SafeStart(23, 0, exact=True)
    assert copies.last == OffsetRun(30, 23, 2)


def test_a_foreign_record_is_not_taken_for_a_copy() -> None:
    world = World().do("look", "write 20", "copy 20", "flush", "look")
    world.do("write 12", "copy 2", "stranger", "drop 5", "copy 2", "flush")
    world.do("look", "look", "look")
    copies = world.books.states[KEY].copies
    assert list(copies) == [(-1, -1, 23), (27, 23, 2)]


def noisy_world() -> World:
    """Return a world in which others are known to write to the target."""
    world = World().do("look", "write 6", "copy 3", "stranger", "copy 3")
    return world.do("flush", "look", "look")


def lose_syncs(world: World) -> None:
    """Lose those that the agent has not read."""
    world.told = [sync for sync in world.told if sync not in world.unread]
    world.unread, world.writers[0].pending = [], None


def test_no_sync_is_as_far_as_from_before_a_stranger_that_was_read() -> None:
    """Syncs are lost: what a commit proves is read."""
    world = noisy_world().do("write 3", "drop", "copy", "stranger", "copy")
    lose_syncs(world)
    world.do("flush", *["look"] * 6, "write 4", "copy 4", "flush")
    world.do("look", "look")
    copies = world.books.states[KEY].copies
    assert list(copies)[2:] == [(4, 5, 2), (7, 7, 1), (8, 9, 5)]
    starts(world)


def test_a_stranger_takes_nothing_from_what_lies_around_it() -> None:
    world = noisy_world().do("write 40", "copy 20", "flush", "look", "look")
    world.do("copy", "stranger", "drop", "copy 18", "flush", "look", "look")
    copies = world.books.states[KEY].copies
    assert list(copies)[2:] == [(4, 5, 23), (28, 29, 18)]
    starts(world)


def test_what_was_read_of_a_rewind_is_known_though_its_syncs_are_lost() -> (
    None
):
    world = noisy_world().do("write 3", "drop", "copy 2")
    lose_syncs(world)
    world.do("crash", "copy 2", "drop")
    world.finish()
    copies = world.books.states[KEY].copies
    assert list(copies)[2:] == [(4, 5, 2), (7, 7, 2), (6, 9, 2), (9, 11, 1)]
    judge(world)


def test_a_rewind_that_was_read_is_known_to_its_record() -> None:
    world = World().do("look", "write 6", "copy 6", "flush", "look")
    world.do("write 6", "copy 3", "crash", "copy 6", "flush", "look", "look")
    copies = world.books.states[KEY].copies
    assert list(copies) == [(-1, -1, 10), (6, 9, 6)]
    assert copies.start(7, 15) == SafeStart(10, 0, exact=True)
    judge(world)
