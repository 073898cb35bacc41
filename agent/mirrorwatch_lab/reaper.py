"""The last one out: kills what a lab's owner left behind.

Run as ``python reaper.py [FOLDER]``, reading orders from standard input:
``+PID`` for a process group to watch, ``-PID`` for one that has ended. When
the input ends the owner is gone, in whatever way: every process group still
watched is killed, and the folder, if one was named, is removed.
"""

import os
import shutil
import signal
import sys
import time
from pathlib import Path

__all__ = ["main"]


_TIMEOUT_SECONDS = 5
"""Longest wait for killed processes to be gone before the folder goes."""

_PAUSE_SECONDS = 0.02
"""Between two looks at whether they are gone."""


def main() -> None:
    """Wait for the end of the input, then clean up."""
    groups: set[int] = set()
    # Lines are whole: writes to a pipe as short as these are atomic.
    for line in sys.stdin:
        order, group = line[0], int(line[1:])
        if order == "+":
            groups.add(group)
        else:
            groups.discard(group)
    deadline = time.monotonic() + _TIMEOUT_SECONDS
    while groups and time.monotonic() < deadline:
        groups = {group for group in groups if _kill(group)}
        time.sleep(_PAUSE_SECONDS)
    for folder in sys.argv[1:]:
        shutil.rmtree(Path(folder), ignore_errors=True)


def _kill(group: int) -> bool:
    try:
        os.killpg(group, signal.SIGKILL)
    except ProcessLookupError:
        return False
    return True


if __name__ == "__main__":
    main()
