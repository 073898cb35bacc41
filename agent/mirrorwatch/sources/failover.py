"""Keeps how far consumer groups are, for when the source is lost."""

from collections import defaultdict
from collections.abc import Mapping

from ..domain.cluster_view import FlowView
from ..domain.failover import GroupOffset, merge
from ..state.failover import GroupStore
from ..threads import Latest
from .groups import GroupReading
from .mirror_state import MirrorState

__all__ = ["FailoverSource"]

Offsets = Mapping[str, tuple[GroupOffset, ...]]
"""Offsets of groups, by name."""


class FailoverSource:
    """Saves the offsets of all groups of one flow, by each reading of them.

    Parameters
    ----------
    flow
        Name of the flow.
    positions
        What the mirror's internal topics said.
    store
        Where the offsets are kept.

    Notes
    -----
    While the source does not answer, what was read before stays.
    """

    def __init__(
        self,
        *,
        flow: str,
        positions: MirrorState,
        store: GroupStore,
    ) -> None:
        self.name = f"failover {flow}"
        self._positions = positions
        self._store = store
        self._names = Latest[Mapping[str, str]]({})
        kept = store.load()
        self._kept = {name: found.offsets for name, found in kept.items()}
        self._read_at = next((g.read_at for g in kept.values()), None)

    def take(self, view: FlowView) -> None:
        """Learn which topics the flow carries."""
        if view.names:
            self._names.set(view.names)

    def named(self) -> tuple[str, ...]:
        """Return none: of a group that is not listed, checkpoints suffice."""
        return ()

    def take_groups(self, reading: GroupReading) -> None:
        """Save what was read of the groups.

        Raises
        ------
        StateError
            Raised if it cannot be kept; it is with the next reading.
        """
        names = self._names.get()
        if not names:
            return
        if reading.problem is None:
            self._read_at = reading.at
        groups, read = reading.listed, _select(reading, names)
        checkpoints = self._checkpoints(names)
        found = {
            name: merge(
                read.get(name, ())
                if name in groups or name in read
                else self._kept.get(name, ()),
                checkpoints.get(name, ()),
            )
            for name in {*self._kept, *read, *checkpoints}
            if name in groups or name in checkpoints or not reading.is_whole
        }
        found = {name: offsets for name, offsets in found.items() if offsets}
        changed = {
            name: offsets
            for name, offsets in found.items()
            if self._kept.get(name) != offsets
        }
        self._store.save(changed, self._kept.keys() - found, self._read_at)
        self._kept = found

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


def _select(reading: GroupReading, names: Mapping[str, str]) -> Offsets:
    """Return how far groups are in the topics that are carried."""
    found: defaultdict[str, tuple[GroupOffset, ...]] = defaultdict(tuple)
    for (group, topic, partition), committed in reading.offsets.items():
        if topic in names:
            found[group] += (
                GroupOffset(
                    topic=topic, partition=partition, committed=committed
                ),
            )
    return found
