"""Records at the end of a night, which the next night compares."""

from collections.abc import Iterator
from dataclasses import replace

import pytest
from pyspark.sql import SparkSession

from mirrorwatch.domain.audit.plan import (
    AuditedEnds,
    CopyProfile,
    PartitionPair,
    SourceRange,
    ends_after,
)
from mirrorwatch_audit.digest.records import name, small_table
from mirrorwatch_audit.store.carry import CARRY, usable_carry
from tests.support.audit import a_pair, a_plan
from tests.support.audit_spark import (
    SPARK,
    Audited,
    Cases,
    records,
    small_spark,
)
from tests.support.logs import Record, millis

pytestmark = SPARK

CASES = Cases()

TEN = records(0, 10)


@pytest.fixture(scope="module")
def nights() -> Iterator[list[Audited]]:
    with small_spark() as session:
        yield CASES.audit(session)


def clean(night: Audited, topic: str) -> bool:
    return not (night.findings(topic) or night.unverifiable(topic))


WAITING = CASES.add(
    "waiting",
    TEN,
    [*records(0, 3), *records(4, 10)],
    {"target": (0, 7), "position": 8},
    {"source": (10, 10), "target": (7, 9), "retained": ((0, 10), (0, 9))},
)


def test_above_the_position_missing_is_in_flight_and_below_it_dropped(
    nights: list[Audited],
) -> None:
    first, second = nights
    assert first.found(WAITING) == [("dropped", 1, ((3, 3),), ())]
    assert first.stated(WAITING) == {"in_flight": 2}
    assert first.carry(WAITING) == [("source", 8), ("source", 9)]
    assert first.counts(WAITING) == (8, 7)
    assert clean(second, WAITING)
    assert second.counts(WAITING) == (2, 2)
    assert second.carry(WAITING) == []


BEGUN = CASES.add(
    "begun", TEN, [*records(4, 6), *records(7, 10)], {"asked_from": 9}
)
NEVER = CASES.add("never", TEN, [], {"asked_from": 8})
KEYED = CASES.add("keyed", TEN, [], {"asked_from": 8, "compacted": True})


def test_what_is_missing_before_the_first_copy_may_have_been_skipped(
    nights: list[Audited],
) -> None:
    first, _ = nights
    assert first.found(BEGUN) == [("dropped", 1, ((6, 6),), ())]
    assert first.unverifiable(BEGUN) == [4]
    assert first.found(NEVER) == [("dropped", 2, ((8, 9),), ())]
    assert first.unverifiable(NEVER) == [8]
    # Of three keys, the newest records.
    assert first.found(KEYED) == [("dropped", 2, ((8, 9),), ())]
    assert first.unverifiable(KEYED) == [1]


LOST = CASES.add(
    "lost",
    TEN,
    records(0, 8),
    {"target": (0, 8), "position": 8},
    {"source": (10, 10), "target": (8, 8), "retained": ((0, 10), (0, 8))},
)


def test_what_was_in_flight_and_never_came_is_dropped_the_next_night(
    nights: list[Audited],
) -> None:
    first, second = nights
    assert clean(first, LOST)
    assert second.found(LOST) == [("dropped", 2, ((8, 9),), ())]
    assert (first.counts(LOST), second.counts(LOST)) == ((8, 8), (2, 0))


SOURCE_AHEAD = CASES.add(
    "source ahead",
    TEN,
    TEN,
    {"source": (0, 7), "target": (0, 4), "retained": ((0, 10), (0, 10))},
    {"source": (7, 10), "target": (4, 10), "retained": ((0, 10), (0, 10))},
)

TARGET_AHEAD = CASES.add(
    "target ahead",
    TEN,
    TEN,
    {"source": (0, 4), "target": (0, 7), "retained": ((0, 10), (0, 10))},
    {"source": (4, 10), "target": (7, 10), "retained": ((0, 10), (0, 10))},
)


@pytest.mark.parametrize(
    ("topic", "side"), [(SOURCE_AHEAD, "source"), (TARGET_AHEAD, "target")]
)
def test_across_a_cut_that_is_not_the_same_each_record_counts_once(
    nights: list[Audited], topic: str, side: str
) -> None:
    first, second = nights
    assert clean(first, topic)
    assert clean(second, topic)
    assert first.stated(topic) == {"carried": 3}
    assert first.carry(topic) == [(side, n) for n in (4, 5, 6)]
    assert (first.counts(topic), second.counts(topic)) == ((4, 4), (6, 6))


LATER = CASES.add(
    "later",
    TEN,
    [*records(0, 3), *records(4, 10)],
    {
        "source": (0, 5),
        "target": (0, 4),
        "position": None,
        "retained": ((0, 10), (0, 9)),
    },
)


def test_without_a_position_a_later_copy_proves_that_it_was_dropped(
    nights: list[Audited],
) -> None:
    assert nights[0].found(LATER) == [("dropped", 1, ((3, 3),), ())]


SAME = [Record(value=b"0", timestamp=millis(0))] * 10
AGAIN = CASES.add(
    "again",
    SAME,
    SAME[:9],
    {
        "source": (0, 5),
        "target": (0, 4),
        "timestamps": False,
        "retained": ((0, 10), (0, 9)),
    },
)


def test_copies_of_later_records_do_not_excuse_a_dropped_one(
    nights: list[Audited],
) -> None:
    assert nights[0].found(AGAIN) == [("dropped", 1, ((4, 4),), ())]


EQUALS_BEFORE = CASES.add(
    "equals_before",
    [*records(0, 4), *SAME[:2], *records(6, 10)],
    [*records(0, 4), *SAME[:1], *records(6, 10)],
    {"source": (5, 10), "target": (5, 9), "retained": ((0, 10), (0, 9))},
)


def test_copies_of_earlier_records_do_not_excuse_a_dropped_one(
    nights: list[Audited],
) -> None:
    found = nights[0].found(EQUALS_BEFORE)
    assert found == [("dropped", 1, ((5, 5),), ())]


FORGOTTEN = CASES.add(
    "forgotten",
    TEN,
    [*records(0, 10), *records(1, 2)],
    {"source": (5, 10), "target": (5, 11), "retained": ((0, 10), (3, 11))},
)


def test_a_copy_that_the_target_may_have_forgotten_excuses_no_repeat(
    nights: list[Audited],
) -> None:
    found = nights[0].found(FORGOTTEN)
    assert found == [("duplicated", 1, ((1, 1),), ((10, 10),))]


BEYOND = CASES.add(
    "beyond",
    TEN,
    [*records(0, 10), *records(8, 9)],
    {"source": (0, 5), "target": (0, 5), "retained": ((0, 10), (0, 11))},
    {"source": (5, 10), "target": (5, 11), "retained": ((0, 10), (0, 11))},
)


def test_a_clean_first_night_leaves_a_double_to_the_second(
    nights: list[Audited],
) -> None:
    first, second = nights
    assert clean(first, BEYOND)
    assert second.found(BEYOND) == [("duplicated", 1, ((8, 8),), ((10, 10),))]


LATE = CASES.add(
    "late",
    TEN,
    [*records(0, 3), *records(4, 10), *records(3, 4)],
    {"source": (0, 8), "target": (0, 7), "retained": ((0, 10), (0, 9))},
    {"source": (8, 10), "target": (7, 10), "retained": ((0, 10), (0, 10))},
)


def test_a_dropped_record_that_came_after_all_is_no_repeat(
    nights: list[Audited],
) -> None:
    first, second = nights
    assert first.found(LATE) == [("dropped", 1, ((3, 3),), ())]
    assert clean(second, LATE)
    assert second.stated(LATE) == {"carried": 1}
    assert second.counts(LATE) == (2, 2)


X = Record(value=b"0", timestamp=millis(0))
TOLD = CASES.add(
    "told",
    [*records(0, 3), X, *records(4, 6), X, *records(7, 9)],
    [*records(0, 3), X, X, *records(4, 6), *records(7, 9)],
    {"source": (0, 6), "target": (0, 7), "retained": ((0, 6), (0, 7))},
    {
        "source": (6, 9),
        "target": (7, 9),
        "retained": ((0, 9), (0, 9)),
        "exact_start": True,
    },
)


def test_a_duplicate_that_was_told_excuses_no_later_loss(
    nights: list[Audited],
) -> None:
    first, second = nights
    assert first.found(TOLD) == [("duplicated", 1, ((3, 3),), ((4, 4),))]
    assert second.found(TOLD) == [("dropped", 1, ((6, 6),), ())]


PAIRED = CASES.add(
    "paired",
    [*records(0, 2), X, X, *records(4, 6)],
    [*records(0, 2), X, X, *records(4, 6)],
    {
        "source": (0, 4),
        "target": (0, 2),
        "retained": ((0, 4), (0, 3)),
        "position": 3,
    },
    {
        "source": (4, 6),
        "target": (2, 6),
        "retained": ((0, 6), (0, 6)),
        "exact_start": True,
    },
)


def test_a_copy_after_the_range_is_of_no_record_that_is_still_to_be_copied(
    nights: list[Audited],
) -> None:
    first, second = nights
    assert clean(first, PAIRED)
    assert first.carry(PAIRED) == [("source", 2), ("source", 3)]
    assert clean(second, PAIRED)


STAMPED = [replace(r, timestamp=r.timestamp + 7) for r in TEN]
LATE_STAMPED = CASES.add(
    "late stamped",
    TEN,
    [*STAMPED[:3], *STAMPED[4:], STAMPED[3]],
    *(
        {**night, "timestamps": False, "exact_start": True}
        for night in (
            {
                "source": (0, 8),
                "target": (0, 7),
                "retained": ((0, 10), (0, 9)),
            },
            {
                "source": (8, 10),
                "target": (7, 10),
                "retained": ((0, 10), (0, 10)),
            },
        )
    ),
)


def test_neither_is_one_whose_copy_has_a_timestamp_of_the_target(
    nights: list[Audited],
) -> None:
    first, second = nights
    assert first.found(LATE_STAMPED) == [("dropped", 1, ((3, 3),), ())]
    assert clean(second, LATE_STAMPED)
    assert second.counts(LATE_STAMPED) == (2, 2)


# Written before the target had its first copy: the mirror began behind it.
SKIPPED = Record(value=b"0", timestamp=TEN[0].timestamp - 1000)
DOUBLED = CASES.add(
    "doubled",
    [SKIPPED, *TEN, replace(SKIPPED, timestamp=millis(0))],
    [*STAMPED, *[replace(SKIPPED, timestamp=millis(0))] * 2],
    {
        "source": (11, 12),
        "target": (10, 12),
        "retained": ((0, 12), (0, 12)),
        "timestamps": False,
        "exact_start": True,
    },
)


def test_a_record_that_was_never_to_be_copied_excuses_no_duplicate(
    nights: list[Audited],
) -> None:
    ((kind, count, _, at),) = nights[0].found(DOUBLED)
    assert (kind, count, at) == ("duplicated", 1, ((11, 11),))


BEFORE = ends_after(a_plan(a_pair(source=(0, 10))), AuditedEnds())

GOES_ON = a_pair(source=(10, 20))


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    with small_spark() as session:
        yield session


def source(**changes: object) -> PartitionPair:
    (one,) = GOES_ON.sources
    changed: SourceRange = replace(one, **changes)  # type: ignore[arg-type]
    return replace(GOES_ON, sources=(changed,))


def usable(
    spark: SparkSession,
    pair: PartitionPair,
    before: AuditedEnds = BEFORE,
    last: PartitionPair | None = None,
) -> tuple[int, list[int | None]]:
    """Return how many of two records can be compared, and what is told."""
    place = (pair.flow, "events", 0, pair.flow, "events")
    rows = [
        (*place, 9, *[0] * 6, "source", "carried"),
        (*place, 8, *[0] * 6, "target", "carried"),
    ]
    carry = small_table(spark, rows, CARRY)
    known = {} if last is None else {name(last): last}
    kept, plan = usable_carry(carry, a_plan(pair), before, known)
    assert [p.passed_over for p in plan.pairs] == [last is not None]
    return kept.count(), [gap.records for gap in plan.unverifiable]


def test_a_range_that_goes_on_takes_up_what_was_left(
    spark: SparkSession,
) -> None:
    assert usable(spark, GOES_ON) == (2, [])
    (end,) = BEFORE.ends
    nothing_there = AuditedEnds((replace(end, target_id=""),))
    assert usable(spark, GOES_ON, nothing_there) == (2, [])


def test_what_a_merged_topic_was_left_is_found_by_any_of_its_flows(
    spark: SparkSession,
) -> None:
    """The first flow that feeds it names it, and may be another by now."""
    (end,) = BEFORE.ends
    (one,) = GOES_ON.sources
    other = replace(one, flow="other")
    both = AuditedEnds((end, replace(end, flow="other")))
    place = (GOES_ON.flow, "events", 0, GOES_ON.flow, "events")
    carry = small_table(
        spark,
        [
            (*place, 9, *[0] * 6, "source", "carried"),
            (*place, 8, *[0] * 6, "target", "carried"),
        ],
        CARRY,
    )
    for flow in ("other", GOES_ON.flow):
        pair = replace(GOES_ON, flow=flow, sources=(other, one))
        kept, plan = usable_carry(carry, a_plan(pair), both, {})
        rows = kept.select("side", "flow", "origin").collect()
        assert sorted(map(tuple, rows)) == [
            ("source", flow, GOES_ON.flow),
            ("target", flow, flow),
        ]
        assert plan.unverifiable == ()


@pytest.mark.parametrize(
    "last",
    [
        replace(GOES_ON, timestamps=False),
        replace(GOES_ON, copies=CopyProfile(tombstones=False)),
    ],
)
def test_what_was_left_by_other_checksums_costs_its_range(
    spark: SparkSession, last: PartitionPair
) -> None:
    assert usable(spark, GOES_ON, last=last) == (0, [None])


@pytest.mark.parametrize(
    "pair",
    [
        a_pair(source=(11, 20), target=(10, 20)),
        a_pair(source=(10, 20), target=(11, 20)),
        source(topic_id="another"),
        replace(GOES_ON, topic_id="another"),
    ],
    ids=["source", "target", "source topic", "target topic"],
)
def test_one_that_does_not_leaves_it_unverifiable(
    spark: SparkSession, pair: PartitionPair
) -> None:
    assert usable(spark, pair) == (0, [1])


def test_neither_does_one_of_which_nothing_was_audited(
    spark: SparkSession,
) -> None:
    assert usable(spark, GOES_ON, AuditedEnds()) == (0, [1])


def test_neither_does_one_that_a_topic_fed_that_was_deleted_since(
    spark: SparkSession,
) -> None:
    (end,) = BEFORE.ends
    merged = replace(GOES_ON, absent=(("other", "events"),))
    gone = AuditedEnds((end, replace(end, flow="other")))
    assert usable(spark, merged, gone) == (0, [1])
    # By the night after, nothing is left of it.
    known = AuditedEnds((end, replace(end, flow="other", source_id="")))
    for before in (known, BEFORE):
        assert usable(spark, merged, before) == (2, [])
