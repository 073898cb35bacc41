"""Freezes what an audit compares, before anything is read."""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Literal

from ..clock import utc_now
from ..config import Config, FlowConfig
from ..config.audit import AuditConfig
from ..domain.audit.by_topic import plan_topic_night, plan_topic_window
from ..domain.audit.facts import (
    FlowTopics,
    Log,
    Lookup,
    PairedLogs,
    Retention,
    SourceLog,
    pair_partitions,
    plan_batched,
)
from ..domain.audit.nightly import NightlyInputs, plan_night
from ..domain.audit.plan import (
    AuditedEnd,
    AuditedEnds,
    AuditSpan,
    FilteredTopic,
    PartitionPair,
    Plan,
    Request,
    SharedTopic,
    Unverifiable,
)
from ..domain.audit.ranges import PlanningOutcome
from ..domain.audit.window import AdHoc, plan_window
from ..domain.cluster_view import TopicConfigs, TopicFacts, TopicPartition
from ..domain.mirror_records import Sync
from ..domain.topics import Selection
from ..exceptions import AuditError
from ..kafka.errors import denial
from .mirror import MirrorReader
from .offsets import (
    Answers,
    AuditedSites,
    MirrorFacts,
    Offsets,
    freeze_offsets,
)

__all__ = ["AuditedTopics", "freeze", "join_offsets", "recheck"]


GONE = "deleted at the source since the last audit"

UNKNOWN_LEVEL = (
    "whether the mirror copies aborted records is not known, or was changed: "
    "set mirror.isolation_level to the isolation.level of its consumer"
)

NOTHING_ASKED = (
    "There is nothing to compare: the source has no topic that is carried and "
    "was asked for"
)


@dataclass(kw_only=True, slots=True)
class AuditedTopics:
    """Which topics an audit is about, and how they are configured."""

    pairs: list[PairedLogs]
    surplus: list[PairedLogs] = field(default_factory=list)
    """Partitions that exist at the target only."""

    configs: Mapping[tuple[str, str], TopicConfigs] = field(
        default_factory=dict
    )
    unverifiable: list[Unverifiable] = field(default_factory=list)
    gone: list[tuple[str, str]] = field(default_factory=list)
    shared: tuple[SharedTopic, ...] = ()


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
        Request for the audit.
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
    pairs, unverifiable = pair_partitions(
        [
            FlowTopics(
                flow=flow.flow,
                replicated=mirrors[flow.name].replicated,
                merged=Selection(include=flow.topics.merged).matches,
                copies=flow.copies,
            )
            for flow in flows
        ],
        topics,
        request.wants,
    )
    registries = {
        (alias, cluster.schema_registry.topic or "_schemas")
        for alias, cluster in config.clusters.items()
        if cluster.schema_registry is not None
    }
    pairs = [
        replace(pair, copies=replace(pair.copies, registry=True))
        if registries & {*_topics_of(pair)}
        else pair
        for pair in pairs
    ]
    found = AuditedTopics(
        pairs=[pair for pair in pairs if pair.sources],
        surplus=[pair for pair in pairs if not pair.sources],
        unverifiable=unverifiable,
        shared=tuple(_shared(pairs)),
    )
    for flow in flows:
        mirror, seen = mirrors[flow.name], topics[flow.source]
        audited = {
            end.topic
            for end in ends.ends
            if end.flow == flow.name and end.source_id
        }
        _note_unseen(
            mirror,
            request,
            found,
            audited=audited - seen.keys(),
            seen=seen,
            sites=sites,
        )
    _drop_unknown_levels(mirrors, found)
    _drop_hidden(sites, found)
    _read_configs(sites, found)
    return found


def _shared(pairs: Iterable[PairedLogs]) -> Iterable[SharedTopic]:
    return dict.fromkeys(
        SharedTopic(flow=source.flow, reported_under=pair.flow, topic=topic)
        for pair in pairs
        for source in pair.sources
        if source.flow != pair.flow
        # Where names differ what is compared has that of the target.
        for topic in (pair.topic, pair.topic_partition[0])
    )


def _note_unseen(
    mirror: MirrorReader,
    request: Request,
    found: AuditedTopics,
    *,
    audited: set[str],
    seen: Mapping[str, TopicFacts],
    sites: AuditedSites,
) -> None:
    """Report topics that the agent is not shown, and audited ones that were
    deleted.
    """
    flow = mirror.flow
    copied = {
        topic
        for assignment in mirror.positions.assignments()
        for topic, _ in assignment.partitions
    }
    unseen = audited | {
        topic
        for topic in copied - seen.keys()
        if mirror.replicated.carries(topic)
    }
    hidden = sites[flow.source].hidden(unseen)
    for topic in sorted(hidden):
        reason = denial(f"DESCRIBE on topic {topic}", flow.source)
        # Where others feed the same topic, its records would be extra.
        remote = mirror.replicated.naming.remote(topic)
        _drop(found, {(flow.target, remote): reason})
        if request.wants(flow.name, topic):
            found.unverifiable.append(_whole(flow.name, topic, reason))
    for topic in sorted(audited - hidden):
        if request.wants(flow.name, topic):
            found.gone.append((flow.name, topic))
            found.unverifiable.append(_whole(flow.name, topic, GONE))


def _drop_unknown_levels(
    mirrors: Mapping[str, MirrorReader], found: AuditedTopics
) -> None:
    """Drop pairs of which it is not known which source records are due."""
    unknown = {
        name
        for name, mirror in mirrors.items()
        if mirror.read_committed is None
    }
    dropped = [p for p in found.pairs if {s.flow for s in p.sources} & unknown]
    found.pairs = [p for p in found.pairs if p not in dropped]
    found.unverifiable += [
        _whole(flow, topic, UNKNOWN_LEVEL)
        for flow, topic in dict.fromkeys((p.flow, p.topic) for p in dropped)
    ]


def _drop_hidden(sites: AuditedSites, found: AuditedTopics) -> None:
    """Drop pairs whose target is not missing, but not shown to the agent."""
    missing: dict[str, set[str]] = {}
    for pair in found.pairs:
        if pair.target is None:
            topic, _ = pair.topic_partition
            missing.setdefault(pair.cluster, set()).add(topic)
    hidden = {
        (alias, topic): denial(f"DESCRIBE on topic {topic}", alias)
        for alias, topics in missing.items()
        for topic in sites[alias].hidden(topics)
    }
    _drop(found, hidden)


def _read_configs(sites: AuditedSites, found: AuditedTopics) -> None:
    wanted: dict[str, set[str]] = {}
    for pair in found.pairs:
        for alias, topic in _topics_of(pair):
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
    kept, reported = [], set()
    for pair in found.pairs:
        reason = next(
            (reasons[t] for t in _topics_of(pair) if t in reasons), None
        )
        if reason is None:
            kept.append(pair)
        elif (pair.flow, pair.topic) not in reported:
            reported.add((pair.flow, pair.topic))
            found.unverifiable.append(_whole(pair.flow, pair.topic, reason))
    found.pairs = kept


def _topics_of(pair: PairedLogs) -> Iterable[tuple[str, str]]:
    yield pair.cluster, pair.topic_partition[0]
    for source in pair.sources:
        yield source.log.cluster, source.log.topic_partition[0]


def _whole(flow: str, topic: str, reason: str) -> Unverifiable:
    return Unverifiable(flow=flow, topic=topic, partition=None, reason=reason)


FOR_EVER = Retention.of(-1, -1)
"""Retention without deletion by age or size, only by compaction."""

APPENDED = "LogAppendTime"
"""Timestamps are those of the broker, and not of the records."""

LEADERLESS = (
    "one of its partitions has no leader, at the source or at the target"
)

SURPLUS = (
    "the source has no such partition, but the target {cluster} holds "
    "{count} offsets in it"
)


def join_offsets(
    topics: AuditedTopics,
    offsets: Offsets,
    mirrors: Mapping[str, MirrorFacts],
    ends: Mapping[tuple[str, str, int], AuditedEnd],
) -> tuple[list[PairedLogs], list[Unverifiable]]:
    """Join what was read of both sides.

    Parameters
    ----------
    topics
        Topics to audit.
    offsets
        Offsets of both sides.
    mirrors
        Mirrors' reports, by flow.
    ends
        Up to where partitions were audited.

    Returns
    -------
    tuple of lists
        Pairs that can be compared, and those that cannot.

    Notes
    -----
    What a mirror reports of a topic that was deleted and recreated says
    nothing of the new one. A changed id shows it, and so does a position or a
    pair of offsets that is above an end: both are read before the ends that
    they are compared with.
    """
    joining = _Joining(topics, offsets, mirrors, ends)
    pairs, gaps = [], list(joining.surplus())
    leaderless: set[tuple[str, str]] = set()
    # Where partitions are not kept, copies are in any of them.
    anywhere = [p for p in topics.surplus if not p.copies.partitions]
    for pair in (*topics.pairs, *anywhere):
        joined = joining.join(pair)
        if joined is None:
            gaps.append(_gap(pair, LEADERLESS))
            leaderless.add(_target_of(pair))
        else:
            pairs.append(joined)
    whole = [
        pair
        for pair in pairs
        if pair.copies.partitions or _target_of(pair) not in leaderless
    ]
    return whole, gaps


def _target_of(pair: PairedLogs) -> tuple[str, str]:
    return pair.cluster, pair.topic_partition[0]


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

    def join(self, pair: PairedLogs) -> PairedLogs | None:
        """Return it with its offsets; `None` where there is no leader."""
        target = pair.target
        if target is not None:
            key = (target.cluster, target.topic_partition)
            target = self._log(target, self._offsets.targets.get(key))
            if target is None:
                return None
        sources = []
        for source in pair.sources:
            joined = self._source(source, target)
            if joined is None:
                return None
            sources.append(joined)
        starts_at_end = {self._mirrors[s.flow].starts_at_end for s in sources}
        logs = [source.log for source in sources]
        return replace(
            pair,
            sources=tuple(sources),
            target=target,
            timestamps=pair.copies.timestamps
            and (
                target is None
                or self._configs(target).timestamp_type != APPENDED
            ),
            compacted=any(
                self._configs(log).compacted
                for log in (*logs, *([] if target is None else [target]))
            ),
            # Of several mirrors, one that may do so is as bad as one unknown.
            starts_at_end=True
            if True in starts_at_end
            else None
            if None in starts_at_end
            else False,
        )

    def surplus(self) -> Iterator[Unverifiable]:
        """Yield what partitions hold that the source does not have."""
        for pair in self._topics.surplus:
            if not pair.copies.partitions:
                continue
            key = (pair.cluster, pair.topic_partition)
            start = self._offsets.starts.get(key)
            end = self._offsets.targets.get(key)
            if start is not None and end is not None and end > start:
                reason = SURPLUS.format(
                    cluster=pair.cluster, count=end - start
                )
                yield _gap(pair, reason)

    def _source(
        self, source: SourceLog, target: Log | None
    ) -> SourceLog | None:
        mirror = self._mirrors[source.flow]
        topic_partition = source.log.topic_partition
        key = (source.log.cluster, topic_partition)
        level = (key, bool(mirror.read_committed))
        end = self._offsets.sources.get(level)
        later = self._offsets.later.get(level)
        log = self._log(source.log, end)
        if log is None or later is None:
            return None
        position = mirror.position(topic_partition)
        syncs = mirror.syncs(topic_partition)
        before = self._ends.get(source.key)
        recreated = before is not None and before.source_id != log.topic_id
        if recreated or (position is not None and position > later):
            position, syncs = None, ()
        if target is not None and (target.cluster, target.topic_partition) in (
            self._offsets.unsure
        ):
            position = None
        if syncs and not _speak_of(syncs[-1], later, target, before):
            syncs = ()
        return SourceLog(
            flow=source.flow,
            log=log,
            steady=later == end,
            position=position,
            syncs=syncs,
            read_committed=level[1],
            later_end=later,
        )

    def _log(self, log: Log, end: int | None) -> Log | None:
        start = self._offsets.starts.get((log.cluster, log.topic_partition))
        if start is None or end is None:
            return None
        configs = self._configs(log)
        return replace(
            log,
            retained=AuditSpan(start, max(start, end)),
            retention=Retention.of(
                configs.retention_ms, configs.retention_bytes
            )
            if configs.deletes
            else FOR_EVER,
        )

    def _configs(self, log: Log) -> TopicConfigs:
        key = (log.cluster, log.topic_partition[0])
        return self._topics.configs.get(key, TopicConfigs())


def _speak_of(
    pair: tuple[int, int],
    source_end: int,
    target: Log | None,
    end: AuditedEnd | None,
) -> bool:
    if target is None or not (
        pair[0] < source_end and pair[1] < target.retained.end
    ):
        return False
    return end is None or end.target_id in {target.topic_id, ""}


def _gap(pair: PairedLogs, reason: str) -> Unverifiable:
    return Unverifiable(
        flow=pair.flow,
        topic=pair.topic,
        partition=pair.topic_partition[1],
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
        Request for the audit.
    ends
        Up to where partitions were audited; of no concern to an ad hoc audit.
    clock
        Gives the time.

    Returns
    -------
    Plan
        Plan of the audit. If a night was missed, only the first piece of what
        is left, of a day or a seventh of it: its `more` is true, and the same
        is to be asked for again with `ends_after` it and the number of the
        next piece.

    Raises
    ------
    AuditError
        Raised if no topic is carried and asked for.
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
    known = ends.by_partition()
    with AuditedSites(config) as sites:
        mirrors = {
            flow.name: MirrorReader(flow, sites, clock)
            for flow in _concerned(config, request)
        }
        for mirror in mirrors.values():
            mirror.read_configs()
        topics = find_topics(config, request, ends, sites, mirrors)
        if not (topics.pairs or topics.surplus or topics.unverifiable):
            # It would be clean, by a slip in the name of a topic.
            raise AuditError(NOTHING_ASKED)
        offsets = freeze_offsets(
            [*topics.pairs, *topics.surplus], mirrors, sites, known
        )
        pairs, gaps = join_offsets(topics, offsets, mirrors, known)
        plan = _rules(config.audit or AuditConfig(), request, ends, now)
        planned = plan_batched([*_together(pairs)], plan, Answers(sites))
        outcomes = [outcome for found in planned for outcome in found]
    frozen = tuple(o.pair for o in outcomes if o.pair is not None)
    return Plan(
        id=request.run_id(now.date()),
        at=now,
        window=request.window,
        pairs=frozen,
        unverifiable=(
            *topics.unverifiable,
            *gaps,
            *(gap for o in outcomes for gap in o.unverifiable),
        ),
        stated=tuple(stated for o in outcomes for stated in o.stated),
        more=any(o.more for o in outcomes),
        filtered=tuple(_filtered(config, frozen)),
        gone=tuple(topics.gone),
        shared=topics.shared,
    )


def _together(
    pairs: Iterable[PairedLogs],
) -> Iterator[tuple[PairedLogs, ...]]:
    topics: dict[tuple[str, str], list[PairedLogs]] = {}
    for pair in pairs:
        if pair.copies.partitions:
            yield (pair,)
        else:
            topics.setdefault(_target_of(pair), []).append(pair)
    for parts in topics.values():
        if any(part.sources for part in parts):
            yield tuple(parts)


def _filtered(
    config: Config, pairs: Iterable[PartitionPair]
) -> Iterator[FilteredTopic]:
    flows = {flow.name: flow.filtered for flow in config.flows}
    topics = {(s.flow, s.topic) for pair in pairs for s in pair.sources}
    for flow, topic in sorted(topics):
        rule = flows[flow].rule(topic)
        if rule is not None:
            yield FilteredTopic(flow=flow, topic=topic, at_most=rule.at_most)


def _concerned(config: Config, request: Request) -> Iterable[FlowConfig]:
    """Return the flows that may share a target topic with those asked for."""
    targets = {
        flow.target
        for flow in config.flows
        if request.flow in {None, flow.name}
    }
    return [flow for flow in config.audited_flows if flow.target in targets]


_Rules = Callable[[Lookup, tuple[PairedLogs, ...]], list[PlanningOutcome]]


def _rules(
    audit: AuditConfig, request: Request, ends: AuditedEnds, now: datetime
) -> _Rules:
    """Return what works out what is compared of a pair, or of a topic."""
    night = NightlyInputs(
        now=now,
        settle=audit.settle,
        slack=audit.slack,
        ends=ends.by_partition(),
    )

    def of_night(
        look: Lookup, parts: tuple[PairedLogs, ...]
    ) -> list[PlanningOutcome]:
        if parts[0].copies.partitions:
            return [plan_night(look, parts[0], night)]
        return plan_topic_night(look, parts, night)

    if request.window is None:
        return of_night
    adhoc = AdHoc(now=now, window=request.window, slack=audit.slack)

    def of_window(
        look: Lookup, parts: tuple[PairedLogs, ...]
    ) -> list[PlanningOutcome]:
        if parts[0].copies.partitions:
            return [plan_window(look, parts[0], adhoc)]
        return plan_topic_window(look, parts, adhoc)

    return of_window


EXPIRED = "expired at the {side} during the audit"

DELETED = "the topic at the {side} was deleted during the audit"

TRUNCATED = "the log at the {side} was truncated during the audit"

LOST_LEADER = "a partition at the {side} lost its leader during the audit"


PATIENCE = timedelta(minutes=1)
"""Timeout for a missing topic or leader to come back: a broker is taken for
dead after 9 s, or after 18 s with ZooKeeper, and only then do its partitions
get other leaders."""

PAUSE = timedelta(seconds=5)


def recheck(
    config: Config,
    plan: Plan,
    clock: Callable[[], datetime] = utc_now,
    *,
    sleep: Callable[[float], object] = time.sleep,
) -> tuple[Plan, tuple[Unverifiable, ...]]:
    """Find what is no longer retained, once everything was read.

    Parameters
    ----------
    config
        The whole configuration.
    plan
        Plan that was compared.
    clock
        Gives the time.
    sleep
        Waits for a number of seconds.

    Returns
    -------
    Plan
        The plan itself, or one without pairs of which a partition has no
        leader: the next night begins where this one did, and compares them.
    tuple of Unverifiable
        Pairs, by their flow, topic and partition, of which a log start moved
        past the first offset to compare, or its end before the last one (an
        unclean leader truncates), also if it has grown since, or a topic was
        deleted or recreated: what was found of them is void. Their audited
        end moves all the same, for what expired cannot be audited by the next
        night either.

    Raises
    ------
    SourceError
        Raised if a cluster cannot be asked.

    Notes
    -----
    For a topic or a leader that is missing it asks again, for a minute. All
    else is believed at once: a log that was truncated may have grown by the
    next question.
    """
    proved: dict[int, _Loss] = {}
    missing: dict[int, _Loss] = {}
    asked = dict(enumerate(plan.pairs))
    with AuditedSites(config) as sites:
        for attempt in range(1 + PATIENCE // PAUSE):
            if attempt:
                sleep(PAUSE.total_seconds())
            now = _read_logs(asked.values(), sites)
            missing = {}
            for n, pair in asked.items():
                for loss in _find_losses(pair, now):
                    (missing if loss.missing else proved).setdefault(n, loss)
            asked = {n: plan.pairs[n] for n in missing}
            if not asked:
                break
        compared = {s.flow for pair in plan.pairs for s in pair.sources}
        mirrors = {
            flow.name: MirrorReader(flow, sites, clock)
            for flow in config.flows
            if flow.name in compared
        }
        overwritten = _find_overwritten(plan, mirrors)
    truncated = _Loss(TRUNCATED.format(side="target"))
    losses = dict.fromkeys(overwritten, truncated) | proved | missing
    leaderless: list[PartitionPair] = []
    waiting: list[Unverifiable] = []
    gone: list[Unverifiable] = []
    for n, loss in sorted(losses.items()):
        pair = plan.pairs[n]
        if loss.missing == "leader":
            leaderless.append(pair)
            waiting += _lost(pair, loss)
        else:
            gone += _lost(pair, loss)
    if leaderless:
        plan = _without(plan, leaderless, waiting)
    return plan, tuple(dict.fromkeys(gone))


def _lost(pair: PartitionPair, loss: "_Loss") -> Iterator[Unverifiable]:
    # What was found of a merged one is of a source's flow, or of all.
    for flow, topic in (
        (pair.flow, pair.topic),
        *((source.flow, source.topic) for source in pair.sources),
    ):
        yield Unverifiable(
            flow=flow,
            topic=topic,
            # The copies of the others may have been in this one.
            partition=pair.partition if pair.copies.partitions else None,
            reason=loss.reason,
        )


def _without(
    plan: Plan, pairs: Iterable[PartitionPair], gaps: Iterable[Unverifiable]
) -> Plan:
    """Return a plan without pairs, and without the other partitions of topics
    that are compared as one.
    """
    names = {_name(pair) for pair in pairs}
    return replace(
        plan,
        pairs=tuple(p for p in plan.pairs if _name(p) not in names),
        unverifiable=tuple(dict.fromkeys((*plan.unverifiable, *gaps))),
        # The next piece of this night could fail alike, without an end.
        more=False,
    )


def _name(pair: PartitionPair) -> tuple[str, str, int | None]:
    partition = pair.partition if pair.copies.partitions else None
    return pair.flow, pair.target_topic, partition


def _find_overwritten(
    plan: Plan, mirrors: Mapping[str, MirrorReader]
) -> set[int]:
    """Return which pairs have a target that was truncated and has grown
    since, as far as the mirror's syncs show that.

    Notes
    -----
    What came to the source after the ends were frozen has its copies behind
    the end that the target had then. One before that lies where another copy
    was.
    """
    compared: dict[str, dict[TopicPartition, list[int]]] = {}
    for n, pair in enumerate(plan.pairs):
        for source in pair.sources if pair.copies.partitions else ():
            places = compared.setdefault(source.flow, {})
            key = source.topic, source.partition
            places.setdefault(key, []).append(n)
    found: set[int] = set()
    for flow, places in compared.items():
        mirror = mirrors.get(flow)
        for sync in () if mirror is None else mirror.read_syncs():
            found.update(
                n
                for n in places.get(sync.key, ())
                if _is_overwritten(plan.pairs[n], sync, plan.at)
            )
    return found


def _is_overwritten(pair: PartitionPair, sync: Sync, at: datetime) -> bool:
    """Return whether a sync of a pair shows that its target was truncated."""
    ends = [
        source.retained.end
        for source in pair.sources
        if (source.topic, source.partition) == sync.key
    ]
    return (
        sync.written_at >= at
        and sync.downstream < pair.span.end
        and all(sync.upstream >= end for end in ends)
    )


def _logs_read(pair: PartitionPair) -> Iterator[Log]:
    for source in pair.sources:
        if len(source.span):
            yield Log(
                side="source",
                cluster=source.cluster,
                topic_partition=(source.topic, source.partition),
                topic_id=source.topic_id,
                retained=source.span,
            )
    if len(pair.span):
        yield Log(
            side="target",
            cluster=pair.cluster,
            topic_partition=(pair.target_topic, pair.partition),
            topic_id=pair.topic_id,
            retained=pair.span,
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class _LogsNow:
    """Clusters after everything was read, by alias."""

    topics: Mapping[str, Mapping[str, TopicFacts]]
    starts: Mapping[str, Mapping[TopicPartition, int]]
    ends: Mapping[str, Mapping[TopicPartition, int]]


def _read_logs(
    pairs: Iterable[PartitionPair], sites: AuditedSites
) -> _LogsNow:
    wanted: dict[str, set[TopicPartition]] = {}
    for pair in pairs:
        for log in _logs_read(pair):
            wanted.setdefault(log.cluster, set()).add(log.topic_partition)
    topics: dict[str, Mapping[str, TopicFacts]] = {}
    starts: dict[str, Mapping[TopicPartition, int]] = {}
    ends: dict[str, Mapping[TopicPartition, int]] = {}
    for alias, partitions in sorted(wanted.items()):
        # Starts first: those of a recreated topic are then noticed.
        site = sites[alias]
        starts[alias] = site.starts(partitions)
        ends[alias] = site.ends(partitions, read_committed=False)
        topics[alias] = site.describe().topics
    return _LogsNow(topics=topics, starts=starts, ends=ends)


@dataclass(frozen=True, slots=True)
class _Loss:
    """Reason why a log can no longer be verified."""

    reason: str
    missing: Literal["topic", "leader"] | None = None
    """Missing topic or leader, which may come back."""


def _find_losses(pair: PartitionPair, now: _LogsNow) -> Iterator[_Loss]:
    """Yield why what was found of a pair is void, for each of its logs."""
    for log in _logs_read(pair):
        topic = now.topics[log.cluster].get(log.topic_partition[0])
        start = now.starts[log.cluster].get(log.topic_partition)
        end = now.ends[log.cluster].get(log.topic_partition)
        if topic is None:
            yield _Loss(DELETED.format(side=log.side), "topic")
        elif topic.id != log.topic_id:
            yield _Loss(DELETED.format(side=log.side))
        elif start is None or end is None:
            yield _Loss(LOST_LEADER.format(side=log.side), "leader")
        elif end < log.retained.end:
            yield _Loss(TRUNCATED.format(side=log.side))
        elif start > log.retained.start:
            yield _Loss(EXPIRED.format(side=log.side))
