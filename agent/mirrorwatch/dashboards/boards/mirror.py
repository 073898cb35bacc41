"""Mirror internals: tasks, its two clients, and the agent that looks."""

from ..panels import Board
from .choices import FLOW
from .mirror_agent import AGENT
from .mirror_clients import CONSUMER, PRODUCER
from .mirror_tasks import TASKS, TROUBLE

__all__ = ["MIRROR"]

MIRROR = Board(
    name="mirror-internals",
    title="mirrorwatch: mirror internals",
    description=(
        "Tasks, the mirror's consumer and producer, by its own figures; and"
        " how the agent does."
    ),
    variables=(FLOW,),
    panels=(*TASKS, *CONSUMER, *PRODUCER, *TROUBLE, *AGENT),
)
