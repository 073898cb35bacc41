"""Each kind of difference between two logs, told from every other."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta

import pytest
from pyspark.sql import SparkSession

from tests.support.audit_spark import (
    SPARK,
    Audited,
    Cases,
    records,
    small_spark,
)
from tests.support.logs import (
    Record,
    millis,
)

pytestmark = SPARK

CASES = Cases()


@pytest.fixture(scope="module")
def night() -> Iterator[Audited]:
    with small_spark() as session:
        (audited,) = CASES.audit(session)
        yield audited


def without(numbers: set[int], end: int) -> list[Record]:
    return [r for n, r in enumerate(records(0, end)) if n not in numbers]


def changed(number: int, record: Record, end: int = 10) -> list[Record]:
    return [*records(0, number), record, *records(number + 1, end)]


FIFTH = records(5, 6)[0]

EQUAL = CASES.add("equal", records(0, 100), records(0, 100))


def test_equal_logs_are_counted_and_nothing_is_found(night: Audited) -> None:
    assert (night.found(EQUAL), night.stated(EQUAL)) == ([], {})
    assert night.counts(EQUAL) == (100, 100)
    count = night.topic(EQUAL)
    # A key has 2 bytes, a value 2 or, from v10 on, 3.
    assert count.source_bytes == count.target_bytes == 100 * 4 + 90
    assert night.carry(EQUAL) == []


DROPPED = CASES.add(
    "dropped", records(0, 1000), without({0, 5, 6, 7, 900}, 1000)
)


def test_dropped_records_are_named_by_source_offset(night: Audited) -> None:
    (finding,) = night.findings(DROPPED)
    assert (finding.kind, finding.count) == ("dropped", 5)
    assert finding.source_offsets == ((0, 0), (5, 7), (900, 900))
    assert finding.target_offsets == ()
    assert finding.start is not None
    assert finding.end is not None
    assert finding.end - finding.start == timedelta(seconds=900)
    assert night.counts(DROPPED) == (1000, 995)


DOUBLED = CASES.add(
    "doubled", records(0, 10), [*records(0, 10), *records(4, 6)]
)


def test_a_doubled_record_is_named_by_its_later_copy(night: Audited) -> None:
    assert night.found(DOUBLED) == [
        ("duplicated", 2, ((4, 5),), ((10, 11),)),
    ]


BOTH = CASES.add("both", records(0, 10), [*without({3}, 10), *records(7, 8)])


def test_one_dropped_and_one_doubled_do_not_cancel(night: Audited) -> None:
    assert night.found(BOTH) == [
        ("dropped", 1, ((3, 3),), ()),
        ("duplicated", 1, ((7, 7),), ((9, 9),)),
    ]
    assert night.counts(BOTH) == (10, 10)


VALUE = CASES.add(
    "value", records(0, 10), changed(5, replace(FIFTH, value=b"w5"))
)
HEADER = CASES.add(
    "header",
    changed(5, replace(FIFTH, headers=(("a", b"1"),))),
    changed(5, replace(FIFTH, headers=(("a", b"2"),))),
)
EMPTIED = CASES.add(
    "emptied",
    changed(5, replace(FIFTH, value=None)),
    changed(5, replace(FIFTH, value=b"")),
)
MOVED = CASES.add(
    "moved", records(0, 10), changed(5, replace(FIFTH, timestamp=millis(0)))
)


@pytest.mark.parametrize("topic", [VALUE, HEADER, EMPTIED, MOVED])
def test_an_altered_record_is_named_on_both_sides(
    night: Audited, topic: str
) -> None:
    assert night.found(topic) == [("corrupted", 1, ((5, 5),), ((5, 5),))]


TORN = CASES.add(
    "torn",
    records(0, 10),
    [*records(0, 4), replace(FIFTH, value=b"w5"), *records(7, 10)],
)


def test_of_a_torn_stretch_the_altered_record_is_told_by_its_time(
    night: Audited,
) -> None:
    assert night.found(TORN) == [
        ("dropped", 2, ((4, 4), (6, 6)), ()),
        ("corrupted", 1, ((5, 5),), ((4, 4),)),
    ]


FOREIGN = Record(value=b"foreign", timestamp=millis(9995))
MANY = CASES.add("many", records(0, 2100), records(0, 2100)[::2])


def test_of_many_ranges_the_first_thousand_are_named_and_all_counted(
    night: Audited,
) -> None:
    ((kind, count, source, _),) = night.found(MANY)
    assert (kind, count) == ("dropped", 1050)
    assert source == tuple((n, n) for n in range(1, 2000, 2))


EXTRA = CASES.add(
    "extra",
    without({8}, 10),
    [*records(0, 4), FOREIGN, *records(4, 8), *records(9, 10)],
)


def test_a_record_that_nobody_sent_is_extra(night: Audited) -> None:
    assert night.found(EXTRA) == [("extra", 1, (), ((4, 4),))]


APART = CASES.add(
    "apart", records(0, 10), [*records(0, 4), FOREIGN, *without({8}, 10)[4:]]
)


def test_a_dropped_and_an_extra_record_elsewhere_are_two_findings(
    night: Audited,
) -> None:
    assert night.found(APART) == [
        ("dropped", 1, ((8, 8),), ()),
        ("extra", 1, (), ((4, 4),)),
    ]


TWINS = CASES.add(
    "twins", [FOREIGN] * 3 + records(0, 2), [FOREIGN] * 2 + records(0, 2)
)


def test_of_three_equal_records_one_is_missed(night: Audited) -> None:
    assert night.found(TWINS) == [("dropped", 1, ((2, 2),), ())]


TIMELESS = CASES.add(
    "timeless",
    [replace(r, timestamp=-1) for r in records(0, 10)],
    [replace(r, timestamp=-1) for r in without({4}, 10)],
)


def test_records_without_a_timestamp_are_compared(night: Audited) -> None:
    (finding,) = night.findings(TIMELESS)
    assert finding.source_offsets == ((4, 4),)
    assert (finding.start, finding.end) == (None, None)


STAMPED = CASES.add(
    "stamped",
    records(0, 10),
    [replace(r, timestamp=r.timestamp + 7) for r in without({4}, 10)],
    {"timestamps": False},
)


def test_timestamps_that_the_target_sets_are_left_out(night: Audited) -> None:
    assert night.found(STAMPED) == [("dropped", 1, ((4, 4),), ())]


REPEATED = CASES.add(
    "repeated",
    records(0, 10),
    [*records(0, 10), *records(2, 3)],
    {
        "source": (5, 10),
        "target": (5, 11),
        "retained": ((0, 10), (0, 11)),
    },
)


def test_a_record_from_before_the_range_is_a_repeat(night: Audited) -> None:
    assert night.found(REPEATED) == [("duplicated", 1, ((2, 2),), ((10, 10),))]


EARLY = CASES.add(
    "early",
    records(0, 10),
    records(0, 10),
    {
        "source": (5, 10),
        "target": (3, 10),
        "retained": ((0, 10), (0, 10)),
    },
)


def test_first_copies_from_before_the_range_are_none(night: Audited) -> None:
    assert night.found(EARLY) == []
    assert night.stated(EARLY) == {"carried": 2}
    assert night.counts(EARLY) == (5, 5)


EMPTY = CASES.add("empty", [], [])


def test_an_empty_topic_counts_nothing(night: Audited) -> None:
    assert (night.counts(EMPTY), night.found(EMPTY)) == ((0, 0), [])


GONE = CASES.add("gone", records(0, 10), [])


def test_a_topic_that_never_arrived_is_dropped_whole(night: Audited) -> None:
    assert night.found(GONE) == [("dropped", 10, ((0, 9),), ())]


UNKNOWN = CASES.add("unknown", records(0, 10), [], {"position": None})


def test_missing_without_any_position_is_unverifiable(night: Audited) -> None:
    assert night.found(UNKNOWN) == []
    assert night.unverifiable(UNKNOWN) == [10]
    assert night.carry(UNKNOWN) == [("source", n) for n in range(10)]


SENT = [replace(r, key=b"k%d" % n) for n, r in enumerate(records(0, 8))]


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    with small_spark() as session:
        yield session
