"""Tables that are worked out once and kept for the steps after."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from mirrorwatch.state.audits import to_url

__all__ = ["CHECKPOINTS", "checkpointed", "reliable"]

CHECKPOINTS = "checkpoints"
"""Folder beside the runs, where a cluster keeps tables while an audit runs."""

_ONE_MACHINE = re.compile(r"local(?:\[.*\])?")
"""A master whose tasks run in the driver: what loses them ends all."""


def checkpointed(table: DataFrame) -> DataFrame:
    """Work a table out and keep it, without the steps that led to it.

    Parameters
    ----------
    table
        The table.

    Notes
    -----
    On this machine it is kept in the memory and files of the driver. On a
    cluster that would be those of executors, and of one that is lost they
    would be lost for good: there it is written to the folder that all share.
    """
    if table.sparkSession.sparkContext.getCheckpointDir() is None:
        return table.localCheckpoint()
    return table.checkpoint()


@contextmanager
def reliable(session: SparkSession, folder: str) -> Iterator[None]:
    """Keep tables in a folder while it lasts, where executors may be lost.

    Parameters
    ----------
    session
        Spark.
    folder
        Folder of all runs, which driver and workers share. What Spark was
        told in `spark.checkpoint.dir` is left as it is.
    """
    context = session.sparkContext
    alone = _ONE_MACHINE.fullmatch(context.master or "")
    if alone or context.getCheckpointDir() is not None:
        yield
        return
    context.setCheckpointDir(f"{to_url(folder)}/{CHECKPOINTS}")
    # A folder of its own in it, with a name that no other has.
    own = context.getCheckpointDir()
    try:
        yield
    finally:
        java: Any = context._jsc.sc()  # noqa: SLF001 - no other way
        jvm: Any = context._jvm  # noqa: SLF001
        path = jvm.org.apache.hadoop.fs.Path(own)
        files = path.getFileSystem(java.hadoopConfiguration())
        files.delete(path, True)  # noqa: FBT003 - Java has no keywords
