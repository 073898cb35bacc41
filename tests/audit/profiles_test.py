"""What is compared of mirrors that do not copy as MirrorMaker 2 does."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import pytest
from pyspark.sql import SparkSession

from mirrorwatch.domain.audit.plan import CopyProfile, PartitionPair
from mirrorwatch.domain.mirror_kinds import KINDS
from mirrorwatch_audit.compare.audit import audit
from mirrorwatch_audit.compare.digests import DigestComparison
from tests.support.audit_spark import SPARK, small_spark
from tests.support.logs import (
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


@pytest.mark.long
def test_a_topic_whose_records_went_to_other_partitions(
    spark: SparkSession,
) -> None:
    sources = [[record(n) for n in range(p, 60, 2)] for p in range(2)]
    # By number modulo three, the target has another partition.
    targets = [[record(n) for n in range(p, 60, 3)] for p in range(3)]
    logs = filled(spark, "a", source=sources, target=targets)
    clean = compare(logs, whole(BY_TOPIC, sources, targets))
    assert (found(clean), stated(clean), clean.unverifiable) == ([], {}, ())
    (count,) = clean.topics
    assert (count.source_count, count.target_count) == (60, 60)

    # 4, 6 and 31 are missing, 50 is there twice, and one is nobody's.
    lost = {4, 6, 31}
    targets = [[r for r in t if r not in map(record, lost)] for t in targets]
    targets[0] += [record(50), replace(record(1), value=b"nobody's")]
    logs = filled(spark, "a", source=sources, target=targets)
    wrong = compare(logs, whole(BY_TOPIC, sources, targets))
    assert found(wrong) == [
        # Source offsets of what is missing, target offsets of the rest.
        (0, "dropped", 2, ((2, 3),), ()),
        (0, "duplicated", 1, (), ((len(targets[0]) - 2,) * 2,)),
        (0, "extra", 1, (), ((len(targets[0]) - 1,) * 2,)),
        (1, "dropped", 1, ((15, 15),), ()),
    ]

    # Above the position of its partition nothing is called dropped.
    waits = compare(
        logs, whole(BY_TOPIC, sources, targets, positions=[2, None])
    )
    assert [kind for _, kind, *_ in found(waits)] == ["duplicated", "extra"]
    assert stated(waits) == {(0, "in_flight"): 2}
    assert [(u.partition, u.records) for u in waits.unverifiable] == [(1, 1)]


@pytest.mark.long
def test_what_a_night_left_of_a_topic_is_found_in_any_partition(
    spark: SparkSession,
) -> None:
    sources = [[record(n) for n in range(20)]]
    targets = [[record(n) for n in range(0, 20, 2)]]
    targets += [[record(n) for n in range(1, 20, 2)]]
    logs = filled(spark, "a", source=sources, target=targets)
    whole_pairs = whole(BY_TOPIC, sources, targets)
    (source,) = whole_pairs[0].sources

    def part(*, first: bool, ends: tuple[int, int]) -> list[PartitionPair]:
        """Cut the source at ten, and the targets at these offsets."""
        pairs = []
        for pair, end in zip(whole_pairs, ends, strict=True):
            cuts = [
                (x.span.start, cut) if first else (cut, x.span.end)
                for x, cut in ((source, 10), (pair, end))
            ]
            made = make_pair(
                cuts[0] if pair.partition == 0 else (0, 0),
                cuts[1],
                partition=pair.partition,
                position=10 if first else 20,
                retained=(
                    (0, 20) if pair.partition == 0 else (0, 0),
                    (0, 10),
                ),
                copies=BY_TOPIC,
                exact_start=not first,
            )
            pairs.append(made)
        return pairs

    # Two copies too few of one partition, and two too many of the other.
    evening = compare(logs, part(first=True, ends=(3, 7)))
    assert found(evening) == []
    assert stated(evening) == {(0, "carried"): 2, (1, "carried"): 2}
    morning = audit(
        logs,
        make_plan(*part(first=False, ends=(3, 7))),
        bucket=BUCKET,
        carry=evening.carry,
    )
    assert (found(morning), morning.carry.count()) == ([], 0)


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
    without = [replace(p, copies=CopyProfile()) for p in pairs]
    assert found(compare(logs, without)) == []
    # One is missing, and its offset is empty.
    logs = filled(spark, "a", source=[records], target=[records])
    logs.remove("target", [6])
    assert found(compare(logs, pairs)) == [(0, "dropped", 1, ((6, 6),), ())]


@pytest.mark.long
def test_a_mirror_without_timestamps_and_tombstones(
    spark: SparkSession,
) -> None:
    sources = [[record(n) for n in range(10)], [record(n) for n in (10, 11)]]
    sources[0][3] = replace(record(3), value=None)
    copies = [
        replace(r, value=r.value or b"", timestamp=millis(10))
        for records in sources
        for r in records
    ]
    targets = [copies[::2], copies[1::2]]
    logs = filled(spark, "a", source=sources, target=targets)
    pairs = whole(BROOKLIN, sources, targets, timestamps=False)
    assert (
        found(compare(logs, pairs)),
        compare(logs, pairs).unverifiable,
    ) == (*([], ()),)
    targets[1].pop()
    logs = filled(spark, "a", source=sources, target=targets)
    pairs = whole(BROOKLIN, sources, targets, timestamps=False)
    assert found(compare(logs, pairs)) == [(1, "dropped", 1, ((1, 1),), ())]


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
