"""Freezes what an audit compares, before anything is read."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Protocol

from ..config import Config, FlowConfig
from ..config.audit import AuditConfig
from ..domain.audit.facts import (
    Draft,
    Feed,
    FlowTopics,
    LaneFacts,
    Log,
    PairBuilder,
    Retention,
    SourceTopic,
    Talk,
    draft_lanes,
    run_batched,
)
from ..domain.audit.nightly import NightlyInputs, plan_night
from ..domain.audit.plan import (
    AuditedEnd,
    AuditedEnds,
    AuditSpan,
    Lane,
    Plan,
    Request,
    Side,
    Unverifiable,
)
from ..domain.audit.ranges import PlanningOutcome
from ..domain.audit.window import AdHoc, plan_window
from ..domain.cluster_view import TopicConfigs, TopicFacts, TopicPartition
from ..domain.topics import Selection
from ..kafka.errors import denial
from .mirror import MirrorReader
from .offsets import Answers, AuditedSites, Key, Offsets, freeze_offsets

__all__ = ["AuditedTopics", "freeze", "join_lanes", "recheck"]


GONE = "deleted at the source since the last audit"


@dataclass(kw_only=True, slots=True)
class AuditedTopics:
    """Which topics an audit is about, and how they are configured."""

    drafts: PairBuilder
    """Partitions of both sides that belong together."""

    configs: Mapping[tuple[str, str], TopicConfigs]
    """Configuration by alias of the cluster and topic."""

    unverifiable: list[Unverifiable] = field(default_factory=list)
    """What cannot be audited."""

    gone: list[tuple[str, str]] = field(default_factory=list)
    """Flows and source topics that are no more."""


def find_topics(
    config: Config,
    request: Request,
    ends: AuditedEnds,
    sites: AuditedSites,
    mirrors: Mapping[str, MirrorReader],
) -> AuditedTopics:
    """Find out which topics an audit is about.

    Parameters
    ----------
    config
        The configuration.
    request
        What is asked for.
    ends
        Up to where partitions were audited.
    sites
        The clusters.
    mirrors
        Mirrors by flow, whose configuration was read.

    Raises
    ------
    SourceError
        Raised if a cluster cannot be asked.
    """
    flows = [flow for flow in config.flows if flow.name in mirrors]
    aliases = {alias for f in flows for alias in (f.source, f.target)}
    topics = {
        alias: sites[alias].describe().topics for alias in sorted(aliases)
    }
    drafts = draft_lanes(
        [
            FlowTopics(
                flow=flow.flow,
                carriage=mirrors[flow.name].carriage,
                merged=Selection(include=flow.topics.merged).matches,
            )
            for flow in flows
        ],
        topics,
        request.wants,
    )
    found = AuditedTopics(drafts=drafts, configs={})
    found.unverifiable += drafts.unverifiable
    for flow in flows:
        mirror, seen = mirrors[flow.name], topics[flow.source]
        audited = {end.topic for end in ends.ends if end.flow == flow.name}
        hidden, gone = _find_unseen(mirror, audited - seen.keys(), seen, sites)
        _note_unseen(mirror, request, hidden, gone, found)
    _drop_hidden(sites, found)
    _read_configs(sites, found)
    return found


def _find_unseen(
    mirror: MirrorReader,
    audited: set[str],
    seen: Mapping[str, TopicFacts],
    sites: AuditedSites,
) -> tuple[set[str], set[str]]:
    """Return topics that the agent is not shown, and audited ones that are no
    more.
    """
    copied = {
        topic
        for assignment in mirror.positions.assignments()
        for topic, _ in assignment.partitions
    }
    unseen = audited | {
        topic
        for topic in copied - seen.keys()
        if mirror.carriage.carries(topic)
    }
    hidden = sites[mirror.flow.source].hidden(unseen)
    return hidden, audited - hidden


def _note_unseen(
    mirror: MirrorReader,
    request: Request,
    hidden: set[str],
    gone: set[str],
    found: AuditedTopics,
) -> None:
    flow = mirror.flow
    for topic in sorted(hidden):
        reason = denial(f"DESCRIBE on topic {topic}", flow.source)
        # Where others feed the same topic, its records would be extra.
        remote = mirror.carriage.naming.remote(topic)
        _drop(found, {(flow.target, remote): reason})
        if request.wants(flow.name, topic):
            found.unverifiable.append(_whole(flow.name, topic, reason))
    for topic in sorted(gone):
        if request.wants(flow.name, topic):
            found.gone.append((flow.name, topic))
            found.unverifiable.append(_whole(flow.name, topic, GONE))


def _drop_hidden(sites: AuditedSites, found: AuditedTopics) -> None:
    """Tell what is missing at the target from what is not shown."""
    missing: dict[str, set[str]] = {}
    for draft in found.drafts.lanes:
        if draft.topic_id is None:
            missing.setdefault(draft.cluster, set()).add(draft.place[0])
    hidden = {
        (alias, topic): denial(f"DESCRIBE on topic {topic}", alias)
        for alias, topics in missing.items()
        for topic in sites[alias].hidden(topics)
    }
    _drop(found, hidden)


def _read_configs(sites: AuditedSites, found: AuditedTopics) -> None:
    wanted: dict[str, set[str]] = {}
    for draft in found.drafts.lanes:
        for alias, topic in _topics_of(draft):
            wanted.setdefault(alias, set()).add(topic)
    configs: dict[tuple[str, str], TopicConfigs] = {}
    denied: dict[tuple[str, str], str] = {}
    for alias, topics in sorted(wanted.items()):
        known, refused = sites[alias].configs(topics)
        configs |= {(alias, topic): c for topic, c in known.items()}
        denied |= {
            (alias, t): denial(f"DESCRIBE_CONFIGS on topic {t}", alias)
            for t in refused
        }
    found.configs = configs
    _drop(found, denied)


def _drop(
    found: AuditedTopics, reasons: Mapping[tuple[str, str], str]
) -> None:
    """Leave topics out, and say why."""
    kept, said = [], set()
    for draft in found.drafts.lanes:
        reason = next(
            (reasons[t] for t in _topics_of(draft) if t in reasons), None
        )
        if reason is None:
            kept.append(draft)
        elif (draft.flow, draft.topic) not in said:
            said.add((draft.flow, draft.topic))
            found.unverifiable.append(_whole(draft.flow, draft.topic, reason))
    found.drafts.lanes = kept


def _topics_of(draft: Draft) -> Iterable[tuple[str, str]]:
    """Return cluster and topic of the target and of each source."""
    yield draft.cluster, draft.place[0]
    for origin in draft.origins:
        yield origin.cluster, origin.place[0]


def _whole(flow: str, topic: str, reason: str) -> Unverifiable:
    return Unverifiable(flow=flow, topic=topic, partition=None, reason=reason)


FOR_EVER = Retention.of(-1, -1)
"""Where nothing is deleted by age or size, but only by compaction."""

APPENDED = "LogAppendTime"
"""Timestamps are those of the broker, and not of the records."""

LEADERLESS = (
    "one of its partitions has no leader, at the source or at the target"
)

SURPLUS = (
    "the source has no such partition, but the target {cluster} holds "
    "{count} offsets in it"
)


class MirrorFacts(Protocol):
    """What the mirror of one flow told; see `MirrorReader`."""

    @property
    def read_committed(self) -> bool | None: ...

    @property
    def starts_at_end(self) -> bool | None: ...

    def position(self, place: TopicPartition) -> int | None: ...

    def syncs(self, place: TopicPartition) -> tuple[tuple[int, int], ...]: ...


def join_lanes(
    topics: AuditedTopics,
    offsets: Offsets,
    mirrors: Mapping[str, MirrorFacts],
    ends: Mapping[tuple[str, str, int], AuditedEnd],
) -> tuple[list[LaneFacts], list[Unverifiable]]:
    """Join what was read of both sides into lanes.

    Parameters
    ----------
    topics
        What the audit is about.
    offsets
        Offsets of both sides.
    mirrors
        What the mirrors told, by flow.
    ends
        Up to where partitions were audited.

    Returns
    -------
    tuple of lists
        What can be compared, and what cannot be.

    Notes
    -----
    What a mirror said of a topic that was deleted and made again says nothing
    of the new one. A changed id tells, and so does a position or a pair that
    is above an end: both are read before the ends that they are compared
    with.
    """
    joining = _Joining(topics, offsets, mirrors, ends)
    lanes, gaps = [], list(joining.surplus())
    for draft in topics.drafts.lanes:
        lane = joining.join(draft)
        if lane is None:
            gaps.append(_gap(draft, LEADERLESS))
        else:
            lanes.append(lane)
    return lanes, gaps


class _Joining:
    def __init__(
        self,
        topics: AuditedTopics,
        offsets: Offsets,
        mirrors: Mapping[str, MirrorFacts],
        ends: Mapping[tuple[str, str, int], AuditedEnd],
    ) -> None:
        self._topics = topics
        self._offsets = offsets
        self._mirrors = mirrors
        self._ends = ends

    def join(self, draft: Draft) -> LaneFacts | None:
        """Return a lane; `None` where a partition has no leader."""
        goal, key = None, (draft.cluster, draft.place)
        if draft.topic_id is not None:
            end = self._offsets.targets.get(key)
            goal = self._log("target", key, draft.topic_id, end)
            if goal is None:
                return None
        feeds = []
        for origin in draft.origins:
            feed = self._feed(origin, goal)
            if feed is None:
                return None
            feeds.append(feed)
        mirrors = [self._mirrors[feed.flow] for feed in feeds]
        compacted = [
            self._configs(log).compacted
            for log in (goal, *(feed.log for feed in feeds))
            if log is not None
        ]
        return LaneFacts(
            cluster=draft.cluster,
            place=draft.place,
            feeds=tuple(feeds),
            goal=goal,
            timestamps=goal is None
            or self._configs(goal).timestamp_type != APPENDED,
            compacted=any(compacted),
            starts_at_end=_any(m.starts_at_end for m in mirrors),
        )

    def surplus(self) -> Iterator[Unverifiable]:
        """Tell of records in partitions that the source has not."""
        for draft in self._topics.drafts.surplus:
            key = (draft.cluster, draft.place)
            start = self._offsets.starts.get(key)
            end = self._offsets.targets.get(key)
            if start is not None and end is not None and end > start:
                reason = SURPLUS.format(
                    cluster=draft.cluster, count=end - start
                )
                yield _gap(draft, reason)

    def _feed(self, origin: SourceTopic, goal: Log | None) -> Feed | None:
        mirror = self._mirrors[origin.flow]
        key = (origin.cluster, origin.place)
        level = (key, bool(mirror.read_committed))
        end, later = (
            self._offsets.sources.get(level),
            self._offsets.later.get(level),
        )
        log = self._log("source", key, origin.topic_id, end)
        if log is None or later is None:
            return None
        position = mirror.position(origin.place)
        syncs = mirror.syncs(origin.place)
        before = self._ends.get((origin.flow, *origin.place))
        renewed = before is not None and before.source_id != origin.topic_id
        if renewed or (position is not None and position > later):
            position, syncs = None, ()
        if goal is not None and (goal.cluster, goal.place) in (
            self._offsets.unsure
        ):
            position = None
        if syncs and not _speak_of(syncs[-1], later, goal, before):
            syncs = ()
        return Feed(
            flow=origin.flow,
            log=log,
            steady=later == end,
            position=position,
            syncs=syncs,
            read_committed=mirror.read_committed,
            # Read last: what is below was committed or aborted before.
            decided=None
            if mirror.read_committed is not None
            else self._offsets.later.get((key, True), 0),
        )

    def _log(
        self, side: Side, key: Key, topic_id: str, end: int | None
    ) -> Log | None:
        start = self._offsets.starts.get(key)
        if start is None or end is None:
            return None
        log = Log(
            side=side,
            cluster=key[0],
            place=key[1],
            topic_id=topic_id,
            retained=AuditSpan(start, max(start, end)),
        )
        configs = self._configs(log)
        if not configs.deletes:
            return replace(log, retention=FOR_EVER)
        retention = Retention.of(configs.retention_ms, configs.retention_bytes)
        return replace(log, retention=retention)

    def _configs(self, log: Log) -> TopicConfigs:
        key = (log.cluster, log.place[0])
        return self._topics.configs.get(key, TopicConfigs())


def _any(told: Iterable[bool | None]) -> bool | None:
    """Tell whether one is so; `None` if one may be."""
    found = {*told}
    return True if True in found else None if None in found else False


def _speak_of(
    pair: tuple[int, int],
    source_end: int,
    goal: Log | None,
    end: AuditedEnd | None,
) -> bool:
    """Tell whether syncs can be of both topics, as they are now."""
    if goal is None or not (
        pair[0] < source_end and pair[1] < goal.retained.end
    ):
        return False
    return end is None or end.target_id in {goal.topic_id, ""}


def _gap(draft: Draft, reason: str) -> Unverifiable:
    return Unverifiable(
        flow=draft.flow,
        topic=draft.topic,
        partition=draft.place[1],
        reason=reason,
    )


def freeze(
    config: Config,
    request: Request,
    ends: AuditedEnds,
    *,
    clock: Callable[[], datetime],
) -> Plan:
    """Freeze what one audit compares.

    Parameters
    ----------
    config
        The whole configuration.
    request
        What is asked for.
    ends
        Up to where partitions were audited; of no concern to an ad hoc audit.
    clock
        Gives the time.

    Returns
    -------
    Plan
        Where a night was missed, only the first piece of what is left, of a
        day or a seventh of it: its `more` is true, and the same is to be
        asked for again with `ends_after` it and the number of the next piece.

    Raises
    ------
    SourceUnavailableError
        Raised if a cluster cannot be reached.
    SourceError
        Raised if it refuses.
    ConfigError
        Raised if the mirror's topics cannot be derived.

    Notes
    -----
    What is asked of a cluster grows with its brokers, and with batches of
    thousands of partitions, not with the partitions. No record of a carried
    topic is read, but one at the mirror's position where that is behind.
    """
    now = clock()
    if request.window is not None:
        ends = AuditedEnds()
    known = ends.by_place()
    with AuditedSites(config) as sites:
        mirrors = {
            flow.name: MirrorReader(flow, sites, clock)
            for flow in _concerned(config, request)
        }
        for mirror in mirrors.values():
            mirror.read_configs()
        topics = find_topics(config, request, ends, sites, mirrors)
        offsets = freeze_offsets(topics.drafts, mirrors, sites, known)
        lanes, gaps = join_lanes(topics, offsets, mirrors, known)
        plan = _rules(config.audit or AuditConfig(), request, ends, now)
        outcomes = run_batched([plan(lane) for lane in lanes], Answers(sites))
    return Plan(
        id=request.run_id(now.date()),
        at=now,
        window=request.window,
        lanes=tuple(o.lane for o in outcomes if o.lane is not None),
        unverifiable=(
            *topics.unverifiable,
            *gaps,
            *(gap for o in outcomes for gap in o.unverifiable),
        ),
        stated=tuple(stated for o in outcomes for stated in o.stated),
        more=any(o.more for o in outcomes),
        gone=tuple(topics.gone),
    )


def _concerned(config: Config, request: Request) -> Iterable[FlowConfig]:
    """Return the flows that may share a target topic with those asked for."""
    targets = {
        flow.target
        for flow in config.flows
        if request.flow in {None, flow.name}
    }
    return [flow for flow in config.flows if flow.target in targets]


def _rules(
    audit: AuditConfig, request: Request, ends: AuditedEnds, now: datetime
) -> Callable[[LaneFacts], Talk[PlanningOutcome]]:
    """Return what works out what is compared of a lane."""
    if request.window is not None:
        adhoc = AdHoc(now=now, window=request.window, slack=audit.slack)
        return lambda lane: plan_window(lane, adhoc)
    night = NightlyInputs(
        now=now, settle=audit.settle, slack=audit.slack, ends=ends.by_place()
    )
    return lambda lane: plan_night(lane, night)


EXPIRED = "expired at the {side} during the audit"

RENEWED = "the topic at the {side} was deleted during the audit"

LOST_LEADER = "a partition at the {side} lost its leader during the audit"


@dataclass(frozen=True, slots=True)
class _Part:
    """What was compared of one side."""

    side: Side
    cluster: str
    place: TopicPartition
    topic_id: str
    span: AuditSpan


def recheck(config: Config, plan: Plan) -> tuple[Unverifiable, ...]:
    """Tell what is no longer retained, once everything was read.

    Returns
    -------
    tuple of Unverifiable
        Lanes, by their flow, topic and partition, of which a log start moved
        past the first offset to compare, or a topic was deleted or made anew:
        what was found of them is void. Their audited end moves all the same,
        for what went cannot be audited by the next night either.

    Raises
    ------
    SourceError
        Raised if a cluster cannot be asked.
    """
    wanted: dict[str, set[TopicPartition]] = {}
    for lane in plan.lanes:
        for part in _parts(lane):
            wanted.setdefault(part.cluster, set()).add(part.place)
    topics: dict[str, Mapping[str, TopicFacts]] = {}
    starts: dict[str, Mapping[TopicPartition, int]] = {}
    with AuditedSites(config) as sites:
        for alias, places in sorted(wanted.items()):
            # Starts first: those of a topic made anew are then noticed.
            starts[alias] = sites[alias].starts(places)
            topics[alias] = sites[alias].describe().topics
    return tuple(
        Unverifiable(
            flow=lane.flow,
            topic=lane.topic,
            partition=lane.partition,
            reason=reason,
        )
        for lane in plan.lanes
        if (reason := _find_reason(lane, topics, starts)) is not None
    )


def _parts(lane: Lane) -> Iterator[_Part]:
    """Return what was read of each side: nothing of an empty span."""
    for source in lane.sources:
        if len(source.span):
            place = (source.topic, source.partition)
            yield _Part(
                "source", source.cluster, place, source.topic_id, source.span
            )
    if len(lane.span):
        place = (lane.target_topic, lane.partition)
        yield _Part("target", lane.cluster, place, lane.topic_id, lane.span)


def _find_reason(
    lane: Lane,
    topics: Mapping[str, Mapping[str, TopicFacts]],
    starts: Mapping[str, Mapping[TopicPartition, int]],
) -> str | None:
    """Return why what was found of a lane is void."""
    for part in _parts(lane):
        topic = topics[part.cluster].get(part.place[0])
        if topic is None or topic.id != part.topic_id:
            return RENEWED.format(side=part.side)
        start = starts[part.cluster].get(part.place)
        if start is None:
            return LOST_LEADER.format(side=part.side)
        if start > part.span.start:
            return EXPIRED.format(side=part.side)
    return None
