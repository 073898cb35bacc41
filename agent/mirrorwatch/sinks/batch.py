"""What goes over the network: points made ready, and who takes them."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Protocol

from ..ports import Report

__all__ = ["Batch", "Outlet"]

NAMED = 200
"""Characters of a point that name it: its series and time, as a rule."""


@dataclass(frozen=True, slots=True)
class Batch:
    """Points in the words of one server, one a line.

    Notes
    -----
    Plain bytes, made in the tick: what waits in a backlog cannot change any
    more, its size is known, and it can be kept in a file as it is.
    """

    body: bytes
    """What is sent."""

    points: int
    """How many points that is: the unit in which loss is counted."""

    @property
    def name(self) -> str:
        """The first point, to be told in a log."""
        return self.body.split(b"\n", 1)[0].decode(errors="replace")[:NAMED]

    def halves(self) -> tuple["Batch", "Batch"]:
        """Return its first and its second half."""
        lines = self.body.split(b"\n")
        half = len(lines) // 2
        parts = lines[:half], lines[half:]
        first, second = (Batch(b"\n".join(p), len(p)) for p in parts)
        return first, second


class Outlet(Protocol):
    """Sends points to one server. `IsolatedSink` makes a sink of it."""

    name: str

    def encode(self, report: Report) -> Batch:
        """Make a report ready. Pure: no I/O, never fails."""
        ...

    def send(self, batch: Batch, timeout: timedelta) -> None:
        """Send a batch, and return when the server has it.

        Sending the same points twice must do no harm: the answer to the
        first may have been lost.

        Raises
        ------
        SinkRejectedError
            Raised if the server refuses data for good. Others of the batch
            may have been taken.
        SinkError
            Raised if it could not be sent now; a later try may succeed.
        """
        ...

    def close(self) -> None:
        """Let go of connections."""
        ...
