"""Configurations of many topics: asked for in batches."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from confluent_kafka import TopicCollection
from confluent_kafka.admin import (
    AdminClient,
    ConfigEntry,
    ConfigResource,
    ConfigSource,
    ResourceType,
)

from ..domain.cluster_view import FIELDS, TopicConfigs
from ..exceptions import SourceDeniedError, SourceError
from .admin import Cluster, concerns_all
from .errors import TIMEOUT, batched

__all__ = ["find_hidden", "read_configs"]


BATCH = 100
"""Topics in one request. The library turns an answer into Python objects (40
properties a topic) in one go, and nothing else in the process runs meanwhile:
20 ms for this many, which no probe's latency shows."""

TOPIC_SETS_IT = ConfigSource.DYNAMIC_TOPIC_CONFIG.value


def read_configs(
    cluster: Cluster, topics: Iterable[str]
) -> tuple[dict[str, TopicConfigs], list[str]]:
    """Read how topics are configured.

    Returns
    -------
    tuple of dict and list
        Configurations by topic, and topics of which the agent may not know
        it. Topics that are no more are in neither.

    Raises
    ------
    SourceError
        Raised if the cluster cannot be asked.
    """
    found: dict[str, TopicConfigs] = {}
    denied: list[str] = []
    # Most topics are configured alike: one object for all of them.
    pool: dict[TopicConfigs, TopicConfigs] = {}
    for batch in batched(sorted(topics), BATCH):
        resources = [ConfigResource(ResourceType.TOPIC, t) for t in batch]

        def ask(
            admin: AdminClient, wanted: list[ConfigResource] = resources
        ) -> Any:
            return admin.describe_configs(wanted, request_timeout=TIMEOUT)

        for resource, future in cluster.call(
            ask, "DESCRIBE_CONFIGS on its topics"
        ).items():
            name = str(resource.name)
            try:
                entries = cluster.wait(
                    future, f"DESCRIBE_CONFIGS on topic {name}"
                )
            except SourceDeniedError as e:
                if concerns_all(e):
                    raise
                denied.append(name)
            except SourceError as e:
                if concerns_all(e):
                    raise
            else:
                configs = _parse(entries)
                found[name] = pool.setdefault(configs, configs)
    return found, denied


def find_hidden(cluster: Cluster, topics: Sequence[str]) -> dict[str, bool]:
    """Ask for topics by their names, without creating them.

    Returns
    -------
    dict
        `True` where the agent may not know whether the topic is there,
        `False` where it is not; those that are there after all are left out.

    Raises
    ------
    SourceError
        Raised if the cluster cannot be asked.
    """
    futures = cluster.call(
        lambda admin: admin.describe_topics(
            TopicCollection(list(topics)), request_timeout=TIMEOUT
        ),
        "DESCRIBE on its topics",
    )
    found: dict[str, bool] = {}
    for name, future in futures.items():
        try:
            cluster.wait(future, f"DESCRIBE on topic {name}")
        except SourceDeniedError as e:
            if concerns_all(e):
                raise
            found[name] = True
        except SourceError as e:
            if concerns_all(e):
                raise
            found[name] = False
    return found


def _parse(entries: Mapping[str, ConfigEntry]) -> TopicConfigs:
    known = {name: entries[name] for name in FIELDS if name in entries}
    return TopicConfigs.parse(
        {name: entry.value for name, entry in known.items()},
        frozenset(
            name
            for name, entry in known.items()
            if ConfigSource(entry.source).value == TOPIC_SETS_IT
        ),
    )
