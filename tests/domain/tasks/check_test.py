"""Findings of the check `tasks`, and what counts starts and restarts."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from mirrorwatch.domain.mirror_records import TaskState
from mirrorwatch.domain.report import Health, Numbers, Subject, Verdict
from mirrorwatch.domain.tasks.check import TasksLimits, judge_tasks
from mirrorwatch.domain.tasks.model import (
    MirrorTask,
    Role,
    Stopped,
    Stuck,
    TasksObservation,
    find_cause,
    fold,
    name_partitions,
)
from tests.support.builders import FLOW, NOON

LONG_AGO = NOON - timedelta(hours=5)
NOW = NOON - timedelta(seconds=1)
SECOND = timedelta(seconds=1)

TRACE = """\
org.apache.kafka.connect.errors.ConnectException: Unrecoverable exception
\tat org.apache.kafka.connect.runtime.AbstractWorkerSourceTask.maybeThrow
Caused by: org.example.Middle: not this one
\tat org.example
Caused by: org.apache.kafka.common.errors.RecordTooLargeException: The record.
"""


def task(
    state: str = "RUNNING",
    number: int | None = 0,
    *,
    role: Role = "source",
    connector: str = "c",
    since: object = LONG_AGO,
    **more: object,
) -> MirrorTask:
    made = MirrorTask(
        connector=connector,
        role=role,
        number=number,
        state=state,
        since=LONG_AGO,
        worker="w",
    )
    return replace(made, since=since, **more)  # type: ignore[arg-type]


def judged(*tasks: MirrorTask, **more: object) -> Verdict:
    seen = TasksObservation(flow=FLOW.name, at=NOON, tasks=tasks)
    seen = replace(seen, **more)  # type: ignore[arg-type]
    return judge_tasks(FLOW.name, seen, TasksLimits(), NOON)


UNPROVED = {"unproved": timedelta(minutes=9)}
STUCK = Stuck(
    topic="t",
    partition=1,
    offset=7,
    size_bytes=3000,
    limit_bytes=2000,
    limit="the limit of t,",
)
STOPPED = Stopped(
    connector="c",
    task=0,
    partitions=frozenset({(f"t{n}", p) for n in range(6) for p in range(3)}),
    stuck=(STUCK,),
)
IDLE, IDLING = 5 * 3600.0, "UNASSIGNED"
C, C0 = {"connector": "c"}, {"connector": "c", "task": 0}
OTHER = {"connector": "other"}
REFRESH = {"refresh": timedelta(minutes=10)}


@pytest.mark.parametrize(
    ("tasks", "more", "worst", "subject", "numbers"),
    [
        (
            [task(number=None), task(), task(number=1)],
            {},
            (Health.OK, "tasks.ok"),
            {},
            {"running_tasks": 2, "tasks": 2},
        ),
        ([], {}, (Health.UNKNOWN, "tasks.no-data"), {}, {}),
        ([], {"absent": "Nothing tells"}, (Health.OFF, "tasks.off"), {}, {}),
        (
            [task()],
            {"problems": ("refused",)},
            (Health.UNKNOWN, "tasks.unreadable"),
            {},
            {},
        ),
        # What only the status topic says is not believed.
        (
            [task()],
            UNPROVED,
            (Health.UNKNOWN, "tasks.unproved"),
            {},
            {"running_tasks": 1, "tasks": 1, "seconds": 540},
        ),
        (
            [task("FAILED"), task()],
            UNPROVED,
            (Health.CRITICAL, "tasks.failed"),
            C0,
            {},
        ),
        (
            [task("FAILED", cause="too large", since=NOW), task(number=1)],
            {"stopped": (STOPPED,)},
            (Health.CRITICAL, "tasks.failed"),
            C0,
            {"partitions": 18, "stuck_records": 1, "topic": "t", "offset": 7},
        ),
        *(
            (
                [task(), task("FAILED", None, role=role, connector="other")],
                {},
                (Health.CRITICAL, "tasks.failed"),
                OTHER,
                {},
            )
            for role in ("checkpoints", "heartbeats")
        ),
        # Between two runs nothing is wrong.
        *(
            (
                [task(state, since=NOW)],
                {},
                (Health.OK, "tasks.ok"),
                {},
                {"running_tasks": 0, "tasks": 1},
            )
            for state in ("UNASSIGNED", "RESTARTING", "PAUSED")
        ),
        (
            [task("UNASSIGNED"), task("UNASSIGNED", 1)],
            {},
            (Health.CRITICAL, "tasks.idle"),
            C,
            {"idle_tasks": 2, "tasks": 2, "seconds": IDLE, "states": IDLING},
        ),
        (
            [task("PAUSED")],
            {},
            (Health.CRITICAL, "tasks.idle"),
            C,
            {"idle_tasks": 1, "tasks": 1, "seconds": IDLE},
        ),
        (
            [task(number=None)],
            {},
            (Health.CRITICAL, "tasks.idle"),
            C,
            {"idle_tasks": 0, "tasks": 0, "seconds": IDLE},
        ),
        (
            [task(), task("UNASSIGNED", 1)],
            {},
            (Health.WARNING, "tasks.idle"),
            C,
            {"idle_tasks": 1, "tasks": 2, "seconds": IDLE},
        ),
        (
            [task(), task("PAUSED", role="heartbeats", connector="other")],
            {},
            (Health.WARNING, "tasks.idle"),
            OTHER,
            {"idle_tasks": 1, "tasks": 1, "seconds": IDLE},
        ),
        # Without groups there are no checkpoints to make.
        (
            [task(), task("RUNNING", None, role="checkpoints", connector="k")],
            {},
            (Health.OK, "tasks.ok"),
            {},
            {"running_tasks": 1, "tasks": 1},
        ),
        (
            [task(failures=1, starts=1)],
            {},
            (Health.OK, "tasks.ok"),
            {},
            {"running_tasks": 1, "tasks": 1},
        ),
        (
            [task(failures=2, starts=2)],
            {},
            (Health.WARNING, "tasks.flapping"),
            C0,
            {"failures": 2},
        ),
        (
            [task(starts=7)],
            {},
            (Health.WARNING, "tasks.flapping"),
            C0,
            {"starts": 7},
        ),
        # Looks for new topics are reasons to start tasks anew.
        (
            [task(starts=12)],
            REFRESH,
            (Health.OK, "tasks.ok"),
            {},
            {"running_tasks": 1, "tasks": 1},
        ),
        (
            [task(starts=13)],
            REFRESH,
            (Health.WARNING, "tasks.flapping"),
            C0,
            {"starts": 13},
        ),
        (
            [task()],
            {"rebalances": 7},
            (Health.WARNING, "tasks.flapping"),
            {},
            {"rebalances": 7},
        ),
        (
            [task()],
            {"unassigned": frozenset({("t", 3), ("t", 4)})},
            (Health.WARNING, "tasks.unassigned"),
            {},
            {"partitions": 2, "topics": 1, "topic": "t"},
        ),
    ],
)
def test_the_worst_finding(
    tasks: list[MirrorTask],
    more: dict[str, Any],
    worst: tuple[Health, str],
    subject: Subject,
    numbers: Numbers,
) -> None:
    found = judged(*tasks, **more).findings[0]
    assert (found.health, found.code) == worst
    assert found.subject == subject
    assert {name: found.numbers[name] for name in numbers} == numbers


def test_nothing_seen_is_unknown() -> None:
    verdict = judge_tasks(FLOW.name, None, TasksLimits(), NOON)
    assert (verdict.health, verdict.codes) == (
        Health.UNKNOWN,
        ("tasks.no-data",),
    )


def test_neighbours_are_not_judged() -> None:
    other = task("FAILED", role="neighbour", connector="other")
    assert judged(task(), other).codes == ("tasks.ok",)


def test_the_last_cause_is_told() -> None:
    assert find_cause(TRACE) == (
        "org.apache.kafka.common.errors.RecordTooLargeException: The record"
    )
    assert find_cause("one\n\tat two") == "one"
    assert find_cause("") == ""
    assert len(find_cause("Caused by: " + "x" * 5000)) == 300


def test_partitions_are_named_in_stretches() -> None:
    places = [("b", 0), ("a", 3), ("a", 1), ("a", 0), ("a", 5)]
    assert name_partitions(places) == "a[0-1,3,5], b[0]"
    assert name_partitions(places, 1) == "a[0-1,3,5] and 1 more topic"


def state(
    seconds: float,
    name: str | None,
    *,
    generation: int = 1,
    task: int | None = 0,
    worker: str = "w",
) -> TaskState:
    return TaskState(
        connector="c",
        task=task,
        state=name,
        worker=worker,
        trace="",
        generation=generation,
        written_at=NOON + timedelta(seconds=seconds),
    )


def test_starts_and_failures_are_counted() -> None:
    history = fold(
        [
            state(0, "RUNNING"),
            state(10, "FAILED"),
            state(10, "FAILED"),
            state(20, "RUNNING"),
            state(30, "UNASSIGNED"),
            state(31, "RUNNING", generation=2),
        ],
        NOON,
    )
    assert history.starts == {("c", 0): 2}
    assert history.failures == {("c", 0): 1}


def test_what_came_before_the_window_does_not_count() -> None:
    states = [state(0, "RUNNING"), state(10, "FAILED"), state(20, "RUNNING")]
    later = fold(states, NOON + 15 * SECOND)
    assert (later.starts, later.failures) == ({("c", 0): 1}, {})
    assert later.rebalances == 0


def test_rebalances_close_together_are_one() -> None:
    start = [
        state(n, "RUNNING", generation=n, task=n % 2) for n in range(1, 7)
    ]
    again = [state(600 + n, "RUNNING", generation=6 + n) for n in range(1, 4)]
    assert fold(start, NOON).rebalances == 1
    assert fold([*start, *again], NOON).rebalances == 2


def test_a_state_written_late_in_a_generation_is_no_rebalance() -> None:
    states = [state(0, "RUNNING"), state(7200, "FAILED")]
    assert fold(states, NOON + timedelta(hours=1)).rebalances == 0
