"""Holds the checkpoints of a mirror to the groups that they are of."""

from collections.abc import Collection, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from datetime import datetime, timedelta

from ..domain.checkpoints import (
    STALE,
    CheckpointsObservation,
    CheckpointsState,
    CheckpointTracker,
    GroupOffsets,
)
from ..domain.cluster_view import FlowView
from ..domain.topics import Naming
from ..state.documents import DocumentStore
from ..threads import Latest
from .groups import GroupReading
from .mirror_state import MirrorState

__all__ = ["CheckpointsSource"]

ROUNDS = 3
"""Emissions within which a checkpoint that is due must have come: the task
waits for offsets to be committed, and for syncs."""

FLUSH = timedelta(minutes=1)
"""Longest until a sync that was written is known to the checkpoint task and
to the agent alike, and a commit to both."""

STILL_READING = "The mirror's checkpoints topic is still being read"

NO_CONNECTOR = (
    "No checkpoints: the mirror has no checkpoint connector or emits none "
    "(emit.checkpoints.enabled)"
)

NO_TOPIC = "The mirror's checkpoints topic does not exist yet"


class CheckpointsSource:
    """Holds checkpoints to each reading of the groups, and reports to the
    tick.

    Parameters
    ----------
    flow
        Name of the flow.
    source
        Our alias of the cluster where the groups are.
    naming
        Topic naming at the target.
    positions
        State of the mirror's internal topics.
    store
        Store of the overdue checkpoints and of the missing topic.
    """

    def __init__(
        self,
        *,
        flow: str,
        source: str,
        naming: Naming,
        positions: MirrorState,
        store: DocumentStore[CheckpointsState],
    ) -> None:
        self.name = f"checkpoints {flow}"
        self._flow = flow
        self._source = source
        self._naming = naming
        self._positions = positions
        self._store = store
        self._kept = store.load()
        self._watch = CheckpointTracker(self._kept.due)
        self._missing_since = self._kept.missing_since
        self._compared_at: datetime | None = None
        self._silent = False
        """The source has not answered since the last comparison."""
        self._behind_since: datetime | None = None
        self._carried = Latest[Collection[str] | None](None)
        self._seen = Latest[CheckpointsObservation | None](None)

    def take(self, view: FlowView) -> None:
        """Learn which topics the flow carries."""
        if view.names:
            self._carried.set(view.names.keys())

    def named(self) -> set[str]:
        """Return the groups that have checkpoints."""
        return {c.group for c in self._positions.checkpoints()}

    def take_groups(self, reading: GroupReading) -> None:
        """Hold the checkpoints to a reading of the groups.

        Raises
        ------
        StateError
            Raised if it cannot be kept what is due; it is with the next one.
        """
        self._seen.set(self._look(reading))
        state = CheckpointsState(
            due=self._watch.due(reading.at), missing_since=self._missing_since
        )
        if state != self._kept:
            self._store.save(state)
            self._kept = state

    def observe(self, now: datetime) -> Sequence[CheckpointsObservation]:
        seen = self._seen.get()
        return [] if seen is None else [seen]

    def _look(self, reading: GroupReading) -> CheckpointsObservation:
        topic = self._positions.optional.get("checkpoints")
        interval = min(
            (
                found.interval
                for found in self._positions.companions()
                if found.role == "checkpoints" and found.interval
            ),
            default=None,
        )
        blank = CheckpointsObservation(
            flow=self._flow, at=reading.at, interval=interval
        )
        if topic.problem is not None:
            return replace(blank, problems=(topic.problem,))
        read = topic.absent or topic.readable
        groups = self.named()
        # Their checkpoints were read after the groups were asked for.
        later = reading.problem is None and groups.isdisjoint(reading.asked)
        if (
            self._positions.behind(reading.at)
            or not read
            or (groups and later)
        ):
            return self._keep(blank)
        self._behind_since = None
        unconfigured = self._positions.configs_problems()
        if unconfigured:
            return replace(blank, problems=unconfigured)
        if interval is None or not topic.absent:
            self._missing_since = None
        if interval is None:
            return replace(blank, absent=NO_CONNECTOR)
        if topic.absent:
            return self._miss(blank, interval)
        return self._judge(reading, blank, interval)

    def _miss(
        self, blank: CheckpointsObservation, interval: timedelta
    ) -> CheckpointsObservation:
        """Return that the topic is missing, if it has been for long: a
        connector that has just been started creates it.
        """
        since = self._missing_since = self._missing_since or blank.at
        if blank.at - since > _patience(interval):
            return replace(blank, missing_since=since)
        return replace(blank, absent=NO_TOPIC)

    def _keep(self, blank: CheckpointsObservation) -> CheckpointsObservation:
        """Return what was seen before, for a while: a topic that has just
        come up says nothing against it.
        """
        seen = self._seen.get()
        if seen is not None:
            self._behind_since = self._behind_since or seen.at
            if blank.at - self._behind_since <= STALE:
                return replace(seen, at=blank.at)
        return replace(blank, problems=(STILL_READING,))

    def _judge(
        self,
        reading: GroupReading,
        blank: CheckpointsObservation,
        interval: timedelta,
    ) -> CheckpointsObservation:
        groups = self.named()
        if groups and reading.problem is not None:
            self._silent = True
            return replace(blank, problems=(reading.problem,))
        denied = groups & reading.denied
        known = groups & {group for group, _, _ in reading.offsets}
        if denied and not known:
            return replace(blank, absent=self._not_allowed())
        if self._silent and self._compared_at is not None:
            # MirrorMaker may not have reached it either.
            self._watch.pass_over(reading.at - self._compared_at)
        self._compared_at, self._silent = reading.at, False
        offsets = list(self._compare(reading, groups))
        return replace(
            blank,
            groups=len({found.place[0] for found in offsets}),
            denied=len(denied),
            unasked=len(groups - reading.asked) if reading.is_full else 0,
            overdue=self._watch.look(offsets, _patience(interval), reading.at),
        )

    def _not_allowed(self) -> str:
        return (
            "Checkpoints are not checked: mirrorwatch lacks DESCRIBE on the "
            f"consumer groups at {self._source}. Grant it to enable "
            "this check"
        )

    def _compare(
        self, reading: GroupReading, groups: AbstractSet[str]
    ) -> Iterator[GroupOffsets]:
        syncs, carried = self._positions.all_syncs(), self._carried.get()
        checkpoints = {
            (c.group, c.topic, c.partition): c.upstream
            for c in self._positions.checkpoints()
        }
        for place, offset in reading.offsets.items():
            group, topic, partition = place
            if group not in groups:
                continue
            if carried is not None and topic not in carried:
                continue  # flows of one pair share the checkpoints topic
            remote = self._naming.remote(topic)
            checkpoint = checkpoints.get((group, remote, partition))
            if checkpoint is None:
                continue
            sync = syncs.get((topic, partition))
            yield GroupOffsets(
                place=place,
                committed=offset,
                checkpoint=checkpoint,
                sync=None if sync is None else sync.upstream,
            )


def _patience(interval: timedelta) -> timedelta:
    """Return after which time a checkpoint that is due must have come."""
    return ROUNDS * interval + FLUSH
