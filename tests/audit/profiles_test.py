"""What is compared of mirrors that do not copy as MirrorMaker 2 does."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import timedelta

import pytest
from pyspark.sql import SparkSession

from mirrorwatch.domain.audit.plan import (
    AuditedEnd,
    AuditedEnds,
    CopyProfile,
    PartitionPair,
    TimeWindow,
)
from mirrorwatch.domain.mirror_kinds import KINDS
from mirrorwatch_audit.compare.audit import audit, digest_side
from mirrorwatch_audit.compare.audit import compare as compare_digests
from mirrorwatch_audit.compare.digests import DigestComparison
from mirrorwatch_audit.digest.records import SIDES
from tests.support.audit_spark import SPARK, small_spark
from tests.support.logs import (
    AT,
    BUCKET,
    Logs,
    Record,
    make_pair,
    make_plan,
    millis,
)

pytestmark = SPARK

BY_TOPIC = KINDS["mirrormaker1"].copies
BY_OFFSET = KINDS["linked"].copies
BROOKLIN = KINDS["brooklin"].copies


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    with small_spark() as session:
        yield session


def record(n: int) -> Record:
    return Record(
        key=b"k%d" % n, value=b"v%d" % n, timestamp=millis(3000 - 20 * n)
    )


def filled(
    spark: SparkSession, topic: str, **sides: Sequence[Sequence[Record]]
) -> Logs:
    logs = Logs(spark)
    for side in ("source", "target"):
        for partition, records in enumerate(sides[side]):
            logs.write(side, records, topic=topic, partition=partition)
    return logs


def whole(
    copies: CopyProfile,
    sources: Sequence[Sequence[Record]],
    targets: Sequence[Sequence[Record]],
    *,
    positions: Sequence[int | None] = (),
    timestamps: bool = True,
) -> list[PartitionPair]:
    """Return pairs of all that the partitions hold."""
    return [
        make_pair(
            (0, len(sources[n]) if n < len(sources) else 0),
            (0, len(targets[n]) if n < len(targets) else 0),
            partition=n,
            position=positions[n]
            if n < len(positions)
            else len(sources[n])
            if n < len(sources)
            else None,
            timestamps=timestamps,
            copies=copies,
        )
        for n in range(max(len(sources), len(targets)))
    ]


def found(result: DigestComparison) -> list[tuple[object, ...]]:
    return [
        (f.partition, f.kind, f.count, f.source_offsets, f.target_offsets)
        for f in result.findings
    ]


def stated(result: DigestComparison) -> dict[tuple[int, str], int]:
    return {(s.partition, s.kind): s.count for s in result.stated}


def compare(logs: Logs, pairs: Sequence[PartitionPair]) -> DigestComparison:
    return audit(logs, make_plan(*pairs), bucket=BUCKET)


SOURCES = [[record(n) for n in range(p, 60, 2)] for p in range(2)]
TARGETS = [[record(n) for n in range(p, 60, 3)] for p in range(3)]
"""By number modulo three, the target has another partition."""


def without(number: int) -> list[list[Record]]:
    return [[r for r in t if r != record(number)] for t in TARGETS]


def plus(more: Record) -> list[list[Record]]:
    return [[*TARGETS[0], more], *TARGETS[1:]]


ALTERED = replace(record(4), value=b"altered")

HEADER = replace(record(4), headers=(("h", b"1"),))


@pytest.mark.long
@pytest.mark.parametrize(
    ("targets", "equal"),
    [
        (TARGETS, True),
        (TARGETS[::-1], True),
        (without(4), False),
        (plus(record(4)), False),
        ([[*t, *[ALTERED][: not n]] for n, t in enumerate(without(4))], False),
        ([[*t, *[HEADER][: not n]] for n, t in enumerate(without(4))], False),
    ],
    ids=["same", "elsewhere", "missing", "twice", "altered", "header"],
)
def test_a_topic_without_partitions_is_one_sum(
    spark: SparkSession, targets: list[list[Record]], *, equal: bool
) -> None:
    logs = filled(spark, "a", source=SOURCES, target=targets)
    result = compare(logs, whole(BY_TOPIC, SOURCES, targets))
    assert (found(result), stated(result)) == ([], {})
    gaps = [(gap.topic, gap.partition) for gap in result.unverifiable]
    assert gaps == ([] if equal else [("a", None)])
    (count,) = result.topics
    counts = (count.source_count, count.target_count)
    assert counts == (60, sum(map(len, targets)))


HOURS = TimeWindow(AT - timedelta(hours=2), AT - timedelta(hours=1))
INSIDE, OLD, NEXT = millis(5400), millis(9000), millis(1800)


@pytest.mark.long
@pytest.mark.parametrize(
    ("here", "there", "told"),
    [
        # Left to the next night, or compared by the night before.
        ([NEXT], [], 0),
        ([], [NEXT], 0),
        ([OLD, *[INSIDE] * 5], [INSIDE] * 5, 0),
        # Written late, copied again, without a time, or far ahead.
        ([*[INSIDE] * 5, OLD], [INSIDE] * 5, 1),
        ([INSIDE] * 5, [*[INSIDE] * 5, OLD], 1),
        ([*[INSIDE] * 5, -1], [*[INSIDE] * 5, -1], 2),
        ([*[INSIDE] * 5, millis(-(10**6))], [INSIDE] * 5, 1),
    ],
)
def test_what_no_hours_hold_is_told(
    spark: SparkSession, here: list[int], there: list[int], told: int
) -> None:
    sources, targets = (
        [[replace(record(0), timestamp=at) for at in times]]
        for times in (here, there)
    )
    logs = filled(spark, "a", source=sources, target=targets)
    (pair,) = whole(BY_TOPIC, sources, targets)
    pair = replace(pair, hours=HOURS)
    end = AuditedEnd(
        flow=pair.flow,
        topic=pair.topic,
        partition=0,
        source_end=5,
        target_end=5,
        source_id=pair.sources[0].topic_id,
        target_id=pair.topic_id,
        cut_at=HOURS.start,
        by_topic=True,
    )
    plan = make_plan(pair)
    digests = [digest_side(logs, plan, side, bucket=BUCKET) for side in SIDES]
    before = AuditedEnds((end,))
    result = compare_digests(logs, plan, *digests, before=before)
    assert len(result.unverifiable) == told


@pytest.mark.long
def test_a_mirror_that_keeps_offsets(spark: SparkSession) -> None:
    records = [record(n) for n in range(10)]
    clean = compare(
        filled(spark, "a", source=[records], target=[records]),
        whole(BY_OFFSET, [records], [records]),
    )
    assert (found(clean), stated(clean)) == ([], {})
    # The same records, and two of them are in each other's place.
    swapped = [*records[:4], records[5], records[4], *records[6:]]
    logs = filled(spark, "a", source=[records], target=[swapped])
    pairs = whole(BY_OFFSET, [records], [swapped])
    assert found(compare(logs, pairs)) == [
        (0, "corrupted", 2, ((4, 5),), ((4, 5),))
    ]
    without_offsets = [replace(p, copies=CopyProfile()) for p in pairs]
    assert found(compare(logs, without_offsets)) == []
    # One is missing, and its offset is empty.
    logs = filled(spark, "a", source=[records], target=[records])
    logs.remove("target", [6])
    assert found(compare(logs, pairs)) == [(0, "dropped", 1, ((6, 6),), ())]


@pytest.mark.long
def test_a_mirror_without_tombstones(spark: SparkSession) -> None:
    sources = [[record(n) for n in range(10)], [record(n) for n in (10, 11)]]
    sources[0][3] = replace(record(3), value=None)
    copies = [replace(r, value=r.value or b"") for log in sources for r in log]
    targets = [copies[::2], copies[1::2]]
    logs = filled(spark, "a", source=sources, target=targets)
    profile = replace(BROOKLIN, timestamps=True)
    assert compare(logs, whole(profile, sources, targets)).unverifiable == ()
    # Without timestamps nothing shows what belongs together.
    pairs = whole(BROOKLIN, sources, targets, timestamps=False)
    (gap,) = compare(logs, pairs).unverifiable
    assert gap.partition is None


@pytest.mark.long
@pytest.mark.parametrize(
    ("registry", "kinds"), [(True, []), (False, ["extra"])]
)
def test_what_a_registry_writes_at_its_start_is_no_extra(
    spark: SparkSession, *, registry: bool, kinds: list[str]
) -> None:
    noop = Record(key=b'{"keytype":"NOOP","magic":0}', value=None)
    schema = Record(key=b'{"keytype":"SCHEMA","subject":"a"}', value=b"{}")
    targets = [[schema, noop]]
    logs = filled(spark, "a", source=[[schema]], target=targets)
    copies = CopyProfile(registry=registry)
    result = compare(logs, whole(copies, [[schema]], targets))
    assert [kind for _, kind, *_ in found(result)] == kinds
    assert result.unverifiable == ()


@pytest.mark.long
@pytest.mark.parametrize(
    "own",
    [None, ((b"x".decode(), b"1"),)],
)
@pytest.mark.parametrize(
    ("kind", "header"),
    [
        ("redpanda-migrator", "redpanda-migrator-offset"),
        ("replicator", "__replicator_id"),
        ("msk-replicator", "__mskmr"),
    ],
)
def test_headers_that_the_mirror_adds(
    spark: SparkSession,
    own: tuple[tuple[str, bytes | None], ...] | None,
    kind: str,
    header: str,
) -> None:
    copies_of = KINDS[kind].copies
    records = [replace(record(n), headers=own) for n in range(10)]
    copies = [
        replace(
            r,
            headers=(
                *(own or ()),
                (header, n.to_bytes(8, "big")),
            ),
        )
        for n, r in enumerate(records)
    ]
    logs = filled(spark, "a", source=[records], target=[copies])
    assert found(compare(logs, whole(copies_of, [records], [copies]))) == []
    # Any other header is one that should not be there.
    copies[2] = replace(copies[2], headers=(("y", b""),))
    logs = filled(spark, "a", source=[records], target=[copies])
    assert found(compare(logs, whole(copies_of, [records], [copies]))) == [
        (0, "corrupted", 1, ((2, 2),), ((2, 2),))
    ]
