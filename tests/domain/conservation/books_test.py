"""What was measured on live mirrors, one case each."""

from dataclasses import replace

import pytest

from mirrorwatch.domain.skips.model import SkipEvent, SkipKind
from tests.domain.conservation.mirror import KEY, TOPIC
from tests.domain.conservation.world import World


class Told(World):
    """A world that remembers what was told."""

    def save(self) -> list[SkipEvent]:
        with self.store._database.transaction():  # noqa: SLF001
            pass
        return self.store.happenings()


def watched(*actions: str) -> Told:
    """A mirror that copied for a while, and then what is named."""
    world = Told()
    world.do("look", "write 20", "copy 20", "flush", "look", "look", "look")
    world.do(*actions)
    return world


def told(
    world: Told,
) -> list[tuple[SkipKind, tuple[tuple[int, int], ...], int]]:
    return [(x.kind, x.ranges, x.count) for x in world.save()]


def test_ten_dropped_between_passing_ones_are_named() -> None:
    world = watched("write 5", "copy 5", "write 10", "drop 10", "look", "look")
    assert told(world) == []
    world.do("write", "copy", "look", "look")
    assert told(world) == [(SkipKind.SKIPPED, ((25, 34),), 10)]
    assert world.tally.skipped == 10


def test_a_killed_mirror_that_drops_again_counts_each_once() -> None:
    world = watched("write 30", "copy 10", "drop 3", "copy 17", "look")
    # Committed was 20; the same three are dropped again.
    world.do("crash", "copy 10", "drop 3", "copy 17", "write", "copy")
    world.do("flush", "look", "look", "look")
    assert world.skipped == {30, 31, 32}
    assert (world.tally.skipped, world.tally.repeated) == (3, 27)
    assert [kind for kind, _, _ in told(world)].count(SkipKind.SKIPPED) == 1


def test_drops_of_which_a_killed_mirror_told_nothing_are_found() -> None:
    world = watched("write 9", "copy 2", "drop 3", "copy", "crash_hard")
    world.do("write 20", "copy 2", "drop 3", "copy 24", "flush")
    world.do("look", "look", "look")
    assert world.skipped == {22, 23, 24}
    assert (world.tally.skipped, world.tally.repeated) == (3, 3)


def test_copies_that_lie_far_ahead_are_found_by_reading_more() -> None:
    world = watched("write 9", "drop 6", "copy 3", "crash_hard", "write 20")
    world.do("drop 6", "copy 2", "crash_hard", "drop 6", "copy 23", "flush")
    world.do("look", "look", "look")
    assert world.skipped == set(range(20, 26))
    assert world.tally.unverifiable == 0
    assert world.tally.repeated == world.repeated == 5


def test_the_first_records_that_were_never_read_are_named() -> None:
    world = Told().do("look", "write 50", "drop 50", "write 2", "copy 2")
    assert isinstance(world, Told)
    world.do("flush", "look", "look", "look")
    assert told(world) == [(SkipKind.HEAD, ((0, 49),), 50)]


def test_a_position_past_the_target_proves_a_skip_without_a_pair() -> None:
    world = watched("write 4", "fail 4", "flush", "look", "look", "look")
    assert told(world) == [(SkipKind.TAIL, ((20, 23),), 4)]
    world.do("write 3", "copy 3", "flush", "look", "look", "look")
    assert world.tally.skipped == 4


def test_a_copy_takes_a_skip_back() -> None:
    world = watched("write 4", "drop 2", "copy 2", "look", "look")
    (skip,) = world.save()
    assert world.books.missing(skip) == 2
    world.do("crash", "copy 4", "write", "copy", "flush", "look", "look")
    assert world.skipped == set()
    assert world.books.missing(skip) == 0
    tally = world.tally
    assert (tally.skipped, tally.recovered, tally.repeated) == (2, 2, 2)


def test_what_is_compacted_before_it_is_copied_is_no_loss() -> None:
    world = watched("write 495", *["remove_ahead"] * 494)
    world.do("copy 495", "flush", "look", "look", "look")
    assert told(world) == []
    assert world.tally.compacted == 494
    assert world.tally.unverifiable == 0


def test_marks_of_transactions_are_no_loss() -> None:
    world = watched(*["write 3", "mark"] * 5, "copy 15", "write", "copy")
    world.do("flush", "look", "look", "look")
    assert told(world) == []
    assert world.tally == type(world.tally)()


def test_own_marks_of_an_exactly_once_mirror_are_no_repeats() -> None:
    world = watched(*["write 3", "copy 3", "commit_target"] * 6)
    world.do("write", "copy", "flush", "look", "look", "look")
    assert told(world) == []
    assert world.books.marked


def test_records_of_others_are_no_repeats() -> None:
    world = watched("stranger 3", "write 9", "copy 9", "flush")
    world.do("look", "look", "look")
    assert told(world) == []
    assert world.tally.repeated == 0


def test_what_expired_unread_is_left_to_the_position() -> None:
    world = watched("write 9", "expire 26", "look", "look", "copy 3")
    world.do("flush", "look", "look", "look")
    assert told(world) == []
    assert world.tally.unverifiable == 0


def test_what_was_dropped_and_expired_since_cannot_be_verified() -> None:
    world = watched("write 9", "drop 3", "copy", "copy 5", "expire 25")
    world.do("flush", "look", "look", "look")
    assert [(k, n) for k, _, n in told(world)] == [(SkipKind.UNVERIFIABLE, 3)]


@pytest.mark.parametrize("side", ["source", "target"])
def test_a_topic_made_again_begins_new_books(side: str) -> None:
    world = watched(f"recreate_{side}", "write 15", "copy 10", "flush")
    # Pairs of before and after, in one look.
    world.do("look", "copy 5", "write 30", "copy 30", "flush")
    world.do("look", "look", "look")
    assert told(world) == []
    tally = world.tally
    assert (tally.skipped, tally.repeated, tally.unverifiable) == (0, 0, 0)
    # The new books judge what comes from then on.
    world.do("write 5", "drop 2", "copy 3", "flush", "look", "look", "look")
    assert world.tally.skipped == 2


def test_the_past_of_a_mirror_is_not_judged() -> None:
    world = Told().do("write 20", "copy 5", "drop 5", "copy 10", "flush")
    assert isinstance(world, Told)
    world.do("look", "look", "look")
    assert told(world) == []
    world.do("write 5", "copy 2", "drop", "copy 2", "flush", "look", "look")
    assert world.skipped == {22}


def test_a_pair_that_comes_late_changes_nothing() -> None:
    world = watched("write 9", "copy 9", "flush")
    late = world.unread.pop(0)
    world.do("look", "look")
    world.unread.append(late)
    world.do("look", "look", "look")
    assert told(world) == []
    assert world.tally.repeated == 0


def test_a_stretch_that_nobody_can_read_is_unverifiable() -> None:
    world = watched("deny", "write 9", "drop 4", "copy 5", "look", "look")
    assert [(k, n) for k, _, n in told(world)] == [(SkipKind.UNVERIFIABLE, 4)]
    assert world.tally.skipped == 0


def test_only_the_newest_ranges_are_kept_by_name() -> None:
    world = watched()
    for _ in range(300):
        world.do("write 2", "drop", "copy")
    world.do("flush", "look", "look", "look")
    epoch = world.books.epochs[KEY]
    assert len(list(epoch.skipped)) == 200
    assert world.books.tallies[TOPIC].skipped == 300


def test_a_pair_of_another_topic_makes_no_loss() -> None:
    world = watched("write 30", "copy 10", "drop", "copy 10")
    # A transform sent record 30 elsewhere, where it is the thirtieth.
    astray = replace(world.told[-1], upstream=30, downstream=33)
    world.told.append(astray)
    world.unread.append(astray)
    world.do("copy 9", "flush", "look", "look", "look")
    assert [(kind, n) for kind, _, n in told(world)] == [(SkipKind.SKIPPED, 1)]
    assert world.skipped == {30}
