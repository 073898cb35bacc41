"""Keeps the books of one flow: takes surveys, reads, writes down."""

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from threading import Lock

from ...domain.conservation import Books
from ...domain.positions import Assignment, Sync
from ...domain.skips import SkipsObservation
from ...domain.view import FlowView
from ...exceptions import SourceError, StateError
from ...state.skips import SkipsStore
from ..positions import Positions
from .batches import Batches
from .inquirer import Inquirer
from .isolation import Isolation
from .journal import Journal
from .suspects import Suspects

__all__ = ["SkipsWatch"]

VIEWS_KEPT = 20
"""Surveys that wait while both sides are read. Older ones are joined to the
next: only the newest ends count, and all pairs."""


class SkipsWatch:
    """Watches what the mirror of one flow skips and repeats.

    Parameters
    ----------
    flow
        Name of the flow.
    positions
        What the mirror says of itself.
    store
        Where the books are kept.
    inquirer
        Reads both sides.
    merged
        Tells whether a topic is fed by several flows.
    exactly_once
        Whether the mirror is configured to write in transactions.
    patience
        From when records that wait are suspected.
    memory
        How long what happened is reported by name.
    clock
        Gives the time.

    Notes
    -----
    Surveys are taken by the survey's thread, which must not wait, and worked
    on by this worker's own. Nothing is reported that is not written down.
    """

    interval = timedelta(milliseconds=250)

    def __init__(
        self,
        *,
        flow: str,
        positions: Positions,
        store: SkipsStore,
        inquirer: Inquirer,
        merged: Callable[[str], bool],
        exactly_once: bool,
        patience: timedelta,
        memory: timedelta,
        clock: Callable[[], datetime],
    ) -> None:
        self.name = f"skips {flow}"
        self._flow = flow
        self._positions = positions
        self._syncs = positions.follow_syncs()
        self._store = store
        self._inquirer = inquirer
        self._merged = merged
        self._exactly_once = exactly_once
        self._clock = clock
        self._books = self._load()
        self._journal = Journal(store.happenings(), memory)
        self._batches = Batches()
        self._isolation = Isolation()
        self._suspects = Suspects(patience)
        self._views: deque[tuple[FlowView, tuple[Sync, ...]]] = deque()
        self._view: FlowView | None = None
        self._lock = Lock()
        self._seen: SkipsObservation | None = None

    def take(self, view: FlowView) -> None:
        """Keep a survey, and every pair that was read until now."""
        syncs = self._syncs.take()
        with self._lock:
            if len(self._views) >= VIEWS_KEPT:
                _, older = self._views.pop()
                syncs = older + syncs
            self._views.append((view, syncs))

    def step(self) -> None:
        try:
            if self._follow():
                self._keep()
            if self._read():
                self._keep()
        except StateError:
            # What is in memory is ahead of the file, which is the truth. The
            # pairs behind it come again, the newest at least.
            self._books = self._load()
            raise

    def close(self) -> None:
        """Do nothing: what is known is written down at every step."""

    def observe(self, now: datetime) -> Sequence[SkipsObservation]:
        with self._lock:
            return [] if self._seen is None else [self._seen]

    def _load(self) -> Books:
        books = self._store.load()
        books.marked = books.marked or self._exactly_once
        return books

    def _follow(self) -> bool:
        with self._lock:
            views = list(self._views)
            self._views.clear()
        self._isolation.note(self._positions.connectors(), self._clock())
        for view, syncs in views:
            self._view = view
            judged = {
                topic: remote
                for topic, remote in view.names.items()
                if not self._merged(topic)
            }
            self._books.follow(replace(view, names=judged), syncs)
            self._suspects.look(view, self._books, self._assignments())
        return bool(views)

    def _assignments(self) -> list[Assignment]:
        """Return what tasks have that may drop what they read.

        Without a transform nothing is dropped that does not move the
        position: what waits there is stuck, in the producer for example, and
        that is the business of the lag.
        """
        plain = {
            connector.name
            for connector in self._positions.connectors()
            if not connector.transforms
        }
        return [
            each
            for each in self._positions.assignments()
            if each.connector not in plain
        ]

    def _read(self) -> bool:
        """Read one batch of stretches; tell whether anything was learned."""
        wanted = [*self._books.inquiries(), *self._suspects.wanted()]
        now = self._clock()
        batch = self._batches.next(wanted, now)
        for inquiry in self._batches.too_large:
            self._books.answer(inquiry, None, now)
        if not batch:
            return bool(self._batches.too_large)
        try:
            readings = self._inquirer.answer(
                batch,
                committed=self._isolation.is_committed(now),
                transactional=self._books.marked,
            )
        except SourceError as e:
            self._batches.fail(batch, e, now)
            self._publish()
            return bool(self._batches.too_large)
        for inquiry, reading in zip(batch, readings, strict=True):
            if reading is None:
                self._batches.hold(inquiry, now)
                continue
            self._batches.succeed(inquiry)
            if inquiry.only_count:
                self._suspects.count(inquiry, len(reading.source))
            else:
                self._books.answer(inquiry, reading, self._clock())
        return True

    def _keep(self) -> None:
        told = list(self._books.happenings)
        self._store.save(self._books)
        self._journal.add(told)
        self._publish()

    def _publish(self) -> None:
        view, books = self._view, self._books
        if view is None:
            return
        topics = [t for t in view.names if not self._merged(t)]
        seen = SkipsObservation(
            flow=self._flow,
            at=view.at,
            partitions=len(books.ends),
            tallies=self._journal.tallies(topics, books),
            happenings=self._journal.recent(books, self._clock()),
            suspicions=self._suspects.found(),
            left_behind=self._suspects.left_behind,
            unread=self._batches.unread(),
            blind=books.blind,
            merged=len(view.names) - len(topics),
            problems=_problems(view),
        )
        with self._lock:
            self._seen = seen


def _problems(view: FlowView) -> tuple[str, ...]:
    if view.problems or view.caught_up:
        return view.problems
    return ("The mirror's internal topics have not been read to their ends",)
