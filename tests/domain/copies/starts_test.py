"""Any history of a mirror: no group starts after what it has not read."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mirrorwatch.domain.copies.coverage import OffsetPair
from mirrorwatch.domain.failover.translation import (
    CopiedPartition,
    GroupOffset,
    StartOffset,
    translate,
)
from tests.domain.copies.oracle_test import CLASSES, draw_world
from tests.domain.copies.world import (
    AlikeWorld,
    AlteredWorld,
    HarshWorld,
    World,
)
from tests.support.examples import examples

EXACT = {"one writer", "two tasks"}

CANCELLED = {"producer retries", "syncs lost and clusters unreadable"}
CANCELLED |= {"both logs shrink while read", "records alike"}
"""A record that was dropped and one that was copied twice between two syncs
cancel, as the documentation says: what is read again is not known."""


def starts(world: World) -> list[tuple[int, StartOffset | None]]:
    """Return committed offsets, each with its start."""
    end = len(world.target)
    copied = replace(
        CopiedPartition.of(
            world.pair, is_transactional=world.books.is_transactional
        ),
        end=end,
        ends=OffsetPair(end, len(world.source)),
        source_end=len(world.source),
    )
    return [
        (committed, translate(_at(committed), copied).chosen)
        for committed in range(len(world.source) + 2)
    ]


def _at(committed: int) -> GroupOffset:
    return GroupOffset(topic="t", partition=0, committed=committed)


def copies(world: World, start: int) -> list[int]:
    """Return what a reader of the target is given from an offset on."""
    gone = set[int]()
    if isinstance(world, HarshWorld):
        gone = world.gone_here | set(range(world.start_here))
    return [
        source
        for target, source in enumerate(world.target)
        if target >= start
        and target not in gone
        and source is not None
        and source >= 0
    ]


@pytest.mark.parametrize(
    ("make", "actions", "guessed"),
    [
        (World, ["write 3", "drop", "copy 2"], 0),
        (World, ["write 3", "copy 3", "crash", "copy 3"], 0),
        (World, ["write 3", "stranger", "drop", "copy 2"], 0),
        (World, ["write 4", "remove_ahead", "drop", "copy 2"], 13),
        (World, ["write 3", "drop", "copy 2", "deny"], 12),
        (HarshWorld, ["write 3", "drop", "copy 2"], 0),
        (HarshWorld, ["write 6", "drop", "copy 4", "remove_last_here"], 14),
        (HarshWorld, ["write 6", "drop", "copy 4", "expire_here 11"], 14),
        (AlikeWorld, ["write 3", "copy 3"], 0),
        (AlikeWorld, ["write 6", "drop", "copy 5"], 15),
        (AlteredWorld, ["write 3", "drop", "copy 2"], 12),
    ],
)
def test_up_to_where_copies_are_guessed(
    make: Callable[[], World], actions: list[str], guessed: int
) -> None:
    world = make().do("look", "write 9", "copy 9", "flush", "look", "look")
    world.do(*actions, "flush", *["look"] * 4)
    assert world.pair.guessed_until == guessed


@pytest.mark.parametrize(
    ("make", "actions", "ends"),
    [
        (World, "write 9, copy 3", OffsetPair(9, 9)),
        (World, "write 9, copy 9", OffsetPair(18, 18)),
        (World, "write 9, copy 9, look, write, copy", OffsetPair(19, 19)),
        (World, "write 9, copy 9, look, write", OffsetPair(18, 18)),
        (World, "flush, write 9, copy 5, crash, copy 3", OffsetPair(9, 9)),
        (World, "write 9, copy 5, drop, copy 3", OffsetPair(9, 9)),
        # What was dropped is read after the survey that saw both ends.
        (
            World,
            "write 9, copy 3, drop, copy 5, look 2",
            OffsetPair(17, 18),
        ),
        (HarshWorld, "write, copy, look, truncate_target 6, look 3", None),
    ],
)
def test_ends_that_are_alike_are_remembered(
    make: Callable[[], World], actions: str, ends: OffsetPair | None
) -> None:
    world = make().do("look", "write 9", "copy 9", "look")
    world.do(*actions.split(", "), "look")
    assert world.pair.even_ends == ends
    world.restart()
    assert world.pair.even_ends == ends


@pytest.mark.parametrize("name", CLASSES)
@given(data=st.data())
@examples(100)
def test_starts_cost_what_is_announced(name: str, data: st.DataObject) -> None:
    world = draw_world(name, data)
    for committed, start in starts(world):
        if start is None or start.missed is None:
            assert name not in {*EXACT, "exactly once"}
            continue
        assert start.missed == 0
        read = copies(world, start.offset)
        left = {at for at in copies(world, 0) if at >= committed}
        if not world.was_late:
            assert left <= set(read), (committed, start)
        if name in CANCELLED:
            continue
        repeated = len(read) - len(left)
        assert repeated <= (start.repeated or 0), (committed, start)
        if start.exact or name in EXACT:
            assert start.exact, (committed, start)
            assert repeated == start.repeated, (committed, start)
