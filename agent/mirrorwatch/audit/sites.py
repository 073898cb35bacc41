"""The clusters of a configuration, while an audit asks them."""

from collections.abc import Collection, Iterable, Mapping
from contextlib import ExitStack
from types import TracebackType
from typing import Self

from ..config import Config
from ..domain.topic_configs import TopicConfigs
from ..domain.view import TopicPartition
from ..sources.bulk import Described, describe
from ..sources.bulk_configs import find_hidden, read_configs
from ..sources.cluster import Cluster
from ..sources.ends import Ends

__all__ = ["Site", "Sites"]


class Site:
    """One cluster.

    Parameters
    ----------
    alias
        Our alias of it.
    properties
        librdkafka properties.

    Raises
    ------
    SourceError
        Raised by every method if the cluster cannot be asked, or refuses.
    """

    def __init__(self, alias: str, properties: Mapping[str, str]) -> None:
        self.alias = alias
        self.properties = properties
        self.cluster = Cluster(alias, properties)
        self._ends = Ends(self.cluster, properties)

    def describe(self) -> Described:
        """Describe all topics."""
        return describe(self.cluster)

    def configs(
        self, topics: Iterable[str]
    ) -> tuple[dict[str, TopicConfigs], list[str]]:
        """Read how topics are configured, and which may not be asked for."""
        return read_configs(self.cluster, topics)

    def hidden(self, topics: Collection[str]) -> set[str]:
        """Return which of these topics the agent may not know of."""
        if not topics:
            return set()
        found = find_hidden(self.cluster, sorted(topics))
        return {topic for topic, denied in found.items() if denied}

    def ends(
        self, places: Iterable[TopicPartition], *, read_committed: bool
    ) -> dict[TopicPartition, int]:
        """Read ends; partitions without a leader are left out."""
        return self._ends.read(places, read_committed=read_committed)

    def starts(
        self, places: Iterable[TopicPartition]
    ) -> dict[TopicPartition, int]:
        """Read log starts; partitions without a leader are left out."""
        return self._ends.read_starts(places)

    def close(self) -> None:
        """Let go of connections."""
        self._ends.close()


class Sites:
    """The clusters of a configuration, by alias; made when first asked for.

    Parameters
    ----------
    config
        The configuration.
    """

    def __init__(self, config: Config) -> None:
        self._config = config
        self._sites: dict[str, Site] = {}
        self._open = ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._open.close()

    def __getitem__(self, alias: str) -> Site:
        if alias not in self._sites:
            kafka = self._config.clusters[alias].kafka
            site = self._sites[alias] = Site(alias, dict(kafka))
            self._open.callback(site.close)
        return self._sites[alias]
