"""What the tick is told of tasks, heartbeats and unassigned partitions."""

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime, timedelta

from mirrorwatch.domain.cluster_view import ClusterView, FlowView, TopicFacts
from mirrorwatch.domain.mirror_records import (
    Assignment,
    Companion,
    Connector,
    Heartbeat,
    MirrorFact,
    TaskCount,
    TaskState,
)
from mirrorwatch.domain.tasks.model import TasksObservation
from mirrorwatch.domain.topics import Selection
from mirrorwatch.sources.heartbeats import HeartbeatsSource
from mirrorwatch.sources.mirror_state import MirrorState
from mirrorwatch.sources.tasks import (
    ConnectAnswer,
    TaskFacts,
    TasksSource,
    TasksState,
    UnassignedPartitions,
)
from tests.support.builders import FLOW, NOON

MINUTE = timedelta(minutes=1)
REFRESH = timedelta(minutes=10)


def connector(name: str = "c") -> Connector:
    return Connector(
        name=name,
        selection=Selection(include=("t.*",)),
        refresh=REFRESH,
        max_in_flight=1,
    )


def given(task: int, *places: tuple[str, int]) -> Assignment:
    return Assignment(
        connector="c",
        task=task,
        partitions=frozenset(places),
        written_at=NOON,
    )


def state(
    task: int | None, said: str | None = "RUNNING", *, connector: str = "c"
) -> TaskState:
    return TaskState(
        connector=connector,
        task=task,
        state=said,
        worker="w",
        trace="",
        generation=1,
        written_at=NOON,
    )


def told(*facts: MirrorFact) -> MirrorState:
    """Return positions that were told facts by topics that are all there."""
    positions = MirrorState()
    for fact in facts:
        positions.note(fact)
    for kind in ("status", "heartbeats", "carried", "beats"):
        positions.optional.catch_up(kind, 0)
    return positions


def observed(
    positions: MirrorState,
    found: TasksState | None = None,
    *,
    status: str | None = "status",
    has_rest: bool = False,
) -> TasksObservation:
    found = found or TasksState()
    facts = TaskFacts(
        positions=positions,
        state=found,
        status=status,
        cluster="ldf",
        has_rest=has_rest,
    )
    source = TasksSource(
        flow=FLOW.name, positions=positions, facts=facts, state=found
    )
    (seen,) = source.observe(NOON)
    assert source.up == (seen.problems == ())
    return seen


def names(seen: TasksObservation) -> list[tuple[str, int | None, str, str]]:
    return [(t.connector, t.number, t.role, t.state) for t in seen.tasks]


def test_connectors_are_told_by_what_they_do() -> None:
    seen = observed(
        told(
            connector(),
            Companion(name="beats", role="heartbeats"),
            *(state(n) for n in (None, 0)),
            state(0, connector="beats"),
            state(0, connector="unheard-of"),
        )
    )
    assert names(seen) == [
        ("beats", 0, "heartbeats", "RUNNING"),
        ("c", None, "source", "RUNNING"),
        ("c", 0, "source", "RUNNING"),
        ("unheard-of", 0, "neighbour", "RUNNING"),
    ]


def test_tasks_that_are_no_more_are_not_told() -> None:
    count = TaskCount(connector="c", tasks=1)
    removed = state(0, None, connector="removed")
    seen = observed(told(connector(), count, state(0), state(1), removed))
    assert [t.number for t in seen.tasks] == [0]


def test_restless_neighbours_hide_no_failures_of_a_flow() -> None:
    first = replace(state(0), written_at=NOON - 50 * MINUTE)
    neighbour = Companion(name="neighbour", role="neighbour")
    positions = told(connector(), neighbour, first)
    for minute in range(2):
        ours = [state(0, said) for said in ("FAILED", "RUNNING")]
        others = [
            state(number, said, connector="neighbour")
            for number in range(1000)
            for said in ("UNASSIGNED", "RUNNING")
        ]
        for one in (*ours, *others):
            at = NOON - (30 - minute) * MINUTE
            positions.note(replace(one, written_at=at))
    (task,) = (t for t in observed(positions).tasks if t.connector == "c")
    assert (task.failures, task.starts) == (2, 2)


def test_a_task_that_nobody_began_to_run_is_unassigned() -> None:
    count = TaskCount(connector="c", tasks=2)
    seen = observed(
        told(connector(), count, given(0), given(1), given(2), state(0))
    )
    assert names(seen)[1:] == [("c", 1, "source", "UNASSIGNED")]


def test_without_a_topic_or_an_api_nothing_is_to_be_known() -> None:
    assert observed(MirrorState(), status=None).absent is not None
    missing = MirrorState()
    missing.optional.miss("status")
    assert observed(missing).absent is not None


def test_what_refuses_is_a_problem_and_no_absence() -> None:
    positions = MirrorState()
    (problem,) = observed(positions).problems
    assert "still being read" in problem
    positions.optional.fail("status", "Mirrorwatch lacks READ")
    seen = observed(positions)
    assert (seen.absent, seen.problems) == (None, ("Mirrorwatch lacks READ",))


def test_the_api_is_believed_for_half_a_minute() -> None:
    positions = told(connector(), state(0))
    found = TasksState()

    def problems(answered_at: datetime | None) -> Iterable[str]:
        found.answer.set(ConnectAnswer(at=answered_at, problem="gone"))
        seen = observed(positions, found, status=None, has_rest=True)
        assert bool(seen.tasks) != bool(seen.problems)
        return seen.problems

    assert problems(NOON - MINUTE / 2) == ()
    assert problems(NOON - MINUTE) == ("gone",)
    assert problems(None) == ("gone",)


def test_the_version_is_that_of_the_last_answer() -> None:
    positions, found = told(connector(), state(0)), TasksState()
    assert observed(positions, found).version is None
    found.answer.set(ConnectAnswer(at=NOON, version="4.3.0"))
    assert observed(positions, found).version == "4.3.0"
    found.answer.set(ConnectAnswer(at=NOON, problem="gone"))
    assert observed(positions, found).version is None


def test_the_topic_rules_and_the_silence_of_the_api_is_told() -> None:
    found = TasksState()
    found.answer.set(ConnectAnswer(at=None, problem="gone"))
    seen = observed(told(connector(), state(0)), found, has_rest=True)
    assert seen.origin == "topic status at ldf"
    assert len(seen.tasks) == 1
    assert seen.problems == ("gone",)


def view(at: datetime, **partitions: int) -> FlowView:
    topics = {
        name: TopicFacts(id=name, partitions=count, replication_factor=1)
        for name, count in partitions.items()
    }
    side = ClusterView(alias="summit", id="x", at=at, topics=topics, ends={})
    return FlowView(
        flow=FLOW.name,
        at=at,
        committed={},
        syncs={},
        caught_up=True,
        target=side,
        source=side,
        names={name: name for name in topics},
    )


def test_partitions_without_a_task_are_told_after_two_looks() -> None:
    found = TasksState()
    positions = told(connector(), given(0, ("t", 0)))
    unassigned = UnassignedPartitions(positions, found)
    for minute in (0, 10, 20):
        # What the connector's filter leaves out is not missed.
        unassigned.take(view(NOON + minute * MINUTE, t=2, other=1))
        assert found.unassigned.get() == frozenset()
    unassigned.take(view(NOON + 21 * MINUTE, t=2, other=1))
    assert found.unassigned.get() == {("t", 1)}
    positions.note(given(0, ("t", 0), ("t", 1)))
    unassigned.take(view(NOON + 22 * MINUTE, t=2, other=1))
    assert found.unassigned.get() == frozenset()


def test_a_heartbeats_topic_that_comes_up_later_hides_nothing() -> None:
    positions = told(
        Companion(name="b", role="heartbeats", interval=MINUTE),
        Heartbeat(
            source="summit",
            target="ldf",
            place="target",
            beat_at=NOON,
            written_at=NOON,
        ),
    )
    source = HeartbeatsSource(FLOW.name, positions, ("summit", "ldf"))
    (first,) = source.observe(NOON)
    positions.optional.catch_up("carried", 1)
    (second,) = source.observe(NOON)
    assert first.worker == second.worker is not None
