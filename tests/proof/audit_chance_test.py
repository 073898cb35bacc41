"""Three nights of random logs, against what plain lists tell.

Spark takes seconds for one audit, and no longer for hundreds of topics: so a
seed is three nights of many topics, of every kind.
"""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.support.audit_spark import SPARK, small_spark
from tests.support.three_nights_audited import audited, failures, worlds_of

pytestmark = [*SPARK, pytest.mark.long, pytest.mark.timeout(3600)]

SEEDS = range(
    int(os.environ.get("MIRRORWATCH_AUDIT_FIRST_SEED", "0")),
    int(os.environ.get("MIRRORWATCH_AUDIT_FIRST_SEED", "0"))
    + int(os.environ.get("MIRRORWATCH_AUDIT_SEEDS", "5")),
)
"""Each is 20 worlds of each of six kinds."""


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    with small_spark() as session:
        yield session


@pytest.mark.parametrize("seed", SEEDS, ids=lambda seed: f"seed-{seed}")
def test_three_nights_find_what_a_plain_reading_finds(
    spark: SparkSession, tmp_path: Path, seed: int
) -> None:
    worlds = worlds_of(seed)
    failed = failures(audited(spark, tmp_path, worlds), worlds)
    assert not failed, "\n".join(
        f"{topic}: {said}\n{worlds[topic]}" for topic, said in failed.items()
    )
