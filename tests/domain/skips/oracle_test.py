"""Any history of a mirror: the books say what is so, and never more."""

from hypothesis import example, given
from hypothesis import strategies as st

from mirrorwatch.domain.skips.tracker import SkipTracker
from tests.domain.skips.world import (
    AlikeWorld,
    AlteredWorld,
    HarshWorld,
    SampledWorld,
    World,
)
from tests.support.examples import examples

COPYING = ["write", "write", "write", "copy", "copy 3", "flush", "look"]
TWO = ["takeover", "copy_other 2", "copy_other 2", "fence"]
ONE = ["drop", "drop 3", "crash", "fail", "restart", "die"]
FAULTS = [*ONE, *TWO]
NOISE = ["mark", "commit_target"]


def histories(*actions: str) -> st.SearchStrategy[list[str]]:
    return st.lists(st.sampled_from(actions), max_size=60)


@given(histories(*COPYING, *ONE, "mark"))
@examples(200)
def test_every_skip_and_every_repeat_is_counted(actions: list[str]) -> None:
    world = World().do("look", *actions)
    world.finish()
    assert world.skipped == world.missing
    assert world.tally.repeated == world.repeated
    assert world.tally.unverifiable == 0


LATE_SYNC = ["takeover", "copy", "copy_other 2", "look", "copy_other 2"]
"""What the first task copied last is flushed before what is next to that."""


LATER_SYNC = ["write 3", "fail", "copy", "look", "copy", "takeover", "copy"]
"""Here what it copied is behind what the second task copied again, which left
something out next."""


@given(histories(*COPYING, *TWO, "crash", "restart"))
@example([*["write"] * 3, *LATE_SYNC, "copy", "flush"])
@examples(200)
def test_two_writers_at_once_make_repeats_and_no_skip(
    actions: list[str],
) -> None:
    world = World().do("look", *actions)
    world.finish()
    assert world.tally.skipped == 0
    assert world.tally.repeated == world.repeated
    assert world.tally.unverifiable == 0


@given(histories(*COPYING, *FAULTS, *NOISE, "commit_target"))
@examples(200)
def test_so_it_is_where_the_mirror_writes_in_transactions(
    actions: list[str],
) -> None:
    world = World()
    world.books.marked = True
    world.do("look", *actions)
    world.finish()
    assert world.skipped == world.missing
    assert world.tally.repeated == world.repeated
    assert world.tally.unverifiable == 0


@given(histories(*COPYING, *FAULTS, *NOISE, "forget", "crash_hard"))
@examples(200)
def test_of_what_was_compacted_the_net_is_left(actions: list[str]) -> None:
    world = World()
    world.books.marked = True
    world.do("look", *actions)
    world.finish()
    net = len(world.missing) - world.repeated
    assert len(world.skipped) - world.tally.repeated == net


@given(histories(*COPYING, *FAULTS, "mark", "stranger"))
@examples(200)
def test_a_foreign_writer_is_no_repeat_and_no_loss_is_hidden(
    actions: list[str],
) -> None:
    world = World()
    world.do("look", "stranger", "write", "copy", "look", "look", *actions)
    world.finish()
    assert world.tally.repeated == world.repeated
    doubtful = world.tally.unverifiable
    assert len(world.missing - world.skipped) <= doubtful
    assert doubtful <= world.target.count(None)


@given(
    histories(*COPYING, *FAULTS, "expire", "remove", "remove_ahead", "mark")
)
@examples(200)
def test_what_expires_or_is_compacted_is_no_loss(actions: list[str]) -> None:
    world = World().do("look", *actions)
    world.finish()
    known = {n for n in world.skipped if n >= world.start}
    known = {n for n in known if world.source[n] is not None}
    assert known <= world.missing
    assert len(world.missing - known) <= world.tally.unverifiable


LOST_SYNC = ["write 2", "fail", "takeover", "copy_other 2", "write", "copy"]
LOST_SYNC += ["crash_hard", "drop 3"]
"""A record that seemed skipped is copied where another is left out: the count
is right, and nothing that is read shows which it is."""


UNREAD_SYNC = ["write", "drop", "write", "copy_other 2", "look", "look"]
UNREAD_SYNC += ["deny", "takeover"]


@given(
    histories(
        *COPYING, *FAULTS, *NOISE, "stranger", "forget", "deny", "crash_hard"
    )
)
@example(LOST_SYNC)
@example(UNREAD_SYNC)
@examples(200)
def test_what_cannot_be_read_is_never_called_a_loss(
    actions: list[str],
) -> None:
    World().do("look", *actions).finish()


@given(histories(*COPYING, "retry", "retry", "crash", "restart", "die"))
@examples(200)
def test_copies_that_a_producer_tried_twice_are_repeats(
    actions: list[str],
) -> None:
    world = HarshWorld().do("look", *actions)
    world.finish()
    assert world.tally.skipped == 0
    assert world.tally.repeated == world.repeated
    assert world.tally.unverifiable == 0


@given(histories(*COPYING, *ONE, "retry"))
@examples(200)
def test_between_two_pairs_a_retry_can_only_hide_a_drop(
    actions: list[str],
) -> None:
    world = HarshWorld().do("look", *actions)
    world.finish()
    assert world.skipped <= world.missing
    net = len(world.missing) - world.repeated
    assert len(world.skipped) - world.tally.repeated == net


SHRINKING = ["remove", "remove_here", "remove_last_here", "expire"]
SHRINKING += ["expire_here", "expire_meanwhile", "restart_late"]


GAP_AND_DROPS = ["write 5", "drop", "copy 3", "drop", "remove_last_here"]


DROP_AND_EXPIRY = [*["write"] * 3, "drop", "copy_other 2"]
DROP_AND_EXPIRY += ["expire_here", "expire_meanwhile", "mark"]


CANCELLED = ["write", "drop", "takeover", "mark", "write", "drop 3", "write"]
CANCELLED += ["fail", "write", "retry", "copy_other 2", "restart_late"]


DROP_BESIDE_HOLE = ["write 2", "fail", "mark", "write", "copy_other 2"]
DROP_BESIDE_HOLE += ["remove_here", "restart_late"]


DROP_BEFORE_EXPIRY = ["write 2", "drop 3", "write 2", "copy_other 2", "flush"]
DROP_BEFORE_EXPIRY += ["expire_meanwhile", "restart_late"]


@given(histories(*COPYING, *FAULTS, *SHRINKING, "retry", "mark"))
@example(GAP_AND_DROPS)
@example(DROP_AND_EXPIRY)
@example(CANCELLED)
@example(DROP_BESIDE_HOLE)
@example([*LATER_SYNC, "fail", "flush", "drop", "write 3", "drop"])
@example(DROP_BEFORE_EXPIRY)
@examples(400)
def test_logs_that_shrink_while_they_are_read_make_no_loss(
    actions: list[str],
) -> None:
    world = HarshWorld().do("look", *actions)
    world.finish()
    known = {n for n in world.skipped if n >= world.start} - world.unseen
    assert {n for n in known if world.source[n] is not None} <= world.missing


EVERYTHING = [*FAULTS, *NOISE, *SHRINKING, "retry", "forget", "stranger 3"]
EVERYTHING += ["deny", "die", "look", "look 4", "look 4", "truncate_target"]
EVERYTHING += ["recreate_source", "recreate_target", "truncate_target 3"]
EVERYTHING += ["truncate", "truncate 3"]


class UncheckedWorld(HarshWorld):
    """One in which all may happen, also what makes some answers uncertain."""

    def check(self) -> None:
        pass

    def truncate(self) -> None:
        """The newest record is lost, if there is one; a copy of it stays."""
        del self.source[-1:]
        self.target = [
            None if up is not None and up >= len(self.source) else up
            for up in self.target
        ]
        end = len(self.source)
        self.start = min(self.start, end)
        for writer in self.writers:
            writer.at = min(writer.at, end)


SHORTER_TWICE = ["write", "copy", "flush", "stranger 6", "look 2"]
SHORTER_TWICE += ["truncate_target 3", "look 5", "truncate_target 3"]
STARTS_TWICE = ["write 9", "copy 9", "look", "expire 3", "look", "expire 3"]


@given(histories(*COPYING, *EVERYTHING))
@example([*SHORTER_TWICE, "look"])
@example([*STARTS_TWICE, "look 6"])
@example([*["write 9", "copy 9", "flush", "look 2", "truncate 4", "look 9"]])
@examples(400)
def test_to_pass_over_what_looks_as_before_changes_nothing(
    actions: list[str],
) -> None:
    passing, looking = UncheckedWorld(), UncheckedWorld(anew=True)
    for action in ["look", *actions, *["look"] * 3]:
        passing.do(action)
        looking.do(action)
        assert _known(passing.books) == _known(looking.books)


def _known(books: SkipTracker) -> dict[str, object]:
    return vars(books) | {"_settled": None, "_syncs": None}


AGAIN = ["recreate_source", "recreate_target"]
TWICE_ANEW = ["write 3", *["copy", "recreate_target"] * 2]
COMMITS_OF_BEFORE = ["write 2", "copy 2", "look", "recreate_source", "write"]


@given(histories(*COPYING, *AGAIN, "crash", "restart", "die"))
@example([*["write"] * 5, "copy 3", "recreate_target", "look", "flush"])
@example([*COMMITS_OF_BEFORE, "flush", "copy", "crash"])
@example([*TWICE_ANEW, "look", "flush"])
@examples(400)
def test_no_record_of_topics_made_again_is_skipped(
    actions: list[str],
) -> None:
    world = HarshWorld().do("look", *actions)
    world.finish()
    # But for what the mirror jumps over, as it goes on where it was in the
    # topic of before: that is skipped. What came and went unseen looks so.
    lost = {*world.jumped, *world.vanished}
    assert world.skipped <= lost
    assert world.tally.skipped <= len(lost)


ALIKE_BY_TWO = ["write 3", "takeover", "copy_other 2", "copy", "drop 3"]


@given(histories(*COPYING, *FAULTS, "mark", "crash_hard"))
@example([*ALIKE_BY_TWO, "write", "copy_other 2"])
@examples(400)
def test_records_that_look_alike_make_no_loss(actions: list[str]) -> None:
    world = AlikeWorld().do("look", *actions)
    world.finish()
    assert len(world.skipped) <= len(world.missing)


@given(histories(*COPYING, *ONE, "mark"))
@examples(200)
def test_of_copies_that_are_altered_the_pairs_tell(
    actions: list[str],
) -> None:
    world = AlteredWorld().do("look", *actions)
    world.finish()
    assert len(world.skipped) <= len(world.missing)


@given(histories(*COPYING, *ONE, "drop 9", "mark", "stranger"))
@examples(400)
def test_of_a_sample_no_more_is_lost_than_is_and_the_rest_is_told(
    actions: list[str],
) -> None:
    world = SampledWorld()
    world.do("look", "stranger", "write", "copy", "look", "look", *actions)
    world.finish()
    assert world.skipped <= world.missing
    lost = len(world.missing - world.skipped)
    assert lost <= world.tally.unverifiable


LATE_FLUSH = ["write", "drop", "takeover", "write 2", "copy_other 2", "copy"]
LATE_FLUSH += ["drop 3", "write", "flush", "drop"]
"""The second task rewound, and then the first one flushes its sync."""


@given(histories(*COPYING, *FAULTS, "remove", "expire", "drop 9", "mark"))
@example(LATE_FLUSH)
@examples(400)
def test_of_a_sample_of_a_source_that_shrinks_nothing_else_is_lost(
    actions: list[str],
) -> None:
    world = SampledWorld().do("look", *actions)
    world.finish()
    known = {n for n in world.skipped if n >= world.start}
    assert {n for n in known if world.source[n] is not None} <= world.missing
