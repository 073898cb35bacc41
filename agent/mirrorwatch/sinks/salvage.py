"""Of a batch with bad points, only these are lost."""

from dataclasses import dataclass
from datetime import timedelta

from ..exceptions import SinkRejectedError
from .batch import Batch, Outlet

__all__ = ["MOST_SPLITS", "Refusal", "deliver"]

MOST_SPLITS = 64
"""One bad point among 5,000 is found with 13. A server that refuses whatever
it gets is not asked thousands of times."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Refusal:
    """Points that a server will never take."""

    points: int
    """How many."""

    name: str
    """The first of them."""

    error: SinkRejectedError
    """Why."""


def deliver(
    outlet: Outlet, batch: Batch, timeout: timedelta
) -> tuple[Refusal, ...]:
    """Send a batch; return what was refused for good.

    Parameters
    ----------
    outlet
        The way to the server.
    batch
        What to send.
    timeout
        How long each request may take.

    Raises
    ------
    SinkError
        Raised if not all of it could be sent now. All of it must be sent
        again, which does no harm.

    Notes
    -----
    What is refused is sent again in halves until the bad points are alone.
    InfluxDB 2.x takes nothing of a body with a line that it cannot parse;
    1.8 takes the rest, but says that it dropped none. Where a field has
    another type than before, or a point is too old, both take the rest and
    say how many they dropped, but not which.
    """
    refused: list[Refusal] = []
    splits = 0
    waiting = [batch]
    while waiting:
        part = waiting.pop()
        try:
            outlet.send(part, timeout)
        except SinkRejectedError as e:
            all_of_it = part.points <= 1 or e.points == part.points
            if not all_of_it and splits < MOST_SPLITS:
                splits += 1
                waiting.extend(reversed(part.halves()))
                continue
            # Nought is what 1.8 says of lines that it cannot parse.
            points = part.points if all_of_it else e.points or part.points
            refused.append(Refusal(points=points, name=part.name, error=e))
    return tuple(refused)
