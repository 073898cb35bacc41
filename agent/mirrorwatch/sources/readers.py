"""Offsets and lag of consumer groups at the target."""

from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from datetime import datetime
from threading import Lock

from ..domain.cluster_view import FlowView
from ..domain.readers import texts
from ..domain.readers.model import ReadersObservation, ReadersState
from ..domain.readers.tracker import ReadersTracker
from ..exceptions import SourceError
from ..kafka.reader import read_first_records
from ..state.documents import DocumentStore
from .groups import GroupReading

__all__ = ["ReadersSource"]

ROUNDS = 5
"""Readings of records at most after one of the groups: each has one record
of a partition, and several groups may be stuck in one."""

READ_AT_ONCE = 200
"""Partitions of which a record is read in one of them."""


class ReadersSource:
    """Joins readings of the groups at the target with surveys of its ends.

    Parameters
    ----------
    flow
        Name of the flow.
    target
        Our alias of the target.
    properties
        librdkafka properties of it.
    chosen
        Returns whether the flow's configuration names a group.
    required
        Groups that must be there.
    store
        Store of the stalled groups.

    Notes
    -----
    The ends are those of the survey, so they cost no request. It is the first
    one that began after the offsets were read: a lag is never negative.
    """

    def __init__(
        self,
        *,
        flow: str,
        target: str,
        properties: Mapping[str, str],
        chosen: Callable[[str], bool],
        required: Sequence[str],
        store: DocumentStore[ReadersState],
    ) -> None:
        self.name = f"readers {flow}"
        self._flow = flow
        self._target = target
        self._properties = properties
        self._chosen = chosen
        self._required = required
        self._store = store
        self._state = store.load()
        # Another configuration may name others.
        self._tracker = ReadersTracker(
            ReadersState(
                standing=tuple(
                    s for s in self._state.standing if chosen(s.group)
                )
            )
        )
        self._lock = Lock()
        self._names: AbstractSet[str] = frozenset()
        self._reading: GroupReading | None = None
        self._seen: ReadersObservation | None = None
        self._problem: str | None = None

    def chooses(self, group: str) -> bool:
        """Return whether the flow's configuration names a group."""
        return self._chosen(group)

    def named(self) -> Sequence[str]:
        """Return the groups that must be there."""
        return self._required

    def take_groups(self, reading: GroupReading) -> None:
        """Keep a reading for the next survey; read the records at offsets
        that did not move in the one before.

        Raises
        ------
        StateError
            Raised if it cannot be kept which groups do not go on.
        """
        self._read_heads()
        with self._lock:
            self._reading = reading
            state = self._tracker.to_state()
            if reading.problem is not None:
                self._fail(reading.at, (reading.problem,))
        if state != self._state:
            self._store.save(state)
            self._state = state

    def take(self, view: FlowView) -> None:
        """Learn the ends of the target."""
        with self._lock:
            if view.names:
                self._names = frozenset(view.names.values())
            reading, target = self._reading, view.target
            if target is None:
                # Of both sides the target is asked, and named, last.
                self._fail(view.at, view.problems[-1:])
            if (
                reading is None
                or reading.ended is None
                or target is None
                or target.at < reading.ended
                or not self._names
            ):
                return
            self._reading = None
            offsets = {
                key: offset
                for key, offset in reading.offsets.items()
                if self._chosen(key[0])
            }
            groups = self._tracker.look(
                offsets,
                reading.facts,
                target,
                self._names,
                is_whole=reading.is_whole,
                unread=reading.denied | (reading.listed - reading.asked),
            )
            there = {group.group for group in groups}
            denied = sorted(filter(self._chosen, reading.denied))
            self._seen = ReadersObservation(
                flow=self._flow,
                at=target.at,
                groups=groups,
                lost=self._tracker.lost(),
                missing=tuple(
                    name
                    for name in self._required
                    if name not in there and name not in reading.denied
                ),
                denied=tuple(denied),
                unread=sum(map(self._chosen, reading.listed - reading.asked)),
                problems=() if reading.is_whole else (texts.UNLISTED,),
            )

    def observe(self, now: datetime) -> Sequence[ReadersObservation]:
        """Return the lag of the last look; its age shows if it is old."""
        del now
        with self._lock:
            seen, problem = self._seen, self._problem
        if seen is None:
            return []
        if problem is not None:
            seen = replace(seen, problems=(*seen.problems, problem))
        return [seen]

    def _fail(self, at: datetime, problems: tuple[str, ...]) -> None:
        seen = self._seen or ReadersObservation(flow=self._flow, at=at)
        self._seen = replace(seen, problems=problems)

    def _read_heads(self) -> None:
        problem = None
        for _ in range(ROUNDS):
            with self._lock:
                wanted = list(self._tracker.wanted())[:READ_AT_ONCE]
            if not wanted:
                break
            try:
                # Offsets of an aborted transaction count as data: a group
                # that leaves them out passes them with the next record.
                heads = read_first_records(
                    self._properties,
                    cluster=self._target,
                    wanted=wanted,
                    read_committed=False,
                )
            except SourceError as e:
                problem = str(e)
                break
            with self._lock:
                self._tracker.resolve(heads)
            if len(heads) < len(wanted):
                break  # the rest did not answer in time
        with self._lock:
            self._problem = problem
