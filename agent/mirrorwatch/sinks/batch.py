"""What goes over the network: a report made ready, and who takes it."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Protocol

from ..ports import Report

__all__ = ["Batch", "Outlet"]


@dataclass(frozen=True, slots=True)
class Batch:
    """One report in the words of one server.

    Notes
    -----
    Plain bytes, made in the tick: what waits in a backlog cannot change any
    more, its size is known, and it can be kept in a file as it is.
    """

    body: bytes
    """What is sent."""

    points: int
    """How many points that is: the unit in which loss is counted."""


class Outlet(Protocol):
    """Sends reports to one server. `IsolatedSink` makes a sink of it."""

    name: str

    def encode(self, report: Report) -> Batch:
        """Make a report ready. Pure: no I/O, never fails."""
        ...

    def send(self, batch: Batch, timeout: timedelta) -> None:
        """Send a batch, and return when the server has it.

        Sending the same batch twice must do no harm: the answer to the first
        may have been lost.

        Raises
        ------
        SinkRejectedError
            Raised if the server refuses the data for good.
        SinkError
            Raised if it could not be sent now; a later try may succeed.
        """
        ...

    def close(self) -> None:
        """Let go of connections."""
        ...
