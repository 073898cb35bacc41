"""What the parts of a lab have in common: they can be broken."""

from abc import ABC, abstractmethod
from datetime import timedelta

from .archive import Archive
from .process import Process

__all__ = ["Part"]

_STOP_LIMIT = timedelta(seconds=90)
"""Longest orderly stop: shorter, and what a mirror copied last would not be
committed, which is another fault than the one that was asked for."""


class Part(ABC):
    """A part of a lab that runs as one process.

    Parameters
    ----------
    process
        The process.
    archive
        Its classes, so that it starts faster.
    """

    def __init__(self, process: Process, archive: Archive) -> None:
        self._process = process
        self._archive = archive

    @property
    def name(self) -> str:
        """What the lab calls it."""
        return self._process.name

    @property
    def pid(self) -> int | None:
        """Process id while it runs."""
        return self._process.pid

    @property
    def running(self) -> bool:
        """Whether it is alive, frozen or not."""
        return self._process.running

    @property
    def frozen(self) -> bool:
        """Whether its clock is stopped."""
        return self._process.frozen

    @abstractmethod
    def start(self) -> None:
        """Start it and wait until it works; it may run.

        Raises
        ------
        LabError
            Raised with the end of its log if it does not come up.
        """

    def stop(self) -> None:
        """Stop it in good order: a mirror commits what it copied first."""
        self._process.stop(_STOP_LIMIT)
        self._archive.keep()

    def kill(self) -> None:
        """Crash it: what a mirror did not commit will be copied again."""
        self._process.kill()

    def freeze(self) -> None:
        """Stop its clock: it neither answers nor hangs up."""
        self._process.freeze()

    def thaw(self) -> None:
        """Let it go on after `freeze`."""
        self._process.thaw()

    def end(self) -> None:
        """End it for good, at once unless its classes are still wanted."""
        if self._archive.wanted and self.running:
            self.stop()
        else:
            self.kill()
