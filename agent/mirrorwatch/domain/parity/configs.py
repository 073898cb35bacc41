"""Whether topics are configured alike on both sides."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from ..topic_configs import TopicConfigs

__all__ = ["MATTERS", "TOLD", "ConfigDrift", "ConfigsObservation", "compare"]

MATTERS = (
    "max.message.bytes",
    "retention.ms",
    "retention.bytes",
    "cleanup.policy",
)
"""Properties that decide which records arrive, and how long they stay. The
first comes first, as it can stop the mirror."""

TOLD = ("message.timestamp.type", "min.insync.replicas", "compression.type")
"""Properties that are a site's own affair: MirrorMaker 2 leaves the first two
alone by default, and the last changes no record."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ConfigDrift:
    """One property of one topic that is not the same on both sides."""

    topic: str
    """Its name at the source."""

    name: str
    """Kafka's name of the property."""

    source: str
    """Value in effect at the source."""

    target: str
    """Value in effect at the target."""

    by_default: bool
    """Whether no topic sets it: the brokers' defaults differ."""

    since: datetime | None = None
    """When it was first seen to be so; `None` if that is of no concern."""

    @property
    def condition(self) -> str:
        """What is so; another value is another drift."""
        return f"{self.topic} {self.name} {self.source} {self.target}"


@dataclass(frozen=True, kw_only=True, slots=True)
class ConfigsObservation:
    """How the configurations of both sides compare."""

    flow: str
    """Name of the flow."""

    at: datetime
    """When the configurations were read."""

    source_alias: str
    """Our alias of the source."""

    target_alias: str
    """Our alias of the target."""

    compared: int = 0
    """Topics whose configuration is known on both sides."""

    drifts: tuple[ConfigDrift, ...] = ()
    """What differs and matters."""

    told: tuple[ConfigDrift, ...] = ()
    """What differs and is a site's own affair, or left out by the mirror."""

    sync: timedelta | None = None
    """How often the mirror copies configurations; `None` if it does not."""

    patience: timedelta = timedelta()
    """How long it may take for that."""

    fresh: bool = True
    """Whether they were read lately."""

    problems: tuple[str, ...] = ()
    """What kept facts from being read, in sentences."""

    @property
    def due(self) -> tuple[ConfigDrift, ...]:
        """Drifts that the mirror should have mended by now."""
        return tuple(
            d
            for d in self.drifts
            if d.since is not None and self.at - d.since >= self.patience
        )


def compare(
    topics: Iterable[tuple[str, str]],
    source: Mapping[str, TopicConfigs],
    target: Mapping[str, TopicConfigs],
) -> Iterator[ConfigDrift]:
    """Find what differs on topics whose configuration is known.

    Parameters
    ----------
    topics
        Names at the source and at the target.
    source, target
        Configurations by the names there.
    """
    for topic, remote in topics:
        here, there = source.get(topic), target.get(remote)
        # Most topics of a site are configured alike, and share one object.
        if here is None or there is None or here == there:
            continue
        for name in (*MATTERS, *TOLD):
            ours, theirs = here.get(name), there.get(name)
            if ours is None or theirs is None or ours == theirs:
                continue
            if name.startswith("retention.") and not (
                here.deletes and there.deletes
            ):
                continue  # said by cleanup.policy, or of no effect at all
            yield ConfigDrift(
                topic=topic,
                name=name,
                source=ours,
                target=theirs,
                by_default=name not in here.own | there.own,
            )
