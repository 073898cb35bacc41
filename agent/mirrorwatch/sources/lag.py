"""Follows the lag of one flow, survey by survey."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from itertools import islice
from threading import Event, Lock
from typing import Any

from confluent_kafka import TopicCollection
from confluent_kafka.admin import AdminClient

from ..domain.cluster_view import FlowView, TopicPartition
from ..domain.lag.model import (
    STALE,
    FirstRecord,
    LagObservation,
    ReadAt,
)
from ..domain.lag.tracker import COMMITS, LagTracker
from ..exceptions import SourceDeniedError, SourceError
from ..kafka.admin import Cluster
from ..kafka.errors import TIMEOUT, batched
from ..kafka.offsets import read_ends
from ..kafka.reader import read_first_records
from ..state.documents import FirstSeenStore
from .mirror_state import MirrorState

__all__ = ["LagWorker"]


LOOK_AGAIN = timedelta(seconds=30)
"""Retry interval of topics that could not be read: rights are granted by
people."""

AT_ONCE = 100


class HiddenTopics:
    """Finds out whether topics are hidden from the agent.

    Notes
    -----
    A broker leaves out of its list what the agent may not describe. A flow
    whose topics are all hidden would look even, so the agent asks by name for
    those that the mirror's tasks were given. Of mirrors that do not say what
    they copy, for those that it has seen before or that have copies.

    Parameters
    ----------
    cluster
        The source.
    """

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._looked_at: datetime | None = None
        self._looks = 0

    def is_due(self, now: datetime) -> bool:
        """Return whether to look again.

        At first twice: what the first survey shows is not known to all before.
        """
        return (
            self._looked_at is None
            or self._looks < 2
            or now - self._looked_at >= LOOK_AGAIN
        )

    def look(
        self, unseen: Iterable[str], now: datetime, *, is_copied: bool = True
    ) -> str | None:
        """Return what is hidden, in one sentence, or `None`.

        Parameters
        ----------
        unseen
            Topics that the mirror copies and the survey did not show. Those
            that were deleted are no concern.
        now
            The time.
        is_copied
            The mirror says that it copies them.

        Raises
        ------
        SourceError
            Raised if the source cannot be asked.
        """
        denied = self._find(sorted(unseen))
        self._looked_at = now
        self._looks += 1
        if not denied:
            return None
        first, *others = denied
        more = f" and {len(others)} more" if others else ""
        alias = self._cluster.alias
        grant = (
            f"Grant it DESCRIBE and READ on every replicated topic at {alias}"
        )
        if is_copied:
            return (
                f"Mirrorwatch cannot see {first}{more}, which the mirror "
                f"copies. {grant}"
            )
        return (
            f"Mirrorwatch lacks DESCRIBE on topic {first}{more} at {alias}. "
            f"{grant}, or add what is not replicated to topics.exclude"
        )

    def _find(self, unseen: Sequence[str]) -> list[str]:
        denied: list[str] = []
        for names in batched(unseen, AT_ONCE):
            futures = self._cluster.call(
                partial(_describe, names), "DESCRIBE on its topics"
            )
            for name, future in futures.items():
                try:
                    self._cluster.wait(future, f"DESCRIBE on topic {name}")
                except SourceDeniedError:
                    denied.append(name)
                except SourceError:
                    continue  # deleted, which the mirror learns later
            if denied:
                break
        return denied


def _describe(names: Iterable[str], admin: AdminClient) -> dict[str, Any]:
    return admin.describe_topics(
        TopicCollection(list(names)), request_timeout=TIMEOUT
    )


READ_AT_ONCE = 200
"""Positions at which a record is read in one step: about a second's work,
and the rest is read in the next ones."""

_BUSY, _IDLE = timedelta(seconds=1), timedelta(seconds=5)
"""Between two steps, while there is more to read and while there is not; each
survey ends a rest."""


class LagWorker:
    """Reads surveys, reads records where these leave a doubt, and reports.

    Parameters
    ----------
    flow
        Name of the flow.
    tracker
        Works out the lag.
    store
        Keeps since when partitions wait of which nothing was ever copied.
    positions
        State that the mirror reports: positions, syncs, configuration.
    source
        The source.
    properties
        librdkafka properties of it.
    carries
        Returns whether the flow carries a source topic.
    clock
        Gives the time.
    known
        Returns source topics that were listed before, or that have copies:
        of a mirror that does not say which it copies.
    """

    def __init__(
        self,
        *,
        flow: str,
        tracker: LagTracker,
        store: FirstSeenStore,
        positions: MirrorState,
        source: Cluster,
        properties: Mapping[str, str],
        carries: Callable[[str], bool],
        clock: Callable[[], datetime],
        known: Callable[[], AbstractSet[str]] = frozenset,
    ) -> None:
        self.name = f"lag {flow}"
        self.interval = _BUSY
        self.news = Event()
        self._tracker = tracker
        self._store = store
        self._positions = positions
        self._source = source
        self._properties = properties
        self._carries = carries
        self._clock = clock
        self._known = known
        self._hidden = HiddenTopics(source)
        self._problem: str | None = None
        self._lock = Lock()
        self._seen: LagObservation | None = None
        self._doubtful = False
        self._starts_due = False
        self._refused_at = clock()
        """Time when a topic was last refused."""

        self._listed: frozenset[str] = frozenset()
        """Topics of the last survey that reached the source."""

        self._vanished: frozenset[str] = frozenset()
        """Topics that are copied and that are listed no more, before it was
        asked whether they are hidden."""

    def take(self, view: FlowView) -> None:
        """Learn from a survey.

        Raises
        ------
        StateError
            Raised if what began or ended could not be written.
        """
        connectors = self._positions.connectors()
        cadence = self._positions.cadence()
        with self._lock:
            self._seen = self._tracker.take(
                view, connectors, cadence, self._positions.assignments()
            )
            self._doubtful = self._starts_due = True
            if view.source is not None:
                listed = frozenset(view.names)
                if gone := self._listed - listed:
                    copied = self._positions.assigned_topics()
                    self._vanished |= gone & copied if copied else gone
                self._vanished -= listed
                self._listed = listed
            changes = self._tracker.changes
        self.news.set()
        self._store.save(changes)

    def step(self) -> None:
        """Read the records that return whether data waits, and since when."""
        self.interval = _BUSY  # also if this fails
        self._read_heads()
        self._read_starts()
        with self._lock:
            seen, vanished = self._seen, self._vanished
            listed = self._listed
        if seen is not None and (
            vanished or self._hidden.is_due(self._clock())
        ):
            copied = self._positions.assigned_topics()
            unseen = (copied or self._known()) - listed
            problem = self._hidden.look(
                filter(self._carries, unseen),
                self._clock(),
                is_copied=bool(copied),
            )
            with self._lock:
                self._problem = problem
                self._vanished -= vanished
        if not self._doubtful and not self._hidden.is_due(self._clock()):
            self.interval = _IDLE

    def _note_refused(
        self, wanted: Iterable[ReadAt], refused: Mapping[str, SourceError]
    ) -> None:
        """Note which of these topics may not be read."""
        known, asked = self._tracker.unreadable, {w.place[0] for w in wanted}
        if refused:
            self._refused_at = self._clock()
        if refused or not asked.isdisjoint(known):
            self._tracker.unreadable = {
                **{t: why for t, why in known.items() if t not in asked},
                **{t: str(why) for t, why in refused.items()},
            }

    def _read_heads(self) -> None:
        with self._lock:
            if not self._doubtful:
                return
            # Rights are granted by people.
            again = self._clock() - self._refused_at >= LOOK_AGAIN
            refused_before = () if again else self._tracker.unreadable
            wanted = list(
                islice(self._tracker.wanted(refused_before), READ_AT_ONCE)
            )
            # Without any there is none until the next survey.
            self._doubtful = bool(wanted)
        if not wanted:
            return
        connectors = self._positions.connectors()
        committed = bool(connectors) and all(
            c.read_committed for c in connectors
        )
        refused: dict[str, SourceError] = {}
        heads = read_first_records(
            self._properties,
            cluster=self._source.alias,
            wanted=wanted,
            read_committed=committed,
            refused=refused,
        )
        if not connectors:
            heads = self._leave_out_aborted(heads)
        with self._lock:
            self._note_refused(wanted, refused)
            self._tracker.resolve(heads)
            # What an open transaction holds back waits for the next survey.
            self._doubtful = self._doubtful and bool(heads)

    def _read_starts(self) -> None:
        """Read how old records are at log starts, where that shows by what
        they expire.
        """
        with self._lock:
            wanted = list(islice(self._tracker.wanted_starts(), READ_AT_ONCE))
        if not wanted or not self._starts_due:
            return
        self._starts_due = False
        found = read_first_records(
            self._properties,
            cluster=self._source.alias,
            wanted=wanted,
            read_committed=False,
            refused={},
        )
        with self._lock:
            self._tracker.resolve_starts(found)

    def _leave_out_aborted(
        self, heads: Sequence[FirstRecord]
    ) -> list[FirstRecord]:
        """Return what waits of a mirror that does not say its isolation level.

        Notes
        -----
        One that reads committed never copies records of aborted transactions,
        and commits nothing of them: behind them, its position stands for
        ever. Those of open ones are left out of the answer: it is not known
        yet what they are.
        """
        found = {head.wanted.place: head for head in heads}
        wanted = [h.wanted for h in heads if h.offset is not None]
        if not wanted:
            return list(heads)
        committed = read_first_records(
            self._properties,
            cluster=self._source.alias,
            wanted=wanted,
            read_committed=True,
            refused={},
        )
        none = [h for h in committed if h.offset is None]
        ends = read_ends(
            self._source, (h.wanted.place for h in none), read_committed=True
        )
        for head in none:
            place = head.wanted.place
            if ends.get(place, 0) >= head.wanted.end:
                found[place] = head
            else:
                del found[place]
        return list(found.values())

    def position(self, place: TopicPartition) -> tuple[int, bool] | None:
        """Return the next source offset to copy, and whether it is proved;
        `None` if it is not known.
        """
        with self._lock:
            return self._tracker.position(place)

    def dropped(self) -> Mapping[TopicPartition, tuple[int, int]]:
        """Return the first offset and the end of tails that a transform drops
        on purpose.
        """
        with self._lock:
            return self._tracker.dropped()

    def empty_until(self) -> Mapping[TopicPartition, int]:
        """Return up to where no data follows positions that are proved, where
        any was read.
        """
        with self._lock:
            return self._tracker.empty_until()

    def stopped(self, now: datetime) -> timedelta | None:
        """Return how long the mirror has stood while records waited, if that
        is longer than between two of its commits; else `None`.
        """
        with self._lock:
            seen = self._seen
        if seen is None or now - seen.at > STALE:
            return None
        stood = seen.stopped
        return stood if stood > COMMITS * seen.flush else None

    def close(self) -> None:
        """Do nothing: a reading ends with its step."""

    def observe(self, now: datetime) -> Sequence[LagObservation]:
        """Return the lag of the last survey; its age shows if it is old."""
        del now
        with self._lock:
            seen, hidden = self._seen, self._problem
            problem = hidden
            if problem is None and self._vanished:
                problem = (
                    f"{min(self._vanished)}, which the mirror copies, is no "
                    f"longer listed at {self._source.alias}: deleted, or "
                    "hidden from mirrorwatch"
                )
        if seen is None:
            return []
        if problem is not None:
            seen = replace(
                seen, problems=(*seen.problems, problem), hidden=hidden
            )
        return [seen]
