"""Ports that stay a lab's own, even while its broker is down."""

import fcntl
import os
import random
import socket
import tempfile
from contextlib import ExitStack
from pathlib import Path

from ..exceptions import LabError

__all__ = ["LOOPBACK", "Ports"]

LOOPBACK = "127.0.0.1"
"""Everything in a lab listens here and nowhere else."""

_FIRST, _LAST = 20000, 32000
"""Below the range from which Linux and macOS pick ports for outgoing
connections: while a killed broker is down, none of them can take its port."""

_TRIES = 200
"""Ports tried before giving up; even on a busy machine the first is free."""


class Ports:
    """Free ports on loopback, reserved until closed.

    Notes
    -----
    A broker that was killed must come back at its old ports, and brokers
    cannot inherit a bound socket. So each port is reserved by a lock on a
    file named for it: the kernel drops the lock when its owner dies in
    whatever way, and two labs never pick the same port.
    """

    def __init__(self) -> None:
        self._locks = ExitStack()
        self._folder = Path(tempfile.gettempdir()) / (
            f"mirrorwatch-ports-{os.getuid()}"
        )

    def take(self) -> int:
        """Reserve a free port.

        Raises
        ------
        LabError
            Raised if no port is free.
        """
        self._folder.mkdir(mode=0o700, exist_ok=True)
        for _ in range(_TRIES):
            port = random.randint(_FIRST, _LAST)  # noqa: S311
            if self._reserve(port):
                return port
        raise LabError(f"No free port between {_FIRST} and {_LAST}")

    def close(self) -> None:
        """Give all ports back."""
        self._locks.close()

    def _reserve(self, port: int) -> bool:
        with ExitStack() as held:
            lock = held.enter_context((self._folder / str(port)).open("wb"))
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                with socket.socket() as probe:
                    probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                    probe.bind((LOOPBACK, port))
            except OSError:
                return False
            self._locks.enter_context(held.pop_all())
        return True
