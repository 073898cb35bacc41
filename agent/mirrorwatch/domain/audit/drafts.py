"""Which target partitions are fed by which source partitions."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from ..carriage import Carriage
from ..verdicts import Flow
from ..view import TopicFacts, TopicPartition
from .plan import Unverifiable

__all__ = ["Draft", "Drafts", "FlowTopics", "Origin", "draft_lanes"]

FOREIGN = (
    "merged with topics that other flows write, none of which is configured "
    "here: what these wrote cannot be told from what is wrong"
)


@dataclass(frozen=True, kw_only=True)
class FlowTopics:
    """Which topics one flow carries."""

    flow: Flow
    """The flow."""

    carriage: Carriage
    """Which topics it carries, and their names at the target."""

    merged: Callable[[str], bool]
    """Tells whether other flows write to the target of a source topic."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Origin:
    """A source partition of a lane."""

    flow: str
    """Name of the flow."""

    cluster: str
    """Alias of the source."""

    place: TopicPartition
    """Source topic and partition."""

    topic_id: str
    """Id of the source topic."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Draft:
    """A target partition, and what feeds it."""

    cluster: str
    """Alias of the target."""

    place: TopicPartition
    """Target topic and partition."""

    topic_id: str | None
    """Id of the target topic; `None` if the partition does not exist."""

    origins: tuple[Origin, ...]
    """What feeds it; none if it exists at the target only."""

    flow: str
    """Name of the first flow."""

    topic: str
    """Source topic of the first flow."""


@dataclass(slots=True)
class Drafts:
    """What an audit is about."""

    lanes: list[Draft] = field(default_factory=list)
    """Partitions that are fed."""

    surplus: list[Draft] = field(default_factory=list)
    """Partitions that exist at the target only."""

    unverifiable: list[Unverifiable] = field(default_factory=list)
    """Topics that cannot be audited."""


Key = tuple[str, str]
"""Target cluster and target topic."""


def draft_lanes(
    flows: Sequence[FlowTopics],
    topics: Mapping[str, Mapping[str, TopicFacts]],
    wants: Callable[[str, str], bool],
) -> Drafts:
    """Find out which target partitions are fed by which source partitions.

    Parameters
    ----------
    flows
        All flows that may share a target topic.
    topics
        Topics by name, by alias of their cluster.
    wants
        Tells whether a source topic of a flow is asked for. What shares its
        target topic comes along.
    """
    fed: dict[Key, list[tuple[FlowTopics, str]]] = {}
    for one in flows:
        names = one.carriage.names(topics[one.flow.source])
        for topic, remote in sorted(names.items()):
            fed.setdefault((one.flow.target, remote), []).append((one, topic))
    found = Drafts()
    for key, feeders in sorted(fed.items(), key=lambda item: item[0]):
        if not any(wants(one.flow.name, topic) for one, topic in feeders):
            continue
        one, topic = feeders[0]
        if _has_strangers(key, feeders, flows):
            found.unverifiable.append(
                Unverifiable(
                    flow=one.flow.name,
                    topic=topic,
                    partition=None,
                    reason=FOREIGN,
                )
            )
        else:
            _draft(key, feeders, topics, found)
    return found


def _draft(
    key: Key,
    feeders: Sequence[tuple[FlowTopics, str]],
    topics: Mapping[str, Mapping[str, TopicFacts]],
    found: Drafts,
) -> None:
    cluster, remote = key
    there = topics[cluster].get(remote)
    sources = [topics[one.flow.source][topic] for one, topic in feeders]
    existing = 0 if there is None else there.partitions
    one, topic = feeders[0]
    for partition in range(max(existing, *(s.partitions for s in sources))):
        origins = tuple(
            Origin(
                flow=feeder.flow.name,
                cluster=feeder.flow.source,
                place=(name, partition),
                topic_id=source.id,
            )
            for (feeder, name), source in zip(feeders, sources, strict=True)
            if partition < source.partitions
        )
        draft = Draft(
            cluster=cluster,
            place=(remote, partition),
            topic_id=there.id
            if there is not None and partition < existing
            else None,
            origins=origins,
            flow=one.flow.name,
            topic=topic,
        )
        (found.lanes if origins else found.surplus).append(draft)


def _has_strangers(
    key: Key,
    feeders: Sequence[tuple[FlowTopics, str]],
    flows: Sequence[FlowTopics],
) -> bool:
    """Tell whether others write to a topic that are not configured here."""
    cluster, remote = key
    if not any(one.merged(topic) for one, topic in feeders):
        return False
    writers = [
        one
        for one in flows
        if one.flow.target == cluster
        and (topic := one.carriage.naming.origin(remote)) is not None
        and one.carriage.carries(topic)
    ]
    return len(writers) < 2
