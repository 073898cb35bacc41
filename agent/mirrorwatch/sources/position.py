"""Follows the positions of one flow, and keeps what must not be forgotten."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Protocol

from ..domain.cluster_view import FlowView, PartitionView, TopicPartition
from ..domain.copies.pair import Beginning
from ..domain.position.model import PositionObservation, Reset
from ..domain.position.tracker import PositionInputs, PositionTracker
from ..state.position import PositionStore
from .mirror_state import MirrorState

__all__ = ["CopiedPositions", "PositionSource"]


SAVE_EVERY = timedelta(seconds=30)
"""Save interval of positions that only advanced: after a restart the next
reading gives the rest."""


class CopiedPositions(Protocol):
    """Positions that copies show, and what is known of the offsets after
    them.
    """

    def compares(self, topic: str) -> bool: ...

    def copied_position(
        self, place: TopicPartition, seen: PartitionView
    ) -> int | None: ...

    def copied_resets(self) -> Mapping[str, int]: ...

    def beginnings(self) -> Mapping[TopicPartition, Beginning]: ...

    def empty_until(self) -> Mapping[TopicPartition, int]: ...

    def dropped(self) -> Mapping[TopicPartition, tuple[int, int]]: ...


class PositionSource:
    """Takes surveys, and reports what they say of positions.

    Parameters
    ----------
    flow
        Name of the flow.
    tracker
        Finds resets.
    store
        Store of the state.
    positions
        State that the mirror reports: positions, syncs, configuration.
    copies
        Positions that copies show.
    """

    def __init__(
        self,
        *,
        flow: str,
        tracker: PositionTracker,
        store: PositionStore,
        positions: MirrorState,
        copies: CopiedPositions,
    ) -> None:
        self.name = f"position {flow}"
        self._tracker = tracker
        self._store = store
        self._positions = positions
        self._copies = copies
        self._saved_at: datetime | None = None
        self._seen: PositionObservation | None = None
        self._topics = tracker.state.topics()

    def take(self, view: FlowView) -> None:
        """Learn from a survey.

        Raises
        ------
        StateError
            Raised if the state cannot be kept; it is with the next one.
        """
        copies = self._copies
        news = PositionInputs(
            homes=self._positions.homes(),
            position=copies.copied_position,
            compares=copies.compares,
            beginnings=copies.beginnings(),
            empty_until=copies.empty_until(),
            dropped=copies.dropped(),
            resets=copies.copied_resets(),
            from_end=any(
                c.starts_at_end for c in self._positions.connectors()
            ),
            problems=self._positions.problems(),
        )
        self._seen = self._tracker.take(view, news)
        if self._tracker.state.urgent:
            self._topics = self._tracker.state.topics()
        self._save(view.at)

    def observe(self, now: datetime) -> Sequence[PositionObservation]:
        """Return what the last survey said; its age shows if it is old."""
        del now
        seen = self._seen
        return [] if seen is None else [seen]

    def topics(self) -> frozenset[str]:
        """Return the topics that the source ever listed."""
        return self._topics

    def resets(self) -> tuple[Reset, ...]:
        """Return the resets that the last survey showed."""
        seen = self._seen
        return () if seen is None else seen.resets

    def _save(self, at: datetime) -> None:
        state = self._tracker.state
        is_due = self._saved_at is None or at - self._saved_at >= SAVE_EVERY
        if state.urgent or (state.touched and is_due):
            self._store.save(state, state.touched)
            self._saved_at = at
            state.touched.clear()
            state.urgent = False
