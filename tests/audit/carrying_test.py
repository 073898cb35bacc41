"""What was left by a night is compared only by ranges that go on from it."""

from collections.abc import Iterator
from dataclasses import replace

import pytest
from pyspark.sql import SparkSession

from mirrorwatch.domain.audit.plan import (
    AuditedEnds,
    Lane,
    SourceRange,
    ends_after,
)
from mirrorwatch_audit.digest.records import small_table
from mirrorwatch_audit.store.carry import CARRY, usable_carry
from tests.support.plans import a_lane, a_plan
from tests.support.spark import SPARK, small_spark

pytestmark = SPARK

BEFORE = ends_after(a_plan(a_lane(source=(0, 10))), AuditedEnds())

GOES_ON = a_lane(source=(10, 20))


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    with small_spark() as session:
        yield session


def source(**changes: object) -> Lane:
    (one,) = GOES_ON.sources
    changed: SourceRange = replace(one, **changes)  # type: ignore[arg-type]
    return replace(GOES_ON, sources=(changed,))


def usable(
    spark: SparkSession, lane: Lane, before: AuditedEnds = BEFORE
) -> tuple[int, list[int | None]]:
    """Return how many of two records can be compared, and what is told."""
    place = (lane.flow, "events", 0, lane.flow, "events")
    rows = [
        (*place, 9, *[0] * 6, "source", "carried"),
        (*place, 8, *[0] * 6, "target", "carried"),
    ]
    carry = small_table(spark, rows, CARRY)
    kept, gaps = usable_carry(carry, a_plan(lane), before)
    return kept.count(), [gap.records for gap in gaps]


def test_a_range_that_goes_on_takes_up_what_was_left(
    spark: SparkSession,
) -> None:
    assert usable(spark, GOES_ON) == (2, [])
    (end,) = BEFORE.ends
    nothing_there = AuditedEnds((replace(end, target_id=""),))
    assert usable(spark, GOES_ON, nothing_there) == (2, [])


@pytest.mark.parametrize(
    "lane",
    [
        a_lane(source=(11, 20), target=(10, 20)),
        a_lane(source=(10, 20), target=(11, 20)),
        source(topic_id="another"),
        replace(GOES_ON, topic_id="another"),
    ],
    ids=["source", "target", "source topic", "target topic"],
)
def test_one_that_does_not_leaves_it_unverifiable(
    spark: SparkSession, lane: Lane
) -> None:
    assert usable(spark, lane) == (0, [1])


def test_neither_does_one_of_which_nothing_was_audited(
    spark: SparkSession,
) -> None:
    assert usable(spark, GOES_ON, AuditedEnds()) == (0, [1])
