"""Facts about the connectors and tasks of a mirror."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from .words import counted

__all__ = [
    "MirrorTask",
    "Role",
    "Stopped",
    "Stuck",
    "TasksObservation",
    "find_cause",
    "name_partitions",
]

Role = Literal["source", "checkpoints", "heartbeats", "neighbour"]
"""What a connector does: only ``source`` copies records of the flow, and
``neighbour`` is none of its concern."""

CAUSED_BY = "Caused by: "

LONGEST_CAUSE = 300
"""Characters of a cause that are kept: messages may hold whole records."""


@dataclass(frozen=True, kw_only=True, slots=True)
class MirrorTask:
    """A connector, or one of its tasks, as Connect tells it."""

    connector: str
    """Name of the connector."""

    role: Role
    """What the connector does."""

    number: int | None
    """Number of the task; `None` for the connector itself."""

    state: str
    """State in Connect's word, ``RUNNING`` for example."""

    since: datetime
    """When this was written."""

    worker: str = ""
    """Who runs it, as Connect names it."""

    cause: str = ""
    """The last cause in the trace of what failed."""

    starts: int = 0
    """How often it began to run lately."""

    failures: int = 0
    """How often it failed lately."""

    def __str__(self) -> str:
        if self.number is None:
            return f"Connector {self.connector}"
        return f"Task {self.number} of {self.connector}"


@dataclass(frozen=True, kw_only=True, slots=True)
class Stuck:
    """A record that a task cannot write at the target."""

    topic: str
    """Source topic."""

    partition: int
    """Source partition."""

    offset: int
    """Source offset of the record."""

    size_bytes: int
    """Its size as the only one of a batch."""

    limit_bytes: int
    """Largest size that is taken."""

    limit: str
    """Whose limit it is."""

    def __str__(self) -> str:
        return (
            f"{self.topic}[{self.partition}] offset {self.offset}: "
            f"{self.size_bytes} bytes, above {self.limit} {self.limit_bytes}"
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class Stopped:
    """What a failed task no longer copies, and at what it failed."""

    connector: str
    """Name of the connector."""

    task: int
    """Number of the task."""

    partitions: frozenset[tuple[str, int]]
    """Source topics and partitions that it was given."""

    stuck: tuple[Stuck, ...] = ()
    """Records at or after its positions that are too large."""

    note: str = ""
    """Why no such record is known, if none is."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TasksObservation:
    """State of the connectors and tasks of one flow's mirror."""

    flow: str
    """Name of the flow."""

    at: datetime
    """When it was put together (UTC)."""

    origin: str = ""
    """Where it was read, in words."""

    tasks: tuple[MirrorTask, ...] = ()
    """Connectors and tasks, neighbours among them."""

    stopped: tuple[Stopped, ...] = ()
    """What failed tasks no longer copy."""

    unassigned: frozenset[tuple[str, int]] = frozenset()
    """Source partitions that no task has had for two refresh intervals."""

    rebalances: int = 0
    """How often tasks were given out anew within the window."""

    window: timedelta = timedelta(hours=1)
    """The stretch in which starts, failures and rebalances were counted."""

    refresh: timedelta | None = None
    """How often the mirror looks for topics, each time a reason to give
    tasks out anew; `None` if that is not known."""

    restarts: tuple[str, ...] = ()
    """What the agent itself did to failed tasks lately, in sentences."""

    version: str | None = None
    """Of the mirror's worker; `None` if that is not known."""

    absent: str | None = None
    """Why nothing of this is to be had here."""

    problems: tuple[str, ...] = ()
    """What keeps it from being known, in sentences."""


def find_cause(trace: str) -> str:
    """Return the last cause in a Java stack trace, else its first line.

    The first line only says that a callback of the producer failed.
    """
    lines = [line.strip() for line in trace.splitlines()]
    causes = [line for line in lines if line.startswith(CAUSED_BY)]
    found = causes[-1].removeprefix(CAUSED_BY) if causes else ""
    found = found or next((line for line in lines if line), "")
    found = found.rstrip(".")
    if len(found) <= LONGEST_CAUSE:
        return found
    return found[: LONGEST_CAUSE - 2] + " …"


def name_partitions(
    partitions: Iterable[tuple[str, int]], most: int | None = None
) -> str:
    """Name partitions as a person would: ``a.b[0-2,5], c[0]``.

    Parameters
    ----------
    partitions
        Topics and partitions.
    most
        Topics to name; the others are counted.
    """
    by_topic: dict[str, list[int]] = {}
    for topic, partition in sorted(partitions):
        by_topic.setdefault(topic, []).append(partition)
    names = [f"{t}[{_stretches(ps)}]" for t, ps in by_topic.items()]
    if most is None or len(names) <= most:
        return ", ".join(names)
    others = counted(len(names) - most, "more topic")
    return f"{', '.join(names[:most])} and {others}"


def _stretches(numbers: Iterable[int]) -> str:
    stretches: list[list[int]] = []
    for number in numbers:
        if stretches and stretches[-1][1] == number - 1:
            stretches[-1][1] = number
        else:
            stretches.append([number, number])
    return ",".join(
        str(first) if first == last else f"{first}-{last}"
        for first, last in stretches
    )
