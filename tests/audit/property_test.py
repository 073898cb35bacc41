"""Random logs and faults: what is found equals what plain lists tell.

Spark takes seconds for one audit, and no longer for hundreds of topics: so an
example is an audit of many, and the message names the topic that fails.
"""

from collections import Counter
from collections.abc import Iterator
from random import Random

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from mirrorwatch.domain.audit.result import AuditFinding
from tests.support.audit_spark import SPARK, Audited, Cases, small_spark
from tests.support.mirrored import Mirrored, mirrored
from tests.support.oracle import expect

pytestmark = [*SPARK, pytest.mark.long]

TOPICS = 150

FEW = settings(
    max_examples=2,
    deadline=None,
    derandomize=True,
    phases=[Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    with small_spark() as session:
        yield session


def offsets(findings: list[AuditFinding], kind: str) -> list[list[int]]:
    """Return the offsets of a kind, at the source and at the target."""
    found: list[list[int]] = [[], []]
    for finding in findings:
        if finding.kind == kind:
            sides = (finding.source_offsets, finding.target_offsets)
            for side, ranges in zip(found, sides, strict=True):
                side += [n for a, b in ranges for n in range(a, b + 1)]
    return found


@given(seed=st.integers(0, 2**32))
@FEW
def test_an_audit_finds_what_a_plain_reading_finds(
    spark: SparkSession, seed: int
) -> None:
    random = Random(seed)  # noqa: S311 - chance that can be had again
    cases = Cases()
    logs = {
        cases.add(f"t{n}", m.source, m.target): m
        for n in range(TOPICS)
        for m in [mirrored(random, twins=n % 3 == 0)]
    }
    (audited,) = cases.audit(spark)
    for topic, both in logs.items():
        wanted = expect(both.source, both.target)
        findings = audited.findings(topic)
        context = f"{topic} of {seed}: {both}"
        assert offsets(findings, "dropped")[0] == wanted.dropped, context
        assert offsets(findings, "duplicated")[1] == wanted.duplicated, context
        assert offsets(findings, "extra")[1] == wanted.extra, context
        altered = sorted(offsets(findings, "corrupted"))
        pairs = sorted(map(sorted, zip(*wanted.corrupted, strict=True)))
        assert altered == (pairs or [[], []]), context
        counts = len(both.source), len(both.target)
        assert audited.counts(topic) == counts, context
        assert audited.carry(topic) == [], context


def nights(random: Random, both: Mirrored) -> list[dict[str, object]]:
    """Return two nights with any cut, while the mirror was copying."""
    seen = random.randint(0, len(both.source))
    position = random.randint(0, seen)
    there = both.copied[position]
    cut = random.randint(0, seen), random.randint(0, there)
    whole = (0, len(both.source)), (0, len(both.target))
    return [
        {
            "source": (0, cut[0]),
            "target": (0, cut[1]),
            "retained": ((0, seen), (0, there)),
            "position": position,
        },
        {
            "source": (cut[0], len(both.source)),
            "target": (cut[1], len(both.target)),
            "retained": whole,
        },
    ]


def wrong(nights: list[Audited], topic: str) -> Counter[str]:
    """Return how many records are missing, and how many are too many."""
    found: Counter[str] = Counter()
    for night in nights:
        for finding in night.findings(topic):
            if finding.kind in ("dropped", "corrupted"):
                found["missing"] += finding.count
            if finding.kind != "dropped":
                found["surplus"] += finding.count
    return found


@given(seed=st.integers(0, 2**32))
@FEW
def test_two_nights_with_any_cut_count_each_record_once(
    spark: SparkSession, seed: int
) -> None:
    random = Random(seed)  # noqa: S311 - chance that can be had again
    cases = Cases()
    logs = {
        cases.add(f"t{n}", m.source, m.target, *nights(random, m)): m
        for n in range(TOPICS)
        for m in [mirrored(random, twins=False)]
    }
    both_nights = cases.audit(spark)
    for topic, both in logs.items():
        wanted = expect(both.source, both.target)
        altered = len(wanted.corrupted)
        surplus = len(wanted.duplicated) + len(wanted.extra) + altered
        expected = Counter(
            missing=len(wanted.dropped) + altered, surplus=surplus
        )
        context = f"{topic} of {seed}: {both}"
        assert wrong(both_nights, topic) == +expected, context
        sides = zip(*(n.counts(topic) for n in both_nights), strict=True)
        counts = tuple(sum(side) for side in sides)
        assert counts == (len(both.source), len(both.target)), context
        assert both_nights[1].carry(topic) == [], context
