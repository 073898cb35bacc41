"""Whether both sides of a flow are alike."""

from ..sources.config_reader import ConfigReader, ConfigSettings
from ..sources.parity import Parity, ParitySettings
from ..state.standing import StandingStore
from .surroundings import FlowParts, Surroundings, Wired

__all__ = ["wire_parity"]


def wire_parity(parts: FlowParts, around: Surroundings) -> Wired:
    """Wire what compares topics and their configurations.

    Raises
    ------
    StateError
        Raised if the state file cannot be used.
    """
    flow, limits = parts.config, parts.config.limits
    parity = Parity(
        flow=flow.flow,
        carriage=parts.carriage,
        positions=parts.positions,
        store=StandingStore(around.database, flow.name, "topics"),
        settings=ParitySettings(
            chosen="include" in flow.topics.model_fields_set,
            **limits.topics.model_dump(),
        ),
        interval=around.interval,
    )
    parts.readers.append(parity)
    reader = ConfigReader(
        flow=flow.flow,
        source=around.clusters[flow.source],
        target=around.clusters[flow.target],
        parity=parity,
        configs=parts.configs,
        store=StandingStore(around.database, flow.name, "configs"),
        settings=ConfigSettings(**limits.configs.model_dump()),
        interval=around.interval,
        clock=around.clock,
    )
    return Wired(workers=(reader,), sources=(parity, reader))
