"""Tails of filtered topics: passed over by their task, or simply waiting."""

from collections.abc import Callable
from datetime import timedelta

import pytest

from mirrorwatch.domain.lag.model import LagStatus
from mirrorwatch.domain.lag.tracker import LagTracker
from mirrorwatch.domain.mirror_records import Assignment, Connector
from mirrorwatch.domain.topics import Selection
from tests.domain.lag.tracker_test import a_view_of_partitions
from tests.support.builders import NOON

WAITING = ("t", 0)


def assigned(*tasks: set[int]) -> list[Assignment]:
    return [
        Assignment(
            connector="c",
            task=number,
            partitions=frozenset(("t", partition) for partition in partitions),
            written_at=NOON,
        )
        for number, partitions in enumerate(tasks)
    ]


def connector(*, transforms: bool) -> Connector:
    return Connector(
        name="c",
        selection=Selection(include=(".*",)),
        refresh=timedelta(minutes=10),
        max_in_flight=1,
        transforms=transforms,
    )


ONE_TASK = assigned({0, 1})


def at(seconds: int) -> int:
    return 100 + seconds


@pytest.mark.parametrize(
    ("assignments", "copied", "connectors", "filtered", "is_dropped"),
    [
        (ONE_TASK, at, [], True, True),
        (ONE_TASK, at, [connector(transforms=True)], True, True),
        # Nothing can drop there: it is stuck in the mirror.
        (ONE_TASK, at, [connector(transforms=False)], True, False),
        (ONE_TASK, at, [], False, False),
        # Another task goes on, or it is not known which.
        (assigned({0}, {1}), at, [], True, False),
        ([], at, [], True, False),
        # The task is stalled.
        (ONE_TASK, lambda _: 100, [], True, False),
        # It copies a backlog of before.
        (ONE_TASK, lambda s: 100 + s // 100, [], True, False),
    ],
)
def test_tails(
    assignments: list[Assignment],
    copied: Callable[[int], int],
    connectors: list[Connector],
    filtered: bool,
    is_dropped: bool,
) -> None:
    """Ten records of a partition wait, while another one gets a record each
    second.
    """
    tracker = LagTracker(
        flow="f",
        class_of=lambda _: "",
        configs=dict,
        filtered=lambda _: filtered,
    )
    for seconds in range(0, 600, 5):
        end = 100 if seconds < 60 else 110
        view = a_view_of_partitions(
            seconds, (0, 100, end), (0, copied(seconds), at(seconds))
        )
        seen = tracker.take(view, connectors, assignments=assignments)
    assert tracker.dropped() == ({WAITING: (100, 110)} if is_dropped else {})
    (topic,) = seen.topics
    stands = {each.partition for each in topic.standing}
    assert (0 in stands) is not is_dropped
    if is_dropped:
        assert topic.status is LagStatus.MOVING


def test_a_tail_that_is_copied_after_all_is_dropped_no_more() -> None:
    tracker = LagTracker(
        flow="f",
        class_of=lambda _: "",
        configs=dict,
        filtered=lambda _: True,
    )
    for seconds in range(0, 400, 5):
        view = a_view_of_partitions(
            seconds, (0, 100, 110), (0, at(seconds), at(seconds))
        )
        tracker.take(view, assignments=ONE_TASK)
    assert tracker.dropped() == {WAITING: (100, 110)}
    view = a_view_of_partitions(400, (0, 105, 110), (0, at(400), at(400)))
    tracker.take(view, assignments=ONE_TASK)
    assert tracker.dropped() == {}
