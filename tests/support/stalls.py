"""Witness of when the machine did nothing for others but the disk or itself.

An agent that was not run for seconds rightly says that it does not know. Only
somebody who was held up at the same time can tell that from a fault.
"""

import os
import time
from contextlib import AbstractContextManager
from datetime import datetime, timedelta
from pathlib import Path
from threading import Event, Thread
from types import TracebackType
from typing import Self

from mirrorwatch.clock import utc_now

__all__ = ["Stalls"]

PAUSE_SECONDS = 0.2

LONG_SECONDS = 1.0
"""More than this between two of them is a stall."""

AFTER = timedelta(seconds=60)
"""How long one may be felt: requests run into their time limits, and are
made again a while later."""


class Stalls(AbstractContextManager["Stalls"]):
    """Looks at the clock, writes to the disk, and notes what took long.

    Parameters
    ----------
    folder
        Folder on the disk that matters.
    """

    def __init__(self, folder: Path) -> None:
        self.found: list[tuple[datetime, datetime]] = []
        self._file = folder / "stalls"
        self._stopping = Event()
        self._thread = Thread(target=self._run, name="stalls", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stopping.set()
        self._thread.join()

    @property
    def seconds(self) -> float:
        """Seconds that all of them took together."""
        return sum((end - begin).total_seconds() for begin, end in self.found)

    def felt_at(self, at: datetime) -> bool:
        """Tell whether there was one, not long before a time."""
        return any(begin <= at <= end + AFTER for begin, end in self.found)

    def _run(self) -> None:
        with self._file.open("wb", buffering=0) as file:
            while not self._stopping.is_set():
                begin, began = utc_now(), time.monotonic()
                file.write(b"x")
                os.fsync(file.fileno())
                self._stopping.wait(PAUSE_SECONDS)
                if time.monotonic() - began > LONG_SECONDS:
                    self.found.append((begin, utc_now()))
