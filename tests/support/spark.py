"""A small Spark for tests, without Kafka."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from pyspark import SparkContext
from pyspark.sql import SparkSession

from mirrorwatch_audit.session import make_session

__all__ = ["SPARK", "ended", "small_spark"]

SPARK = [
    pytest.mark.spark,
    # PySpark leaves sockets that results came through to the collector.
    pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"),
]
"""Marks of every test that starts Spark."""

SETTINGS = {
    # Tests read no Kafka: nothing is to be fetched.
    "spark.jars.packages": "",
    "spark.sql.shuffle.partitions": "1",
    "spark.default.parallelism": "1",
    # On some hundred rows, making plans and code takes longer than running.
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.adaptive.enabled": "false",
    "spark.driver.extraJavaOptions": (
        "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
    ),
}


@contextmanager
def small_spark() -> Iterator[SparkSession]:
    """Run a session for tables of some hundred rows."""
    session = make_session("local[2]", memory="1g", extra=SETTINGS)
    with ended(session):
        yield session


@contextmanager
def ended(session: SparkSession) -> Iterator[None]:
    """End a session with all that it started."""
    try:
        yield
    finally:
        session.stop()
        _end_java()


def _end_java() -> None:
    """End the JVM too, and close the sockets to it, or pytest complains.

    PySpark keeps both for a next session, and has no word for ending them.
    """
    context: Any = SparkContext
    gateway = context._gateway  # noqa: SLF001 - the only way to it
    context._gateway = context._jvm = None  # noqa: SLF001
    gateway.shutdown()
    gateway.proc.stdin.close()
    gateway.proc.wait()
    gc.collect()
