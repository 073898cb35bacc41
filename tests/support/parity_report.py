"""What was compared of one flow, for a report with a bit of everything."""

from datetime import datetime, timedelta

from mirrorwatch.domain.parity.configs import ConfigDrift, ConfigsObservation
from mirrorwatch.domain.parity.topics import (
    MissingTopic,
    PartitionMismatch,
    TopicsObservation,
)

from .builders import FLOW

__all__ = ["some_configs", "some_topics"]

LONG = timedelta(hours=1)


def some_topics(at: datetime) -> TopicsObservation:
    """Return two missing topics and three that are not divided alike."""
    return TopicsObservation(
        flow=FLOW.name,
        at=at,
        source_alias=FLOW.source,
        target_alias=FLOW.target,
        refresh=timedelta(minutes=10),
        patience=timedelta(minutes=20),
        carried=9,
        missing=tuple(
            MissingTopic(
                topic=topic, remote=topic, since=at - LONG, hidden=False
            )
            for topic in ("a", "b")
        ),
        mismatches=tuple(
            PartitionMismatch(topic=topic, source=3, target=2, since=at - LONG)
            for topic in ("c", "d", "e")
        ),
    )


def some_configs(at: datetime) -> ConfigsObservation:
    """Return four drifts."""
    return ConfigsObservation(
        flow=FLOW.name,
        at=at,
        source_alias=FLOW.source,
        target_alias=FLOW.target,
        compared=9,
        drifts=tuple(
            ConfigDrift(
                topic=topic,
                name="retention.ms",
                source="2",
                target="1",
                by_default=False,
                since=at - LONG,
            )
            for topic in "abcd"
        ),
        sync=timedelta(minutes=10),
        patience=timedelta(minutes=11),
    )
