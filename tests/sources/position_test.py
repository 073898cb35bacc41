"""Where the source is asked whether a log was truncated."""

from collections.abc import Mapping
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest

from mirrorwatch.sources.position import PositionWorker
from tests.domain.position.world import FLOW, World
from tests.support.builders import NOON

PLACE = ("t", 0)


@pytest.mark.parametrize(
    ("answers", "is_truncated"),
    [([{PLACE}, {PLACE}], True), ([{PLACE}, set()], False), ([set()], False)],
)
def test_a_log_is_truncated_if_the_source_refuses_twice(
    answers: list[set[tuple[str, int]]], is_truncated: bool
) -> None:
    # A broker that is cut off from its cluster may have been asked first.
    world = World.settled()
    asked: list[Mapping[tuple[str, int], int]] = []
    given = iter(answers)

    def find(wanted: Mapping[tuple[str, int], int]) -> set[tuple[str, int]]:
        asked.append(dict(wanted))
        return next(given)

    worker = PositionWorker(
        flow=FLOW,
        watch=world.watch,
        store=world.store,
        positions=_silent(),
        empty_until=dict,
        find_truncated=find,
        clock=lambda: NOON,
    )
    worker.step()
    world.source["t"].ends[0] = 60
    world.now += timedelta(seconds=5)
    worker.take(world.view())
    assert worker.news.is_set()
    world.source["t"].ends[0] = 130
    worker.step()
    assert asked == [{PLACE: 100}] * len(answers)
    # It is kept at once.
    assert bool(world.store.load().resets) is is_truncated
    worker.step()
    assert len(asked) == len(answers)


def _silent() -> Any:
    return SimpleNamespace(connectors=tuple, homes=dict, problems=tuple)
