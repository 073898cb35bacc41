"""Positions for the recovery point, by what lag and copies know."""

from datetime import UTC, datetime
from types import SimpleNamespace
from typing import cast

import pytest

from mirrorwatch.domain.cluster_view import PartitionView
from mirrorwatch.domain.mirror_records import Committed
from mirrorwatch.sources.copies import CopiesWorker
from mirrorwatch.sources.flow_facts import FlowFacts
from mirrorwatch.sources.lag import LagWorker

PLACE = ("t", 0)
SEEN = PartitionView(
    remote="t",
    source_id="s",
    source_start=0,
    source_end=120,
    target_id="d",
    target_end=110,
    uncopied=False,
    committed=Committed(
        topic="t",
        partition=0,
        position=100,
        written_at=datetime(2026, 1, 1, tzinfo=UTC),
    ),
    sync=None,
)


@pytest.mark.parametrize(
    ("lag", "is_shared", "accounted", "position"),
    [
        (None, False, None, None),
        ((100, True), False, None, (100, True)),
        ((110, False), False, None, (110, False)),
        # Others write there: what was committed counts alone.
        ((110, False), True, None, (100, True)),
        # A sync has passed over records, and both sides are still to be read.
        ((110, False), False, 95, (95, False)),
        ((110, True), True, 95, (95, False)),
        ((110, True), False, 115, (110, True)),
    ],
)
def test_positions(
    lag: tuple[int, bool] | None,
    is_shared: bool,
    accounted: int | None,
    position: tuple[int, bool] | None,
) -> None:
    facts = FlowFacts(
        lag=cast("LagWorker", SimpleNamespace(position=lambda _: lag)),
        copies=cast(
            "CopiesWorker",
            SimpleNamespace(
                is_shared=lambda _: is_shared,
                accounted=lambda *_: accounted,
            ),
        ),
    )
    assert facts.position(PLACE, SEEN) == position


def test_nothing_is_known_where_nothing_is_wired() -> None:
    assert FlowFacts().position(PLACE, SEEN) is None
