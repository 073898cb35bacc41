"""Compares a mirror's connectors with what mirrorwatch was told of them."""

from collections.abc import Iterator

from ..domain.cluster_view import FlowView
from ..domain.mirror_records import Connector
from ..domain.topics import TOPIC_PLACEHOLDER, Naming
from .mirror_state import MirrorState

__all__ = ["ExpectedSettings"]


EXAMPLE = "x"
"""Name of a topic by which two ways of naming are compared."""

SETTINGS = "connector-settings"


class ExpectedSettings:
    """Finds connectors that are configured otherwise than was said.

    Positions of the wrong kind, or copies under other names, would be judged
    as if they were right.

    Parameters
    ----------
    positions
        State that the mirror reports: positions, syncs, configuration.
    naming
        Topic naming at the target.
    group
        Consumer group at the source that holds the positions; `None` if they
        are in Connect's offsets topic.
    keeps_partitions
        Records keep their partition, by the agent's configuration.
    """

    def __init__(
        self,
        positions: MirrorState,
        naming: Naming,
        group: str | None,
        *,
        keeps_partitions: bool,
    ) -> None:
        self._positions = positions
        self._naming = naming
        self._group = group
        self._keeps_partitions = keeps_partitions

    def take(self, view: FlowView) -> None:
        """Look at the connectors again, with each survey."""
        del view
        problems = [
            problem
            for connector in self._positions.connectors()
            for problem in self._find(connector)
        ]
        self._positions.fail(SETTINGS, problems[0] if problems else None)

    def _find(self, connector: Connector) -> Iterator[str]:
        name, obeyed = connector.name, connector.obeys_group
        if obeyed is not None and obeyed != self._group:
            yield (
                f"Connector {name} starts from the offsets of consumer group "
                f"{obeyed} (offset.start is consumer), and these are not "
                f"read. Set mirror.group to {obeyed}"
            )
        if obeyed is None and self._group is not None:
            yield (
                f"Connector {name} starts from Connect's offsets and not from "
                f"those of consumer group {self._group}. Remove mirror.group, "
                "and set mirror.topics.offsets"
            )
        if self._keeps_partitions and connector.keeps_partitions is False:
            yield (
                f"Connector {name} does not keep the partitions of records, "
                "and mirrorwatch expects it to. Set mirror.keeps_partitions "
                "to false"
            )
        if connector.renames is None:
            return
        there = connector.renames.replace(TOPIC_PLACEHOLDER, EXAMPLE)
        if there != self._naming.remote(EXAMPLE):
            yield (
                f"Connector {name} calls a topic {connector.renames} at the "
                f"target, and naming says "
                f"{self._naming.remote(TOPIC_PLACEHOLDER)}. Set naming to "
                f"policy format, format {connector.renames}"
            )
