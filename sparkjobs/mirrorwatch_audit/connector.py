"""Spark's Kafka connector: the jars that PySpark does not bring.

``python -m mirrorwatch_audit.connector FOLDER`` copies them to a folder, as
for an image or for a cluster (``spark-submit --jars FOLDER/a.jar,...``).
"""

import os
import shutil
import sys
from importlib import resources
from pathlib import Path

import pyspark

from mirrorwatch.exceptions import AuditError
from mirrorwatch.maven import Artifact, cache_folder, fetch, parse_artifacts

__all__ = ["connector_jars", "has_connector", "pinned"]


def pinned(version: str) -> tuple[Artifact, ...]:
    """Return the connector's jars for a version of Spark.

    Parameters
    ----------
    version
        Version of PySpark.

    Raises
    ------
    AuditError
        Raised if none are pinned for this version.

    Notes
    -----
    The connector reaches into Spark's inside, so it must be of the very same
    version. Of Kafka's client it is the last patch of the minor version that
    this connector was built with.
    """
    file = resources.files(__package__) / "jars" / f"spark-{version}.txt"
    if not file.is_file():
        raise AuditError(
            f"mirrorwatch brings no Kafka connector for Spark {version}: "
            "install mirrorwatch[spark], or name the connector's jars in "
            "spark.jars"
        )
    return parse_artifacts(file.read_text(encoding="utf-8"))


def has_connector() -> bool:
    """Return whether Spark's own jars hold the connector, as in an image."""
    # Where PySpark itself looks for them: another Spark, or its own folder.
    home = os.environ.get("SPARK_HOME") or Path(pyspark.__file__).parent
    jars = Path(home) / "jars"
    # A jar of ours carries its group before its name.
    return any(jars.glob("*spark-sql-kafka-0-10_*.jar"))


def connector_jars() -> tuple[Path, ...]:
    """Return the connector's jars, fetched unless they are cached.

    Raises
    ------
    AuditError
        Raised if none are pinned for this version of Spark.
    MavenError
        Raised if one is not to be had.
    """
    artifacts = pinned(pyspark.__version__)
    cache = cache_folder() / "jars"
    return fetch(artifacts, cache, what="Spark's Kafka connector")


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for jar in connector_jars():
        shutil.copy(jar, folder)
