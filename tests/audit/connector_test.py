"""Spark's Kafka connector, where it comes from."""

from pathlib import Path

import pyspark
import pytest

from mirrorwatch_audit.connector import has_connector, pinned


def test_a_connector_among_sparks_own_jars_is_not_fetched_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in an image, into which it was copied."""
    jars = tmp_path / "jars"
    jars.mkdir()
    monkeypatch.setenv("SPARK_HOME", str(tmp_path))
    assert not has_connector()
    for artifact in pinned(pyspark.__version__):
        (jars / artifact.file_name).touch()
    assert has_connector()


def test_a_connector_under_its_plain_name_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As Spark's own distributions for Kafka have it."""
    jars = tmp_path / "jars"
    jars.mkdir()
    monkeypatch.setenv("SPARK_HOME", str(tmp_path))
    (jars / "spark-sql-kafka-0-10_2.13-4.0.0.jar").touch()
    assert has_connector()
