"""The Spark session of an audit."""

import os
from collections.abc import Mapping
from importlib import resources
from types import MappingProxyType

from pyspark.sql import SparkSession

from .connector import connector_jars, has_connector

__all__ = ["make_session"]

_ALWAYS = {
    # A sum that overflowed must stop the audit, not wrap around.
    "spark.sql.ansi.enabled": "true",
    "spark.sql.session.timeZone": "UTC",
    "spark.ui.showConsoleProgress": "false",
    # Spark's default less Kafka: by the older way, each record is turned into
    # a row of Java objects and back.
    "spark.sql.sources.useV1SourceList": "avro,csv,json,orc,parquet,text",
    # Passwords and keys are options of the Kafka source.
    "spark.redaction.regex": "(?i)secret|password|token|jaas|keystore|key$",
    "spark.sql.redaction.options.regex": "(?i)url|jaas|password|secret|store",
}
"""What an audit needs wherever it runs."""

_LOCAL = {
    "spark.ui.enabled": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    # Of a few cores, 200 tasks would mostly start and end.
    "spark.sql.shuffle.partitions": "16",
    # A consumer for each partition, kept a while: those of a thousand
    # partitions, each with records fetched ahead, would fill the memory.
    "spark.kafka.consumer.cache.capacity": "16",
}
"""What suits one machine."""

_COLLECTOR = "-XX:+UseParallelGC"
"""Nobody waits for a single answer, so pauses do not matter: it is as fast as
Java's usual collector, with a quarter less memory."""

_NOTHING: Mapping[str, str] = MappingProxyType({})


def make_session(
    master: str | None = "local[*]",
    *,
    memory: str = "2g",
    extra: Mapping[str, str] = _NOTHING,
) -> SparkSession:
    """Return a session that reads Kafka.

    Parameters
    ----------
    master
        Spark's master, or `None` for what ``spark-submit`` was told.
    memory
        Memory of the driver, which does all of the work of a local master,
        and of each executor of a cluster, as Java writes it.
    extra
        More of Spark's settings, over these. With `spark.jars` or
        `spark.jars.packages` the connector is not fetched.

    Raises
    ------
    AuditError
        Raised if there is no connector for this version of Spark.
    MavenError
        Raised if the connector is not to be had.
    """
    settings = dict(_ALWAYS)
    if master is not None:
        settings |= {
            "spark.master": master,
            "spark.driver.memory": memory,
            "spark.executor.memory": memory,
        }
        settings |= _connector(extra) | _java()
        if master.startswith("local"):
            settings |= _LOCAL
            # Else Spark looks its own name up, and may warn of it.
            os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    builder = SparkSession.builder.appName("mirrorwatch audit")
    for name, value in {**settings, **extra}.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def _connector(extra: Mapping[str, str]) -> dict[str, str]:
    given = {"spark.jars", "spark.jars.packages"} & extra.keys()
    if given or has_connector():
        return {}
    return {"spark.jars": ",".join(str(jar) for jar in connector_jars())}


def _java() -> dict[str, str]:
    file = resources.files(__package__) / "log4j2.properties"
    return {
        "spark.driver.extraJavaOptions": f"-Dlog4j2.configurationFile={file} "
        f"{_COLLECTOR}",
        "spark.executor.extraJavaOptions": _COLLECTOR,
    }
