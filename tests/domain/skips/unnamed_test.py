"""Skipped records of which only the number is known."""

import pytest

from mirrorwatch.domain.offsets import RangeSet
from mirrorwatch.domain.skips.model import SkipKind
from mirrorwatch.domain.skips.unnamed import UnnamedSkips
from tests.domain.skips.world import KEY, HarshWorld, Writer


def compacted(*actions: str, gone: int) -> HarshWorld:
    """Twenty copied records, what is named, and a copy that compaction took
    before any of that was read.
    """
    world = HarshWorld().do("look", "write 20", "copy 20", "flush", "look 3")
    world.do("write 9", *actions, "flush")
    world.gone_here, world.target_compacted = {gone}, True
    return world.do("look 3")


def found(
    world: HarshWorld,
) -> list[tuple[SkipKind, tuple[tuple[int, int], ...], int]]:
    return [(e.kind, e.ranges, e.count) for e in world.store.events()]


def still_missing(world: HarshWorld) -> int:
    return sum(world.books.missing(event) for event in world.store.events())


def test_a_skipped_record_is_not_named_where_a_copy_beside_it_is_gone() -> (
    None
):
    # Of two records one has no copy. The second one was named, as a mirror
    # copies one after the other; it had skipped the first.
    world = HarshWorld().do("look", "write 2", "fail", "mark", "write")
    world.do("copy 2", "remove_here", "restart_late")
    world.finish()
    assert world.missing == {0}
    assert found(world) == [(SkipKind.SKIPPED, ((0, 1),), 1)]
    assert world.skipped == set()
    assert world.tally.skipped == still_missing(world) == 1
    assert world.books.missing_records() == {KEY: (0, 1)}
    world.do("restart", "look 3")
    assert world.books.missing_records() == {KEY: (0, 1)}


@pytest.mark.parametrize(
    ("actions", "gone"),
    [
        # The copy that is gone was before, behind, or not beside a drop.
        (("copy 2", "drop 2", "copy 5"), 20),
        (("copy 2", "drop 2", "copy 5"), 23),
        (("copy 2", "drop 2", "copy 5"), 3),
    ],
)
def test_a_skipped_record_between_two_copies_is_named(
    actions: tuple[str, ...], gone: int
) -> None:
    world = compacted(*actions, gone=gone)
    assert found(world) == [(SkipKind.SKIPPED, ((22, 23),), 2)]
    assert world.skipped == world.missing == {22, 23}


def test_a_copy_that_is_gone_leaves_one_fewer_to_be_missing() -> None:
    world = compacted("copy 2", "drop 2", "copy 5", gone=21)
    assert found(world) == [(SkipKind.SKIPPED, ((21, 23),), 2)]
    assert world.tally.skipped == len(world.missing) == 2


def test_where_two_tasks_wrote_a_copy_that_is_gone_may_be_of_any() -> None:
    world = HarshWorld().do("look", "write", "fail", "flush", "write", "drop")
    world.do("write 3", "fail", "copy 3", "takeover", "copy 2")
    world.do("restart_late", "drop", "remove_here")
    world.finish()
    assert world.skipped <= world.missing
    assert 0 < world.tally.skipped <= len(world.missing)


@pytest.mark.parametrize(
    ("dropped", "recovered"), [("", 2), ("drop", 1), ("drop 2", 0)]
)
def test_what_was_not_named_is_missing_until_as_many_are_copied(
    dropped: str, recovered: int
) -> None:
    world = compacted("copy 2", "drop 2", "copy 5", gone=21)
    world.writers = [Writer(20)]
    world.do("copy 2", *[dropped] * bool(dropped), "copy 5", "write", "copy 3")
    world.do("flush", "look 3")
    assert world.tally.recovered == recovered
    assert world.tally.skipped == 2
    first = found(world)[0]
    assert first == (SkipKind.SKIPPED, ((21, 23),), 2)
    assert world.books.missing(world.store.events()[0]) == 2 - recovered


EXPIRED = ["expire 22", "restart_late"]


@pytest.mark.parametrize(
    ("copied", "gone", "expected"),
    [
        # 22 may have the copy that is gone, and 20 or 21 have none.
        (
            ["drop 2", "copy 7"],
            21,
            [(SkipKind.UNVERIFIABLE, ((20, 22),), 2)],
        ),
        # No more than one of 22 to 24 has.
        (
            ["drop", "copy", "drop 3", "copy 4"],
            21,
            [
                (SkipKind.UNVERIFIABLE, ((20, 22),), 2),
                (SkipKind.SKIPPED, ((22, 24),), 2),
            ],
        ),
        # No copy of these is gone, or none was dropped.
        (
            ["drop 5", "copy 4"],
            20,
            [
                (SkipKind.UNVERIFIABLE, ((20, 21),), 2),
                (SkipKind.SKIPPED, ((22, 24),), 3),
            ],
        ),
        (["copy 9"], 22, []),
    ],
)
def test_a_copy_that_is_gone_may_be_of_what_is_still_there_or_expired(
    copied: list[str],
    gone: int,
    expected: list[tuple[SkipKind, tuple[tuple[int, int], ...], int]],
) -> None:
    # It was taken for one of what has expired, and a record that is still
    # there and has no other copy was called skipped.
    world = HarshWorld().do("look", "write 20", "copy 20", "flush", "look 3")
    world.do("write 9", *copied, f"expire_here {gone}", *EXPIRED, "flush")
    world.do("look 3")
    assert found(world) == expected
    assert world.tally.skipped <= len(world.missing)


def test_what_a_mirror_copied_again_may_be_a_copy_that_is_gone() -> None:
    # 20 was skipped, and copied when the mirror restarted before it.
    world = HarshWorld().do("look", "write 20", "copy 20", "flush", "look 3")
    world.do("write 9", "drop", "copy 3", "look 3")
    assert found(world) == [(SkipKind.SKIPPED, ((20, 20),), 1)]
    world.do("crash", "copy 6")
    world.gone_here, world.target_compacted = {23}, True
    world.do("restart_late", "copy 3", "flush", "look 3")
    assert (SkipKind.UNVERIFIABLE, ((20, 20),), 1) in found(world)
    assert world.skipped == set()
    assert still_missing(world) == 0
    assert (world.tally.skipped, world.tally.recovered) == (1, 1)


def test_of_two_that_were_skipped_one_may_have_a_copy_that_is_gone() -> None:
    world = HarshWorld().do("look", "write 20", "copy 20", "flush", "look 3")
    world.do("write 9", "drop 2", "copy 2", "look 3")
    assert still_missing(world) == 2
    world.do("crash", "copy", "drop", "copy 4")
    world.gone_here, world.target_compacted = {22}, True
    world.do("restart_late", "copy 3", "flush", "look 3")
    assert (SkipKind.UNVERIFIABLE, ((20, 21),), 1) in found(world)
    assert world.books.missing(world.store.events()[0]) == 1
    assert world.missing == {21}
    assert world.skipped == set()


def test_what_a_mirror_skipped_stays_so_where_all_copies_are_there() -> None:
    world = HarshWorld().do("look", "write 20", "copy 20", "flush", "look 3")
    world.do("write 9", "drop", "copy 3", "look 3", "crash", "drop", "copy 8")
    # One is gone that is of a record between two others.
    world.gone_here, world.target_compacted = {24}, True
    world.do("flush", "look 3")
    assert world.skipped == world.missing == {20}
    assert world.tally.unverifiable == world.tally.recovered == 0


GONE_LATE = ["restart_late", "remove_here"]


@pytest.mark.parametrize(
    "actions",
    [
        # A task copied 1, and another one 0; the first copy is gone.
        [
            *("write", "takeover", "drop", "write", "copy", "copy_other"),
            *(*GONE_LATE, "look"),
        ],
        # The same of 3; 1 was copied by the second task, and 2 skipped.
        [
            *("write 3", "takeover", "drop 3", "write", "copy 3"),
            *("copy_other 2", *GONE_LATE),
        ],
    ],
)
def test_a_mirror_may_have_come_further_than_its_copies_show(
    actions: list[str],
) -> None:
    world = HarshWorld().do("look", *actions)
    world.finish()
    assert world.skipped <= world.missing
    assert world.tally.skipped <= len(world.missing)


@pytest.mark.parametrize("skipped", [0, 1])
def test_copies_that_are_gone_last_are_not_of_what_lies_before(
    skipped: int,
) -> None:
    # 24 was copied before the mirror went back, and 20 to 22 compacted at
    # the source: its copy was taken for one of theirs.
    world = HarshWorld().do("look", "write 20", "copy 20", "flush", "look 3")
    world.do("write 9", "copy 2", f"drop {skipped}", f"copy {3 - skipped}")
    world.do("crash", "copy 4", "drop", "copy 4")
    world.source[20] = None
    world.source_compacted = world.target_compacted = True
    world.gone_here = {24 - skipped}
    world.do("flush", "look 3")
    assert world.skipped <= world.missing
    assert world.tally.skipped <= len(world.missing)


def test_a_copy_is_taken_for_that_of_a_record_that_had_one() -> None:
    skips = UnnamedSkips()
    skips.add(RangeSet([(1, 4)]), 2, 200)
    assert (skips.count, skips.copied) == (2, 2)
    assert skips.copy_again(2, 9) == (3, 1)
    assert (skips.count, skips.copied) == (1, 0)
    assert skips.copy_again(0, 9) == (1, 1)
    assert skips.count == 0


def test_what_is_forgotten_of_many_is_no_more_than_is_there() -> None:
    skips = UnnamedSkips()
    for first in range(0, 30, 3):
        skips.add(RangeSet([(first, first + 1)]), 1, 4)
    assert list(skips.among) == [(18, 19), (21, 22), (24, 25), (27, 28)]
    assert 0 <= skips.copied <= len(skips.among)
