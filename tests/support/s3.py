"""An S3-compatible server, and Spark's way to it."""

import re
from pathlib import Path

from mirrorwatch.maven import Artifact, cache_folder, fetch, parse_artifacts
from mirrorwatch_audit.connector import connector_jars
from mirrorwatch_lab.process import find_java

from .http import HTTP
from .tick_site import Server

__all__ = ["BUCKET", "SECRET", "S3Server"]

_SERVER = Artifact(
    group="com.adobe.testing",
    name="s3mock",
    version="4.11.0",
    classifier="exec",
    sha256="30916126e4cf559ca3fd25a1ff481eb64f7bfd2e05eb1ea83600999774f63f84",
)

_JARS = Path(__file__).parents[1] / "data" / "s3_jars.txt"
"""Hadoop's file system for S3, of the version of Spark's Hadoop, Spark's
committers for it, and what it needs of AWS's library: all of that is one jar
of half a gigabyte."""

BUCKET = "audit"

SECRET = "hunter2" * 5

_PROPERTY = "-Dcom.adobe.testing.s3mock"


class S3Server(Server):
    """Adobe's S3Mock: a program with the API of S3, and its own store.

    Parameters
    ----------
    folder
        A folder of its own.
    """

    program = "java"
    ready = "/"

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.objects = folder / "objects"
        """Where it keeps what it is given."""

    def find(self) -> str:
        return str(find_java().path)

    def command(self) -> list[str]:
        (jar,) = fetch([_SERVER], cache_folder() / "jars")
        return [
            *("-Xmx256m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"),
            # Its own choice for HTTPS.
            *("-Dserver.port=0", f"{_PROPERTY}.httpPort={self.port}"),
            f"{_PROPERTY}.store.initialBuckets={BUCKET}",
            f"{_PROPERTY}.store.root={self.objects}",
            f"{_PROPERTY}.store.retainFilesOnExit=true",
            *("-jar", str(jar)),
        ]

    def keys(self, prefix: str) -> list[str]:
        """Return the keys of all objects that begin so."""
        answer = HTTP.get(
            f"{self.url}/{BUCKET}",
            params={"list-type": "2", "prefix": prefix},
            timeout=60,
        )
        return re.findall(r"<Key>([^<]*)</Key>", answer.text)

    @property
    def spark(self) -> dict[str, str]:
        """Spark's properties for it, as `docs/running-audits.md` has them."""
        own = fetch(
            parse_artifacts(_JARS.read_text(encoding="utf-8")),
            cache_folder() / "jars",
        )
        commit = "org.apache.spark.internal.io.cloud"
        return {
            "spark.jars": ",".join(map(str, (*connector_jars(), *own))),
            "spark.hadoop.fs.s3a.endpoint": self.url,
            "spark.hadoop.fs.s3a.endpoint.region": "us-east-1",
            "spark.hadoop.fs.s3a.path.style.access": "true",
            "spark.hadoop.fs.s3a.access.key": "mirrorwatch",
            "spark.hadoop.fs.s3a.secret.key": SECRET,
            "spark.hadoop.fs.s3a.committer.name": "magic",
            "spark.sql.sources.commitProtocolClass": (
                f"{commit}.PathOutputCommitProtocol"
            ),
            "spark.sql.parquet.output.committer.class": (
                f"{commit}.BindingParquetOutputCommitter"
            ),
        }
