"""Which topics an audit is about, and how they are configured."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from ..config import Config
from ..domain.audit import Ends, Request, Unverifiable
from ..domain.audit.drafts import Draft, Drafts, FlowTopics, draft_lanes
from ..domain.selection import Selection
from ..domain.topic_configs import TopicConfigs
from ..domain.view import TopicFacts
from ..sources.kafka import denial
from .mirror import MirrorReader
from .sites import Sites

__all__ = ["AuditedTopics", "find_topics"]

GONE = "deleted at the source since it was last audited"


@dataclass(kw_only=True, slots=True)
class AuditedTopics:
    """Which topics an audit is about, and how they are configured."""

    drafts: Drafts
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
    ends: Ends,
    sites: Sites,
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
    sites: Sites,
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


def _drop_hidden(sites: Sites, found: AuditedTopics) -> None:
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


def _read_configs(sites: Sites, found: AuditedTopics) -> None:
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
