"""What a tick knows of lag."""

from collections.abc import Sequence
from dataclasses import fields, replace
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

from hypothesis import strategies as st

from mirrorwatch.clock import utc_now
from mirrorwatch.domain.bottleneck.model import (
    ClassMetrics,
    ConsumerMetrics,
    IoMetrics,
    MirrorMetrics,
    MirrorObservation,
    ProducerMetrics,
    TaskErrors,
    TaskMetrics,
)
from mirrorwatch.domain.canary.model import (
    CanaryCounts,
    CanaryObservation,
    CanaryPartition,
)
from mirrorwatch.domain.copies.journal import CopyCounters
from mirrorwatch.domain.failover.check import (
    FailoverObservation,
    GroupStart,
    MissingStart,
    select_starts,
)
from mirrorwatch.domain.failover.translation import (
    CopiedPartition,
    GroupOffset,
    translate,
)
from mirrorwatch.domain.lag.model import (
    Headroom,
    LagObservation,
    LagStatus,
    TopicLag,
)
from mirrorwatch.domain.metrics import Histogram
from mirrorwatch.domain.parity.configs import ConfigDrift, ConfigsObservation
from mirrorwatch.domain.parity.topics import (
    MissingTopic,
    PartitionMismatch,
    TopicsObservation,
)
from mirrorwatch.domain.position.model import PositionObservation
from mirrorwatch.domain.readers.model import (
    GroupFacts,
    GroupLag,
    ReadersObservation,
)
from mirrorwatch.domain.report import Flow, Health
from mirrorwatch.domain.schemas.model import (
    IdKind,
    LateSchema,
    Resolution,
    SchemaId,
    SchemaProblem,
    SchemasObservation,
    SchemaUse,
)
from mirrorwatch.domain.skips.model import SkipsObservation
from mirrorwatch.ports import AgentState, Report

from .builders import FLOW, NOON, a_verdict, a_window
from .copies import copied_partition
from .watch import Watch, wait_until

__all__ = [
    "BEHIND",
    "KEPT",
    "MANY",
    "NOW",
    "QUIET",
    "SEEN",
    "a_lag",
    "a_mirror",
    "a_topic",
    "lag_in",
    "lag_of",
    "lags_of",
    "many_topics",
    "reports",
    "some_compared_topics",
    "some_configs",
    "some_readers",
    "some_resets",
    "some_schemas",
    "some_skips",
    "some_starts",
    "some_topic_lags",
    "some_topic_skips",
    "wait_until_copied",
    "with_late",
]


NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
QUIET = TopicLag(
    topic="quiet",
    topic_class="",
    records=0,
    seconds=0,
    headroom=Headroom(remaining=timedelta(hours=72), share=1),
)
BEHIND = TopicLag(
    topic="late",
    topic_class="",
    records=40,
    seconds=50,
    status=LagStatus.MOVING,
    partition=3,
    position=17,
    origin="sync",
    stuck=timedelta(),
    headroom=Headroom(remaining=timedelta(hours=72), share=1),
)
SEEN = LagObservation(
    flow="f", at=NOW, topics=(QUIET, BEHIND), configs_known=True
)


def with_late(**changes: object) -> LagObservation:
    late = replace(BEHIND, **changes)  # type: ignore[arg-type]
    return replace(SEEN, topics=(QUIET, late))


def lags_of(watch: Watch) -> LagObservation | None:
    """Return the newest that an agent reported."""
    report = watch.agent.latest.get()
    for seen in report.observations if report else ():
        if isinstance(seen, LagObservation):
            return seen
    return None


def lag_of(watch: Watch, topic: str) -> TopicLag | None:
    """Return what it says of one topic."""
    return lag_in(lags_of(watch), topic)


def lag_in(seen: LagObservation | None, topic: str) -> TopicLag | None:
    """Return what one report says of a topic."""
    topics = seen.topics if seen else ()
    return next((t for t in topics if t.topic == topic), None)


def wait_until_copied(watch: Watch, topic: str) -> None:
    """Wait until an agent that looks from now on sees nothing wait."""
    called = utc_now()

    def is_copied() -> bool:
        seen = lags_of(watch)
        lag = lag_in(seen, topic)
        later = seen is not None and seen.at > called
        return later and lag is not None and lag.records == 0

    wait_until(is_copied, what=lambda: lag_of(watch, topic))


T = TypeVar("T")


def a_mirror(at: datetime, **more: Any) -> MirrorObservation:
    """Return an observation in which nothing is absent."""
    return MirrorObservation(
        **{
            "flow": FLOW.name,
            "at": at,
            "metrics": MirrorMetrics(
                consumer=_numbered(ConsumerMetrics, 100),
                producer=_numbered(ProducerMetrics, 200),
                tasks=_numbered(TaskMetrics, 300),
                io={
                    "consumer": IoMetrics(io_ratio=0.125, io_wait_ratio=0.5),
                    "producer": IoMetrics(io_ratio=0.25),
                },
                classes={
                    "telemetry": _numbered(ClassMetrics, 400),
                    "other": ClassMetrics(records_per_second=0.0),
                },
            ),
            "answering": ("http://mirror:8778/jolokia",),
            "counted": TaskErrors(
                record_failures=3,
                records_skipped=2,
                record_errors=9,
                retries=4,
            ),
            "last_lost": at - timedelta(minutes=5),
            "lately": TaskErrors(record_failures=1, records_skipped=2),
            **more,
        }
    )


def _numbered(kind: type[T], first: int) -> T:
    names = [f.name for f in fields(kind)]  # type: ignore[arg-type]
    return kind(**{name: first + n + 0.5 for n, name in enumerate(names)})


LONG = timedelta(hours=1)


def some_compared_topics(at: datetime) -> TopicsObservation:
    """Return two missing topics and three that are not divided alike."""
    return TopicsObservation(
        flow=FLOW.name,
        at=at,
        source_alias=FLOW.source,
        refresh=timedelta(minutes=10),
        patience=timedelta(minutes=20),
        carried=9,
        missing=tuple(
            MissingTopic(
                topic=topic, remote=topic, since=at - LONG, hidden=False
            )
            for topic in ("a", "b")
        ),
        mismatches=tuple(
            PartitionMismatch(topic=topic, source=3, target=2, since=at - LONG)
            for topic in ("c", "d", "e")
        ),
    )


def some_starts(at: datetime) -> FailoverObservation:
    """Return two groups with a start, one of them by its checkpoint, one
    without any, and one that the mirror's filter leaves out.
    """
    runs = copied_partition(
        (0, 9, 0), (9, 15, None, 9), (15, 105, 10), end=100
    )
    starts = [
        GroupStart(group=group, remote=remote, start=translate(place, copied))
        for group, remote, place, copied in (
            (
                "archiver",
                "summit.events",
                GroupOffset(topic="events", partition=0, committed=40),
                runs,
            ),
            (
                "efd-loader",
                "summit.events",
                GroupOffset(topic="events", partition=0, committed=12),
                runs,
            ),
            (
                "viewer",
                "summit.commands",
                GroupOffset(topic="commands", partition=1, committed=7),
                CopiedPartition(),
            ),
            (
                "scratch",
                "summit.commands",
                GroupOffset(topic="commands", partition=1, committed=1207),
                CopiedPartition(),
            ),
        )
    ]
    missing = [each for each in starts if each.start.chosen is None]
    return FailoverObservation(
        flow=FLOW.name,
        at=at,
        read_at=at,
        groups=4,
        missing=tuple(
            MissingStart(
                group=each.group,
                topic=each.start.place.topic,
                partition=each.start.place.partition,
                problem=each.start.problem or "",
                since=at,
                moved=False,
                excluded=each.group == "scratch",
            )
            for each in missing
        ),
        starts=select_starts(starts),
        starts_total=len(starts),
    )


def some_configs(at: datetime) -> ConfigsObservation:
    """Return four drifts."""
    return ConfigsObservation(
        flow=FLOW.name,
        at=at,
        compared=9,
        drifts=tuple(
            ConfigDrift(
                topic=topic,
                name="retention.ms",
                source="2",
                target="1",
                by_default=False,
                since=at - LONG,
            )
            for topic in "abcd"
        ),
        sync=timedelta(minutes=10),
        patience=timedelta(minutes=11),
    )


def some_skips(at: datetime) -> SkipsObservation:
    """Return skips of one topic, and a topic without any."""
    return SkipsObservation(
        flow=FLOW.name,
        at=at,
        partitions=3,
        counters=(
            ("events", CopyCounters()),
            (
                "telemetry",
                CopyCounters(
                    skipped=10, recovered=2, repeated=300, unverifiable=1
                ),
            ),
        ),
        bytes_read=(4096, 2048),
    )


KEPT = timedelta(hours=72)

MANY = 1172
"""Topics of the first site."""

CLASSES = ("telemetry", "commands", "events")


def a_topic(
    name: str,
    *,
    records: int = 0,
    seconds: float = 0,
    status: LagStatus = LagStatus.EVEN,
    topic_class: str = "telemetry",
    drain: timedelta | None = None,
    kept: timedelta | None = KEPT,
    estimated: bool = False,
) -> TopicLag:
    left = None
    if kept is not None:
        remaining = max(timedelta(), kept - timedelta(seconds=seconds))
        left = Headroom(
            remaining=remaining, share=remaining / kept, estimated=estimated
        )
    waits = records > 0
    return TopicLag(
        topic=name,
        topic_class=topic_class,
        records=records,
        seconds=seconds,
        status=status,
        partition=1 if waits else None,
        position=4711 if waits else None,
        origin="sync" if waits else "",
        stuck=timedelta(seconds=min(seconds, 95.5)) if waits else None,
        drain=drain,
        headroom=left,
    )


def a_lag(
    topics: Sequence[TopicLag], at: datetime = NOON, flow: str = FLOW.name
) -> LagObservation:
    return LagObservation(
        flow=flow, at=at, topics=tuple(topics), configs_known=True
    )


def some_schemas(at: datetime = NOON) -> SchemasObservation:
    """Return schemas at the target: one missing, one other, one late."""

    def use(topic: str, number: int) -> SchemaUse:
        return SchemaUse(topic, "value", SchemaId(IdKind.ID, str(number)))

    missing = SchemaProblem(
        use=use("events", 7),
        resolution=Resolution.MISSING,
        since=at - timedelta(minutes=4),
        arrived=at - timedelta(minutes=4),
        topic_id="id",
        at=("target", 0, 42),
    )
    return SchemasObservation(
        flow=FLOW.name,
        at=at,
        source=FLOW.source,
        target=FLOW.target,
        topics=9,
        carriers=5,
        resolved=4,
        bad=(
            missing,
            replace(
                missing,
                use=use("commands", 3),
                resolution=Resolution.DIFFERENT,
            ),
        ),
        late=(
            LateSchema(
                use=use("telemetry", 5),
                delay=timedelta(seconds=75),
                readable_at=at - timedelta(minutes=9),
            ),
        ),
        missing_subjects=("summit.events-value",),
        modes={FLOW.source: "READWRITE", FLOW.target: "READONLY"},
    )


def some_readers(at: datetime = NOON) -> ReadersObservation:
    """Return groups at the target: one stopped, one that has read all."""
    stopped = a_topic(
        "events",
        records=257,
        seconds=400,
        status=LagStatus.STOPPED,
    )
    return ReadersObservation(
        flow=FLOW.name,
        at=at,
        groups=(
            GroupLag(
                group="connect-sink",
                facts=GroupFacts(state="stable", members=2),
                topics=(a_topic("events"),),
            ),
            GroupLag(
                group="efd-loader",
                facts=GroupFacts(state="empty", members=0),
                topics=(stopped,),
            ),
            GroupLag(group="new", topics=()),
        ),
        missing=("connect-gone",),
    )


def some_topic_lags() -> list[TopicLag]:
    """Return topics that stand, go on, and are even."""
    return [
        a_topic("lsst.sal.ESS.temperature"),
        a_topic(
            "lsst.sal.MTMount.elevation",
            records=12_345,
            seconds=10_800,
            status=LagStatus.STALLED,
        ),
        a_topic(
            "lsst.sal.MTMount.logevent_summaryState",
            records=7,
            seconds=0.25,
            status=LagStatus.MOVING,
            topic_class="events",
            drain=timedelta(seconds=0.5),
        ),
        a_topic(
            "lsst.sal.MTMount.command_start",
            topic_class="commands",
            kept=timedelta(hours=1),
        ),
        a_topic("lsst.sal.ATDome.history", topic_class="events", kept=None),
    ]


def many_topics(behind: int = 0) -> list[TopicLag]:
    """Return as many topics as the first site has, some of them behind."""
    return [
        a_topic(
            f"lsst.sal.Subsystem{n // 20}.topic_{n:04}",
            records=n + 1 if n < behind else 0,
            seconds=(n + 1) / 10 if n < behind else 0,
            status=LagStatus.MOVING if n < behind else LagStatus.EVEN,
            topic_class=CLASSES[n % 3],
        )
        for n in range(MANY)
    ]


def some_resets() -> PositionObservation:
    return PositionObservation(
        flow=FLOW.name,
        at=NOON,
        source=FLOW.source,
        target=FLOW.target,
        counts={"lsst.sal.MTMount.elevation": 2},
    )


def some_topic_skips(at: datetime = NOON) -> SkipsObservation:
    """Return what was skipped, some of it of a topic that is even."""
    return SkipsObservation(
        flow=FLOW.name,
        at=at,
        partitions=5,
        counters=(
            (
                "lsst.sal.ESS.temperature",
                CopyCounters(skipped=10, recovered=3, repeated=300),
            ),
            ("lsst.sal.MTMount.elevation", CopyCounters(unverifiable=4)),
        ),
    )


FLOWS = ("summit->ldf", "ldf->summit", "other")
CHECKS = ("canary", "latency", "lag")


def _a_histogram(milliseconds: list[int]) -> Histogram:
    histogram = Histogram()
    for duration in milliseconds:
        histogram.observe(timedelta(milliseconds=duration))
    return histogram


NAMES = st.sampled_from(["influxdb", "prometheus", "log", "web"])

counts = st.integers(0, 10**9)
times = st.integers(-(10**6), 10**6).map(
    lambda ms: NOON + timedelta(milliseconds=ms)
)

histograms = st.lists(st.integers(-5, 400_000), max_size=4).map(_a_histogram)


def _partitions(
    number: int,
) -> st.SearchStrategy[CanaryPartition]:
    return st.builds(
        CanaryPartition,
        partition=st.just(number),
        counts=st.builds(
            CanaryCounts, sent=counts, delivered=counts, lost=counts
        ),
        latency=histograms,
        replication=histograms,
        produce=histograms,
        outstanding=st.integers(0, 3),
        oldest_outstanding=st.none() | times,
        oldest_unacked=st.none() | times,
        last_arrival=st.none() | times,
        warming=st.booleans(),
    )


canaries = st.builds(
    CanaryObservation,
    flow=st.sampled_from(FLOWS),
    at=times,
    topic=st.just("mirrorwatch.canary"),
    remote_topic=st.just("mirrorwatch.canary"),
    partitions=st.integers(0, 2).flatmap(
        lambda n: st.tuples(*(_partitions(p) for p in range(n)))
    ),
    arrivals=st.just(()),
)

verdicts = st.builds(
    lambda flow, check, health: a_verdict(health, flow=flow, check=check),
    st.sampled_from(FLOWS),
    st.sampled_from(CHECKS),
    st.sampled_from(Health),
)

reports = st.builds(
    Report,
    at=times,
    flows=st.lists(st.sampled_from(FLOWS), unique=True).map(
        lambda names: tuple(
            Flow(name=name, source="summit", target="ldf") for name in names
        )
    ),
    observations=st.lists(canaries, max_size=3).map(tuple),
    verdicts=st.lists(
        verdicts, max_size=4, unique_by=lambda v: (v.flow, v.check)
    ).map(tuple),
    agent=st.builds(
        AgentState,
        sources_up=st.dictionaries(NAMES, st.booleans()),
        sinks_up=st.dictionaries(NAMES, st.booleans()),
        spooled_points=st.dictionaries(NAMES, counts),
        lost_points=st.dictionaries(NAMES, counts),
        last_tick=st.none() | st.timedeltas(timedelta(), timedelta(hours=1)),
    ),
    maintenance=st.lists(
        st.sampled_from(FLOWS).map(lambda flow: a_window(flow=flow)),
        max_size=2,
    ).map(tuple),
)
"""Reports, each flow and check judged at most once."""
