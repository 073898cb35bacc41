"""Which topics a cluster has, and whether each still is the one it was."""

from collections.abc import Iterable
from datetime import datetime, timedelta

from .bulk import Described, describe_topics, list_topics
from .cluster import Cluster

__all__ = ["DESCRIBE_EVERY", "Topics"]

DESCRIBE_EVERY = timedelta(minutes=1)
"""How old what is known of a topic may be on which nothing moves."""


class Topics:
    """Knows the topics of one cluster.

    Parameters
    ----------
    cluster
        The cluster.

    Notes
    -----
    The list of all topics is read each time: 8 ms of processor time for
    1,200 of them. Their ids are told only by a description of each, for which
    the library makes a future and an object of every replica: 54 ms. So
    topics are described when they are new or have other partitions, and
    otherwise every minute; whoever saw something move on one has it confirmed
    that the topic is the same. One that was made again without a trace, in
    the list, its ends and what the mirror says, is known within the minute.
    """

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._described_at: datetime | None = None
        self.described = Described("", {})
        """What is known. It is replaced, never changed."""

    def read(self, now: datetime) -> Described:
        """Read which topics there are.

        Raises
        ------
        SourceError
            Raised if the cluster cannot be asked.
        """
        listed = list_topics(self._cluster)
        known, at = self.described.topics, self._described_at
        if (
            listed.id != self.described.id
            or at is None
            or not at <= now < at + DESCRIBE_EVERY
        ):
            known, at = {}, now
        same = {
            name: known[name]
            for name, partitions in listed.partitions.items()
            if name in known and known[name].partitions == partitions
        }
        found = describe_topics(
            self._cluster, listed.partitions.keys() - same.keys()
        )
        self._described_at = at
        self.described = Described(listed.id, {**same, **found})
        return self.described

    def confirm(self, names: Iterable[str]) -> bool:
        """Ask again of some topics which they are.

        Returns
        -------
        bool
            Whether all are the ones that were known, so that whatever was
            read of them since then was read of these: ids do not come back.

        Raises
        ------
        SourceError
            Raised if the cluster cannot be asked.
        """
        known = self.described.topics
        found = describe_topics(
            self._cluster, [name for name in names if name in known]
        )
        others = {
            name: facts
            for name, facts in found.items()
            if facts.id != known[name].id
        }
        if others:
            self.described = Described(self.described.id, {**known, **others})
        return not others
