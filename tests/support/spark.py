"""A small Spark for tests, without Kafka."""

import gc
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from pyspark import SparkContext
from pyspark.sql import SparkSession

from mirrorwatch_audit.session import make_session

__all__ = ["SPARK", "end_spark", "small_spark"]

SPARK = [
    pytest.mark.spark,
    # PySpark leaves sockets that results came through to the collector.
    pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"),
]
"""Marks of every test that starts Spark."""

NO_CONNECTOR = {"spark.jars.packages": ""}
"""Most tests read no Kafka: nothing is to be fetched."""

SETTINGS = {
    "spark.sql.shuffle.partitions": "1",
    "spark.default.parallelism": "1",
    # On some hundred rows, making plans and code takes longer than running.
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.adaptive.enabled": "false",
    # Else each word of a query is looked up in Python's stack.
    "spark.python.sql.dataFrameDebugging.enabled": "false",
    "spark.driver.extraJavaOptions": (
        "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
    ),
}


@contextmanager
def small_spark(*, reads_kafka: bool = False) -> Iterator[SparkSession]:
    """Run a session for tables of some hundred rows.

    Parameters
    ----------
    reads_kafka
        Whether it needs Spark's Kafka connector.

    Notes
    -----
    It is kept for the next file: a Java that has just been started takes most
    of a minute for an audit that a warm one does in seconds. `end_spark` ends
    it at last.
    """
    if reads_kafka:
        # One that was kept may be without.
        end_spark()
    extra = SETTINGS if reads_kafka else SETTINGS | NO_CONNECTOR
    session = make_session("local[2]", memory="1g", extra=extra)
    try:
        yield session
    finally:
        session.catalog.clearCache()
        # While the marks of these tests still hold.
        gc.collect()


def end_spark() -> None:
    """End the session that was kept, if there is one."""
    session = SparkSession.getActiveSession()
    if session is None:
        return
    with warnings.catch_warnings(action="ignore", category=ResourceWarning):
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
