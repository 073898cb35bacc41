"""Flow overview: is it arriving, how late, time to loss, what is wrong."""

from ..panels import Board
from .choices import FLOW
from .overview_history import HISTORY
from .overview_now import NUMBERS

__all__ = ["OVERVIEW"]

OVERVIEW = Board(
    name="flow-overview",
    title="mirrorwatch: flow overview",
    description=(
        "Is it arriving, how late, how long until records are lost, and what"
        " is wrong?"
    ),
    variables=(FLOW,),
    panels=(*NUMBERS, *HISTORY),
)
