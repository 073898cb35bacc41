"""Holds the checkpoints of a mirror to the groups that they are of."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from ..domain.checkpoints import (
    CheckpointsObservation,
    CheckpointTracker,
    GroupOffsets,
    GroupPartition,
)
from ..domain.topics import Naming
from ..exceptions import SourceDeniedError, SourceError
from ..kafka.admin import Cluster
from ..kafka.groups import read_group_offsets
from ..threads import Latest
from .mirror_state import MirrorState

__all__ = ["CheckpointsWorker"]

ROUNDS = 3
"""Emissions within which a checkpoint that is due must have come: the task
waits for offsets to be committed, and for syncs."""

FLUSH = timedelta(minutes=1)
"""Longest until a sync that was written is known to the checkpoint task and
to the agent alike, and a commit to both."""

MOST = 100
"""Groups that are asked for in one round: each is a request."""

STILL_READING = "MirrorMaker's checkpoints topic is still being read"

NO_CONNECTOR = (
    "No checkpoints: MirrorMaker has no checkpoint connector or emits none "
    "(emit.checkpoints.enabled)"
)

NO_TOPIC = "MirrorMaker's checkpoints topic does not exist"


class CheckpointsWorker:
    """Asks for the groups of one flow, and reports to the tick.

    Parameters
    ----------
    flow
        Name of the flow.
    source
        Where the groups are.
    naming
        What topics are called at the target.
    positions
        What the mirror's internal topics said.
    clock
        Gives the time.
    """

    interval = timedelta(seconds=20)

    def __init__(
        self,
        *,
        flow: str,
        source: Cluster,
        naming: Naming,
        positions: MirrorState,
        clock: Callable[[], datetime],
    ) -> None:
        self.name = f"checkpoints {flow}"
        self._flow = flow
        self._source = source
        self._naming = naming
        self._positions = positions
        self._clock = clock
        self._watch = CheckpointTracker()
        self._seen = Latest[CheckpointsObservation | None](None)

    def step(self) -> None:
        self._seen.set(self._look(self._clock()))

    def close(self) -> None:
        """Do nothing: the cluster's connections end with the process."""

    def observe(self, now: datetime) -> Sequence[CheckpointsObservation]:
        seen = self._seen.get()
        return [] if seen is None else [seen]

    def _look(self, now: datetime) -> CheckpointsObservation:
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
            flow=self._flow, at=now, interval=interval
        )
        if topic.problem is not None:
            return replace(blank, problems=(topic.problem,))
        read = topic.absent or topic.readable
        if self._positions.behind() or not read:
            # One that has just come up says nothing against what was seen.
            still = replace(blank, problems=(STILL_READING,))
            return replace(self._seen.get() or still, at=now)
        if interval is None or topic.absent:
            why = NO_CONNECTOR if interval is None else NO_TOPIC
            return replace(blank, absent=why)
        try:
            return self._judge(blank, interval)
        except SourceDeniedError:
            return replace(blank, absent=self._not_allowed())
        except SourceError as e:
            return replace(blank, problems=(str(e),))

    def _judge(
        self, blank: CheckpointsObservation, interval: timedelta
    ) -> CheckpointsObservation:
        groups = sorted({c.group for c in self._positions.checkpoints()})
        committed = read_group_offsets(self._source, groups[:MOST])
        patience = ROUNDS * interval + FLUSH
        readings = self._read(committed)
        return replace(
            blank,
            groups=len({group for group, _, _ in committed}),
            unasked=max(0, len(groups) - MOST),
            overdue=self._watch.look(readings, patience, blank.at),
        )

    def _not_allowed(self) -> str:
        return (
            "Checkpoints are not checked: mirrorwatch lacks DESCRIBE on the "
            f"consumer groups at {self._source.alias}. Grant it to enable "
            "this check"
        )

    def _read(
        self, committed: dict[GroupPartition, int]
    ) -> list[GroupOffsets]:
        syncs = self._positions.all_syncs()
        checkpoints = {
            (c.group, c.topic, c.partition): c.upstream
            for c in self._positions.checkpoints()
        }
        found = []
        for place, offset in committed.items():
            group, topic, partition = place
            remote = self._naming.remote(topic)
            checkpoint = checkpoints.get((group, remote, partition))
            if checkpoint is None:
                continue
            sync = syncs.get((topic, partition))
            found.append(
                GroupOffsets(
                    place=place,
                    committed=offset,
                    checkpoint=checkpoint,
                    sync=None if sync is None else sync.upstream,
                )
            )
        return found
