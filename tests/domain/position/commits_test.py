"""Positions that commits alone show: a consumer group's, a merged topic's, or
those of a mirror without offset syncs.

The topic begins with 100 records, all of them copied and committed; the target
says nothing of positions.
"""

from collections.abc import Callable

import pytest

from mirrorwatch.domain.losses.model import LostRecords
from mirrorwatch.domain.position.model import ResetKind
from mirrorwatch.domain.report import Health

from .world import Log, World

MINUTE = 12
"""Surveys."""

Steps = Callable[[World], None]


def set_log(start: int, end: int, *, ticks: int = 0) -> Steps:
    def do(world: World) -> None:
        world.source["t"].starts[0], world.source["t"].ends[0] = start, end
        world.tick(ticks)

    return do


def commit(position: int, *, ticks: int = 2) -> Steps:
    def do(world: World) -> None:
        world.commit(position)
        world.tick(ticks)

    return do


def empty(until: int) -> Steps:
    def do(world: World) -> None:
        world.empty_until["t", 0] = until

    return do


def restart(world: World) -> None:
    world.restart()
    world.tick(2)


def remove(world: World) -> None:
    del world.source["t"]
    world.tick(2)


LONG = 4 * MINUTE
Outcome = tuple[str, int, int, bool, bool]
"""Kind, first offset, end, whether settled, whether an upper bound."""

CASES: dict[str, tuple[list[Steps], list[Outcome]]] = {
    "goes on": ([set_log(50, 200), commit(150), commit(200)], []),
    "waits": ([set_log(100, 500, ticks=LONG)], []),
    "commit is on its way": ([set_log(150, 500, ticks=MINUTE)], []),
    "expires": (
        [set_log(150, 500, ticks=LONG)],
        [("expired", 100, 150, False, True)],
    ),
    "expires on": (
        [set_log(150, 500, ticks=LONG), set_log(180, 500, ticks=1)],
        [("expired", 100, 180, False, True)],
    ),
    "expires and resumes": (
        [set_log(150, 500, ticks=LONG), commit(400)],
        [("expired", 100, 150, True, True)],
    ),
    "expires unseen": (
        [set_log(150, 500), commit(400)],
        [("expired", 100, 150, True, True)],
    ),
    "expires over a restart": (
        [set_log(150, 500, ticks=LONG), restart, commit(400)],
        [("expired", 100, 150, True, True)],
    ),
    "expires and is deleted": (
        [set_log(150, 500, ticks=LONG), remove],
        [("expired", 100, 150, True, True)],
    ),
    "markers expire": (
        [
            set_log(100, 101, ticks=2),
            empty(101),
            set_log(101, 101, ticks=LONG),
        ],
        [],
    ),
    "markers and records expire": (
        [empty(105), set_log(110, 500, ticks=LONG)],
        [("expired", 105, 110, False, True)],
    ),
    "new leader": ([set_log(0, 60, ticks=MINUTE), commit(110)], []),
    "truncated": (
        [set_log(0, 60, ticks=LONG)],
        [("beyond", 60, 100, False, False)],
    ),
    "truncated and rewound": (
        [set_log(0, 60, ticks=LONG), commit(50)],
        [("beyond", 60, 60, True, True), ("rewind", 50, 100, False, False)],
    ),
    "truncated and outgrown": (
        [
            set_log(0, 60, ticks=LONG),
            set_log(0, 300, ticks=2),
            commit(200),
        ],
        [("beyond", 60, 100, True, True)],
    ),
    "rewound": ([commit(40)], [("rewind", 40, 100, False, False)]),
    "caught up": (
        [commit(40), commit(100)],
        [("rewind", 40, 100, True, False)],
    ),
    "two mirrors take turns": (
        [commit(40), commit(100), commit(60), commit(100)],
        [("rewind", 40, 100, True, False)],
    ),
    "rewound twice": (
        [
            set_log(0, 500),
            commit(40),
            commit(100),
            commit(300),
            commit(200),
            commit(300),
        ],
        [
            ("rewind", 40, 100, True, False),
            ("rewind", 200, 300, True, False),
        ],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_a_history_of_commits(name: str) -> None:
    steps, expected = CASES[name]
    world = World.settled()
    for step in steps:
        step(world)
    assert [
        (
            r.kind.value,
            r.first,
            r.end,
            r.settled is not None,
            r.at_most,
        )
        for r in world.resets
    ] == expected


def test_what_is_never_copied_expires_exactly() -> None:
    world = World()
    world.target.clear()
    world.tick(3)
    set_log(30, 100, ticks=2)(world)
    world.find("expired-unread", topic="t", partition=0, records=30)
    assert world.verdict().health is Health.CRITICAL
    remove(world)
    assert world.seen.lost == {"t": LostRecords(expired=30)}


def test_an_upper_bound_of_what_is_over_is_a_warning() -> None:
    world = World.settled()
    set_log(150, 500)(world)
    commit(400)(world)
    assert world.verdict().health is Health.WARNING
    world.find("unverifiable", topic="t", records=0, records_at_most=50)
    assert world.seen.lost == {"t": LostRecords(at_most=50)}


def test_what_expired_before_a_topic_was_deleted_is_told_once() -> None:
    world = World.settled()
    set_log(150, 500, ticks=LONG)(world)
    log = world.source["t"]
    remove(world)
    world.source["t"] = log
    world.tick(LONG)
    assert [r.kind for r in world.resets] == [ResetKind.EXPIRED]
    world.source["t"] = Log("s1", {0: 500}, {0: 170})
    world.tick(LONG)
    assert [(r.first, r.end) for r in world.resets] == [(100, 150), (150, 170)]
