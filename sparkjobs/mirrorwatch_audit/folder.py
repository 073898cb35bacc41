"""Texts and tables in a folder of any file system that Hadoop knows."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own custom

from mirrorwatch.state.audit_folder import to_url
from mirrorwatch.state.versioned import check_version

from .digest import SCHEMA_VERSION
from .errors import is_missing_path, translated

__all__ = ["VERSION", "Folder"]

VERSION = "schema_version"
"""Column of every table."""


class Folder:
    """Texts and tables, written and read by Spark.

    Parameters
    ----------
    session
        Spark.
    folder
        A path, or the URL of any Hadoop file system.

    Raises
    ------
    AuditError
        Raised by every method if the file system refuses.

    Notes
    -----
    Spark's committer moves a file into its place when it is whole, so what
    can be read is what was written. That is why a text is one file.
    """

    def __init__(self, session: SparkSession, folder: str) -> None:
        self._session = session
        self.url = to_url(folder)

    def write_text(self, name: str, text: str) -> None:
        """Write one line of text in place of what was there."""
        with translated(f"Cannot write {self._at(name)}"):
            line = self._session.range(1).select(F.lit(text).alias("value"))
            writer = line.coalesce(1).write.mode("overwrite")
            writer.text(self._at(name))

    def read_texts(self, name: str) -> list[str]:
        """Read lines of text; `*` in the name stands for any folder."""
        with translated(f"Cannot read {self._at(name)}"):
            try:
                rows = self._session.read.text(self._at(name)).collect()
            except AnalysisException as e:
                if is_missing_path(e):
                    return []
                raise
        return [row[0] for row in rows]

    def write_table(
        self, name: str, table: DataFrame, *, failing: str | None = None
    ) -> None:
        """Write a table in place of what was there.

        Parameters
        ----------
        name
            Where.
        table
            What; it is worked out now.
        failing
            What failed if it fails, where that is hardly the writing.
        """
        with translated(failing or f"Cannot write {self._at(name)}"):
            if VERSION not in table.columns:
                table = table.withColumn(VERSION, F.lit(SCHEMA_VERSION))
            table.write.mode("overwrite").parquet(self._at(name))

    def read_table(self, name: str) -> DataFrame | None:
        """Read a table; `None` if there is none.

        Raises
        ------
        AuditError
            Raised if another version wrote it.
        """
        at = self._at(name)
        with translated(f"Cannot read {at}"):
            try:
                table = self._session.read.parquet(at)
            except AnalysisException as e:
                if is_missing_path(e):
                    return None
                raise
            if VERSION not in table.columns:
                check_version(None, at)
            versions = table.select(VERSION).distinct().collect()
        for (version,) in versions:
            check_version(version, at, wanted=SCHEMA_VERSION)
        return table

    def size_bytes(self, name: str) -> int:
        """Return the size of all files of a text or table."""
        with translated(f"Cannot read {self._at(name)}"):
            files = self._session.read.format("binaryFile")
            sizes = files.load(self._at(name)).select(F.sum("length"))
            return int(sizes.collect()[0][0] or 0)

    def folders(self, name: str) -> Mapping[str, datetime]:
        """Return the folders in a folder, and when each was last changed.

        An object store has no folders, and may say that it was just now.
        """
        with translated(f"Cannot read {self._at(name)}"):
            files, path = self._hadoop(name)
            found = files.listStatus(path) if files.exists(path) else []
            return {
                status.getPath().getName(): datetime.fromtimestamp(
                    status.getModificationTime() / 1000, tz=UTC
                )
                for status in found
                if status.isDirectory()
            }

    def delete(self, name: str) -> None:
        """Delete a folder with all that is in it, if it is there."""
        with translated(f"Cannot delete {self._at(name)}"):
            files, path = self._hadoop(name)
            files.delete(path, True)  # noqa: FBT003 - Java has no keywords

    def _hadoop(self, name: str) -> tuple[Any, Any]:
        """Return Hadoop's file system of a folder, and its path there."""
        context = self._session.sparkContext
        java: Any = context._jsc.sc()  # noqa: SLF001 - no other way
        jvm: Any = context._jvm  # noqa: SLF001
        path = jvm.org.apache.hadoop.fs.Path(self._at(name))
        return path.getFileSystem(java.hadoopConfiguration()), path

    def _at(self, name: str) -> str:
        return f"{self.url}/{name}"
