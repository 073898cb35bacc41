"""Topics of which only the newest record of a key is sure to be there."""

from collections.abc import Iterator

import pytest

from mirrorwatch_audit.checkpoint import checkpointed
from mirrorwatch_audit.compare.audit import compare, digest_side
from mirrorwatch_audit.digest.records import SIDES
from tests.support.audit_spark import SPARK, Audited, Cases, small_spark
from tests.support.logs import (
    BUCKET,
    Logs,
    Record,
    make_pair,
    make_plan,
    millis,
)

pytestmark = SPARK

CASES = Cases()


@pytest.fixture(scope="module")
def nights() -> Iterator[list[Audited]]:
    with small_spark() as session:
        yield CASES.audit(session)


def log(*records: tuple[str, str | None]) -> list[Record]:
    """Return records of keys and values, a second apart."""
    return [
        Record(
            key=key.encode(),
            value=None if value is None else value.encode(),
            timestamp=millis(999) + int.from_bytes((value or "").encode()),
        )
        for key, value in records
    ]


def add(
    topic: str,
    source: list[Record],
    target: list[Record],
    cut: tuple[int, int] | None = None,
    position: int | None = None,
) -> str:
    ends = len(source), len(target)
    first = cut or ends
    return CASES.add(
        topic,
        source,
        target,
        {
            "source": (0, first[0]),
            "target": (0, first[1]),
            "retained": ((0, ends[0]), (0, ends[1])),
            "position": ends[0] if position is None else position,
            "compacted": True,
        },
    )


FULL = log(("a", "1"), ("b", "1"), ("a", "2"), ("c", "1"), ("b", "2"))

CLEANED = add("cleaned", FULL, log(("a", "2"), ("c", "1"), ("b", "2")))


def test_older_records_that_one_side_removed_are_nothing(
    nights: list[Audited],
) -> None:
    assert nights[0].found(CLEANED) == []
    assert nights[0].counts(CLEANED) == (3, 3)


BURIED = add(
    "buried", log(("a", "1"), ("b", "1"), ("a", None)), log(("b", "1"))
)
KEPT = add("kept", log(("b", "1")), log(("a", "1"), ("b", "1"), ("a", None)))


@pytest.mark.parametrize("topic", [BURIED, KEPT])
def test_a_tombstone_that_one_side_removed_is_compacted(
    nights: list[Audited], topic: str
) -> None:
    assert nights[0].found(topic) == []
    assert nights[0].stated(topic) == {"compacted": 1}


REPLACED = add(
    "replaced",
    log(("b", "1"), ("a", "2")),
    log(("a", "1"), ("b", "1"), ("a", "2")),
    cut=(1, 2),
)


def test_what_a_newer_record_beyond_the_cut_replaced_is_compacted(
    nights: list[Audited],
) -> None:
    assert nights[0].found(REPLACED) == []
    assert nights[0].stated(REPLACED) == {"compacted": 1}


SHORT_LIFE = log(("b", "1"), ("a", "1"), ("a", None))
REMOVED_THERE = add("removed there", SHORT_LIFE, SHORT_LIFE[:1], cut=(2, 1))
REMOVED_HERE = add("removed here", SHORT_LIFE[:1], SHORT_LIFE, cut=(1, 2))
NOT_DELETED = add(
    "not deleted", SHORT_LIFE, SHORT_LIFE[:1], cut=(2, 1), position=2
)


@pytest.mark.parametrize("topic", [REMOVED_THERE, REMOVED_HERE])
def test_so_is_a_key_that_was_deleted_beyond_it_and_removed_with_its_tombstone(
    nights: list[Audited], topic: str
) -> None:
    assert nights[0].found(topic) == []
    assert nights[0].stated(topic) == {"compacted": 1}


def test_what_a_tombstone_removed_that_may_be_copied_by_now_is_unknown(
    nights: list[Audited],
) -> None:
    night = nights[0]
    assert night.found(NOT_DELETED) == []
    assert night.unverifiable(NOT_DELETED) == [1]
    assert night.carry(NOT_DELETED) == [("source", 1)]


OUTDATED = add("outdated", FULL, FULL[:4])


def test_a_key_that_kept_its_old_value_lost_the_new_one(
    nights: list[Audited],
) -> None:
    assert nights[0].found(OUTDATED) == [("dropped", 1, ((4, 4),), ())]


UNDEAD = add("undead", log(("a", "1"), ("a", None)), log(("a", "1")))


def test_a_key_that_was_deleted_and_lives_on_lost_its_tombstone(
    nights: list[Audited],
) -> None:
    assert nights[0].found(UNDEAD) == [("dropped", 1, ((1, 1),), ())]


LOST = add("lost", FULL, [FULL[0], FULL[1], FULL[2], FULL[4]])
WAITING = add("waiting", FULL, FULL[:4], position=4)
ALTERED = add("altered", FULL, [*FULL[:4], *log(("b", "X"))])
STRANGE = add("strange", FULL, [*FULL, *log(("d", "1"))])


def test_kinds_are_those_of_any_topic(nights: list[Audited]) -> None:
    night = nights[0]
    assert night.found(LOST) == [("dropped", 1, ((3, 3),), ())]
    assert night.found(ALTERED) == [("corrupted", 1, ((4, 4),), ((4, 4),))]
    assert night.found(STRANGE) == [("extra", 1, (), ((5, 5),))]
    assert (night.found(WAITING), night.stated(WAITING)) == (
        [],
        {"in_flight": 1},
    )
    assert night.carry(WAITING) == [("source", 4)]


@pytest.mark.long
def test_what_is_removed_while_it_is_looked_into_is_compacted() -> None:
    with small_spark() as spark:
        logs = Logs(spark)
        logs.write("source", log(("a", "1"), ("b", "1"), ("a", "2")))
        logs.write("target", log(("a", "1"), ("a", "2")))
        pair = make_pair((0, 2), (0, 1), position=2, compacted=True)
        plan = make_plan(pair)
        source, target = (
            checkpointed(digest_side(logs, plan, side, bucket=BUCKET))
            for side in SIDES
        )
        # The newer one comes behind the ends that were frozen.
        logs.remove("target", [0])
        found = compare(logs, plan, source, target)
        assert [(f.kind, f.source_offsets) for f in found.findings] == [
            ("dropped", ((1, 1),))
        ]
        assert [(s.kind, s.count) for s in found.stated] == [("compacted", 1)]
