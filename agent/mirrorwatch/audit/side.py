"""Freezes one side by time, where the other one is out of reach."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from ..config import AuditConfig, Config, FlowConfig
from ..domain.audit.facts import Log, run_batched
from ..domain.audit.plan import (
    NOTHING,
    AuditSpan,
    PartitionPair,
    Plan,
    Request,
    Side,
    SourceRange,
)
from ..domain.audit.window import AdHoc, window_span
from ..domain.cluster_view import TopicFacts
from ..domain.topics import ReplicatedTopics
from .offsets import Answers, AuditedSites

__all__ = ["freeze_side"]


@dataclass(frozen=True, kw_only=True, slots=True)
class _Part:
    """A partition of this side, and what it is called on both."""

    flow: FlowConfig
    source_topic: str
    target_topic: str
    log: Log
    compacted: bool


def freeze_side(
    config: Config,
    request: Request,
    side: Side,
    *,
    read_committed: bool,
    clock: Callable[[], datetime],
) -> Plan:
    """Freeze what lies in a window on one side of the flows.

    Parameters
    ----------
    config
        The whole configuration; only the clusters of this side are asked.
    request
        What is asked for, with its window.
    side
        Which side.
    read_committed
        Whether the mirrors leave out aborted records of the source; of the
        target only committed ones are read in any case.
    clock
        Gives the time.

    Returns
    -------
    Plan
        Pairs without offsets of the other side.

    Raises
    ------
    SourceUnavailableError
        Raised if a cluster cannot be reached.
    SourceError
        Raised if it refuses.

    Notes
    -----
    What it reads is never judged by itself: `compare` asks both clusters
    what belongs together, and looks at the records where digests differ.
    """
    window = request.window
    if window is None:
        raise ValueError("a side is frozen by a window")
    slack = (config.audit or AuditConfig()).slack
    now = clock()
    level = read_committed or side == "target"
    with AuditedSites(config) as sites:
        parts = [
            part
            for flow in config.audited_flows
            for part in _parts(
                flow, request, side, sites, read_committed=level
            )
        ]
        adhoc = AdHoc(now=now, window=window, slack=slack)
        spans = run_batched(
            [window_span(part.log, adhoc) for part in parts], Answers(sites)
        )
    pairs: dict[tuple[str, str, int], PartitionPair] = {}
    for part, span in zip(parts, spans, strict=True):
        topic, partition = part.target_topic, part.log.topic_partition[1]
        key = (part.flow.target, topic, partition)
        pair = _to_pair(part, side, span, read_committed=read_committed)
        # What several topics feed is one pair.
        if key in pairs and side == "source":
            sources = (*pairs[key].sources, *pair.sources)
            pair = replace(pairs[key], sources=sources)
        pairs[key] = pairs.get(key, pair) if side == "target" else pair
    return Plan(
        id=request.run_id(now.date()),
        at=now,
        window=window,
        pairs=tuple(pairs.values()),
    )


def _parts(
    flow: FlowConfig,
    request: Request,
    side: Side,
    sites: AuditedSites,
    *,
    read_committed: bool,
) -> Iterator[_Part]:
    site = sites[flow.source if side == "source" else flow.target]
    topics = site.describe().topics
    names = {
        there if side == "target" else here: here
        for here, there in _names(flow, side, topics).items()
        if request.wants(flow.name, here)
    }
    configs, _ = site.configs(names)
    partitions = [
        (name, partition)
        for name in sorted(names)
        for partition in range(topics[name].partitions)
    ]
    starts = site.starts(partitions)
    ends = site.ends(partitions, read_committed=read_committed)
    for partition in partitions:
        if partition not in starts or partition not in ends:
            continue
        name, _ = partition
        remote = flow.topic_naming.remote(names[name])
        yield _Part(
            flow=flow,
            source_topic=names[name],
            target_topic=name if side == "target" else str(remote),
            log=Log(
                side=side,
                cluster=site.alias,
                topic_partition=partition,
                topic_id=topics[name].id,
                retained=AuditSpan(starts[partition], ends[partition]),
            ),
            compacted=name in configs and configs[name].compacted,
        )


def _names(
    flow: FlowConfig, side: Side, topics: Mapping[str, TopicFacts]
) -> Mapping[str, str]:
    replicated = ReplicatedTopics(
        selection=flow.selection,
        naming=flow.topic_naming,
        target_alias=flow.mirror.target_alias,
    )
    if side == "source":
        return replicated.names(topics)
    origins = {
        origin: topic
        for topic in sorted(topics)
        if (origin := replicated.naming.origin(topic)) is not None
    }
    return {
        origin: origins[origin]
        for origin, remote in replicated.names(origins).items()
        if remote == origins[origin]
    }


def _to_pair(
    part: _Part, side: Side, span: AuditSpan, *, read_committed: bool
) -> PartitionPair:
    here, log = side == "source", part.log
    copies = part.flow.copies
    source = SourceRange(
        flow=part.flow.name,
        cluster=part.flow.source,
        topic=part.source_topic,
        partition=log.topic_partition[1],
        span=span if here else NOTHING,
        retained=log.retained if here else NOTHING,
        position=None,
        topic_id=log.topic_id if here else "",
        read_committed=read_committed,
    )
    return PartitionPair(
        flow=part.flow.name,
        cluster=part.flow.target,
        target_topic=part.target_topic,
        partition=log.topic_partition[1],
        sources=(source,),
        span=NOTHING if here else span,
        retained=NOTHING if here else log.retained,
        timestamps=copies.timestamps,
        compacted=part.compacted,
        topic_id="" if here else log.topic_id,
        copies=copies,
    )
