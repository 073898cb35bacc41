"""Pinned ids, positions and resets, so that a restart misses none."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from ..domain.cluster_view import TopicPartition
from ..domain.losses.model import LostRecords
from ..domain.position.model import PartitionPosition, PositionState, Reset
from .database import Database
from .documents import DocumentStore, FlowTable

__all__ = ["PositionStore"]


@dataclass(frozen=True, kw_only=True, slots=True)
class _PositionDocument:
    pins: tuple[tuple[str, str, str], ...] = ()
    resets: tuple[Reset, ...] = ()
    counts: dict[str, int] = field(default_factory=dict)
    lost: dict[str, LostRecords] = field(default_factory=dict)


class PositionStore:
    """Keeps the positions of one flow, and what they depend on.

    Parameters
    ----------
    database
        The state file.
    flow
        Name of the flow.

    Raises
    ------
    StateError
        Raised by every method if the file cannot be used.

    Notes
    -----
    Positions advance all the time, the rest hardly ever changes: positions
    that advanced are rows, written alone; all else is one document.
    """

    def __init__(self, database: Database, flow: str) -> None:
        self._database = database
        self._document = DocumentStore(
            database, flow, "position", _PositionDocument
        )
        self._places: FlowTable[TopicPartition, PartitionPosition] = FlowTable(
            database,
            flow,
            "position",
            {"topic": "TEXT", "partition": "INTEGER"},
            PartitionPosition,
        )

    def load(self) -> PositionState:
        """Read the state."""
        kept, places = self._document.load(), self._places.load()
        return PositionState(
            pins={(kind, name): id_ for kind, name, id_ in kept.pins},
            places=places,
            resets={reset.number: reset for reset in kept.resets},
            counts=kept.counts,
            lost=kept.lost,
            last=max((reset.number for reset in kept.resets), default=0),
        )

    def save(
        self, state: PositionState, partitions: Iterable[TopicPartition]
    ) -> None:
        """Write what is known of some partitions, and all else if it is
        urgent.
        """
        with self._database.transaction():
            self._places.save(
                {
                    key: state.places[key]
                    for key in partitions
                    if key in state.places
                }
            )
            if state.urgent:
                self._document.save(
                    _PositionDocument(
                        pins=tuple(
                            (*pin, id_) for pin, id_ in state.pins.items()
                        ),
                        resets=tuple(
                            state.resets[n] for n in sorted(state.resets)
                        ),
                        counts=state.counts,
                        lost=state.lost,
                    )
                )
