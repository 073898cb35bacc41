"""What watches all flows."""

from collections.abc import Callable, Iterable

from ..config import FlowConfig
from ..sources.positions import Positions
from .canary import wire_canary
from .jmx import wire_jmx
from .lag import wire_lag
from .mirror import to_mirror
from .parity import wire_parity
from .position import wire_position
from .signs import wire_signs
from .skips import wire_skips
from .surroundings import FlowParts, Surroundings, Wired
from .survey import wire_survey
from .tails import wire_tails
from .tasks import wire_tasks

__all__ = ["wire_flows"]

AREAS: tuple[Callable[[FlowParts, Surroundings], Wired], ...] = (
    wire_canary,
    wire_lag,
    wire_position,
    wire_parity,
    wire_skips,
    wire_tasks,
    wire_signs,
)
"""Everything that watches one flow by itself."""


def wire_flows(flows: Iterable[FlowConfig], around: Surroundings) -> Wired:
    """Wire what watches all flows.

    Raises
    ------
    ConfigError
        Raised if the mirror's topics cannot be derived.
    StateError
        Raised if the state file cannot be used.
    """
    parts = [
        FlowParts(config=flow, mirror=to_mirror(flow), positions=Positions())
        for flow in flows
    ]
    areas = [area(flow, around) for flow in parts for area in AREAS]
    tails, survey = wire_tails(parts, around), wire_survey(parts, around)
    return Wired.of([tails, *areas, survey, wire_jmx(parts, around)])
