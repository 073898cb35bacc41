"""Which part is at fault: each row of the table, and what stays silent."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any

import pytest

from mirrorwatch.domain.bottleneck.model import (
    ConsumerMetrics,
    FetchProgress,
    MirrorMetrics,
    MirrorObservation,
    ProducerMetrics,
    TaskMetrics,
    UnreachableProcess,
)
from mirrorwatch.domain.canary.model import CanaryObservation, Loss
from mirrorwatch.domain.cause import (
    ROWS,
    FaultyPart,
    ReachabilityObservation,
    Row,
    Sign,
    find_cause,
)
from mirrorwatch.domain.checks import CHECKS
from mirrorwatch.domain.cluster_view import ClusterAnswer
from mirrorwatch.domain.finding import duration
from mirrorwatch.domain.heartbeats import HeartbeatsObservation, LastHeartbeat
from mirrorwatch.domain.lag.model import (
    LagObservation,
    LagStatus,
    StalledPartition,
)
from mirrorwatch.domain.report import (
    AgentState,
    Cause,
    Flow,
    Health,
    Observation,
)
from mirrorwatch.domain.tasks.model import Stopped
from tests.support.builders import (
    FLOW,
    NOON,
    a_canary,
    a_partition,
    a_verdict,
    some_tasks,
)
from tests.support.page_scenes import healthy
from tests.support.reports import a_lag, a_topic

UNKNOWN, WARNING, CRITICAL = Health.UNKNOWN, Health.WARNING, Health.CRITICAL
SECOND = timedelta(seconds=1)
URL = "http://mm2:8778/jolokia"

BUSY = MirrorMetrics(
    consumer=ConsumerMetrics(
        fetches_per_second=4.0, fetch_latency_average_seconds=0.5
    ),
    producer=ProducerMetrics(
        sends_per_second=10.0, request_latency_average_seconds=0.01
    ),
    tasks=TaskMetrics(active_records=0.0),
    connections={"consumer": 2.0, "producer": 1.0},
)


def answer(alias: str, **more: Any) -> ClusterAnswer:
    said: dict[str, Any] = {
        "answered_at": NOON - SECOND,
        "answering_since": NOON - 600 * SECOND,
        "took": 0.01 * SECOND,
        "usual": 0.01 * SECOND,
    }
    return ClusterAnswer(alias=alias, **(said | more))


def silent(alias: str, seconds: float = 9) -> ClusterAnswer:
    return answer(
        alias,
        answered_at=NOON - seconds * SECOND,
        silent_since=NOON - (seconds - 4) * SECOND,
    )


@dataclass
class World:
    """A flow that is well, until a test changes something."""

    source: ClusterAnswer = field(default_factory=lambda: answer("summit"))
    target: ClusterAnswer = field(default_factory=lambda: answer("ldf"))
    still: float = 0
    """Seconds for which no copy was seen to grow."""

    compared: float = 5
    """Seconds since the look before the last."""

    waits: float = 0
    """Seconds for which records have waited, and nothing moved."""

    beat: float | None = 0.5
    """Age of the worker's last heartbeat; `None` if it makes none."""

    beats: float = 1
    """Seconds between its heartbeats."""

    jmx: MirrorMetrics | None = BUSY
    """What JMX says; `None` if it does not answer."""

    unanswered: float = 0
    """Seconds for which no fetch of the mirror was answered."""

    has_jmx: bool = True
    states: tuple[str, ...] = ("RUNNING", "RUNNING")
    grew_after: float | None = None
    """Seconds since when a copy grew for certain; `None` for never."""

    jmx_since: float = 30
    """Seconds since JMX last answered, where it does not."""

    arrived: float | None = None
    """Age of the last probe that arrived; that of the last copy if `None`."""

    unheard: bool = False
    """Whether copies were not compared yet."""

    stopped: tuple[Stopped, ...] = ()
    late: float = 0
    unacked: float | None = None
    losses: tuple[Loss, ...] = ()
    last_late: float | None = None
    bad: Mapping[str, Health] = field(default_factory=dict)
    began: float = 3
    """Seconds since when the checks are bad."""

    def observations(self) -> list[Observation]:
        seen: list[Observation] = [
            ReachabilityObservation(
                flow=FLOW.name,
                at=NOON - SECOND,
                source=self.source,
                target=self.target,
                compared_since=None
                if self.unheard
                else NOON - self.compared * SECOND,
                compared_at=None if self.unheard else NOON,
                grew=self.still == 0,
                still_since=NOON - self.still * SECOND,
                grew_after=None
                if self.grew_after is None
                else NOON - self.grew_after * SECOND,
            ),
            self.lag(),
            self.canary(),
            replace(
                some_tasks(NOON, self.states, since=NOON - 60 * SECOND),
                stopped=self.stopped,
            ),
        ]
        if self.beat is not None:
            at = NOON - self.beat * SECOND
            seen.append(
                HeartbeatsObservation(
                    flow=FLOW.name,
                    at=NOON,
                    interval=self.beats * SECOND,
                    worker=LastHeartbeat(beat_at=at, seen_at=at),
                )
            )
        if self.has_jmx:
            unread = UnreachableProcess(
                url=URL,
                reason="No answer",
                since=NOON - self.jmx_since * SECOND,
            )
            seen.append(
                MirrorObservation(
                    flow=FLOW.name,
                    at=NOON,
                    metrics=self.jmx or MirrorMetrics(),
                    answering=() if self.jmx is None else (URL,),
                    unread=(unread,) if self.jmx is None else (),
                    progress=None
                    if self.jmx is None
                    else FetchProgress(
                        fetches={"": 100},
                        read_at=NOON - SECOND,
                        still_since=NOON - (self.unanswered + 1) * SECOND,
                        answered_after=NOON - (self.unanswered + 4) * SECOND,
                    ),
                )
            )
        return seen

    def canary(self) -> CanaryObservation:
        arrived = self.arrived
        if arrived is None:
            arrived = max(self.still, 0.2)
        partition = replace(
            a_partition(0, last_arrival=NOON - arrived * SECOND),
            oldest_unacked=None
            if self.unacked is None
            else NOON - self.unacked * SECOND,
            last_late=None
            if self.last_late is None
            else NOON - self.last_late * SECOND,
        )
        seen = a_canary(NOON, partitions=[partition])
        return replace(seen, losses=self.losses)

    def lag(self) -> LagObservation:
        if self.source.silent_since is not None:
            return a_lag([], NOON)
        if not self.waits:
            return a_lag([a_topic("a")], NOON)
        standing = StalledPartition(
            partition=0,
            position=7,
            origin="sync",
            status=LagStatus.STOPPED,
            stuck=self.waits * SECOND,
        )
        topic = a_topic("a", records=12, status=LagStatus.STOPPED)
        return a_lag([replace(topic, standing=(standing,))], NOON)

    def cause(self) -> Cause | None:
        since = NOON - self.began * SECOND
        verdicts = [
            a_verdict(self.bad.get(check, Health.OK), check=check, since=since)
            for check in CHECKS
        ]
        return find_cause(
            FLOW,
            verdicts,
            self.observations(),
            AgentState(tick_late=self.late * SECOND),
            NOON,
        )


BLIND = {"canary": UNKNOWN, "lag": UNKNOWN, "topics": UNKNOWN}
STOPS = {"canary": CRITICAL, "lag": CRITICAL, "heartbeats": WARNING}
SLOWS = {"latency": WARNING, "lag": WARNING}

CUT = replace(
    BUSY,
    consumer=ConsumerMetrics(fetches_per_second=2.0),
    connections={"consumer": 0.0, "producer": 1.0},
)
"""No consumer has a connection, and rates still speak of the minute before."""

FULL = replace(
    BUSY,
    producer=ProducerMetrics(sends_per_second=4.0),
    tasks=TaskMetrics(active_records=400.0),
    connections={"consumer": 2.0, "producer": 0.0},
)
"""The producer has no connection, and records wait for it."""


def stopped_at(partition: int) -> Stopped:
    """Return what a task no longer copies: one partition."""
    return Stopped(
        connector="MirrorSourceConnector",
        task=1,
        partitions=frozenset({("a", partition)}),
    )


FAULTS = [
    pytest.param(
        World(source=silent("summit"), still=9, jmx=CUT, bad=BLIND),
        FaultyPart.SOURCE_OR_LINK,
        id="source broker stopped",
    ),
    pytest.param(
        World(source=silent("summit", 20), still=20, unanswered=12, bad=BLIND),
        FaultyPart.SOURCE_OR_LINK,
        id="source broker hangs",
    ),
    pytest.param(
        World(
            source=silent("summit"),
            still=9,
            has_jmx=False,
            beat=None,
            bad=BLIND,
        ),
        FaultyPart.SOURCE_OR_LINK,
        id="link cut for mirror and agent, and no JMX",
    ),
    pytest.param(
        World(still=20, waits=15, jmx=CUT, bad=STOPS),
        FaultyPart.LINK,
        id="link cut for the mirror only",
    ),
    pytest.param(
        World(still=20, waits=15, unanswered=12, bad=STOPS),
        FaultyPart.LINK,
        id="link stalled for the mirror only",
    ),
    pytest.param(
        World(still=20, waits=15, has_jmx=False, bad=STOPS),
        FaultyPart.MIRROR_OR_LINK,
        id="link cut for the mirror only, and no JMX",
    ),
    pytest.param(
        World(
            source=answer("summit", took=0.35 * SECOND),
            bad=SLOWS,
        ),
        FaultyPart.SOURCE_OR_LINK,
        id="link slow",
    ),
    pytest.param(
        World(
            jmx=replace(
                BUSY,
                consumer=ConsumerMetrics(
                    fetches_per_second=0.3,
                    fetch_latency_average_seconds=4.1,
                ),
            ),
            bad={"bottleneck": WARNING},
        ),
        FaultyPart.LINK,
        id="link slow for the mirror only",
    ),
    pytest.param(
        World(still=30, waits=25, beat=25, jmx=None, bad=STOPS),
        FaultyPart.MIRROR,
        id="mirror frozen",
    ),
    pytest.param(
        World(still=30, waits=25, beat=25, jmx=None, late=6, bad=STOPS),
        FaultyPart.MIRROR,
        id="mirror frozen beside an agent that is late, too",
    ),
    pytest.param(
        World(still=30, waits=25, beat=25, has_jmx=False, bad=STOPS),
        FaultyPart.MIRROR,
        id="mirror frozen, and no JMX",
    ),
    pytest.param(
        World(
            states=("RUNNING", "FAILED"),
            bad={"tasks": CRITICAL, "lag": CRITICAL},
        ),
        FaultyPart.MIRROR,
        id="one task failed",
    ),
    pytest.param(
        World(
            states=("RUNNING", "FAILED"),
            stopped=(stopped_at(0),),
            still=50,
            waits=45,
            has_jmx=False,
            bad={"tasks": CRITICAL, "lag": CRITICAL},
        ),
        FaultyPart.MIRROR,
        id="one task failed, and only its records wait",
    ),
    pytest.param(
        World(
            states=("RUNNING", "FAILED"),
            stopped=(stopped_at(7),),
            still=20,
            waits=15,
            jmx=CUT,
            bad=STOPS,
        ),
        FaultyPart.LINK,
        id="link cut while one task is failed",
    ),
    pytest.param(
        World(
            states=("FAILED", "FAILED"),
            still=50,
            waits=45,
            bad={"tasks": CRITICAL},
            began=30,
        ),
        FaultyPart.MIRROR,
        id="all tasks failed",
    ),
    pytest.param(
        World(
            still=30,
            waits=25,
            beat=4000,
            grew_after=35,
            has_jmx=False,
            bad=STOPS,
        ),
        FaultyPart.MIRROR_OR_LINK,
        id="a stop, long after the heartbeat connector failed",
    ),
    pytest.param(
        World(
            still=500,
            waits=495,
            beat=700,
            beats=60,
            grew_after=505,
            has_jmx=False,
            bad=STOPS,
        ),
        FaultyPart.MIRROR,
        id="mirror frozen, which beats once a minute only",
    ),
    pytest.param(
        World(
            still=30,
            waits=25,
            beat=None,
            jmx=None,
            jmx_since=4000,
            grew_after=35,
            bad=STOPS,
        ),
        FaultyPart.MIRROR_OR_LINK,
        id="a stop, long after JMX ceased to answer",
    ),
    pytest.param(
        World(
            source=silent("summit"),
            still=9,
            beat=4000,
            grew_after=14,
            has_jmx=False,
            bad=BLIND,
        ),
        FaultyPart.SOURCE_OR_LINK,
        id="source silent, long after the heartbeat connector failed",
    ),
    pytest.param(
        World(
            source=silent("summit", 24),
            unheard=True,
            has_jmx=False,
            bad=BLIND,
        ),
        FaultyPart.SOURCE_OR_LINK,
        id="source silent since the agent's start",
    ),
    pytest.param(
        World(
            states=("PAUSED", "PAUSED"),
            still=50,
            waits=45,
            bad={"tasks": CRITICAL},
            began=30,
        ),
        FaultyPart.MIRROR,
        id="mirror paused",
    ),
    pytest.param(
        World(target=silent("ldf"), still=9, jmx=FULL, bad=BLIND),
        FaultyPart.TARGET,
        id="target stopped",
    ),
    pytest.param(
        World(target=silent("ldf"), still=9, has_jmx=False, bad=BLIND),
        FaultyPart.TARGET,
        id="target stopped, and no JMX",
    ),
    pytest.param(
        World(still=20, waits=15, jmx=FULL, bad=STOPS),
        FaultyPart.TARGET,
        id="target takes no records",
    ),
    pytest.param(
        World(target=answer("ldf", took=0.5 * SECOND), bad=SLOWS),
        FaultyPart.TARGET,
        id="target slow",
    ),
    pytest.param(
        World(
            jmx=replace(
                BUSY,
                producer=ProducerMetrics(
                    sends_per_second=3.0,
                    request_latency_average_seconds=1.7,
                ),
            ),
            bad={"latency": WARNING},
        ),
        FaultyPart.TARGET,
        id="target slow for the mirror",
    ),
    pytest.param(
        World(
            still=30,
            unacked=25,
            bad={"canary": UNKNOWN},
        ),
        FaultyPart.SOURCE,
        id="source stores nothing",
    ),
    pytest.param(
        World(
            source=silent("summit"),
            target=silent("ldf"),
            still=9,
            has_jmx=False,
            bad=BLIND,
        ),
        FaultyPart.MONITOR,
        id="both clusters silent",
    ),
    pytest.param(
        World(source=silent("summit", 18), compared=9, bad=BLIND),
        FaultyPart.MONITOR,
        id="the agent's own path cut",
    ),
    pytest.param(
        World(source=silent("summit", 18), still=18, bad=BLIND),
        FaultyPart.MONITOR,
        id="the agent's own path cut, and nothing to copy",
    ),
    pytest.param(
        World(
            late=6.5,
            source=answer("summit", took=2 * SECOND),
            target=answer("ldf", took=2 * SECOND),
            last_late=5,
            bad={"canary": WARNING, "latency": CRITICAL},
        ),
        FaultyPart.MONITOR,
        id="agent starved of CPU",
    ),
]
"""A fault for each row of the table, some of them seen in several ways."""


def row_of(cause: Cause) -> Row:
    """Return the row that gave a cause."""
    seen = (cause.code, cause.part, len(cause.evidence), cause.stops)
    (found,) = (
        row
        for row in ROWS
        if seen
        == (
            row.code.name,
            row.part.value,
            len(row.must),
            row.stops and not row.slow,
        )
    )
    return found


@pytest.mark.parametrize(("world", "part"), FAULTS)
def test_each_fault_is_named(world: World, part: FaultyPart) -> None:
    cause = world.cause()
    assert cause is not None
    assert cause.part == part
    assert set(cause.symptoms) == set(world.bad)
    assert cause.evidence
    # What the other tasks copy goes on, and what is not known may.
    known = Sign.TASK_FAILED not in row_of(cause).must and not world.unheard
    stops = world.still > 0 and known
    assert cause.stops == (stops and part is not FaultyPart.MONITOR)


@pytest.mark.parametrize(("world", "part"), FAULTS)
def test_a_fault_that_no_check_suffers_from_is_not_named(
    world: World, part: FaultyPart
) -> None:
    del part
    assert replace(world, bad={}).cause() is None
    of_its_own = {"skips": CRITICAL, "configs": WARNING}
    assert replace(world, bad=of_its_own).cause() is None


def test_each_row_of_the_table_is_the_cause_of_a_fault() -> None:
    causes = [case.values[0].cause() for case in FAULTS]  # type: ignore[union-attr]
    assert {row_of(cause) for cause in causes if cause} == {*ROWS}


A_LOSS = Loss(
    flow=FLOW.name,
    partition=0,
    sequence=3,
    source_offset=7,
    sent_at=NOON,
    proved_at=NOON,
    proof="The committed position is 50",
)


@pytest.mark.parametrize(
    "world",
    [
        pytest.param(World(), id="all ok"),
        pytest.param(World(bad={"skips": CRITICAL}), id="a skipped record"),
        pytest.param(World(bad={"configs": WARNING}), id="drift of a topic"),
        pytest.param(World(bad={"bottleneck": UNKNOWN}), id="no JMX metrics"),
        pytest.param(World(bad={"latency": WARNING}), id="slow, and no sign"),
        pytest.param(
            World(losses=(A_LOSS,), bad={"canary": CRITICAL}),
            id="a lost probe",
        ),
        pytest.param(
            World(
                losses=(A_LOSS,),
                source=answer("summit", took=0.35 * SECOND),
                bad={"canary": CRITICAL, "skips": CRITICAL},
            ),
            id="lost records on a link that is slow",
        ),
        pytest.param(
            World(
                source=silent("summit", 40),
                still=40,
                beat=30,
                jmx=None,
                bad=BLIND | {"bottleneck": UNKNOWN},
            ),
            id="source silent, and the mirror dead",
        ),
        pytest.param(
            World(source=silent("summit"), still=9, bad=BLIND),
            id="source silent, the mirror read from it a moment ago",
        ),
        pytest.param(
            World(source=silent("summit"), has_jmx=False, bad=BLIND),
            id="source silent, and records in flight arrive",
        ),
        pytest.param(
            World(still=11, waits=11, beat=8, has_jmx=False, bad=STOPS),
            id="a stop, and a heartbeat that may come",
        ),
        pytest.param(
            World(still=20, waits=15, bad=STOPS),
            id="a stop while JMX says that all goes on",
        ),
        pytest.param(
            World(
                jmx=replace(
                    BUSY,
                    consumer=ConsumerMetrics(
                        fetches_per_second=0.3,
                        fetch_latency_average_seconds=4.1,
                        fetch_throttle_max_seconds=3.0,
                    ),
                ),
                bad={"bottleneck": WARNING},
            ),
            id="a quota at the source",
        ),
        pytest.param(
            World(
                source=answer("summit", took=0.35 * SECOND),
                target=answer("ldf", took=0.35 * SECOND),
                bad=SLOWS,
            ),
            id="both clusters slow",
        ),
        pytest.param(
            World(
                source=answer("summit", answering_since=NOON - 9 * SECOND),
                still=30,
                unacked=25,
                bad={"canary": UNKNOWN},
            ),
            id="source back a moment ago, probes not acknowledged yet",
        ),
        pytest.param(
            World(still=30, unacked=25, arrived=1, bad={"canary": WARNING}),
            id="one broker of a quiet source is down",
        ),
        pytest.param(
            World(source=silent("summit"), still=9, jmx=CUT),
            id="nothing is bad yet",
        ),
    ],
)
def test_no_cause_is_named_where_none_stands_out(world: World) -> None:
    assert world.cause() is None


def test_a_fault_of_its_own_is_no_symptom() -> None:
    own = {"skips": CRITICAL, "configs": WARNING, "audit": UNKNOWN}
    world = World(still=20, waits=15, jmx=CUT, bad=STOPS | own)
    cause = world.cause()
    assert cause is not None
    assert set(cause.symptoms) == set(STOPS)
    world.losses = (A_LOSS,)
    cause = world.cause()
    assert cause is not None
    assert set(cause.symptoms) == set(STOPS) - {"canary"}


def test_what_was_bad_before_is_no_symptom() -> None:
    world = World(source=silent("summit"), still=9, jmx=CUT, bad=BLIND)
    world.began = 300
    assert world.cause() is None


def test_a_cause_says_since_when_and_by_what() -> None:
    world = World(still=40, waits=30, jmx=CUT, bad=STOPS)
    cause = world.cause()
    assert cause is not None
    assert cause.since == NOON - 30 * SECOND
    assert cause.code == "link.broken"
    assert duration(30) in cause.headline
    assert duration(30) not in cause.reason
    assert len(cause.evidence) == 4


def test_a_source_that_was_never_heard_is_named() -> None:
    never = ClusterAnswer(alias="summit", silent_since=NOON - 20 * SECOND)
    world = World(source=never, has_jmx=False, bad=BLIND)
    seen = [
        replace(fact, compared_at=None, compared_since=None, still_since=None)
        if isinstance(fact, ReachabilityObservation)
        else fact
        for fact in world.observations()
    ]
    verdicts = [a_verdict(UNKNOWN, check="lag", since=NOON)]
    cause = find_cause(FLOW, verdicts, seen, AgentState(), NOON)
    assert cause is not None
    assert cause.part == FaultyPart.SOURCE_OR_LINK
    # A mirror that this agent has never seen may copy all the same.
    assert not cause.stops
    assert cause.code == "cluster.silent"


def test_fetches_are_answered_while_their_number_grows() -> None:
    begun = FetchProgress(fetches={"a": 7}, read_at=NOON, still_since=NOON)
    assert begun.note({"a": 9}, NOON) == begun  # the same reading
    still = begun.note({"a": 7}, NOON + 5 * SECOND)
    assert (still.still_since, still.answered_after) == (NOON, None)
    grown = still.note({"a": 9}, NOON + 10 * SECOND)
    assert grown.still_since == NOON + 10 * SECOND
    assert grown.answered_after == NOON + 5 * SECOND
    anew = grown.note({"a": 1}, NOON + 15 * SECOND)
    assert anew.still_since == NOON + 15 * SECOND
    assert anew.answered_after == grown.answered_after


def test_a_process_that_answers_again_shows_no_answered_fetch() -> None:
    """While it does not, its fetches are missing from the reading."""
    seen = FetchProgress(
        fetches={"a": 7, "b": 90}, read_at=NOON, still_since=NOON
    )
    for after, fetches in enumerate(
        ({"a": 7}, {"a": 7}, {"a": 7, "b": 90}, {"a": 7, "b": 90}), start=1
    ):
        seen = seen.note(fetches, NOON + after * 5 * SECOND)
        assert (seen.still_since, seen.answered_after) == (NOON, None)
    # It is answered indeed.
    seen = seen.note({"a": 7, "b": 91}, NOON + 25 * SECOND)
    assert seen.answered_after == NOON + 20 * SECOND
    # Nothing is known of others alone.
    seen = seen.note({"c": 5}, NOON + 30 * SECOND)
    assert seen.still_since == NOON + 30 * SECOND
    assert seen.answered_after == NOON + 20 * SECOND


def test_a_canary_that_hangs_is_the_monitors_own() -> None:
    world = World(bad={"canary": UNKNOWN})
    seen = [
        replace(fact, at=NOON - 7 * SECOND)
        if isinstance(fact, CanaryObservation)
        else fact
        for fact in world.observations()
    ]
    verdicts = [a_verdict(UNKNOWN, check="canary", since=NOON)]
    cause = find_cause(FLOW, verdicts, seen, AgentState(), NOON)
    assert cause is not None
    assert cause.part == FaultyPart.MONITOR


def test_a_survey_that_hangs_proves_nothing() -> None:
    world = World(target=silent("ldf"), still=9, has_jmx=False, bad=BLIND)
    assert world.cause() is not None
    seen = [
        replace(fact, at=NOON - 200 * SECOND)
        if isinstance(fact, ReachabilityObservation)
        else fact
        for fact in world.observations()
    ]
    verdicts = [a_verdict(UNKNOWN, check="lag", since=NOON)]
    assert find_cause(FLOW, verdicts, seen, AgentState(), NOON) is None


def test_a_healthy_site_has_no_cause() -> None:
    report = healthy(NOON)
    for flow in (*report.flows, Flow(name="x", source="a", target="b")):
        assert (
            find_cause(
                flow, report.verdicts, report.observations, report.agent, NOON
            )
            is None
        )


def test_no_row_contradicts_itself_and_every_sign_is_used() -> None:
    used: Collection[Sign] = {s for row in ROWS for s in row.must + row.never}
    assert set(used) == set(Sign)
    for row in ROWS:
        assert not {*row.must} & {*row.never}
