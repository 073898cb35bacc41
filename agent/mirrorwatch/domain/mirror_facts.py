"""What a mirror says of itself, of one flow, and how it was learned."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from .mirror_metrics import (
    ClassMetrics,
    ConsumerMetrics,
    IoMetrics,
    ProducerMetrics,
    TaskMetrics,
)

__all__ = [
    "MirrorMetrics",
    "MirrorObservation",
    "Rebalances",
    "TaskErrors",
    "TaskState",
    "Unread",
]


@dataclass(frozen=True, kw_only=True, slots=True)
class TaskErrors:
    """Errors that a task, or all of them, counted since its start."""

    record_failures: int = 0
    """Records that could not be copied."""

    records_skipped: int = 0
    """Records passed over because of an error."""

    record_errors: int = 0
    """Errors, those that a retry mended included."""

    retries: int = 0
    """Operations tried again."""

    @property
    def lost(self) -> int:
        """Records given up."""
        return self.record_failures + self.records_skipped


@dataclass(frozen=True, kw_only=True, slots=True)
class Rebalances:
    """How often a worker of Connect was given its work anew."""

    completed: int | None = None
    """Since its start."""

    last: timedelta | None = None
    """How long ago the last one was."""

    longest: timedelta | None = None
    """The longest one, of a window."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TaskState:
    """What a worker says of one of its tasks."""

    connector: str
    task: int | None
    """Its number; `None` for the connector itself."""

    state: str
    """As ``running``, ``paused``, ``failed``, in small letters."""


@dataclass(frozen=True, kw_only=True, slots=True)
class MirrorMetrics:
    """What all processes of a mirror say of one flow, taken together."""

    consumer: ConsumerMetrics = field(default_factory=ConsumerMetrics)
    producer: ProducerMetrics = field(default_factory=ProducerMetrics)

    io: Mapping[str, IoMetrics] = field(default_factory=dict)
    """By client: ``consumer`` or ``producer``."""

    classes: Mapping[str, ClassMetrics] = field(default_factory=dict)
    """By class of topics; ``other`` for what has none."""

    tasks: TaskMetrics = field(default_factory=TaskMetrics)

    lags: Mapping[tuple[str, int], float] = field(default_factory=dict)
    """The consumer's lag when it last read a partition, by topic and
    partition. It stands still when the consumer does. Before Kafka 4.1 dots
    in topics are underscores."""

    silent: tuple[str, ...] = ()
    """Consumers that have fetched before and got no answer for a window; an
    idle one gets an answer twice a second."""

    errors: Mapping[tuple[str, str, int], TaskErrors] = field(
        default_factory=dict
    )
    """By address of the worker, connector and task."""

    last_error: datetime | None = None
    """When a task last counted an error."""

    states: tuple[TaskState, ...] = ()
    """Of the flow's connectors and tasks, one entry for each."""

    rebalances: Mapping[str, Rebalances] = field(default_factory=dict)
    """By address of the worker."""

    @property
    def blank(self) -> bool:
        """Whether there was nothing of this flow's copying."""
        return not self.classes and self.consumer == ConsumerMetrics()


@dataclass(frozen=True, kw_only=True, slots=True)
class Unread:
    """A process of the mirror whose figures do not arrive."""

    url: str
    """Its address."""

    reason: str
    """Why, and what would mend it."""

    since: datetime | None
    """When its figures were last read; `None` if never."""


@dataclass(frozen=True, kw_only=True, slots=True)
class MirrorObservation:
    """What the mirror of one flow says of itself."""

    flow: str
    """Name of the flow."""

    at: datetime
    """When it was put together (UTC); none of it is older than three
    readings."""

    metrics: MirrorMetrics
    """Of all processes that answer."""

    answering: tuple[str, ...] = ()
    """Addresses of the processes whose figures are fresh."""

    unread: tuple[Unread, ...] = ()
    """Processes whose figures do not arrive."""

    counted: TaskErrors = field(default_factory=TaskErrors)
    """Errors counted since the state file was made."""

    last_lost: datetime | None = None
    """When records were last seen to be given up."""

    lately: TaskErrors = field(default_factory=TaskErrors)
    """Errors counted then, and less than an hour before another."""
