"""A small Spark for tests, without Kafka."""

from collections.abc import Iterator
from contextlib import contextmanager

from pyspark import SparkContext
from pyspark.sql import SparkSession

from mirrorwatch_audit.session import make_session

__all__ = ["small_spark"]

SETTINGS = {
    # Tests read no Kafka: nothing is to be fetched.
    "spark.jars.packages": "",
    "spark.sql.shuffle.partitions": "2",
    # On some hundred rows, making plans and code takes longer than running.
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.adaptive.enabled": "false",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
}


@contextmanager
def small_spark() -> Iterator[SparkSession]:
    """Run a session for tables of some hundred rows."""
    session = make_session("local[2]", memory="1g", extra=SETTINGS)
    try:
        yield session
    finally:
        session.stop()
        _end_java()


def _end_java() -> None:
    """End the JVM too, and close the sockets to it, or pytest complains."""
    gateway = SparkContext._gateway
    assert gateway is not None
    gateway.shutdown()
    gateway.proc.stdin.close()
    gateway.proc.wait()
    SparkContext._gateway = None
    SparkContext._jvm = None
