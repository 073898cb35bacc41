"""Reads the positions that a mirror keeps in ZooKeeper."""

from collections.abc import Callable
from datetime import datetime, timedelta

from ..exceptions import SourceError
from ..kafka.zookeeper import CONNECT_SECONDS, READ_SECONDS, OffsetNodes
from .mirror_state import PAUSED, MirrorState
from .read_positions import ReadPositions

__all__ = ["ZooKeeperWorker"]


OFTEN = timedelta(seconds=15)
"""Shortest polling interval of positions: each is a request, and a mirror
writes them once a minute."""


class ZooKeeperWorker:
    """Reads positions of a mirror from ZooKeeper.

    Parameters
    ----------
    flow
        Name of the flow.
    nodes
        Reads ZooKeeper.
    positions
        State that receives the positions.
    interval
        Polling interval.
    clock
        Gives the time.

    Notes
    -----
    While ZooKeeper cannot be read, positions are as old as the last reading:
    what depends on them is unknown, and never well.
    """

    def __init__(
        self,
        *,
        flow: str,
        nodes: OffsetNodes,
        positions: MirrorState,
        interval: timedelta,
        clock: Callable[[], datetime],
    ) -> None:
        self.name = f"mirror zookeeper {flow}"
        self.interval = max(interval, OFTEN)
        self.up = False
        self._nodes = nodes
        self._positions = positions
        self._clock = clock
        self._read = ReadPositions(positions)
        # Until it was read, no position is known.
        self._positions.catch_up(nodes.path, 1)

    def step(self) -> None:
        """Read all positions once.

        Raises
        ------
        SourceError
            Raised if they cannot be read.
        """
        at = self._clock()
        try:
            found = self._nodes.read()
        except SourceError as e:
            self.up = False
            self._positions.fail(self._nodes.path, str(e))
            self._positions.catch_up(self._nodes.path, 1)
            raise
        self._read.note(found, at)
        self._positions.fail(self._nodes.path, None)
        self._positions.catch_up(self._nodes.path, 0)
        longest = timedelta(seconds=CONNECT_SECONDS + READ_SECONDS)
        due = self._clock() + longest + self.interval + PAUSED
        self._positions.expect(self.name, due)
        self.up = True

    def close(self) -> None:
        """Let go of the session."""
        self._nodes.close()
