"""Follows the positions of one flow, and keeps what must not be forgotten."""

from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from datetime import datetime, timedelta
from threading import Event, Lock

from ..domain.cluster_view import FlowView, TopicPartition
from ..domain.mirror_records import LONGEST_FLUSH, may_resume_at_end
from ..domain.position.model import PositionObservation, Reset
from ..domain.position.out_of_range import PositionBeyond
from ..domain.position.tracker import PositionInputs, PositionTracker
from ..state.position import PositionStore
from .mirror_state import MirrorState

__all__ = ["PositionWorker"]


SAVE_EVERY = timedelta(seconds=30)
"""Save interval of positions that only advanced: after a restart the next
reading gives the rest."""

ASKED = 2
"""Number of queries that confirm a truncated log."""


class PositionWorker:
    """Reads surveys, and reports what they say of positions.

    Parameters
    ----------
    flow
        Name of the flow.
    watch
        Finds resets.
    store
        Store of the state.
    positions
        State that the mirror reports: positions, syncs, configuration.
    empty_until
        Says up to where no data follows positions, by partition.
    dropped
        Returns what a transform seems to have dropped on purpose at the ends
        of source partitions.
    foreign
        Returns the source partitions at whose copies others write, too, or
        two tasks of the mirror.
    first_copies
        Returns where the mirror began in recreated topics, with their ids, as
        far as copies show that.
    find_truncated
        Asks the brokers of the source at which offsets they refuse to read,
        as their logs end before.
    clock
        Gives the time.
    """

    interval = timedelta(minutes=1)

    def __init__(
        self,
        *,
        flow: str,
        watch: PositionTracker,
        store: PositionStore,
        positions: MirrorState,
        empty_until: Callable[[], Mapping[TopicPartition, int]],
        dropped: Callable[[], Mapping[TopicPartition, tuple[int, int]]] = dict,
        foreign: Callable[[], AbstractSet[TopicPartition]] = frozenset,
        first_copies: Callable[
            [], Mapping[TopicPartition, tuple[str, int]]
        ] = dict,
        find_truncated: Callable[
            [Mapping[TopicPartition, int]], AbstractSet[TopicPartition]
        ],
        clock: Callable[[], datetime],
    ) -> None:
        self.name = f"position {flow}"
        self.news = Event()
        self._watch = watch
        self._store = store
        self._positions = positions
        self._empty_until = empty_until
        self._dropped = dropped
        self._foreign = foreign
        self._first_copies = first_copies
        self._find_truncated = find_truncated
        self._clock = clock
        self._doubted: Mapping[TopicPartition, PositionBeyond] = {}
        self._lock = Lock()
        self._saved_at: datetime | None = None
        self._ends_saved_at: datetime | None = None
        self._seen: PositionObservation | None = None
        self._topics = watch.state.topics()

    def take(self, view: FlowView) -> None:
        """Learn from a survey.

        Raises
        ------
        StateError
            Raised if the state cannot be kept; it is with the next one.
        """
        connectors = self._positions.connectors()
        news = PositionInputs(
            homes=self._positions.homes(),
            empty_until=self._empty_until(),
            dropped=self._dropped(),
            foreign=self._foreign(),
            first_copies=self._first_copies(),
            from_end=any(c.starts_at_end for c in connectors),
            flush=max(
                (c.flush or LONGEST_FLUSH for c in connectors),
                default=LONGEST_FLUSH,
            ),
            problems=self._positions.problems(),
            resumes_at_end=any(c.resumes_at_end for c in connectors),
            may_resume_at_end=may_resume_at_end(connectors),
        )
        with self._lock:
            self._seen = self._watch.take(view, news)
            self._doubted = dict(self._watch.doubted)
            if self._watch.state.urgent:
                self._topics = self._watch.state.topics()
            self._save(view.at)
        if self._doubted:
            self.news.set()

    def step(self) -> None:
        """Ask whether logs were truncated that seem shorter than they were.

        Twice, by new connections: a broker that is cut off from its cluster
        refuses, too, and may be the first to say who leads a partition.
        """
        with self._lock:
            refused, self._doubted = self._doubted, {}
        for _ in range(ASKED):
            positions = {key: each.reached for key, each in refused.items()}
            if positions:
                found = self._find_truncated(positions)
                refused = {k: v for k, v in refused.items() if k in found}
        if refused:
            with self._lock:
                self._watch.refuse(refused)
                self._save(self._clock())

    def close(self) -> None:
        """Do nothing: a question ends with its step."""

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
        state = self._watch.state
        if state.urgent or (state.touched and _is_due(self._saved_at, at)):
            self._store.save(state, state.touched | state.moved)
            self._saved_at = self._ends_saved_at = at
            state.touched.clear()
            state.moved.clear()
            state.urgent = False
        elif state.moved and _is_due(self._ends_saved_at, at):
            self._store.save(state, state.moved)
            self._ends_saved_at = at
            state.moved.clear()


def _is_due(saved_at: datetime | None, at: datetime) -> bool:
    return saved_at is None or at - saved_at >= SAVE_EVERY
