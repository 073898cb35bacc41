"""The owner's end of the reaper: what is started with it dies with it."""

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO

from .exceptions import LabError

__all__ = ["Lifeline"]


_REGISTER = 'echo "+$$" >&0; exec "$@" </dev/null'
"""Tells the reaper (on standard input) who it is, then becomes the program.

Registered by the child itself, because an owner killed between starting a
child and registering it would leave that child behind for ever.
"""

_REAPER_TIMEOUT_SECONDS = 300
"""Longest that the reaper may take to clean up after a graceful stop: the
folders of 20,000 partitions took a busy machine more than a minute."""


class Lifeline:
    """Starts processes that cannot outlive this one.

    Parameters
    ----------
    folder
        Folder that the reaper removes at the end, or `None`.

    Notes
    -----
    Not PR_SET_PDEATHSIG: it fires when the *thread* that started the process
    ends, and labs are started from threads that do end. A pipe to a small
    process of its own (in its own session, so that Ctrl-C does not reach it)
    closes when the owner dies, even of SIGKILL.
    """

    def __init__(self, folder: Path | None = None) -> None:
        read, write = os.pipe()
        try:
            self._reaper = subprocess.Popen(
                [
                    sys.executable,
                    # Isolated from modules beside it, and quick to start.
                    "-IS",
                    str(Path(__file__).with_name("reaper.py")),
                    *([str(folder)] if folder else []),
                ],
                stdin=read,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
                cwd="/",
            )
        except BaseException:
            os.close(write)
            raise
        finally:
            os.close(read)
        self._pipe: int | None = write

    def start(
        self,
        command: Sequence[str],
        *,
        output: IO[bytes],
        folder: Path,
        environment: Mapping[str, str],
    ) -> subprocess.Popen[bytes]:
        """Start a program in a process group of its own.

        Parameters
        ----------
        command
            Program and arguments; no secrets, everyone can read them.
        output
            File for its standard output and error.
        folder
            Its working directory.
        environment
            All of its environment.
        """
        if self._pipe is None:
            raise LabError("The lab is closed")
        return subprocess.Popen(
            ["/bin/sh", "-c", _REGISTER, "sh", *command],
            stdin=self._pipe,
            stdout=output,
            stderr=subprocess.STDOUT,
            cwd=folder,
            env=dict(environment),
            start_new_session=True,
        )

    def ended(self, process: subprocess.Popen[bytes]) -> None:
        """Tell the reaper that a process has ended and was waited for."""
        # The number may be used again by a stranger from now on.
        if self._pipe is not None:
            with suppress(BrokenPipeError):
                os.write(self._pipe, f"-{process.pid}\n".encode())

    def close(self) -> None:
        """Let go: whatever still runs is killed, the folder is removed."""
        if self._pipe is None:
            return
        os.close(self._pipe)
        self._pipe = None
        self._reaper.wait(_REAPER_TIMEOUT_SECONDS)
