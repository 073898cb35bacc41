"""Facts about the connectors and tasks of a mirror."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Literal

from ..finding import render
from ..mirror_records import TaskState
from .group import GroupTasks

__all__ = [
    "MirrorTask",
    "Role",
    "Stopped",
    "Stuck",
    "TaskHistory",
    "TasksObservation",
    "find_cause",
    "fold",
    "name_partitions",
]


Role = Literal["source", "checkpoints", "heartbeats", "neighbour"]
"""Role of a connector: only ``source`` copies records of the flow, and
``neighbour`` is none of its concern."""

CAUSED_BY = "Caused by: "

LONGEST_CAUSE = 300
"""Characters of a cause that are kept: messages may hold whole records."""


@dataclass(frozen=True, kw_only=True, slots=True)
class MirrorTask:
    """A connector, or one of its tasks, as Connect reports it."""

    connector: str
    role: Role
    number: int | None
    """Number of the task; `None` for the connector itself."""

    state: str
    since: datetime
    worker: str = ""
    cause: str = ""
    """The last cause in the trace of what failed."""

    starts: int = 0
    failures: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class Stuck:
    """A record that a task cannot write at the target."""

    topic: str
    partition: int
    offset: int
    size_bytes: int
    """Its size as the only one of a batch."""

    limit_bytes: int
    limit: str

    def __str__(self) -> str:
        return (
            f"{self.topic}[{self.partition}] offset {self.offset}: "
            f"{self.size_bytes} bytes, above {self.limit} {self.limit_bytes}"
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class Stopped:
    """Partitions that a failed task no longer copies, and the records at which
    it failed.
    """

    connector: str
    task: int
    partitions: frozenset[tuple[str, int]]
    stuck: tuple[Stuck, ...] = ()
    """Records at or after its positions that are too large."""

    note: str = ""
    """Reason why no such record is known, if none is."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TasksObservation:
    """State of the connectors and tasks of one flow's mirror."""

    flow: str
    at: datetime
    origin: str = ""
    """Source of the observation, in words."""

    tasks: tuple[MirrorTask, ...] = ()
    stopped: tuple[Stopped, ...] = ()
    unassigned: frozenset[tuple[str, int]] = frozenset()
    rebalances: int = 0
    window: timedelta = timedelta(hours=1)
    refresh: timedelta | None = None
    """Interval at which the mirror refreshes its topics, each time a reason to
    reassign tasks; `None` if that is not known."""

    version: str | None = None
    """Of the mirror's worker; `None` if that is not known."""

    unproved: timedelta | None = None
    """Time without proof that a worker of the mirror lives, though records are
    pending: no position moved and no heartbeat came. `None` if anything proves
    it."""

    group: GroupTasks | None = None
    """The consumer group of a mirror that does not run on Connect."""

    absent: str | None = None
    problems: tuple[str, ...] = ()


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
    others = render("{number:more topic}", {"number": len(names) - most})
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


EPISODE = timedelta(minutes=1)
"""Rebalances this close together are one: a mirror that starts takes part in
up to six within seconds."""

Key = tuple[str, int | None]


@dataclass(frozen=True, kw_only=True, slots=True)
class TaskHistory:
    """History of the tasks of a Connect cluster within a window."""

    starts: Mapping[Key, int] = field(default_factory=dict)
    failures: Mapping[Key, int] = field(default_factory=dict)
    rebalances: int = 0


def fold(states: Iterable[TaskState], since: datetime) -> TaskHistory:
    """Sum up what was written since a time.

    Parameters
    ----------
    states
        States in the order of their writing, older ones included: they show
        what the first ones within the window changed.
    since
        Begin of the window.
    """
    before: dict[Key, TaskState] = {}
    starts: dict[Key, int] = {}
    failures: dict[Key, int] = {}
    given_out: dict[tuple[str, int], datetime] = {}
    for now in sorted(states, key=lambda state: state.written_at):
        key = (now.connector, now.task)
        old = before.get(key)
        before[key] = now
        if now.state is not None:
            by = (now.worker, now.generation)
            given_out.setdefault(by, now.written_at)
        if now.written_at < since or (old and _is_same(old, now)):
            continue
        if old is None:
            # Its first state is no change: what was before is not known.
            continue
        if now.state == "RUNNING":
            starts[key] = starts.get(key, 0) + 1
        elif now.state == "FAILED":
            failures[key] = failures.get(key, 0) + 1
    return TaskHistory(
        starts=starts,
        failures=failures,
        rebalances=_count_episodes(
            t for t in given_out.values() if t >= since
        ),
    )


def _is_same(old: TaskState, now: TaskState) -> bool:
    return (old.state, old.worker, old.generation) == (
        now.state,
        now.worker,
        now.generation,
    )


def _count_episodes(times: Iterable[datetime]) -> int:
    count, last = 0, None
    for time in sorted(times):
        if last is None or time - last > EPISODE:
            count += 1
        last = time
    return count
