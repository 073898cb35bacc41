"""The Spark session of an audit."""

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import resources
from types import MappingProxyType

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from mirrorwatch.exceptions import AuditError
from mirrorwatch.secrets import SECRET_WORD

from .connector import connector_jars, has_connector

__all__ = ["is_missing_path", "make_session", "translated"]


_SECRETS = f"(?i){SECRET_WORD.pattern}"

_ALWAYS = {
    # A sum that overflowed must stop the audit, not wrap around.
    "spark.sql.ansi.enabled": "true",
    "spark.sql.session.timeZone": "UTC",
    "spark.ui.showConsoleProgress": "false",
    # Spark's default less Kafka: by the older way, each record is turned into
    # a row of Java objects and back.
    "spark.sql.sources.useV1SourceList": "avro,csv,json,orc,parquet,text",
    # Records of the last fetch of each partition, megabytes, are kept for a
    # later task, by default for five minutes and without a limit: a thousand
    # partitions fill the memory. No task goes on where another ended.
    "spark.kafka.consumer.fetchedData.cache.timeout": "1s",
    "spark.kafka.consumer.fetchedData.cache.evictorThreadRunInterval": "1s",
    # What pages would show of tasks and stages that have ended: by default
    # 100,000 tasks, which alone fill the memory of a driver. Nobody looks.
    "spark.ui.retainedJobs": "50",
    "spark.ui.retainedStages": "50",
    "spark.ui.retainedTasks": "1000",
    "spark.sql.ui.retainedExecutions": "20",
    # Passwords and keys are options of the Kafka source.
    "spark.redaction.regex": _SECRETS,
    "spark.sql.redaction.options.regex": f"{_SECRETS}|url|store",
}

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

_COLLECTOR = "-XX:+UseParallelGC"
"""Nobody waits for a single answer, so pauses do not matter: it is as fast as
Java's usual collector, with a quarter less memory."""

_ALONE = re.compile(r"^local\[([^,\]]+)\]$")
"""A local master that gives a task up when it first fails. A cluster tries it
four times: so does this machine then."""

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
        Spark's master, or `None` for that of ``spark-submit``.
    memory
        Memory of the driver, which does all of the work of a local master,
        and of each executor of a cluster, as Java writes it.
    extra
        More of Spark's settings, over these; options of Java come behind
        them. With `spark.jars` or `spark.jars.packages` the connector is not
        fetched.

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
            "spark.master": _ALONE.sub(r"local[\1,4]", master),
            "spark.driver.memory": memory,
            "spark.executor.memory": memory,
        }
        settings |= _connector(extra)
        if master.startswith("local"):
            settings |= _LOCAL
            # Else Spark looks its own name up, and may warn of it.
            os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    settings |= extra
    if master is not None:
        settings |= _java(extra)
    builder = SparkSession.builder.appName("mirrorwatch audit")
    for name, value in settings.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def _connector(extra: Mapping[str, str]) -> dict[str, str]:
    given = {"spark.jars", "spark.jars.packages"} & extra.keys()
    if given or has_connector():
        return {}
    return {"spark.jars": ",".join(str(jar) for jar in connector_jars())}


_OPTIONS = "spark.{}.extraJavaOptions"

_OTHER_COLLECTOR = re.compile(r"-XX:\+Use\w+GC\b")


def _java(extra: Mapping[str, str]) -> dict[str, str]:
    file = resources.files(__package__) / "log4j2.properties"
    own = {"driver": f"-Dlog4j2.configurationFile={file}", "executor": ""}
    found = {}
    for process, options in own.items():
        given = extra.get(_OPTIONS.format(process), "")
        collector = "" if _OTHER_COLLECTOR.search(given) else _COLLECTOR
        every = filter(None, (options, collector, given))
        found[_OPTIONS.format(process)] = " ".join(every)
    return found


JAVA_REMEDY = (
    "Spark needs Java 17 or newer: install it (Debian: apt-get install "
    "openjdk-17-jre-headless) and put it on PATH, or set JAVA_HOME"
)

LONGEST = 600
"""Most characters of a sentence of Spark's that are shown: some hold a whole
query."""

_CAUSE = re.compile(
    r"^(?:Caused by|.*most recent failure:.*?executor [^)]*\)|:)[: ]+"
    r"(?:[\w$]+\.)+(?P<kind>[\w$]+)(?:: (?P<words>.*))?$",
    re.MULTILINE,
)
"""A line of Java that names the cause; the last one is the root."""


@contextmanager
def translated(doing: str) -> Iterator[None]:
    """Raise what Spark raises as an error of ours.

    Parameters
    ----------
    doing
        Beginning of the error message, as in "Cannot read the topics".

    Raises
    ------
    AuditError
        Raised with Spark's own reason in a sentence.
    """
    try:
        yield
    except (PySparkException, Py4JError, ConnectionError) as e:
        raise AuditError(f"{doing}: {_reason(e)}") from e


def is_missing_path(error: PySparkException) -> bool:
    """Return whether Spark reports that a file or folder does not exist."""
    # By its name in Spark 4, or in 3.5.
    condition = getattr(error, "getCondition", None) or error.getErrorClass
    return bool(condition() == "PATH_NOT_FOUND")


def _reason(error: Exception) -> str:
    text = str(error)
    if "JAVA_GATEWAY_EXITED" in text or "JAVA_HOME is not set" in text:
        return f"Java did not start. {JAVA_REMEDY}"
    if isinstance(error, ConnectionError) or "Answer from Java" in text:
        return "Spark's Java process ended. Was it out of memory, or killed?"
    causes = list(_CAUSE.finditer(text))
    if causes:
        root = causes[-1]
        kind, words = root["kind"], root["words"]
        # The innermost cause may have no message; its name helps.
        return f"{words or 'no reason given'} ({kind})"[:LONGEST]
    return text.strip().partition("\n")[0][:LONGEST] or type(error).__name__
