"""Keeps how far consumer groups are, for when the source is lost."""

from collections import defaultdict
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta

from ..domain.cluster_view import FlowView
from ..domain.failover import GroupOffset, merge
from ..exceptions import SourceError
from ..kafka.admin import Cluster
from ..kafka.groups import list_groups, read_group_offsets
from ..state.failover import GroupStore
from ..threads import Latest
from .mirror_state import MirrorState

__all__ = ["GroupsWorker"]

MOST = 1000
"""Groups that are followed: each is a request."""

Offsets = Mapping[str, tuple[GroupOffset, ...]]
"""Offsets of groups, by name."""


class GroupsWorker:
    """Reads the offsets of all groups of one flow, and saves them.

    Parameters
    ----------
    flow
        Name of the flow.
    source
        Where the groups are.
    positions
        What the mirror's internal topics said.
    store
        Where the offsets are kept.
    clock
        Gives the time.

    Notes
    -----
    While the source does not answer, what was read before stays.
    """

    interval = timedelta(seconds=15)

    def __init__(
        self,
        *,
        flow: str,
        source: Cluster,
        positions: MirrorState,
        store: GroupStore,
        clock: Callable[[], datetime],
    ) -> None:
        self.name = f"failover {flow}"
        self._source = source
        self._positions = positions
        self._store = store
        self._clock = clock
        self._names = Latest[Mapping[str, str]]({})
        kept = store.load()
        self._kept = {name: found.offsets for name, found in kept.items()}
        self._read_at = next((g.read_at for g in kept.values()), None)

    def take(self, view: FlowView) -> None:
        """Learn which topics the flow carries."""
        if view.names:
            self._names.set(view.names)

    def step(self) -> None:
        """Read and save the groups.

        Raises
        ------
        StateError
            Raised if they cannot be kept; they are with the next step.
        """
        names = self._names.get()
        if not names:
            return
        is_whole = False
        try:
            now = self._clock()
            listed, all_answered = list_groups(self._source)
            read = self._read(listed[:MOST], names)
            groups, is_whole, self._read_at = listed, all_answered, now
        except SourceError:
            groups, read = [], {}
        checkpoints = self._checkpoints(names)
        found = {
            name: merge(
                read.get(name, ())
                if name in groups
                else self._kept.get(name, ()),
                checkpoints.get(name, ()),
            )
            for name in {*self._kept, *read, *checkpoints}
            if name in groups or name in checkpoints or not is_whole
        }
        found = {name: offsets for name, offsets in found.items() if offsets}
        changed = {
            name: offsets
            for name, offsets in found.items()
            if self._kept.get(name) != offsets
        }
        self._store.save(changed, self._kept.keys() - found, self._read_at)
        self._kept = found

    def close(self) -> None:
        """Do nothing: the cluster's connections end with the process."""

    def _read(
        self, groups: list[str], names: Mapping[str, str]
    ) -> dict[str, tuple[GroupOffset, ...]]:
        """Read how far the groups are in the topics that are carried."""
        found: defaultdict[str, tuple[GroupOffset, ...]] = defaultdict(tuple)
        offsets = read_group_offsets(self._source, groups, skip_denied=True)
        for (group, topic, partition), committed in offsets.items():
            if topic in names:
                found[group] += (
                    GroupOffset(
                        topic=topic, partition=partition, committed=committed
                    ),
                )
        return found

    def _checkpoints(self, names: Mapping[str, str]) -> Offsets:
        """Return the checkpoints of all groups, by the source's topics."""
        topics = {remote: topic for topic, remote in names.items()}
        found: defaultdict[str, tuple[GroupOffset, ...]] = defaultdict(tuple)
        for each in self._positions.checkpoints():
            topic = topics.get(each.topic)
            if topic is not None:
                found[each.group] += (
                    GroupOffset(
                        topic=topic,
                        partition=each.partition,
                        upstream=each.upstream,
                        downstream=each.downstream,
                    ),
                )
        return found
