"""What the states that Connect wrote amount to."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from .positions import TaskState

__all__ = ["TaskHistory", "fold"]

EPISODE = timedelta(minutes=1)
"""Rebalances this close together are one: a mirror that starts takes part in
up to six within seconds."""

Key = tuple[str, int | None]


@dataclass(frozen=True, kw_only=True, slots=True)
class TaskHistory:
    """What happened to the tasks of a Connect cluster within a window."""

    starts: Mapping[Key, int] = field(default_factory=dict)
    """How often each connector and task began to run."""

    failures: Mapping[Key, int] = field(default_factory=dict)
    """How often each of them failed."""

    rebalances: int = 0
    """How often tasks were given out anew."""


def fold(states: Iterable[TaskState], since: datetime) -> TaskHistory:
    """Sum up what was written since a time.

    Parameters
    ----------
    states
        States in the order of their writing, older ones included: they tell
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
