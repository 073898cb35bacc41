"""Tells how far an audit is, on a terminal."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from threading import Event, Thread
from typing import Protocol

from py4j.protocol import Py4JError
from pyspark.sql import SparkSession
from rich.console import Console
from rich.status import Status

__all__ = ["Progress", "Quiet", "Terminal"]

_LOOK_SECONDS = 0.5
"""How often Spark is asked: often enough to look alive."""


class Progress(Protocol):
    """Is told what an audit does."""

    def stage(self, doing: str) -> AbstractContextManager[None]:
        """Show what is being done, for as long as it takes."""
        ...


class Quiet:
    """Shows nothing."""

    @contextmanager
    def stage(self, doing: str) -> Iterator[None]:
        yield


class Terminal:
    """Shows what is being done, with the tasks of Spark that are left.

    Parameters
    ----------
    session
        Spark.
    console
        A terminal.
    """

    def __init__(self, session: SparkSession, console: Console) -> None:
        self._tracker = session.sparkContext.statusTracker()
        self._console = console

    @contextmanager
    def stage(self, doing: str) -> Iterator[None]:
        ended = Event()
        with self._console.status(doing) as status:
            thread = Thread(target=self._follow, args=(doing, status, ended))
            thread.start()
            try:
                yield
            finally:
                ended.set()
                thread.join()

    def _follow(self, doing: str, status: Status, ended: Event) -> None:
        while not ended.wait(_LOOK_SECONDS):
            try:
                tasks = [
                    info
                    for stage in self._tracker.getActiveStageIds()
                    if (info := self._tracker.getStageInfo(stage)) is not None
                ]
            except (Py4JError, ConnectionError):
                # Whoever waits for the result is told what happened.
                return
            done = sum(info.numCompletedTasks for info in tasks)
            total = sum(info.numTasks for info in tasks)
            share = f": {done:,} of {total:,} tasks" if total else ""
            status.update(doing + share)
