"""One part of the lab: a JVM with its log."""

import os
import signal
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from datetime import timedelta
from pathlib import Path

from ..exceptions import LabError
from .lifeline import Lifeline

__all__ = ["Process"]

_GRACE = timedelta(seconds=8)
"""How long a part may take to stop when asked, before it is killed."""

_TAIL_LINES = 25
"""Lines of the log that go into an error: a Java stack trace and what led
to it."""


class Process:
    """A program that can be started again and again.

    Parameters
    ----------
    name
        What the lab calls it.
    command
        Program and arguments.
    folder
        Its working directory, where its configuration is.
    log
        File to which its output is appended.
    lifeline
        What starts it, so that it cannot outlive the lab.
    """

    def __init__(
        self,
        name: str,
        command: Sequence[str],
        *,
        folder: Path,
        log: Path,
        lifeline: Lifeline,
    ) -> None:
        self.name = name
        self.log = log
        self.frozen = False
        self._command = list(command)
        self._folder = folder
        self._lifeline = lifeline
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int | None:
        """Process id while it runs."""
        return self._process.pid if self._process else None

    @property
    def running(self) -> bool:
        """Whether the process is alive, frozen or not."""
        return self._process is not None and self._process.poll() is None

    def start(self) -> None:
        """Start it; does nothing when it runs."""
        if self.running:
            return
        self._forget()
        with self.log.open("ab") as log:
            self._process = self._lifeline.start(
                self._command,
                output=log,
                folder=self._folder,
                environment={"PATH": os.defpath, "LC_ALL": "C.UTF-8"},
            )

    def stop(self, grace: timedelta = _GRACE) -> None:
        """Ask it to end, and insist after a while."""
        if self._process is None:
            return
        self.thaw()
        self._signal(signal.SIGTERM)
        try:
            self._process.wait(grace.total_seconds())
        except subprocess.TimeoutExpired:
            self._signal(signal.SIGKILL)
        self._forget()

    def kill(self) -> None:
        """End it at once, as a crash of the machine would."""
        self._signal(signal.SIGKILL)
        self._forget()

    def freeze(self) -> None:
        """Stop its clock: connections stay open, nothing is answered."""
        self._signal(signal.SIGSTOP)
        self.frozen = self.running

    def thaw(self) -> None:
        """Let it go on after `freeze`."""
        self._signal(signal.SIGCONT)
        self.frozen = False

    def check(self) -> None:
        """Raise if it has ended.

        Raises
        ------
        LabError
            Raised with the end of its log.
        """
        if self.running:
            return
        code = self._process.returncode if self._process else None
        raise LabError(
            f"{self.name} ended with status {code}. The end of its log "
            f"({self.log}):\n{self.tail()}"
        )

    def tail(self, lines: int = _TAIL_LINES) -> str:
        """Return the end of its log."""
        if not self.log.exists():
            return "(empty)"
        text = self.log.read_text(encoding="utf-8", errors="replace")
        return "\n".join(text.splitlines()[-lines:]) or "(empty)"

    def wait_until_ended(self, limit: timedelta) -> int:
        """Wait for it to end by itself and return its exit status."""
        if self._process is None:
            raise LabError(f"{self.name} was not started")
        try:
            code = self._process.wait(limit.total_seconds())
        except subprocess.TimeoutExpired as e:
            raise LabError(
                f"{self.name} did not end within {limit}. The end of its "
                f"log:\n{self.tail()}"
            ) from e
        self._lifeline.ended(self._process)
        return code

    def _signal(self, number: signal.Signals) -> None:
        if self._process and self._process.poll() is None:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, number)

    def _forget(self) -> None:
        if self._process is None:
            return
        self._process.wait()
        self._lifeline.ended(self._process)
        self._process = None
        self.frozen = False
