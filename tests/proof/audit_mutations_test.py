"""Worlds of three nights notice each rule of the audit that is broken.

An oracle that never fails proves nothing: so rules are broken, one at a time,
in the way in which a person might, and worlds must show it.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from mirrorwatch.exceptions import MirrorwatchError
from tests.support.audit_mutations import MUTATIONS, Mutation
from tests.support.audit_spark import SPARK, small_spark
from tests.support.three_nights_audited import audited, failures, worlds_of

pytestmark = [*SPARK, pytest.mark.long, pytest.mark.timeout(3600)]

SEEDS = range(3)
"""Each is 120 worlds."""


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    with small_spark() as session:
        yield session


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda m: m.name)
def test_worlds_show_a_broken_rule(
    spark: SparkSession,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    mutation: Mutation,
) -> None:
    monkeypatch.setattr(mutation.function, "__code__", mutation.code)
    for number, seed in enumerate(SEEDS):
        worlds = worlds_of(seed, mutation.kinds)
        try:
            failed = failures(
                audited(spark, tmp_path / str(seed), worlds), worlds
            )
        except (MirrorwatchError, OverflowError) as e:
            failed = {next(iter(worlds)): str(e)}
        if failed:
            topic = next(iter(failed))
            first = number * len(worlds) + [*worlds].index(topic) + 1
            print(f"world {first}, {len(failed)} in all: {failed[topic]}")
            return
    pytest.fail("no world shows it")
