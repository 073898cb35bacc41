"""Asks the clusters, once a tick, what the canary cannot know by itself."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta

from ...domain.canary import texts
from ...domain.canary.model import (
    CREATED_PARTITIONS,
    ORDER_GRACE,
    UNKNOWN_REQUEST_BYTES,
    CanarySurvey,
    IndeterminateProbe,
    MirrorPosition,
    OffsetGap,
    SettledProbe,
    TopicState,
    is_of_another,
    uncovered,
)
from ...domain.finding import Finding, Health
from ...domain.mirror_records import Committed, Connector, ConnectorSettings
from ...domain.offsets import OffsetRange
from ...kafka.admin import BestEffortQueries, Cluster, Topic
from ...kafka.reader import read_range
from ..mirror_state import MirrorState
from .encoding import decode
from .producer import send_timeout
from .settings import CanarySettings
from .worker import CanaryState

__all__ = ["CanarySurveyWorker", "ProbeSettler"]


IN_THE_BROKER = timedelta(seconds=30)
"""Longest time in which a request that timed out at the producer may still be
carried out: librdkafka's and the broker's own request timeouts are 30 s."""


REMEMBERED = timedelta(minutes=10)
"""Retention of the finding about a probe that came back: a replication loop
shows in every probe, so after this long without one it has been broken."""


class ProbeSettler:
    """Settles doubts, and looks who else writes the canary topic.

    Parameters
    ----------
    cluster
        The source cluster.
    properties
        librdkafka properties of it.
    settings
        Settings of the canary.
    run
        Identity of the state file; other probes are another agent's.
    clock
        Gives the time.
    """

    def __init__(
        self,
        *,
        cluster: Cluster,
        properties: Mapping[str, str],
        settings: CanarySettings,
        run: str,
        clock: Callable[[], datetime],
    ) -> None:
        self._cluster = cluster
        self._settings = settings
        self._run = run
        self._clock = clock
        self._properties = properties
        self._writers: dict[str, tuple[datetime, Finding]] = {}
        self._after = send_timeout(settings.deadline) + IN_THE_BROKER

    def settle(
        self, doubts: Iterable[IndeterminateProbe]
    ) -> list[SettledProbe]:
        """Resolve the doubts that are old enough to be resolved.

        Raises
        ------
        SourceError
            Raised if the source cannot be read.
        """
        now = self._clock()
        by_partition: dict[int, list[IndeterminateProbe]] = {}
        settled: list[SettledProbe] = []
        for doubt in doubts:
            if not doubt.current:
                settled.append(
                    SettledProbe(
                        partition=doubt.partition,
                        sequence=doubt.sequence,
                        source_offset=None,
                        readable=False,
                    )
                )
            elif now - doubt.sent_at > self._after:
                by_partition.setdefault(doubt.partition, []).append(doubt)
        if not by_partition:
            return settled
        topic = self._settings.topic
        starts = self._cluster.starts(topic, by_partition)
        # Taken after the grace: whatever can still be written is below.
        ends = self._cluster.ends(topic, by_partition)
        for partition, waiting in by_partition.items():
            floor = min(doubt.floor for doubt in waiting)
            start, end = starts[partition], ends[partition]
            found = self._find(partition, max(floor, start), end)
            settled += [
                SettledProbe(
                    partition=partition,
                    sequence=doubt.sequence,
                    source_offset=found.get(
                        (doubt.sequence, doubt.sent_at), [None]
                    )[0],
                    readable=start <= doubt.floor,
                )
                for doubt in waiting
            ]
        return settled

    def look_into(self, gaps: Iterable[OffsetGap]) -> list[Finding]:
        """Look who wrote source offsets that the canary did not.

        Returns
        -------
        list of Finding
            Findings of this look and of recent ones.

        Raises
        ------
        SourceError
            Raised if the source cannot be read.
        """
        now = self._clock()
        for gap in gaps:
            found = self._find(gap.partition, gap.first, gap.last + 1)
            for (sequence, sent_at), offsets in found.items():
                if is_of_another(gap.sent, sequence, sent_at):
                    # Or of before an older state file was restored.
                    if sent_at <= min(gap.sent.values()):
                        continue
                    code, health = texts.CLONED, Health.WARNING
                elif sequence in gap.sent and sequence <= gap.newest_acked:
                    code, health = texts.LOOP, Health.CRITICAL
                else:
                    continue
                finding = code.found(
                    health,
                    {
                        "topic": self._settings.topic,
                        "cluster": self._settings.flow.source,
                    },
                    partition=gap.partition,
                    offset=offsets[0],
                )
                self._writers[code.name] = now, finding
        return [
            finding
            for at, finding in self._writers.values()
            if now - at <= REMEMBERED
        ]

    def _find(
        self, partition: int, first: int, end: int
    ) -> dict[tuple[int, datetime], list[int]]:
        """Find the offsets of each of our probes in a stretch.

        Their numbers alone would not do: an older state file that is restored
        gives them again.
        """
        found: dict[tuple[int, datetime], list[int]] = {}
        for message in read_range(
            self._properties,
            cluster=self._cluster.alias,
            partition=(self._settings.topic, partition),
            offsets=OffsetRange(first, end),
        ):
            probe = decode(message.value())
            ours = (self._run, self._settings.flow.name)
            if probe is not None and (probe.run, probe.flow) == ours:
                offset = message.offset() or 0
                key = (probe.sequence, probe.sent_at)
                found.setdefault(key, []).append(offset)
        return found


CREATED_CONFIGS = {
    # A day covers every outage of the agent that leaves anything to settle;
    # at the default interval that is 130 MB before compression.
    "retention.ms": str(24 * 60 * 60 * 1000),
    "cleanup.policy": "delete",
}
"""Configuration of a topic that the agent makes; the mirror copies it."""

OVERHEAD_BYTES = 1024
"""Room for key, headers and batch within a limit on a whole batch."""


class SettledCommits:
    """Holds commits back until all that they cover is at the target.

    Parameters
    ----------
    after
        Longest time in which a mirror may still send what it has committed.

    Notes
    -----
    A copier may commit what it has read, and not what its producer got
    through: from such a commit, a probe that is under way would seem lost.
    """

    def __init__(self, after: timedelta) -> None:
        self._after = after
        self._held: dict[int, deque[tuple[datetime, Committed]]] = {}

    def take(
        self, committed: Mapping[int, Committed], at: datetime
    ) -> Mapping[int, Committed]:
        """Take the newest commits; return the newest of those that prove
        what is at the target now, by partition.
        """
        if not self._after:
            return committed
        found: dict[int, Committed] = {}
        for partition, fact in committed.items():
            held = self._held.setdefault(partition, deque())
            last = held[-1][1] if held else fact
            if (fact.position or 0) < (last.position or 0):
                held.clear()  # it reads again what it had committed
            if not held or held[-1][1] != fact:
                held.append((at, fact))
            while len(held) > 1 and at - held[1][0] >= self._after:
                held.popleft()
            if at - held[0][0] >= self._after:
                found[partition] = held[0][1]
        return found


class CanarySurveyWorker:
    """Surveys the surroundings of one flow's canary.

    Parameters
    ----------
    settings
        Settings of the canary.
    source, target
        The clusters.
    positions
        State that the mirror reports: positions, syncs, configuration.
    settler
        Resolves doubtful sends.
    state
        State of the canary, which receives the surveys.
    interval
        The tick.
    clock
        Gives the time.
    """

    def __init__(
        self,
        *,
        settings: CanarySettings,
        source: Cluster,
        target: Cluster,
        positions: MirrorState,
        settler: ProbeSettler,
        state: CanaryState,
        interval: timedelta,
        clock: Callable[[], datetime],
    ) -> None:
        self.name = f"surveyor {settings.flow.name}"
        self.interval = interval
        self._settings = settings
        self._source = source
        self._target = target
        self._positions = positions
        self._settler = settler
        self._state = state
        self._clock = clock
        self._commits = SettledCommits(settings.unflushed)

    def step(self) -> None:
        at, queries = self._clock(), BestEffortQueries(texts.UNREADABLE)
        connectors = self._positions.connectors()
        ordered = bool(connectors) and all(
            c.max_in_flight == 1 for c in connectors
        )
        # The order matters: see `CanarySurvey`.
        positions = self._read_positions(at, ordered=ordered)
        remote = self._settings.remote_topic
        target = queries.find_topic(self._target, remote, "READ")
        absent = target is None and queries.reached(self._target)
        ends = None
        if target is not None:
            leaders = target.leaders
            # Each partition of a transaction gets its marker by itself: that
            # of a position may be there before that of the copy. What is not
            # committed yet counts, so that nothing is called lost before it
            # can be read.
            ends = queries.ask(
                self._target,
                lambda c: c.ends(remote, leaders, read_committed=False),
            )
        source = self._find_source(queries)
        if not self._settings.creates_topic:
            self._match_target(queries, source, target)
        brokers = [
            queries.ask(cluster, lambda c: c.brokers())
            for cluster in (self._source, self._target)
        ]
        queries.problems += [
            *(
                texts.UNREADABLE.found(Health.UNKNOWN, problem=problem)
                for problem in self._positions.problems()
            ),
            *self._judge_filter(connectors),
        ]
        for cluster, members, topic in zip(
            (self._source, self._target),
            brokers,
            (source, target),
            strict=True,
        ):
            if members is None or topic is None:
                continue
            queries.problems += [
                texts.UNCOVERED.found(
                    Health.WARNING,
                    {"cluster": cluster.alias, "broker": broker},
                    topic=topic.name,
                )
                for broker in sorted(uncovered(members.ids, topic.leaders))
            ]
        source_id, target_id = (
            None if b is None else b.cluster_id for b in brokers
        )
        survey = CanarySurvey(
            at=at,
            positions=positions,
            target=_state(target),
            target_absent=absent,
            ends=ends or {},
            source=_state(source),
            source_cluster=source_id,
            target_cluster=target_id,
            settlements=tuple(self._settle(queries, source)),
            ordered=ordered,
            refresh=max((c.refresh for c in connectors), default=None),
            size_limit=self._read_size_limit(queries, source, target),
            problems=tuple(queries.problems),
        )
        self._state.survey.set(survey)
        self._state.surveys.put(survey)

    def close(self) -> None:
        """Do nothing: the clusters' connections end with the process."""

    def _find_source(self, queries: BestEffortQueries) -> Topic | None:
        name, settings = self._settings.topic, self._settings
        found = queries.find_topic(self._source, name, "WRITE", "READ")
        if found is None and queries.reached(self._source):
            if not settings.create:
                queries.problems.append(
                    texts.NO_TOPIC.found(
                        Health.UNKNOWN,
                        {"topic": name, "cluster": settings.flow.source},
                    )
                )
                return None
            # The mirror makes the other one.
            partitions = settings.partitions or CREATED_PARTITIONS
            queries.ask(
                self._source,
                lambda c: c.create(name, partitions, CREATED_CONFIGS),
            )
        return found

    def _match_target(
        self,
        queries: BestEffortQueries,
        source: Topic | None,
        target: Topic | None,
    ) -> None:
        """Create the topic at the target for a mirror that does not."""
        remote, settings = self._settings.remote_topic, self._settings
        if source is None or not queries.reached(self._target):
            return
        here = len(source.leaders)
        if target is None and settings.create:
            queries.ask(
                self._target,
                lambda c: c.create(remote, here, CREATED_CONFIGS),
            )
        elif target is None:
            queries.problems.append(
                texts.NO_TOPIC.found(
                    Health.UNKNOWN,
                    {"topic": remote, "cluster": settings.flow.target},
                )
            )
        elif len(target.leaders) != here and not settings.keeps_partitions:
            queries.problems.append(
                texts.UNVERIFIABLE.found(
                    Health.UNKNOWN,
                    {"topic": remote},
                    target=settings.flow.target,
                    target_partitions=len(target.leaders),
                    source=settings.flow.source,
                    source_partitions=here,
                )
            )

    def _read_positions(
        self, at: datetime, *, ordered: bool
    ) -> dict[int, tuple[MirrorPosition, ...]]:
        topic = self._settings.topic
        found: dict[int, tuple[MirrorPosition, ...]] = {
            partition: (
                MirrorPosition(
                    origin="Committed position",
                    position=fact.position,
                    seen_at=fact.written_at,
                    counts_at=at,
                ),
            )
            for partition, fact in self._commits.take(
                self._positions.committed(topic), at
            ).items()
            if fact.position is not None
        }
        if not ordered:
            return found
        for partition, sync in self._positions.syncs(topic).items():
            position = MirrorPosition(
                origin="Offset sync",
                position=sync.position,
                seen_at=sync.written_at,
                counts_at=sync.written_at + ORDER_GRACE,
            )
            found[partition] = (*found.get(partition, ()), position)
        return found

    def _judge_filter(self, connectors: Sequence[Connector]) -> list[Finding]:
        topic = self._settings.topic
        if ConnectorSettings.of(connectors).wants(topic):
            return []
        patterns = ", ".join(connectors[0].selection.include)
        return [
            texts.FILTERED.found(
                Health.CRITICAL, {"topic": topic}, filter=patterns
            )
        ]

    def _settle(
        self, queries: BestEffortQueries, source: Topic | None
    ) -> Iterator[SettledProbe]:
        seen = self._state.snapshot.get()
        if source is None or seen is None:
            return
        settler = self._settler
        if seen.doubts:
            yield from (
                queries.ask(
                    self._source, lambda _: settler.settle(seen.doubts)
                )
                or ()
            )
        gaps = self._state.gaps.take_all()
        queries.problems += (
            queries.ask(self._source, lambda _: settler.look_into(gaps)) or ()
        )

    def _read_size_limit(
        self,
        queries: BestEffortQueries,
        source: Topic | None,
        target: Topic | None,
    ) -> int | None:
        settings = self._settings
        if settings.sized is None or source is None or target is None:
            return None
        said = [
            c.max_request_bytes
            for c in self._positions.connectors()
            if c.max_request_bytes
        ]
        request = settings.max_request_bytes or UNKNOWN_REQUEST_BYTES
        here, there = source.name, target.name
        limit = queries.ask(
            self._source,
            lambda c: (
                min(
                    c.max_message_bytes(here),
                    self._target.max_message_bytes(there),
                    min(said, default=request),
                )
                - OVERHEAD_BYTES
            ),
        )
        if limit is not None and settings.sized.bytes > limit:
            queries.problems.append(
                texts.UNCOVERED.found(
                    Health.WARNING,
                    {"topic": here},
                    probe_bytes=settings.sized.bytes,
                    limit_bytes=limit,
                )
            )
        return limit


def _state(topic: Topic | None) -> TopicState | None:
    if topic is None:
        return None
    return TopicState(id=topic.id, partitions=frozenset(topic.leaders))
