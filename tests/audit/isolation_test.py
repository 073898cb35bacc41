"""Aborted records, where it is not known whether the mirror copies them."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from tests.support.audit_spark import (
    SPARK,
    Audited,
    Cases,
    records,
    small_spark,
)
from tests.support.logs import Record, millis

pytestmark = [*SPARK, pytest.mark.long]

CASES = Cases()

UNKNOWN = {"read_committed": None}


@pytest.fixture(scope="module")
def nights() -> Iterator[list[Audited]]:
    with small_spark() as session:
        yield CASES.audit(session)


@pytest.fixture
def night(nights: list[Audited]) -> Audited:
    return nights[0]


def aborted(*numbers: int, end: int = 10) -> list[Record]:
    """Return records of which some were aborted."""
    return [
        replace(record, aborted=n in numbers)
        for n, record in enumerate(records(0, end))
    ]


def without(*numbers: int, end: int = 10) -> list[Record]:
    return [r for n, r in enumerate(records(0, end)) if n not in numbers]


LEFT_OUT = CASES.add("left out", aborted(3, 9), without(3, 9), UNKNOWN)


def test_aborted_records_that_are_not_copied_are_no_loss(
    night: Audited,
) -> None:
    assert (night.found(LEFT_OUT), night.unverifiable(LEFT_OUT)) == ([], [])
    assert night.stated(LEFT_OUT) == {"aborted": 2}
    assert night.counts(LEFT_OUT) == (8, 8)
    assert night.carry(LEFT_OUT) == []


COPIED = CASES.add("copied", aborted(3, 9), records(0, 10), UNKNOWN)
TWICE = CASES.add(
    "twice", aborted(3), [*records(0, 10), *records(3, 4)], UNKNOWN
)


def test_aborted_records_that_are_copied_are_not_extra(night: Audited) -> None:
    assert (night.found(COPIED), night.stated(COPIED)) == ([], {})
    assert night.counts(COPIED) == (10, 10)
    assert night.found(TWICE) == [("duplicated", 1, ((3, 3),), ((10, 10),))]


DROPPED = CASES.add("dropped", aborted(3), without(3, 5), UNKNOWN)


def test_a_committed_record_that_is_missing_is_dropped(night: Audited) -> None:
    assert night.found(DROPPED) == [("dropped", 1, ((5, 5),), ())]
    assert night.stated(DROPPED) == {"aborted": 1}
    assert night.counts(DROPPED) == (9, 8)


SAME = Record(value=b"sent again", timestamp=millis(9999))
AGAIN = [replace(SAME, aborted=True), SAME]
RETRIED = CASES.add("retried", AGAIN, [SAME], UNKNOWN)
IN_VAIN = CASES.add("in vain", AGAIN, [], UNKNOWN)


def test_of_a_record_that_was_aborted_and_sent_again_one_copy_is_enough(
    night: Audited,
) -> None:
    assert (night.found(RETRIED), night.stated(RETRIED)) == (
        [],
        {"aborted": 1},
    )
    assert night.found(IN_VAIN) == [("dropped", 1, ((1, 1),), ())]
    assert night.stated(IN_VAIN) == {"aborted": 1}


FOREIGN = Record(value=b"foreign", timestamp=millis(9999 - 3))
BESIDE = CASES.add(
    "beside",
    aborted(3),
    [*records(0, 3), FOREIGN, *records(4, 10)],
    UNKNOWN,
)


def test_a_foreign_record_in_the_place_of_an_aborted_one_is_extra(
    night: Audited,
) -> None:
    assert night.found(BESIDE) == [("extra", 1, (), ((3, 3),))]


LATER = {
    "source": (10, 10),
    "target": (8, 8),
    "retained": ((0, 10), (0, 8)),
    "read_committed": None,
}
OPEN = CASES.add(
    "open", aborted(9), without(8, 9), {**UNKNOWN, "decided": 7}, LATER
)


def test_what_is_missing_behind_an_open_transaction_is_unverifiable(
    nights: list[Audited],
) -> None:
    first, second = nights
    assert first.found(OPEN) == []
    assert first.unverifiable(OPEN) == [2]
    assert first.carry(OPEN) == [("source", 8), ("source", 9)]
    assert first.counts(OPEN) == (8, 8)
    # Then it is closed, and one of them was committed.
    assert second.found(OPEN) == [("dropped", 1, ((8, 8),), ())]
    assert second.stated(OPEN) == {"aborted": 1}
    assert second.carry(OPEN) == []


EXPIRED = CASES.add(
    "expired",
    aborted(8, 9),
    without(8, 9),
    {**UNKNOWN, "decided": 7},
    {**LATER, "retained": ((9, 10), (0, 8))},
)


def test_what_expired_meanwhile_is_not_taken_for_aborted(
    nights: list[Audited],
) -> None:
    _, second = nights
    assert second.found(EXPIRED) == []
    assert second.stated(EXPIRED) == {"aborted": 1}
    assert second.unverifiable(EXPIRED) == [1]
    assert second.carry(EXPIRED) == []


KNOWN_LATER = CASES.add(
    "known later",
    aborted(8),
    without(8, 9),
    {**UNKNOWN, "position": 8},
    {**LATER, "read_committed": True},
)


def test_what_a_night_left_that_did_not_know_is_not_dropped(
    nights: list[Audited],
) -> None:
    first, second = nights
    assert first.stated(KNOWN_LATER) == {"in_flight": 2}
    assert second.found(KNOWN_LATER) == [("dropped", 1, ((9, 9),), ())]
    assert second.stated(KNOWN_LATER) == {"aborted": 1}


COPY_BEFORE = {
    "source": (5, 10),
    "target": (5, 9),
    "retained": ((0, 10), (0, 9)),
    "read_committed": None,
    "decided": 10,
}
BLURRED = CASES.add(
    "blurred",
    [*records(0, 4), replace(SAME, aborted=True), SAME, *records(6, 10)],
    [*records(0, 4), SAME, *records(6, 10)],
    COPY_BEFORE,
)


def test_whose_copy_it_is_that_an_aborted_record_may_have_nobody_knows(
    night: Audited,
) -> None:
    assert night.found(BLURRED) == []
    assert night.unverifiable(BLURRED) == [1]
    assert night.carry(BLURRED) == []


READS_ALL = CASES.add("reads all", aborted(3), without(3))
COMMITTED = CASES.add(
    "committed", aborted(3), without(3), {"read_committed": True}
)


def test_where_it_is_known_records_are_read_as_the_mirror_reads_them(
    night: Audited,
) -> None:
    assert night.found(READS_ALL) == [("dropped", 1, ((3, 3),), ())]
    assert (night.found(COMMITTED), night.stated(COMMITTED)) == ([], {})
    assert night.counts(COMMITTED) == (9, 9)


UNKNOWN_COMPACTED = {"read_committed": None, "compacted": True}


def record(number: int, *, aborted: bool = False) -> Record:
    """Return one of the records of a key."""
    return Record(
        key=b"k",
        value=b"v%d" % number,
        timestamp=millis(9999 - number),
        aborted=aborted,
    )


OTHER = Record(key=b"other", value=b"v", timestamp=millis(5000))
BOTH = [record(0), record(1, aborted=True), OTHER]

LEFT_OUT_COMPACTED = CASES.add(
    "compacted left out", BOTH, [record(0), OTHER], UNKNOWN_COMPACTED
)
COPIED_COMPACTED = CASES.add(
    "compacted copied", BOTH, [record(0), record(1), OTHER], UNKNOWN_COMPACTED
)


@pytest.mark.parametrize("topic", [LEFT_OUT_COMPACTED, COPIED_COMPACTED])
def test_either_newest_record_of_a_key_is_right(
    nights: list[Audited], topic: str
) -> None:
    night = nights[0]
    assert (night.found(topic), night.unverifiable(topic)) == ([], [])
    assert night.counts(topic) == (2, 2)


NEITHER = CASES.add("compacted neither", BOTH, [OTHER], UNKNOWN_COMPACTED)
TOMBSTONE = CASES.add(
    "compacted tombstone",
    [record(0), replace(record(1, aborted=True), value=None), OTHER],
    [OTHER],
    UNKNOWN_COMPACTED,
)


@pytest.mark.parametrize("topic", [NEITHER, TOMBSTONE])
def test_a_key_that_has_neither_is_not_passed_over(
    nights: list[Audited], topic: str
) -> None:
    night = nights[0]
    assert night.found(topic) == []
    assert night.unverifiable(topic) == [1]


DROPPED_COMPACTED = CASES.add(
    "compacted dropped", BOTH, [record(0)], UNKNOWN_COMPACTED
)


def test_a_key_without_aborted_records_is_judged(
    nights: list[Audited],
) -> None:
    night = nights[0]
    assert night.found(DROPPED_COMPACTED) == [("dropped", 1, ((2, 2),), ())]
    assert night.unverifiable(DROPPED_COMPACTED) == []


OPEN_COMPACTED = CASES.add(
    "compacted open",
    [record(0), record(1)],
    [record(0)],
    {**UNKNOWN_COMPACTED, "decided": 1},
    {
        **UNKNOWN_COMPACTED,
        "source": (2, 2),
        "target": (1, 1),
        "retained": ((0, 2), (0, 1)),
        "decided": 2,
    },
)


def test_a_key_of_an_open_transaction_is_looked_at_again(
    nights: list[Audited],
) -> None:
    first, second = nights
    assert first.found(OPEN_COMPACTED) == []
    assert first.unverifiable(OPEN_COMPACTED) == [1]
    assert first.carry(OPEN_COMPACTED) == [("source", 1)]
    assert second.found(OPEN_COMPACTED) == [("dropped", 1, ((1, 1),), ())]
