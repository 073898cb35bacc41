"""The cause of what the checks of a flow report: which part is at fault.

Signs are read from what was observed, and `ROWS` says what they mean together.
The first row that holds is the cause; where none holds, none is named.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum, auto
from typing import TypeVar

from . import cause_texts as texts
from .bottleneck.model import MirrorObservation
from .canary.model import CanaryObservation
from .cluster_view import ClusterAnswer, TopicPartition
from .finding import Code, Scalar, render
from .heartbeats import HeartbeatsObservation
from .lag.model import STALE, LagObservation, LagStatus
from .report import (
    AgentState,
    Cause,
    Flow,
    Health,
    Observation,
    Verdict,
)
from .tasks.model import TasksObservation

__all__ = ["ROWS", "FaultyPart", "ReachabilityObservation", "Row", "Sign"]
__all__ += ["find_cause", "may_follow"]


@dataclass(frozen=True, kw_only=True, slots=True)
class ReachabilityObservation:
    """Reachability of both clusters of a flow, and arrival of copies."""

    flow: str
    at: datetime
    source: ClusterAnswer
    target: ClusterAnswer
    compared_since: datetime | None = None
    """Time of the reading of the copies' log ends before the last one."""

    compared_at: datetime | None = None
    """Time of the last reading of the copies' log ends, compared with the one
    before; `None` if there was none."""

    grew: bool = False
    still_since: datetime | None = None
    grew_after: datetime | None = None
    """A time after which one grew for certain; `None` for never."""

    def copied_after(self, at: datetime) -> bool:
        """Return whether records were copied for long after a time."""
        return self.grew_after is not None and self.grew_after - at > LIVES_ON


LIVES_ON = timedelta(minutes=1)
"""Time for which a mirror must copy after a failure before a later stop has
another reason: what was in flight arrives within seconds."""


class FaultyPart(StrEnum):
    """Part that can be at fault; a pair where the agent cannot tell which."""

    SOURCE = "source"
    LINK = "link"
    MIRROR = "mirror"
    TARGET = "target"
    MONITOR = "monitor"
    SOURCE_OR_LINK = "source or link"
    MIRROR_OR_LINK = "mirror or link"


class Sign(StrEnum):
    """Observed sign. A missing sign proves nothing: it may be unknown."""

    AGENT_LATE = auto()
    SOURCE_ANSWERS = auto()
    SOURCE_SILENT = auto()
    SOURCE_SLOW = auto()
    SOURCE_QUICK = auto()
    TARGET_ANSWERS = auto()
    TARGET_SILENT = auto()
    TARGET_SLOW = auto()
    TARGET_QUICK = auto()
    UNACKED = auto()
    COPIED = auto()
    NOT_COPIED = auto()
    STOPPED = auto()
    COPIES_UNKNOWN = auto()
    TASK_FAILED = auto()
    TASK_STOPPED = auto()
    WORKER_LATE = auto()
    WORKER_SILENT = auto()
    FETCHED = auto()
    FETCHED_SINCE = auto()
    UNFETCHED = auto()
    FETCHES_SLOW = auto()
    UNSENT = auto()
    SENDS_SLOW = auto()
    THROTTLED = auto()


STOP = frozenset(
    {
        *("canary", "latency", "lag", "retention", "tasks", "heartbeats"),
        *("checkpoints", "failover", "bottleneck"),
    }
)
"""Checks whose warnings follow from a stop. What the others find is a fault of
its own."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Row:
    """Row of the table of causes."""

    code: Code
    part: FaultyPart
    must: tuple[Sign, ...]
    never: tuple[Sign, ...] = ()
    slow: bool = False
    stops: bool = True
    """Cause is known to stop all copying."""


ROWS = (
    Row(
        code=texts.MONITOR_CUT_OFF,
        part=FaultyPart.MONITOR,
        must=(Sign.SOURCE_SILENT, Sign.TARGET_SILENT),
        stops=False,
    ),
    Row(
        code=texts.MONITOR_ISOLATED,
        part=FaultyPart.MONITOR,
        must=(Sign.SOURCE_SILENT, Sign.TARGET_ANSWERS, Sign.COPIED),
        stops=False,
    ),
    Row(
        code=texts.MONITOR_ISOLATED,
        part=FaultyPart.MONITOR,
        must=(Sign.SOURCE_SILENT, Sign.FETCHED_SINCE),
        stops=False,
    ),
    Row(
        code=texts.CLUSTER_SILENT,
        part=FaultyPart.SOURCE_OR_LINK,
        must=(Sign.SOURCE_SILENT, Sign.TARGET_ANSWERS, Sign.NOT_COPIED),
        never=(Sign.FETCHED, Sign.WORKER_SILENT),
    ),
    Row(
        code=texts.CLUSTER_SILENT,
        part=FaultyPart.SOURCE_OR_LINK,
        must=(Sign.SOURCE_SILENT, Sign.TARGET_ANSWERS, Sign.COPIES_UNKNOWN),
        never=(Sign.FETCHED, Sign.WORKER_SILENT),
        stops=False,
    ),
    Row(
        code=texts.CLUSTER_SILENT,
        part=FaultyPart.TARGET,
        must=(Sign.TARGET_SILENT, Sign.SOURCE_ANSWERS),
        never=(Sign.WORKER_SILENT,),
    ),
    Row(
        code=texts.CLUSTER_NOT_STORING,
        part=FaultyPart.SOURCE,
        must=(Sign.SOURCE_ANSWERS, Sign.UNACKED, Sign.NOT_COPIED),
    ),
    Row(
        code=texts.MIRROR_TASKS_STOPPED,
        part=FaultyPart.MIRROR,
        must=(
            Sign.TASK_STOPPED,
            Sign.SOURCE_ANSWERS,
            Sign.TARGET_ANSWERS,
        ),
    ),
    Row(
        code=texts.MIRROR_TASKS_FAILED,
        part=FaultyPart.MIRROR,
        must=(
            Sign.TASK_FAILED,
            Sign.SOURCE_ANSWERS,
            Sign.TARGET_ANSWERS,
        ),
        stops=False,
    ),
    Row(
        code=texts.LINK_BROKEN,
        part=FaultyPart.LINK,
        must=(
            Sign.STOPPED,
            Sign.UNFETCHED,
            Sign.SOURCE_ANSWERS,
            Sign.TARGET_ANSWERS,
        ),
        never=(Sign.UNSENT,),
    ),
    Row(
        code=texts.CLUSTER_NOT_STORING,
        part=FaultyPart.TARGET,
        must=(
            Sign.STOPPED,
            Sign.UNSENT,
            Sign.SOURCE_ANSWERS,
            Sign.TARGET_ANSWERS,
        ),
    ),
    Row(
        code=texts.MIRROR_STOPPED,
        part=FaultyPart.MIRROR,
        must=(
            Sign.STOPPED,
            Sign.WORKER_SILENT,
            Sign.SOURCE_ANSWERS,
            Sign.TARGET_ANSWERS,
        ),
    ),
    Row(
        code=texts.MIRROR_NOT_COPYING,
        part=FaultyPart.MIRROR_OR_LINK,
        must=(Sign.STOPPED, Sign.SOURCE_ANSWERS, Sign.TARGET_ANSWERS),
        never=(
            *(Sign.FETCHED, Sign.UNFETCHED, Sign.UNSENT),
            *(Sign.WORKER_LATE, Sign.WORKER_SILENT),
        ),
    ),
    Row(
        code=texts.MONITOR_LATE,
        part=FaultyPart.MONITOR,
        must=(Sign.AGENT_LATE,),
        stops=False,
    ),
    Row(
        code=texts.CLUSTER_SLOW,
        part=FaultyPart.SOURCE_OR_LINK,
        must=(Sign.SOURCE_SLOW, Sign.TARGET_QUICK),
        slow=True,
    ),
    Row(
        code=texts.CLUSTER_SLOW,
        part=FaultyPart.TARGET,
        must=(Sign.TARGET_SLOW, Sign.SOURCE_QUICK),
        slow=True,
    ),
    Row(
        code=texts.CLUSTER_SLOW,
        part=FaultyPart.TARGET,
        must=(Sign.SENDS_SLOW, Sign.SOURCE_QUICK, Sign.TARGET_ANSWERS),
        never=(Sign.THROTTLED,),
        slow=True,
    ),
    Row(
        code=texts.LINK_SLOW,
        part=FaultyPart.LINK,
        must=(Sign.FETCHES_SLOW, Sign.SOURCE_QUICK, Sign.TARGET_QUICK),
        never=(Sign.THROTTLED, Sign.SENDS_SLOW),
        slow=True,
    ),
)
"""Meaning of signs: the first row that holds is the cause."""


@dataclass(frozen=True, slots=True)
class Seen:
    """Evidence of one sign."""

    text: str
    since: datetime | None = None


def _seen(
    kind: str, since: datetime | None = None, **values: Scalar | timedelta
) -> Seen:
    numbers: dict[str, Scalar] = {"mirror": "{mirror}"}
    for name, value in values.items():
        numbers[name] = (
            value.total_seconds() if isinstance(value, timedelta) else value
        )
    return Seen(render(texts.EVIDENCE[kind], numbers), since)


T = TypeVar("T")


@dataclass(frozen=True, kw_only=True, slots=True)
class _Facts:
    """Facts observed of one flow in one tick."""

    flow: Flow
    now: datetime
    agent: AgentState
    reach: ReachabilityObservation | None
    canary: CanaryObservation | None
    lag: LagObservation | None
    tasks: TasksObservation | None
    heartbeats: HeartbeatsObservation | None
    mirror: MirrorObservation | None


def find_cause(
    flow: Flow,
    verdicts: Iterable[Verdict],
    seen: Iterable[Observation],
    agent: AgentState,
    now: datetime,
) -> Cause | None:
    """Name the part that is at fault; `None` if nothing is, or none stands
    out.

    Parameters
    ----------
    flow
        The flow.
    verdicts
        Verdicts on it.
    seen
        Observations of the flow.
    agent
        State of the agent itself.
    now
        The time.
    """
    bad = [v for v in verdicts if v.health > Health.OK]
    if not bad:
        return None
    seen = list(seen)

    def newest(kind: type[T]) -> T | None:
        found = [fact for fact in seen if isinstance(fact, kind)]
        return found[-1] if found else None

    facts = _Facts(
        flow=flow,
        now=now,
        agent=agent,
        reach=newest(ReachabilityObservation),
        canary=newest(CanaryObservation),
        lag=newest(LagObservation),
        tasks=newest(TasksObservation),
        heartbeats=newest(HeartbeatsObservation),
        mirror=newest(MirrorObservation),
    )
    signs = dict(_signs(facts))
    for row in ROWS:
        if signs.keys() >= {*row.must} and not signs.keys() & {*row.never}:
            return _to_cause(row, signs, bad, facts)
    return None


def _to_cause(
    row: Row,
    signs: dict[Sign, Seen],
    bad: Sequence[Verdict],
    facts: _Facts,
) -> Cause | None:
    evidence = [signs[sign] for sign in row.must]
    began = min((e.since for e in evidence if e.since), default=None)
    apart = _own_faults(facts, slow=row.slow)
    symptoms = [
        verdict
        for verdict in bad
        if may_follow(verdict.check, verdict.health)
        and (verdict.health is Health.UNKNOWN or verdict.check not in apart)
        and (began is None or verdict.since >= began - BEFORE)
        and (not row.slow or _is_slow(verdict))
    ]
    if not symptoms:
        return None
    flow = facts.flow
    at_target = row.part is FaultyPart.TARGET
    subject = {
        "source": flow.source,
        "target": flow.target,
        "cluster": flow.target if at_target else flow.source,
    }
    health = max(v.health for v in symptoms)
    since = began or min(v.since for v in symptoms)
    lasted = (facts.now - since).total_seconds()
    finding = row.code.found(health, subject)
    return Cause(
        flow=facts.flow.name,
        code=finding.code,
        part=row.part.value,
        reason=finding.title,
        headline=row.code.found(health, subject, lasted=lasted).title,
        since=since,
        evidence=tuple(e.text for e in evidence),
        symptoms=tuple(v.check for v in symptoms),
        stops=row.stops and not row.slow,
        subject=subject,
    )


BEFORE = timedelta(minutes=1)
"""Tolerance before the first sign in which a symptom may have begun: each is
polled at its own interval."""


RECENT = timedelta(minutes=10)
"""Window in which a late probe keeps its check at warning, by default."""


def _own_faults(facts: _Facts, *, slow: bool) -> frozenset[str]:
    """Return checks that are bad for reasons of their own: lost probes, or
    none that were late where records are only slow.
    """
    canary = facts.canary
    if canary is None:
        return frozenset()
    late = any(
        p.last_late is not None and facts.now - p.last_late <= RECENT
        for p in canary.partitions
    )
    own = bool(canary.losses) or (slow and not late)
    return frozenset({"canary"} if own else ())


def may_follow(check: str, health: Health) -> bool:
    """Return whether a check may be so because of a fault that is elsewhere.

    Records that tasks dropped are a fault of their own, and an audit speaks
    of yesterday.
    """
    if health is Health.UNKNOWN:
        return check != "audit"
    if check == "bottleneck":
        return health is Health.WARNING
    return check in STOP


def _is_slow(verdict: Verdict) -> bool:
    return verdict.health > Health.UNKNOWN and verdict.check != "tasks"


def _signs(facts: _Facts) -> Iterator[tuple[Sign, Seen]]:
    yield from _signs_of_agent(facts)
    reach = facts.reach
    if reach is not None and facts.now - reach.at <= STALE:
        yield from _signs_of_clusters(reach, facts)
        yield from _signs_of_copies(reach, facts)
    yield from _signs_of_tasks(facts)
    yield from _signs_of_worker(facts)
    if facts.mirror is not None and facts.mirror.answering:
        yield from _signs_of_clients(facts.mirror, facts)


LATE = timedelta(seconds=5)
"""Delay with which a tick may begin: a machine that is busy for a moment
delays it by seconds."""

HANGS = timedelta(seconds=5)
"""Age from which the canary's thread hangs: the same as for its check."""


def _signs_of_agent(facts: _Facts) -> Iterator[tuple[Sign, Seen]]:
    late, canary = facts.agent.tick_late, facts.canary
    if late > LATE:
        yield Sign.AGENT_LATE, _seen("tick-late", seconds=late)
    elif canary is not None and facts.now - canary.at > HANGS:
        age = facts.now - canary.at
        yield Sign.AGENT_LATE, _seen("canary-late", seconds=age)


MANY_TIMES = 3
"""Factor over the usual response time above which a response is slow."""

LONGER = timedelta(milliseconds=200)
"""Least excess over the usual response time of a slow response: a broker's
garbage collection takes less."""


def _signs_of_clusters(
    reach: ReachabilityObservation, facts: _Facts
) -> Iterator[tuple[Sign, Seen]]:
    for answer, silent, answers, slow, quick in (
        (
            reach.source,
            *(Sign.SOURCE_SILENT, Sign.SOURCE_ANSWERS),
            *(Sign.SOURCE_SLOW, Sign.SOURCE_QUICK),
        ),
        (
            reach.target,
            *(Sign.TARGET_SILENT, Sign.TARGET_ANSWERS),
            *(Sign.TARGET_SLOW, Sign.TARGET_QUICK),
        ),
    ):
        at, took, usual = answer.answered_at, answer.took, answer.usual
        if answer.silent_since is not None:
            since = at or answer.silent_since
            age = facts.now - since
            yield (
                silent,
                _seen("silent", since, cluster=answer.alias, seconds=age),
            )
        elif at is not None and facts.now - at <= STALE:
            yield answers, _seen("answers", cluster=answer.alias)
            if took is not None and usual is not None:
                is_slow = took > max(MANY_TIMES * usual, usual + LONGER)
                yield (
                    slow if is_slow else quick,
                    _seen(
                        "pace", cluster=answer.alias, took=took, usual=usual
                    ),
                )


STILL = timedelta(seconds=10)
"""Longest time without a copy while records are pending: as long as `lag`
gives a batch, which the mirror writes as soon as it has it."""

IN_FLIGHT = timedelta(seconds=8)
"""Window after a cluster's last response in which in-flight records may arrive
that the mirror had read before: they prove nothing."""

NEVER_HEARD = timedelta(seconds=15)
"""Silence required of a source that never responded: it is not known which
copies would arrive."""

UNACKED = timedelta(seconds=15)
"""Longest wait of a probe for its acknowledgement."""


def _signs_of_copies(
    reach: ReachabilityObservation, facts: _Facts
) -> Iterator[tuple[Sign, Seen]]:
    if reach.source.silent_since is None:
        yield from _signs_of_stop(reach, facts)
        return
    at, since = reach.compared_at, reach.compared_since
    heard = reach.source.answered_at
    if at is None or since is None or heard is None:
        if facts.now - reach.source.silent_since > NEVER_HEARD:
            yield (
                Sign.COPIES_UNKNOWN,
                _seen("copies-unknown", cluster=facts.flow.target),
            )
    elif not reach.grew and at > heard:
        yield Sign.NOT_COPIED, _nothing_since(reach.still_since, facts)
    elif reach.grew and since > heard + IN_FLIGHT:
        yield Sign.COPIED, _seen("copied", cluster=facts.flow.target)


def _nothing_since(still: datetime | None, facts: _Facts) -> Seen:
    age = None if still is None else facts.now - still
    return _seen("not-copied", cluster=facts.flow.target, seconds=age)


def _signs_of_stop(
    reach: ReachabilityObservation, facts: _Facts
) -> Iterator[tuple[Sign, Seen]]:
    source, at = reach.source.answered_at, reach.compared_at
    still = reach.still_since
    if source is None or at is None or still is None or at - still < STILL:
        return
    canary = facts.canary
    arrivals = [
        p.last_arrival
        for p in (() if canary is None else canary.partitions)
        if p.last_arrival is not None
    ]
    if arrivals and facts.now - max(arrivals) <= STILL:
        # There was nothing else to copy.
        return
    yield Sign.NOT_COPIED, _nothing_since(still, facts)
    yield from _sign_of_unacked(reach.source, facts)
    lag = facts.lag
    if lag is None or facts.now - lag.at > STALE or not lag.stopped:
        return
    began = max(still, lag.at - lag.stopped)
    arrived = max(arrivals, default=began)
    # What the clusters answered before says nothing of now.
    if source > began and facts.now - arrived > STILL:
        yield (
            Sign.STOPPED,
            _seen(
                "stopped",
                began,
                records=lag.records,
                cluster=facts.flow.source,
                seconds=facts.now - began,
            ),
        )


def _sign_of_unacked(
    source: ClusterAnswer, facts: _Facts
) -> Iterator[tuple[Sign, Seen]]:
    """Look for probes that a source does not store, though it answers."""
    waiting = [
        p.oldest_unacked
        for p in (() if facts.canary is None else facts.canary.partitions)
        if p.oldest_unacked is not None
    ]
    at, since = source.answered_at, source.answering_since
    if not waiting or at is None or since is None:
        return
    oldest = min(waiting)
    if at - max(oldest, since) < UNACKED:
        return
    yield (
        Sign.UNACKED,
        _seen(
            "unacked",
            oldest,
            cluster=source.alias,
            seconds=facts.now - oldest,
        ),
    )


ON_PURPOSE = {"PAUSED", "STOPPED", "UNASSIGNED"}
"""States of a task that does not run, and has not failed."""

REBALANCE = timedelta(seconds=30)
"""Longest time that tasks may be in these states: a rebalance stops them for
some seconds."""


def _signs_of_tasks(facts: _Facts) -> Iterator[tuple[Sign, Seen]]:
    if facts.tasks is None or facts.tasks.absent is not None:
        return
    found = [
        task
        for task in facts.tasks.tasks
        if task.role == "source" and task.number is not None
    ]
    failed = [task for task in found if task.state == "FAILED"]
    idle = [
        task
        for task in found
        if task.state in ON_PURPOSE and facts.now - task.since > REBALANCE
    ]
    if len(failed) + len(idle) == len(found):
        sign, stopped = Sign.TASK_STOPPED, [*failed, *idle]
    else:
        sign, stopped = Sign.TASK_FAILED, failed
    # What other tasks do not copy has another reason.
    if stopped and (sign is Sign.TASK_STOPPED or not _others_stopped(facts)):
        first = min(stopped, key=lambda task: task.since)
        yield (
            sign,
            _seen("task", first.since, task=str(first), state=first.state),
        )


def _others_stopped(facts: _Facts) -> bool:
    lag, tasks = facts.lag, facts.tasks
    if lag is None or tasks is None or not tasks.stopped:
        return False
    given = frozenset[TopicPartition]().union(
        *(stopped.partitions for stopped in tasks.stopped)
    )
    return any(
        each.status is LagStatus.STOPPED
        and (topic.topic, each.partition) not in given
        for topic in lag.topics
        for each in topic.standing
    )


BEATS = 10
"""Intervals without a heartbeat from which a worker is silent."""

LATE_BEATS = 3
"""Intervals without one from which it is soon known whether it is silent."""

LEAST_BEATS = timedelta(seconds=10)
"""Least time for it: Connect finds a lost worker after as long."""


def _signs_of_worker(facts: _Facts) -> Iterator[tuple[Sign, Seen]]:
    beat: timedelta | None = None
    jmx: str | None = None
    beats, mirror, reach = facts.heartbeats, facts.mirror, facts.reach
    if (
        beats is not None
        and beats.interval is not None
        and beats.worker is not None
        and not beats.problems
        # They are read there.
        and reach is not None
        and reach.target.silent_since is None
    ):
        age = facts.now - beats.worker.seen_at
        patience = max(BEATS * beats.interval, LEAST_BEATS)
        if age <= patience:
            if age > LATE_BEATS * beats.interval:
                yield Sign.WORKER_LATE, _seen("heartbeat-late", seconds=age)
            return
        if not _lives_on(beats.worker.seen_at + patience, reach):
            beat = age
    if mirror is not None:
        if mirror.answering:
            return
        # What never answered may be no more than a wrong address.
        if any(
            process.since and not _lives_on(process.since, reach)
            for process in mirror.unread
        ):
            jmx = "its JMX does not respond"
    if beat is not None or jmx is not None:
        yield Sign.WORKER_SILENT, _seen("worker-silent", seconds=beat, jmx=jmx)


def _lives_on(
    silent_since: datetime, reach: ReachabilityObservation | None
) -> bool:
    """Return whether the mirror copied on after it fell silent: then a later
    stop has another reason.
    """
    return reach is not None and reach.copied_after(silent_since)


UNANSWERED = timedelta(seconds=10)
"""Longest time without an answered fetch: an idle one waits half a second."""

ASKED = timedelta(seconds=5)
"""Longest duration of a request to a cluster: when it failed, the cluster may
have been reached until so long after it was sent."""

SLOW_FETCH = 2.0
"""Seconds of a slow fetch, on average: four times what one without records
waits."""

SLOW_SEND = 1.0
"""Seconds of a slow request of the producer, on average."""

THROTTLED = 0.1
"""Seconds of a delay by a quota: the same as for the check `bottleneck`."""


def _signs_of_clients(
    mirror: MirrorObservation, facts: _Facts
) -> Iterator[tuple[Sign, Seen]]:
    yield from _signs_of_consumers(mirror, facts)
    yield from _signs_of_producers(mirror, facts)
    held = max(
        mirror.metrics.consumer.fetch_throttle_max_seconds or 0,
        mirror.metrics.producer.produce_throttle_max_seconds or 0,
    )
    if held > THROTTLED:
        yield Sign.THROTTLED, _seen("throttled", took=held)


def _signs_of_consumers(
    mirror: MirrorObservation, facts: _Facts
) -> Iterator[tuple[Sign, Seen]]:
    said, source = mirror.metrics, facts.flow.source
    seen, silent = (
        mirror.progress,
        facts.reach and (facts.reach.source.silent_since),
    )
    still = seen and seen.read_at - seen.still_since
    if said.connections.get("consumer") == 0:
        yield Sign.UNFETCHED, _seen("unconnected", cluster=source)
    elif still and still >= UNANSWERED:
        yield Sign.UNFETCHED, _seen("unfetched", cluster=source, seconds=still)
    elif seen or said.consumer.fetches_per_second:
        fetched = _seen("fetched", cluster=source)
        yield Sign.FETCHED, fetched
        after = seen and seen.answered_after
        if after and silent and after > silent + ASKED:
            yield Sign.FETCHED_SINCE, fetched
    took = said.consumer.fetch_latency_average_seconds or 0
    if took > SLOW_FETCH:
        yield Sign.FETCHES_SLOW, _seen("fetches-slow", took=took)


def _signs_of_producers(
    mirror: MirrorObservation, facts: _Facts
) -> Iterator[tuple[Sign, Seen]]:
    said, target = mirror.metrics, facts.flow.target
    sends = said.producer.sends_per_second
    connected = said.connections.get("producer") != 0
    waiting = round(said.tasks.active_records or 0)
    if waiting and (not connected or sends == 0):
        yield Sign.UNSENT, _seen("unsent", records=waiting, cluster=target)
    took = said.producer.request_latency_average_seconds or 0
    if took > SLOW_SEND:
        yield Sign.SENDS_SLOW, _seen("sends-slow", took=took)
