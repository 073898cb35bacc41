"""The Spark session of an audit."""

from collections.abc import Mapping
from types import MappingProxyType

from pyspark.sql import SparkSession

__all__ = ["make_session"]

_NOTHING: Mapping[str, str] = MappingProxyType({})


def make_session(
    master: str = "local[*]",
    *,
    memory: str = "2g",
    extra: Mapping[str, str] = _NOTHING,
) -> SparkSession:
    """Return a session that reads Kafka.

    Parameters
    ----------
    master
        Spark's master; a local one gets the Kafka connector by itself.
    memory
        Memory of a local master's JVM, as Java writes it.
    extra
        More of Spark's settings, over these.
    """
    builder = SparkSession.builder.master(master).appName("mirrorwatch audit")
    builder = builder.config("spark.driver.memory", memory)
    for name, value in extra.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()
