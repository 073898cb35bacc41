"""Aborted records of compacted topics, where the mirror may copy them."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from tests.support.cases import Audited, Cases
from tests.support.logs import Record, millis
from tests.support.spark import SPARK, small_spark

pytestmark = SPARK

CASES = Cases()

UNKNOWN = {"read_committed": None, "compacted": True}


@pytest.fixture(scope="module")
def nights() -> Iterator[list[Audited]]:
    with small_spark() as session:
        yield CASES.audit(session)


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

LEFT_OUT = CASES.add("left out", BOTH, [record(0), OTHER], UNKNOWN)
COPIED = CASES.add("copied", BOTH, [record(0), record(1), OTHER], UNKNOWN)


@pytest.mark.parametrize("topic", [LEFT_OUT, COPIED])
def test_either_newest_record_of_a_key_is_right(
    nights: list[Audited], topic: str
) -> None:
    night = nights[0]
    assert (night.found(topic), night.unverifiable(topic)) == ([], [])
    assert night.counts(topic) == (2, 2)


NEITHER = CASES.add("neither", BOTH, [OTHER], UNKNOWN)
TOMBSTONE = CASES.add(
    "tombstone",
    [record(0), replace(record(1, aborted=True), value=None), OTHER],
    [OTHER],
    UNKNOWN,
)


@pytest.mark.parametrize("topic", [NEITHER, TOMBSTONE])
def test_a_key_that_has_neither_is_not_passed_over(
    nights: list[Audited], topic: str
) -> None:
    night = nights[0]
    assert night.found(topic) == []
    assert night.unverifiable(topic) == [1]


DROPPED = CASES.add("dropped", BOTH, [record(0)], UNKNOWN)


def test_a_key_without_aborted_records_is_judged(
    nights: list[Audited],
) -> None:
    night = nights[0]
    assert night.found(DROPPED) == [("dropped", 1, ((2, 2),), ())]
    assert night.unverifiable(DROPPED) == []


OPEN = CASES.add(
    "open",
    [record(0), record(1)],
    [record(0)],
    {**UNKNOWN, "decided": 1},
    {
        **UNKNOWN,
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
    assert first.found(OPEN) == []
    assert first.unverifiable(OPEN) == [1]
    assert first.carry(OPEN) == [("source", 1)]
    assert second.found(OPEN) == [("dropped", 1, ((1, 1),), ())]
