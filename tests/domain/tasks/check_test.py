"""What is concluded from the states of tasks."""

from dataclasses import replace
from datetime import timedelta

import pytest

from mirrorwatch.domain.mirror_records import TaskState
from mirrorwatch.domain.report import Health, Verdict
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


def test_nothing_seen_is_unknown_and_nothing_to_see_is_off() -> None:
    verdict = judge_tasks(FLOW.name, None, TasksLimits(), NOON)
    assert verdict.health is Health.UNKNOWN
    assert judged(absent="Nothing tells").health is Health.OFF
    assert judged(task(), problems=("refused",)).health is Health.UNKNOWN
    assert judged().health is Health.UNKNOWN


def test_tasks_that_run_are_ok() -> None:
    verdict = judged(task(number=None), task(), task(number=1))
    assert verdict.health is Health.OK
    assert verdict.reason == "2 of 2 source tasks are running"
    assert judged(task()).reason == "1 of 1 source task is running"


def test_what_only_the_status_topic_says_is_not_believed() -> None:
    verdict = judged(
        task(), origin="topic s at ldf", unproved=timedelta(minutes=9)
    )
    assert verdict.health is Health.UNKNOWN
    assert "no position has moved for 9 min while" in verdict.reason
    failed = judged(task("FAILED"), task(), unproved=timedelta(minutes=9))
    assert failed.health is Health.CRITICAL


def test_a_task_that_failed_is_critical_with_all_it_stopped() -> None:
    stuck = Stuck(
        topic="t",
        partition=1,
        offset=7,
        size_bytes=3000,
        limit_bytes=2000,
        limit="the limit of t,",
    )
    verdict = judged(
        task("FAILED", cause="too large", since=NOW),
        task(number=1),
        stopped=(
            Stopped(
                connector="c",
                task=0,
                partitions=frozenset(
                    {(f"t{n}", p) for n in range(6) for p in range(3)}
                ),
                stuck=(stuck,),
            ),
        ),
    )
    assert verdict.health is Health.CRITICAL
    assert verdict.reason == (
        "Task 0 of c has failed: too large. It is stuck at t[1] offset 7: "
        "3000 bytes, above the limit of t, 2000. 18 partitions are no longer "
        "copied: t0[0-2], t1[0-2], t2[0-2], t3[0-2] and 2 more topics"
    )
    assert "t5[0-2]" in str(verdict.evidence["c-0_not_copied"])


@pytest.mark.parametrize("role", ["checkpoints", "heartbeats"])
def test_other_connectors_of_the_mirror_that_failed_are_critical(
    role: Role,
) -> None:
    other = task("FAILED", None, role=role, connector="other")
    assert judged(task(), other).health is Health.CRITICAL


def test_neighbours_are_shown_and_not_judged() -> None:
    other = task("FAILED", role="neighbour", connector="other")
    verdict = judged(task(), other)
    assert verdict.health is Health.OK
    assert verdict.evidence["neighbours"] == "other-0 FAILED"


def test_between_two_runs_nothing_is_wrong() -> None:
    for state in ("UNASSIGNED", "RESTARTING", "PAUSED"):
        assert judged(task(state, since=NOW)).health is Health.OK


def test_when_no_task_runs_nothing_is_copied() -> None:
    verdict = judged(task("UNASSIGNED"), task("UNASSIGNED", 1))
    assert verdict.health is Health.CRITICAL
    assert "2 of 2 tasks of c have not run" in verdict.reason
    assert "scheduled.rebalance.max.delay.ms" in verdict.reason
    verdict = judged(task("PAUSED"))
    assert verdict.health is Health.CRITICAL
    assert "1 of 1 task of c has not run" in verdict.reason
    assert "connector was paused or stopped" in verdict.reason
    assert judged(task(number=None)).health is Health.CRITICAL


def test_when_some_tasks_do_not_run_it_is_a_warning() -> None:
    verdict = judged(task(), task("UNASSIGNED", 1))
    assert verdict.health is Health.WARNING
    paused = task("PAUSED", role="heartbeats", connector="beats")
    assert judged(task(), paused).health is Health.WARNING


def test_without_groups_there_are_no_checkpoints_to_make() -> None:
    idle = task("RUNNING", None, role="checkpoints", connector="checkpoints")
    assert judged(task(), idle).health is Health.OK


def test_failing_again_and_again_is_flapping() -> None:
    assert judged(task(failures=1, starts=1)).health is Health.OK
    assert judged(task(failures=2, starts=2)).health is Health.WARNING
    assert judged(task(starts=7)).health is Health.WARNING


def test_looks_for_new_topics_are_reasons_to_start_tasks_anew() -> None:
    refresh = timedelta(minutes=10)
    assert judged(task(starts=12), refresh=refresh).health is Health.OK
    assert judged(task(starts=13), refresh=refresh).health is Health.WARNING
    assert judged(task(), rebalances=7).health is Health.WARNING


def test_partitions_that_no_task_has_are_named() -> None:
    verdict = judged(task(), unassigned=frozenset({("t", 3), ("t", 4)}))
    assert verdict.health is Health.WARNING
    assert "t[3-4]" in verdict.reason


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
