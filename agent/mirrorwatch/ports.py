"""The seams: what a source, a sink and a report are."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from threading import Event
from typing import Literal, Protocol, runtime_checkable

from .domain.bottleneck.model import MBean, MBeanQuery, MirrorMetrics
from .domain.mirror_records import MirrorFact
from .domain.report import AgentState, Observation, Report
from .domain.topics import Naming, Selection, TopicPattern

__all__ = ["AgentState", "Guard", "InternalTopic", "Mirror", "MirrorJmx"]
__all__ += ["MirrorSettings", "QueueingSink", "Report", "Sink", "Source"]
__all__ += ["WatchedSource", "WokenWorker", "Worker", "unguarded"]


@dataclass(frozen=True, kw_only=True, slots=True)
class InternalTopic:
    """A topic in which a mirror keeps what it knows."""

    kind: str
    """Kind of its records: ``offsets``, ``syncs``, ``configs``, ``status``,
    ``checkpoints``; ``heartbeats`` written at the target, ``carried`` there by
    the mirror, or waiting to be carried (``beats``)."""

    side: Literal["source", "target"]
    name: str
    optional: bool = False
    """Topic that a mirror may do without: only the check that lives on it
    suffers where it is absent or refused."""


@dataclass(frozen=True, kw_only=True, slots=True)
class MirrorSettings:
    """Settings of the mirror of one flow, whatever program it is."""

    source_alias: str
    target_alias: str
    naming: Naming
    selection: Selection
    separator: str = "."
    dedicated: bool = True
    """Dedicated process, not on a Connect cluster."""

    connectors: tuple[str, ...] = ()
    syncs_location: Literal["source", "target"] = "source"
    topics: Mapping[str, str | None] = field(default_factory=dict)
    max_in_flight: int | None = None
    group: str | None = None
    """Consumer group at the source that holds its positions, if one does."""

    classes: Mapping[str, TopicPattern] = field(default_factory=dict)
    """Pattern of the source topics in each class; the first one counts."""


class Mirror(Protocol):
    """Knows where one mirror keeps its positions, and what they mean.

    What it can prove is in `domain.mirror_traits`.
    """

    @property
    def group(self) -> str | None:
        """Consumer group at the source whose committed offsets are its
        positions; `None` if they are in an internal topic.
        """
        ...

    def internal_topics(self) -> tuple[InternalTopic, ...]:
        """Say where the mirror keeps what it knows.

        Raises
        ------
        ConfigError
            Raised if a name cannot be derived from the configuration.
        """
        ...

    def decode(
        self,
        kind: str,
        key: bytes | None,
        value: bytes | None,
        written_at: datetime,
    ) -> MirrorFact | None:
        """Read one record; `None` if it is of no concern to this flow.

        Raises
        ------
        ValueError
            Raised if the record is not of the known layout.
        """
        ...


class MirrorJmx(Protocol):
    """Knows one mirror's JMX metrics."""

    @property
    def wanted(self) -> Sequence[MBeanQuery]:
        """MBeans that every process of the mirror is asked for."""
        ...

    def metrics(self, read: Mapping[str, Sequence[MBean]]) -> MirrorMetrics:
        """Return the metrics of one flow.

        Parameters
        ----------
        read
            MBeans by the address of the process.
        """
        ...


class Source(Protocol):
    """Reads one kind of fact from the outside world."""

    name: str

    def observe(self, now: datetime) -> Sequence[Observation]:
        """Return what is true now. It never waits: whatever takes time is
        done by a `Worker`, which leaves the fact with the time it was seen.

        Raises
        ------
        SourceError
            Raised if the outside world could not be read.
        """
        ...


@runtime_checkable
class WatchedSource(Source, Protocol):
    """A source that knows whether its workers succeed.

    Any other is up unless `observe` fails.
    """

    @property
    def up(self) -> bool:
        """Observation that it last returned is fresh."""
        ...


class Sink(Protocol):
    """Publishes reports to one destination."""

    name: str

    def publish(self, report: Report) -> None:
        """Publish a report.

        Raises
        ------
        SinkError
            Raised if the report could not be published.
        """
        ...

    def close(self) -> None:
        """Publish what is still held back, and close connections."""
        ...


@runtime_checkable
class QueueingSink(Sink, Protocol):
    """A sink that queues reports, and sends them from threads of its own.

    Any other is up unless `publish` fails.
    """

    @property
    def up(self) -> bool | None:
        """Last attempt to send succeeded; `None` before the first."""
        ...

    @property
    def spooled_points(self) -> int:
        """Points that wait to be written; of notices, messages."""
        ...

    @property
    def lost_points(self) -> int:
        """Points given up since the start."""
        ...


Guard = Callable[[str, Callable[[], None]], None]
"""Does a piece of work of a part, by its name. What it raises is a
`MirrorwatchError`, whatever happened, and counted if it is a crash."""


def unguarded(_part: str, work: Callable[[], None]) -> None:
    """Do a piece of work; what it raises is raised."""
    work()


class Worker(Protocol):
    """Work done beside the ticks, in a thread of its own."""

    name: str

    interval: timedelta
    """Delay between steps; zero if a step waits by itself."""

    def step(self) -> None:
        """Do a short piece of work (at most about a second), then return.

        Raises
        ------
        MirrorwatchError
            Raised if the step failed; the next one tries again.
        """
        ...

    def close(self) -> None:
        """Finish: commit what is held, close connections."""
        ...


@runtime_checkable
class WokenWorker(Worker, Protocol):
    """A worker that others wake: its interval is the longest it rests."""

    news: Event
    """Set by whoever has something for it; cleared before its next step."""
