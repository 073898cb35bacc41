"""Stands between the agent and an audit, so that neither hurts the other.

Run as ``python guard.py MEBIBYTES COMMAND…``. It runs the command with low
priority and no more memory than that in any of its processes, and ends with
its status. When its standard input ends, the agent has ended or wants it to
stop: the command and all that it started are asked to end, then killed.
"""

import os
import resource
import signal
import subprocess
import sys
import threading
import time

__all__ = ["main"]

NICE = 5
"""A third of what the agent, or a mirror on the same machine, gets where all
of them want more than there is; 10 would be a tenth, and a night too short."""

GRACE_SECONDS = 3
"""Grace period in seconds between SIGTERM and SIGKILL, for the command and
then for the processes that it started. The agent itself has eight seconds."""

PAUSE_SECONDS = 0.05
"""Between two looks at whether they are gone."""

NOTHING = 0
"""The signal that only asks whether somebody is there."""

MEBIBYTE = 1024 * 1024


def main() -> None:
    """Run the command."""
    mebibytes, *command = sys.argv[1:]
    # Only the end of the input stops the guard: a signal to all processes
    # must not end it before what it guards.
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda *_: None)
    os.nice(NICE)
    _limit(int(mebibytes) * MEBIBYTE)
    process = subprocess.Popen(  # noqa: S603 - the agent's own command
        command, stdin=subprocess.DEVNULL, start_new_session=True
    )
    threading.Thread(target=_watch, args=(process,), daemon=True).start()
    status = process.wait()
    _end_others(process.pid)
    # A signal as shells report it; the watching thread ends with this.
    sys.exit(status if status >= 0 else 128 - status)


def _limit(size: int) -> None:
    # Not the address space: Java reserves far more of it than it ever uses.
    _, most = resource.getrlimit(resource.RLIMIT_DATA)
    if most == resource.RLIM_INFINITY or size < most:
        resource.setrlimit(resource.RLIMIT_DATA, (size, size))


def _watch(process: "subprocess.Popen[bytes]") -> None:
    while os.read(0, 1024):
        pass
    _signal(process.pid, signal.SIGTERM)
    try:
        process.wait(GRACE_SECONDS)
    except subprocess.TimeoutExpired:
        _signal(process.pid, signal.SIGKILL)


def _end_others(group: int) -> None:
    deadline = time.monotonic() + GRACE_SECONDS
    order: int = signal.SIGTERM
    while _signal(group, order):
        time.sleep(PAUSE_SECONDS)
        late = time.monotonic() > deadline
        order = signal.SIGKILL if late else NOTHING


def _signal(group: int, number: int) -> bool:
    try:
        os.killpg(group, number)
    except ProcessLookupError:
        return False
    return True


if __name__ == "__main__":
    main()
