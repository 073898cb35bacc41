"""Reachability of one flow's clusters, and growth of its copies, by the
surveys.
"""

from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from datetime import datetime

from ..domain.cause import ReachabilityObservation
from ..domain.cluster_view import FlowView, TopicPartition
from ..threads import Latest

__all__ = ["ReachabilitySource"]


class CopyWatch:
    """Compares the ends of the copies of one flow, survey by survey."""

    def __init__(self) -> None:
        self._at: datetime | None = None
        self._ends: Mapping[TopicPartition, int] = {}
        self.since: datetime | None = None
        """Time of the reading before the last one."""

        self.at: datetime | None = None
        """Time of the last reading that was compared with the one before."""

        self.grew = False

        self.still_since: datetime | None = None

        self.grew_after: datetime | None = None
        """A time after which one grew for certain."""

    def compare(
        self, ends: Mapping[TopicPartition, int], at: datetime
    ) -> None:
        """Take the ends of a survey."""
        known = [
            (self._ends[p], end) for p, end in ends.items() if p in self._ends
        ]
        if known and self._at is not None:
            self.since, self.at = self._at, at
            self.grew = any(end > before for before, end in known)
            if self.grew:
                self.grew_after = self.since
            if self.grew or self.still_since is None:
                self.still_since = at if self.grew else self._at
        self._at, self._ends = at, ends


class ReachabilitySource:
    """Reports whether both clusters of a flow answer, and copies arrive.

    Parameters
    ----------
    flow
        Name of the flow.
    canary
        Canary topic at the source, `None` without a canary. Its copies are
        left out where there are others: while the source does not answer the
        agent, there are no probes to be copied.
    merged
        Returns whether other flows write to the copy of a source topic, too.
    foreign
        Returns the source partitions at whose copies others write, too.
    """

    def __init__(
        self,
        *,
        flow: str,
        canary: str | None,
        merged: Callable[[str], bool],
        foreign: Callable[[], AbstractSet[TopicPartition]] = frozenset,
    ) -> None:
        self.name = f"reachability {flow}"
        self._flow = flow
        self._canary = canary
        self._merged = merged
        self._foreign = foreign
        self._names: Mapping[str, str] = {}
        self._copies = CopyWatch()
        self._seen: Latest[ReachabilityObservation | None] = Latest(None)

    def take(self, view: FlowView) -> None:
        """Learn from a survey."""
        if view.source is not None:
            own = {
                topic: remote
                for topic, remote in view.names.items()
                if not self._merged(topic)
            }
            others = {t: r for t, r in own.items() if t != self._canary}
            self._names = others or own
        if view.target is not None:
            self._copies.compare(self._own(view.target.ends), view.target.at)
        source, target = view.answers
        copies = self._copies
        self._seen.set(
            ReachabilityObservation(
                flow=self._flow,
                at=view.at,
                source=source,
                target=target,
                compared_since=copies.since,
                compared_at=copies.at,
                grew=copies.grew,
                still_since=copies.still_since,
                grew_after=copies.grew_after,
            )
        )

    def observe(self, now: datetime) -> Sequence[ReachabilityObservation]:
        """Return what the last survey showed; its age shows if it is old."""
        del now
        seen = self._seen.get()
        return [] if seen is None else [seen]

    def _own(
        self, ends: Mapping[TopicPartition, int]
    ) -> Mapping[TopicPartition, int]:
        """Return the ends that only the mirror of this flow moves."""
        foreign = {
            (self._names[topic], partition)
            for topic, partition in self._foreign()
            if topic in self._names
        }
        remotes = set(self._names.values())
        return {
            place: end
            for place, end in ends.items()
            if place[0] in remotes and place not in foreign
        }
