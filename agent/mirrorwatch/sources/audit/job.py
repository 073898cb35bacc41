"""Audit job: one running audit, in processes of its own."""

import subprocess
import sys
import threading
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import IO

from ...exceptions import AuditError
from ...secrets import HIDDEN

__all__ = [
    "AuditProcess",
    "JobSettings",
    "why_not_read",
    "why_not_start",
]


LINES = 20
"""Last lines of its output that are kept: a Java stack trace's beginning."""

WIDTH = 300

READ = 64 * 1024

STOP_SECONDS = 7.0
"""A little longer than the guard takes to kill what does not stop."""


@dataclass(frozen=True, kw_only=True)
class JobSettings:
    """Settings of an audit process: command, memory and secrets."""

    command: Sequence[str]
    memory: int
    secrets: Sequence[str] = ()
    """Secrets that are redacted wherever the command's output holds them."""


class AuditProcess:
    """Starts the command and watches over it.

    Parameters
    ----------
    settings
        Command, memory and secrets of the process.
    more
        More arguments.

    Raises
    ------
    AuditError
        Raised if it cannot be started.

    Notes
    -----
    What it writes is always read, or it would stop at a full pipe; only the
    end of it is kept. Results are not taken from there: they are in its
    folder, where one that was started elsewhere leaves them as well.
    """

    def __init__(
        self, settings: JobSettings, more: Sequence[str] = ()
    ) -> None:
        self._secrets = [s for s in settings.secrets if s]
        self._lines: deque[str] = deque(maxlen=LINES)
        guard = Path(__file__).with_name("guard.py")
        # Isolated from modules beside it, and quick to start.
        python = [sys.executable, "-IS", str(guard)]
        try:
            self._process = subprocess.Popen(  # noqa: S603 - our own command
                [*python, str(settings.memory), *settings.command, *more],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                # Ctrl-C at the agent's terminal is for the agent.
                start_new_session=True,
            )
        except OSError as e:
            raise AuditError(f"Cannot start an audit: {e}") from e
        self._reader = threading.Thread(
            target=self._read, args=(self._process.stderr,), daemon=True
        )
        self._reader.start()

    @property
    def pid(self) -> int:
        """Process id of its guard."""
        return self._process.pid

    @property
    def output(self) -> tuple[str, ...]:
        """The last lines that it wrote to standard error."""
        return tuple(self._lines)

    def poll(self) -> int | None:
        """Return its exit status, `None` while it runs."""
        status = self._process.poll()
        if status is not None:
            self._let_go()
        return status

    def ask_to_stop(self) -> None:
        """Make it end within a few seconds, in good order or not."""
        if self._process.stdin is not None:
            self._process.stdin.close()

    def stop(self) -> None:
        """Stop it, and wait until nothing of it is left."""
        self.ask_to_stop()
        try:
            self._process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._let_go()

    def _let_go(self) -> None:
        self.ask_to_stop()
        # Its end is what it wrote last; whatever may hold it open is killed.
        self._reader.join(1)

    def _read(self, stream: IO[bytes]) -> None:
        with stream:
            for line in _lines_of(stream):
                self._lines.append(self._clean(line))

    def _clean(self, line: str) -> str:
        for secret in self._secrets:
            line = line.replace(secret, HIDDEN)
        return line[:WIDTH]


def _lines_of(stream: IO[bytes]) -> Iterable[str]:
    """Yield lines; of an endless one only the beginning."""
    while line := stream.readline(READ):
        text = line.decode("utf-8", "replace")
        # A progress bar overwrites its own line.
        text = text.rstrip().rpartition("\r")[2].rstrip()
        if text:
            yield text


def why_not_start(*, has_file: bool) -> str | None:
    """Return why the agent cannot start an audit.

    Parameters
    ----------
    has_file
        The agent's configuration is a file.
    """
    if not has_file:
        return (
            "mirrorwatch cannot start the audit: its configuration is not a "
            "file that another process can read"
        )
    # Asked for, not imported: that would cost the agent 100 MB.
    if find_spec("pyspark") is None:
        return (
            "mirrorwatch cannot start the audit: PySpark is not installed "
            "beside it"
        )
    return None


def why_not_read(folder: str, *, is_local: bool) -> str | None:
    """Return why the agent cannot read results.

    Parameters
    ----------
    folder
        Folder or address of the results.
    is_local
        The results are in a folder of this machine.
    """
    if is_local:
        return None
    return f"mirrorwatch cannot read audit results in {folder}"
