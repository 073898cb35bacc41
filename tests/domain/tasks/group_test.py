"""A mirror that copies and never commits."""

from dataclasses import replace
from datetime import timedelta

import pytest

from mirrorwatch.domain.cluster_view import ClusterView, FlowView, TopicFacts
from mirrorwatch.domain.mirror_kinds import KINDS
from mirrorwatch.domain.mirror_records import Committed
from mirrorwatch.domain.report import Health, Numbers
from mirrorwatch.domain.tasks.check import TasksLimits, judge_tasks
from mirrorwatch.domain.tasks.group import (
    GroupTasks,
    SplitLoop,
    SplitLoopDetector,
)
from mirrorwatch.domain.tasks.model import TasksObservation
from tests.support.builders import NOON

MINUTE = timedelta(minutes=1)


def view(
    minutes: float,
    *,
    position: int,
    end: int,
    copies: int | None,
    id_: str = "t",
) -> FlowView:
    at = NOON + minutes * MINUTE

    def side(alias: str, id_: str, end: int | None) -> ClusterView:
        facts = TopicFacts(id=id_, partitions=1, replication_factor=1)
        return ClusterView(
            alias=alias,
            id=alias,
            at=at,
            topics={"x": facts},
            ends={} if end is None else {("x", 0): end},
            starts={("x", 0): 0},
        )

    fact = Committed(
        topic="x", partition=0, position=position, written_at=NOON
    )
    return FlowView(
        flow="a->b",
        at=at,
        committed={("x", 0): fact},
        syncs={},
        caught_up=True,
        target=side("b", id_, copies),
        source=side("a", "s", end),
        names={"x": "x"},
    )


def test_positions_that_stand_while_the_target_grows() -> None:
    detector = SplitLoopDetector()
    assert detector.take(view(0, position=5, end=9, copies=5)) is None
    assert detector.take(view(2, position=5, end=9, copies=5000)) is None
    loop = detector.take(view(4, position=5, end=9, copies=9000))
    assert loop is not None
    assert (loop.partitions, loop.written) == (1, 8995)
    # A commit ends it.
    assert detector.take(view(5, position=9, end=9, copies=9001)) is None


LOOP = SplitLoop(since=NOON, partitions=1, written=9000)
GROUP = GroupTasks(
    name="mm",
    cluster="a",
    state="stable",
    since=NOON,
    members=("mm-0 on /h",),
    always_members=True,
    had_members=True,
)
# Brooklin assigns partitions to itself: its tasks cannot be verified, but
# that it copies the same records again can be.
BROOKLIN = replace(
    GROUP,
    state="empty",
    members=(),
    always_members=KINDS["brooklin"].always_members,
    had_members=False,
)
EMPTY = replace(GROUP, state="empty", members=())
UNCOMMITTED = {"seconds": 240, "written_records": 9000}


@pytest.mark.parametrize(
    ("group", "health", "code", "numbers"),
    [
        (GROUP, Health.OK, "tasks.ok", {"members": 1}),
        (
            replace(GROUP, loop=LOOP),
            Health.CRITICAL,
            "tasks.uncommitted",
            UNCOMMITTED | {"partitions": 1},
        ),
        (
            replace(BROOKLIN, loop=LOOP),
            Health.CRITICAL,
            "tasks.uncommitted",
            UNCOMMITTED | {"partitions": 1},
        ),
        (BROOKLIN, Health.OFF, "tasks.off", {}),
        (
            replace(GROUP, rebalances=13),
            Health.WARNING,
            "tasks.flapping",
            {"rebalances": 13},
        ),
        (replace(GROUP, rebalances=12), Health.OK, "tasks.ok", {"members": 1}),
        (EMPTY, Health.CRITICAL, "tasks.no-members", {"seconds": 240}),
        # Others write to the target: without members it copies nothing.
        (
            replace(EMPTY, loop=LOOP),
            Health.CRITICAL,
            "tasks.no-members",
            {"seconds": 240},
        ),
        (
            replace(EMPTY, since=NOON + 3.9 * MINUTE),
            Health.UNKNOWN,
            "tasks.no-members",
            {"seconds": 6},
        ),
        (
            replace(EMPTY, state="dead", had_members=False),
            Health.UNKNOWN,
            "tasks.no-members",
            {"seconds": 240},
        ),
        (
            replace(GROUP, state="preparing_rebalance"),
            Health.WARNING,
            "tasks.rebalancing",
            {"seconds": 240},
        ),
        (
            replace(
                GROUP,
                state="preparing_rebalance",
                since=NOON + 3.9 * MINUTE,
            ),
            Health.OK,
            "tasks.ok",
            {"members": 1},
        ),
    ],
)
def test_what_a_group_shows(
    group: GroupTasks, health: Health, code: str, numbers: Numbers
) -> None:
    at = NOON + 4 * MINUTE
    seen = TasksObservation(flow="f", at=at, origin=group.shown, group=group)
    found = judge_tasks("f", seen, TasksLimits(), at).findings[0]
    assert (found.health, found.code) == (health, code)
    assert found.subject == {"group": "mm", "cluster": "a"}
    assert {name: found.numbers[name] for name in numbers} == numbers


def test_silence_where_it_commits_rests_or_has_stopped() -> None:
    moving, resting, stopped, anew = (SplitLoopDetector() for _ in range(4))
    for n in range(20):
        end = 1000 * (n + 1)
        running = view(n, position=1000 * n, end=end, copies=end)
        assert moving.take(running) is None
        # Others write to the target of a mirror that has nothing to do.
        idle = view(n, position=9, end=9, copies=1000 * n)
        assert resting.take(idle) is None
        assert stopped.take(view(n, position=5, end=end, copies=5)) is None
        id_ = f"t{n}"
        again = view(n, position=5, end=9, copies=1000 * n, id_=id_)
        assert anew.take(again) is None


def test_silence_where_a_partition_at_the_target_gets_a_leader_again() -> None:
    detector = SplitLoopDetector()
    detector.take(view(0, position=5, end=9, copies=None))
    for n in range(1, 9):
        copies = None if n < 5 else 9000
        again = view(n, position=5, end=9, copies=copies)
        assert detector.take(again) is None
    # What is written there from now on counts.
    loop = detector.take(view(9, position=5, end=9, copies=9500))
    assert loop is not None
    assert loop.written == 500


def test_silence_where_it_commits_seldom() -> None:
    detector = SplitLoopDetector()
    five = 5 * MINUTE
    for n in range(20):
        seen = view(n, position=1000 * (n // 5), end=9**9, copies=1000 * n)
        assert detector.take(seen, cadence=five) is None
    for n in range(20, 31):
        seen = view(n, position=3000, end=9**9, copies=1000 * n)
        loop = detector.take(seen, cadence=five)
    assert loop is not None


def test_silence_where_another_flow_writes_to_the_target_topic() -> None:
    detector = SplitLoopDetector(merged=lambda topic: topic == "x")
    for n in range(9):
        seen = view(n, position=5, end=9, copies=1000 * n)
        assert detector.take(seen) is None
