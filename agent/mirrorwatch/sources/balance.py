"""Compares both sides of topics at rest, and reads what does not add up."""

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from threading import Lock

from ..domain.cluster_view import FlowView, TopicPartition
from ..domain.offsets import OffsetRange
from ..domain.skips.balance import (
    BalanceFindings,
    BalanceRequest,
    BalanceState,
    BalanceTracker,
    TopicsAtRest,
)
from ..domain.skips.model import SkipCounters, SkipsObservation
from ..exceptions import SourceError
from ..state.documents import DocumentStore

__all__ = ["BalanceWorker"]


MOST = 1_000_000
"""Offsets that are read at once to separate records from markers: ten seconds.
What is more cannot be verified."""

SAVE_EVERY = timedelta(seconds=5)
"""How often rests are written down; a crash compares with the one before."""


class BalanceWorker:
    """Watches what a mirror without offset-syncs skips and repeats.

    Parameters
    ----------
    flow
        Name of the flow.
    title
        Name of the mirror.
    tracker
        Follows the balance of topics.
    store
        Where its state is kept.
    count
        Counts the committed records of a range at the source, and the offsets
        of it that have expired.
    clock
        Gives the time.
    """

    interval = timedelta(seconds=1)

    def __init__(
        self,
        *,
        flow: str,
        title: str,
        tracker: BalanceTracker,
        store: DocumentStore[BalanceState],
        count: Callable[[TopicPartition, OffsetRange], tuple[int, int]],
        clock: Callable[[], datetime],
    ) -> None:
        self.name = f"balance {flow}"
        self._flow = flow
        self._title = title
        self._tracker = tracker
        self._store = store
        self._count = count
        self._clock = clock
        self._lock = Lock()
        self._requests: dict[str, BalanceRequest] = {}
        self._saved_at: datetime | None = None
        self._problem: str | None = None
        self._at: datetime | None = None
        self._not_compared: tuple[str, ...] = ()

    def take(self, view: FlowView) -> None:
        """Learn from a survey.

        Raises
        ------
        StateError
            Raised if the state cannot be kept; it is with the next one.
        """
        with self._lock:
            for request in self._tracker.take(view):
                # Also instead of an older one that is not read yet.
                self._requests[request.topic] = request
            if view.source is not None:
                self._requests = {
                    topic: request
                    for topic, request in self._requests.items()
                    if self._tracker.awaits(request, view.names)
                }
            self._at = view.at
            # Topics that rested before say nothing of what comes meanwhile.
            self._not_compared = view.comparison_problems
            self._save(view.at)

    def step(self) -> None:
        """Read what has to be read before anything is said of it.

        Raises
        ------
        SourceError
            Raised if the source cannot be read; it is with the next step.
        """
        with self._lock:
            requests = list(self._requests.values())
        for request in requests:
            found: list[tuple[int, int]] = []
            try:
                if request.size <= MOST:
                    found = [
                        self._count((request.topic, partition), span)
                        for partition, span in request.ranges
                    ]
            except SourceError as e:
                self._problem = str(e)
                self._put_last(request.topic)
                raise
            self._problem = None
            with self._lock:
                if self._requests.get(request.topic) != request:
                    continue  # both sides went on while it was read
                if request.size <= MOST:
                    self._tracker.resolve(
                        request,
                        sum(records for records, _ in found),
                        self._clock(),
                        expired=sum(expired for _, expired in found),
                    )
                else:
                    self._tracker.give_up(request, self._clock())
                del self._requests[request.topic]

    def _put_last(self, topic: str) -> None:
        """Let others not wait for a topic that cannot be read."""
        with self._lock:
            request = self._requests.pop(topic, None)
            if request is not None:
                self._requests[topic] = request

    def close(self) -> None:
        """Do nothing: a reading ends with its step."""

    def at_rest(self) -> TopicsAtRest:
        """Return what was compared, for who judges positions."""
        with self._lock:
            found = self._tracker.state.found
            return TopicsAtRest(
                exact=self._tracker.exact,
                # What a transform dropped was not jumped over.
                found=tuple(each for each in found if not each.filtered),
            )

    def observe(self, now: datetime) -> Sequence[SkipsObservation]:
        """Return what was compared; its age shows if it is old."""
        del now
        with self._lock:
            if self._at is None:
                return []
            state, tracker = self._tracker.state, self._tracker
            return [
                SkipsObservation(
                    flow=self._flow,
                    at=self._at,
                    partitions=0,
                    tallies=tuple(
                        (
                            topic,
                            SkipCounters(
                                skipped=known.missing,
                                repeated=known.surplus,
                                unverifiable=known.unverifiable,
                                filtered=known.filtered,
                                passed=known.passed,
                            ),
                        )
                        for topic, known in sorted(state.topics.items())
                    ),
                    balance=BalanceFindings(
                        title=self._title,
                        rested=len(tracker.rested),
                        moving=len(tracker.moving),
                        found=state.found,
                        unread=len(self._requests),
                        problem=self._problem if self._requests else None,
                    ),
                    problems=self._not_compared,
                )
            ]

    def _save(self, at: datetime) -> None:
        due = self._saved_at is None or at - self._saved_at >= SAVE_EVERY
        if due and self._tracker.changed:
            self._store.save(self._tracker.state)
            self._saved_at, self._tracker.changed = at, False
