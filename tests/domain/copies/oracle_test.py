"""Any history of a mirror: exact where sites are, else never false.

Each class of histories is one row: what may happen in it, and what holds of
the tracker that followed it.
"""

from collections.abc import Callable

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mirrorwatch.domain.copies import coverage
from tests.domain.copies.world import (
    AlikeWorld,
    AlteredWorld,
    HarshWorld,
    World,
)
from tests.support.examples import examples

COPYING = ["write", "write", "write", "copy", "copy 3", "flush", "look"]
TWO = ["takeover", "copy_other 2", "copy_other 2", "fence"]
ONE = ["drop", "drop 3", "crash", "fail", "restart", "die"]
FAULTS = [*ONE, *TWO]
NOISE = ["mark", "commit_target"]
SHRINKING = ["remove", "remove_here", "remove_last_here", "expire"]
SHRINKING += ["expire_here", "expire_meanwhile", "restart_late"]

SHARED = ["stranger", "write", "copy", "look", "look"]
"""Another producer wrote to the target before."""


def is_exact(world: World) -> None:
    assert world.named == world.missing
    assert world.counters.repeated == world.repeated
    assert world.counters.unverifiable == 0


def is_covered(world: World) -> None:
    """Every lost record is counted, or in a range that is unverifiable."""
    assert world.present - world.unseen <= world.missing
    told = world.lost + world.counters.unverifiable
    assert len(world.missing) <= told


def is_never_false(world: World) -> None:
    assert world.present - world.unseen <= world.missing


def nets_out(world: World) -> None:
    """A duplicate and a drop between two syncs may only cancel."""
    assert world.named <= world.missing
    net = len(world.missing) - world.repeated
    assert len(world.named) - world.counters.repeated == net


def counts_no_more(world: World) -> None:
    """Of records that look alike the count holds, not the name."""
    assert world.lost <= len(world.missing)


def names_no_altered(world: World) -> None:
    """Where all copies are altered, a loss is proved of no record but those
    that were passed while the target was empty.
    """
    copied = [up for up in world.target if up is not None]
    first = min(copied, default=world.passed)
    assert world.named <= {n for n in world.missing if n < first}
    assert world.counters.skipped <= len(world.named)


def _transactional() -> World:
    world = World()
    world.books.is_transactional = True
    return world


CLASSES: dict[
    str, tuple[Callable[[], World], list[str], Callable[[World], None]]
] = {
    "one writer": (World, [*COPYING, *ONE, "mark"], is_exact),
    "two tasks": (World, [*COPYING, *TWO, "crash", "restart"], is_exact),
    "exactly once": (_transactional, [*COPYING, *FAULTS, *NOISE], is_exact),
    "another producer": (
        lambda: World().do("look", *SHARED),
        [*COPYING, *FAULTS, "mark", "stranger"],
        is_never_false,
    ),
    "source expires and compacts": (
        World,
        [*COPYING, *FAULTS, "expire", "remove", "remove_ahead", "mark"],
        is_covered,
    ),
    "producer retries": (HarshWorld, [*COPYING, *ONE, "retry"], nets_out),
    "syncs lost and clusters unreadable": (
        World,
        [*COPYING, *FAULTS, *NOISE, "stranger", "forget", "deny"],
        is_never_false,
    ),
    "both logs shrink while read": (
        HarshWorld,
        [*COPYING, *FAULTS, *SHRINKING, "retry", "mark"],
        is_never_false,
    ),
    "records alike": (
        AlikeWorld,
        [*COPYING, *FAULTS, "mark", "crash_hard"],
        counts_no_more,
    ),
    "copies altered": (
        AlteredWorld,
        [*COPYING, *ONE, "mark"],
        names_no_altered,
    ),
}


def draw_world(name: str, data: st.DataObject) -> World:
    """Return a world of a class at the end of any history."""
    make, actions, _ = CLASSES[name]
    history = st.lists(st.sampled_from(actions), max_size=60)
    world = make().do("look", *data.draw(history))
    world.finish()
    return world


@pytest.mark.parametrize("name", CLASSES)
@given(data=st.data())
@examples(100)
def test_class_of_histories(name: str, data: st.DataObject) -> None:
    _, _, holds = CLASSES[name]
    holds(draw_world(name, data))


UNWATCHED = ["write", "write 2", "mark", "copy", "copy 3", "drop", "flush"]


@given(st.lists(st.sampled_from(UNWATCHED), max_size=60))
@examples(150)
def test_no_loss_is_hidden_by_the_bound_of_the_map(
    actions: list[str],
) -> None:
    """Sites have ranges of hundreds of transactions, these worlds of few."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(coverage, "SPANS_KEPT", 2)
        world = World().do("look", *actions)
        world.finish()
    is_exact(world)


@given(
    st.lists(st.sampled_from([*COPYING, *ONE]), max_size=40),
    st.integers(1, 6),
    st.lists(st.sampled_from([*COPYING, *ONE]), max_size=40),
)
@examples(150)
def test_copies_lost_with_the_target_s_end_are_counted_and_not_named(
    before: list[str], lost: int, after: list[str]
) -> None:
    world = HarshWorld().do("look", *before, "look")
    world.do(f"truncate_target {lost}", *["look"] * 5, *after)
    world.finish()
    is_covered(world)


RECREATED = ["recreate_source", "recreate_target", "crash", "restart", "die"]


@given(st.lists(st.sampled_from([*COPYING, *RECREATED]), max_size=60))
@examples(150)
def test_no_record_of_recreated_topics_is_lost(actions: list[str]) -> None:
    """But for those that the mirror passes over by its former position."""
    world = HarshWorld().do("look", *actions)
    world.finish()
    lost = {*world.jumped, *world.vanished}
    assert world.named <= lost
    assert world.counters.skipped <= len(lost)


class UncheckedWorld(HarshWorld):
    """One in which all may happen, also what makes answers uncertain."""

    def check(self) -> None:
        pass

    def truncate(self) -> None:
        """The newest record is lost, if there is one; a copy of it stays."""
        del self.source[-1:]
        end = len(self.source)
        self.target = [
            None if up is not None and up >= end else up for up in self.target
        ]
        self.start = min(self.start, end)
        for writer in self.writers:
            writer.at = min(writer.at, end)


EVERYTHING = [*FAULTS, *NOISE, *SHRINKING, "retry", "forget", "stranger 3"]
EVERYTHING += ["deny", "die", "look", "look 4", "look 4", "truncate_target"]
EVERYTHING += ["recreate_source", "recreate_target", "truncate_target 3"]
EVERYTHING += ["truncate", "truncate 3"]


@given(st.lists(st.sampled_from([*COPYING, *EVERYTHING]), max_size=60))
@example(["write", "write", "commit_target", "copy_other 2", "expire 2"])
@examples(150)
def test_to_pass_over_what_looks_as_before_changes_nothing(
    actions: list[str],
) -> None:
    passing, looking = UncheckedWorld(), UncheckedWorld(anew=True)
    for action in ["look", *actions, *["look"] * 3]:
        passing.do(action)
        looking.do(action)
        assert vars(passing.books) | {"_syncs": None} == vars(
            looking.books
        ) | {"_syncs": None}
