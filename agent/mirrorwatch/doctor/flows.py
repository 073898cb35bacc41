"""What doctor finds of a flow: rights, internal topics, traps of a mirror."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import timedelta
from json import dumps

from confluent_kafka import TopicPartition as Requested
from confluent_kafka.admin import NewTopic, OffsetSpec
from pydantic_core import from_json

from ..clock import utc_now
from ..config import FlowConfig
from ..domain.acls import ACL_WORDS, Operation, Side
from ..domain.doctor import (
    FindingSeverity,
    MirrorSetup,
    SetupConnector,
    find_traps,
)
from ..domain.mirror_records import Companion, Connector
from ..domain.topics import ReplicatedTopics
from ..exceptions import SourceDeniedError, SourceError
from ..kafka.admin import Cluster, Topic, describe_topics
from ..kafka.errors import TIMEOUT
from ..kafka.reader import read_all
from ..kafka.topic_configs import read_configs
from ..ports import InternalTopic
from ..wiring.context import rights_of, to_mirror
from .findings import Findings, ReachedCluster, to_texts

__all__ = ["Connectors", "examine_flow"]

AHEAD = timedelta(seconds=5)
"""A record from so far in the future is of a clock that is wrong."""

COMPARED = 1000
"""Topics whose sizes are compared: more take longer than there is time."""

Connectors = Mapping[str, Mapping[str, str]]
"""Properties of connectors, by name."""


def examine_flow(
    flow: FlowConfig,
    source: ReachedCluster | None,
    target: ReachedCluster | None,
    *,
    connectors: Callable[[], Connectors | None],
    properties: Mapping[str, str],
    findings: Findings,
) -> None:
    """Look at rights, internal topics and the mirror's own configuration.

    Parameters
    ----------
    flow
        The flow.
    source, target
        Its clusters, as far as they were reached.
    connectors
        Waits for the connectors that Connect's REST API knows, with their
        properties; `None` if unknown.
    properties
        librdkafka properties of the target.
    findings
        Where to add what is found.
    """
    sides = {"source": source, "target": target}
    if source and target and source.id == target.id:
        findings.add(
            "cluster-id",
            f"{flow.source} and {flow.target} are one cluster ({source.id})",
            "Correct bootstrap.servers of one of them",
        )
        return
    present, absent = _ask_internal(flow, sides, findings)
    if source is not None and flow.canary.enabled:
        _canary_source(flow, source, findings)
    raw = connectors()
    if raw is None:
        raw = _read_configs(target, properties, present)
    known = () if raw is None else _find_connectors(flow, raw, findings)
    setup = _setup(flow, source, target, present, known)
    traps = find_traps(setup)
    if (
        target is not None
        and flow.canary.enabled
        and not any(t.check == "canary-filter" for t in traps)
    ):
        _canary_target(flow, target, findings)
    findings.all += traps
    located = any(t.check == "syncs-location" for t in traps)
    _report_absent(
        [one for one in absent if not (located and one.kind == "syncs")],
        sides,
        findings,
    )
    if source is not None:
        _visible(flow, source, findings)
    for reached in filter(None, (source, target)):
        _clock(flow, reached, present, findings)


def _canary_source(
    flow: FlowConfig, reached: ReachedCluster, findings: Findings
) -> None:
    name = flow.canary.topic
    wanted = _wanted(flow, "source", name)
    found, denied = _ask_rights(reached.cluster, name, wanted, findings)
    if found is not None or denied:
        return
    alias = reached.cluster.alias
    if not flow.canary.create:
        findings.add(
            "canary",
            f"the canary topic {name} does not exist at {alias}",
            f"Create it, or set canary.create of {flow.name}",
        )
        return
    try:
        _try_to_create(reached.cluster, name)
    except SourceDeniedError:
        findings.add(
            "rights",
            f"mirrorwatch lacks CREATE on topic {name} at {alias}",
            "Grant it, or create the topic",
        )
    except SourceError as e:
        findings.add_error("canary", e)


def _canary_target(
    flow: FlowConfig, reached: ReachedCluster, findings: Findings
) -> None:
    name = flow.topic_naming.remote(flow.canary.topic)
    wanted = _wanted(flow, "target", name)
    # Where it is not there yet, the mirror makes it at its next refresh.
    _ask_rights(reached.cluster, name, wanted, findings)


def _visible(
    flow: FlowConfig, reached: ReachedCluster, findings: Findings
) -> None:
    carried = _carriage(flow)
    if not any(
        carried.carries(t) for t in reached.topics if not _own(flow, t)
    ):
        findings.add(
            "rights",
            f"mirrorwatch sees no topic of {flow.name} at "
            f"{flow.source}: no lag, no skips, no parity",
            "Grant DESCRIBE on its topics (READ includes it), or check "
            "topics.include",
            severity=FindingSeverity.WARNING,
        )


def _clock(
    flow: FlowConfig,
    reached: ReachedCluster,
    present: Mapping[tuple[str, str], str],
    findings: Findings,
) -> None:
    """Look for a heartbeat from the future."""
    cluster = reached.cluster
    side = "source" if cluster.alias == flow.source else "target"
    beats = ("beats", "heartbeats", "carried")
    for (place, name), kind in present.items():
        if place != side or kind not in beats:
            continue
        with suppress(SourceError):  # brokers before 3.0 do not say
            newest = _newest_timestamp(cluster, name)
            ahead = newest / 1000 - utc_now().timestamp()
            if ahead > AHEAD.total_seconds():
                findings.add(
                    "clocks",
                    f"a heartbeat in {name} at {cluster.alias} is "
                    f"{ahead:.0f} s in the future",
                    "Synchronise the clocks of MirrorMaker and of this "
                    "machine (NTP): latencies are wrong otherwise",
                    severity=FindingSeverity.WARNING,
                )
                return


def _find_connectors(
    flow: FlowConfig, raw: Connectors, findings: Findings
) -> tuple[SetupConnector, ...]:
    """Return the connectors of a flow."""
    found = tuple(_to_connectors(flow, raw))
    if not any(isinstance(c.fact, Connector) for c in found):
        pairs = sorted(
            {
                f"{p['source.cluster.alias']}->"
                f"{p.get('target.cluster.alias', '?')}"
                for p in raw.values()
                if p.get("source.cluster.alias")
            }
        )
        mirror = flow.mirror
        findings.add(
            "connectors",
            "no MirrorSourceConnector replicates "
            f"{mirror.source_alias}->{mirror.target_alias}"
            + (f"; there are {', '.join(pairs[:5])}" if pairs else ""),
            "Set mirror.source_alias and mirror.target_alias to the "
            "aliases of MirrorMaker, or start its connector"
            if pairs
            else "Start MirrorMaker, or correct mirror.topics.configs",
        )
    return found


def _read_configs(
    target: ReachedCluster | None,
    properties: Mapping[str, str],
    present: Mapping[tuple[str, str], str],
) -> Connectors | None:
    """Return the connectors that the configs topic knows."""
    topic = next((n for (_, n), k in present.items() if k == "configs"), None)
    if target is None or topic is None:
        return None
    found: dict[str, Mapping[str, str]] = {}
    for record in read_all(target.cluster, properties, topic):
        key, value = record.key() or b"", record.value()
        kind, _, name = bytes(key).decode(errors="replace").partition("-")
        if kind != "connector":
            continue
        found.pop(name, None)
        with suppress(ValueError, KeyError, TypeError, AttributeError):
            if value is not None:
                found[name] = to_texts(from_json(value)["properties"])
    return found


def _setup(
    flow: FlowConfig,
    source: ReachedCluster | None,
    target: ReachedCluster | None,
    present: Mapping[tuple[str, str], str],
    connectors: tuple[SetupConnector, ...],
) -> MirrorSetup:
    mirror = flow.mirror
    sides = {"source": source, "target": target}
    return MirrorSetup(
        flow=flow.name,
        source=flow.source,
        target=flow.target,
        topics=_carriage(flow),
        policy=flow.naming.policy,
        separator=mirror.separator,
        syncs_location=mirror.syncs_location,
        canary=flow.canary.topic if flow.canary.enabled else None,
        counts_errors=mirror.jmx is not None,
        connectors=connectors,
        source_topics=frozenset(source.topics if source else ()),
        target_topics=frozenset(target.topics if target else ()),
        brokers={s: r.brokers for s, r in sides.items() if r is not None},
        replication={
            (side, name): factor
            for side, reached in sides.items()
            if reached is not None
            for name, factor in _replication(
                reached.cluster, [n for s, n in present if s == side]
            ).items()
        },
        largest=_largest(flow, source, target) if source and target else {},
    )


def _wanted(flow: FlowConfig, side: Side, topic: str) -> list[Operation]:
    """Return the operations on a topic, without its creation."""
    return [
        right.operation
        for right in rights_of(flow)
        if (right.side, right.kind, right.topic) == (side, "topic", topic)
        and right.operation != "CREATE"
    ]


def _ask_rights(
    cluster: Cluster,
    name: str,
    operations: Sequence[str],
    findings: Findings,
    severity: FindingSeverity = FindingSeverity.ERROR,
) -> tuple[Topic | None, bool]:
    """Describe a topic; return it, and whether a right on it is missing."""
    lacking: Sequence[str]
    try:
        found = cluster.describe_topic(name, right=" and ".join(operations))
        lacking = found.lacks(*operations) if found is not None else ()
    except SourceDeniedError:
        # It is not even described; DESCRIBE_CONFIGS is a right of its own.
        found = None
        lacking = [
            operation
            for operation in operations
            if operation != "DESCRIBE_CONFIGS" or _lacks_configs(cluster, name)
        ]
    if lacking:
        rights = " and ".join(lacking)
        flags = " ".join(f"--operation {ACL_WORDS[o]}" for o in lacking)
        findings.add(
            "rights",
            f"mirrorwatch lacks {rights} on topic {name} at {cluster.alias}",
            f"Grant it: kafka-acls.sh --add --topic {name} {flags} "
            "--allow-principal User:NAME (mirrorwatch acls prints all rights)",
            severity=severity,
            reference="docs/security.md",
        )
    return found, bool(lacking)


def _lacks_configs(cluster: Cluster, name: str) -> bool:
    try:
        cluster.max_message_bytes(name)
    except SourceDeniedError:
        return True
    return False


def _try_to_create(cluster: Cluster, name: str) -> None:
    """Ask whether a topic may be created; nothing is."""
    new = NewTopic(name, 1, replication_factor=-1)
    (future,) = cluster.call(
        lambda admin: admin.create_topics(
            [new], request_timeout=TIMEOUT, validate_only=True
        ),
        f"CREATE on topic {name}",
    ).values()
    cluster.wait(future, f"CREATE on topic {name}")


def _newest_timestamp(cluster: Cluster, topic: str) -> int:
    asked = {Requested(topic, 0): OffsetSpec.max_timestamp()}
    (future,) = cluster.call(
        lambda admin: admin.list_offsets(asked, request_timeout=TIMEOUT),
        f"DESCRIBE on topic {topic}",
    ).values()
    return int(cluster.wait(future, f"DESCRIBE on topic {topic}").timestamp)


def _replication(cluster: Cluster, names: Sequence[str]) -> dict[str, int]:
    try:
        found = describe_topics(cluster, names)
    except SourceError:
        return {}
    return {name: topic.replication_factor for name, topic in found.items()}


def _largest(
    flow: FlowConfig, source: ReachedCluster, target: ReachedCluster
) -> dict[str, tuple[int, int]]:
    names = _carriage(flow).names(source.topics)
    both = {t: r for t, r in sorted(names.items()) if r in target.topics}
    both = dict(list(both.items())[:COMPARED])
    try:
        here, _ = read_configs(source.cluster, both)
        there, _ = read_configs(target.cluster, both.values())
    except SourceError:
        return {}
    found = {}
    for topic, remote in both.items():
        sizes = [
            configs[name].max_message_bytes
            for configs, name in ((here, topic), (there, remote))
            if name in configs
        ]
        if len(sizes) == 2 and None not in sizes:
            found[topic] = (int(sizes[0] or 0), int(sizes[1] or 0))
    return found


def _carriage(flow: FlowConfig) -> ReplicatedTopics:
    return ReplicatedTopics(
        selection=flow.selection,
        naming=flow.topic_naming,
        target_alias=flow.mirror.target_alias,
    )


def _own(flow: FlowConfig, topic: str) -> bool:
    return topic == flow.canary.topic or topic.endswith("heartbeats")


def _ask_internal(
    flow: FlowConfig,
    sides: Mapping[str, ReachedCluster | None],
    findings: Findings,
) -> tuple[dict[tuple[str, str], str], list[InternalTopic]]:
    """Return the kinds of the internal topics that may be read, by side and
    name, and those that are not there.
    """
    present: dict[tuple[str, str], str] = {}
    absent: list[InternalTopic] = []
    for one in to_mirror(flow).internal_topics():
        reached = sides[one.side]
        if reached is None:
            continue
        found, denied = _ask_rights(
            reached.cluster,
            one.name,
            _wanted(flow, one.side, one.name),
            findings,
            FindingSeverity.WARNING if one.optional else FindingSeverity.ERROR,
        )
        if found is not None and not denied:
            present[one.side, one.name] = one.kind
        elif not denied and not one.optional:
            absent.append(one)
    return present, absent


def _report_absent(
    absent: Sequence[InternalTopic],
    sides: Mapping[str, ReachedCluster | None],
    findings: Findings,
) -> None:
    for side, reached in sides.items():
        missing = [one for one in absent if one.side == side]
        if reached is not None and missing:
            names = ", ".join(one.name for one in missing)
            findings.add(
                "internal-topics",
                f"{names} {'does' if len(missing) == 1 else 'do'} not exist "
                f"at {reached.cluster.alias}",
                _find_likely(missing, reached.topics),
            )


def _find_likely(
    absent: Sequence[InternalTopic],
    topics: Mapping[str, int],
) -> str:
    """Return what to do about internal topics that are not there."""
    kinds = {one.kind for one in absent}
    side = absent[0].side
    if kinds == {"syncs"}:
        other = "target" if side == "source" else "source"
        likely = sorted(t for t in topics if "offset-syncs" in t)
        if likely:
            return f"Set mirror.topics.syncs; there is {', '.join(likely[:3])}"
        return (
            "Check that MirrorMaker runs and mirror.target_alias; with "
            f"offset-syncs.topic.location={other}, set mirror.syncs_location "
            f"to {other}"
        )
    likely = sorted(
        t
        for t in topics
        if re.search(r"(offsets?|configs?)(\b|[._-]|$)", t)
        and "offset-syncs" not in t
    )
    there = f"; there are {', '.join(likely[:4])}" if likely else ""
    return (
        "Check that MirrorMaker runs, and mirror.mode, mirror.source_alias "
        f"and mirror.topics{there}"
    )


def _to_connectors(
    flow: FlowConfig, raw: Mapping[str, Mapping[str, str]]
) -> Iterator[SetupConnector]:
    mirror, now = to_mirror(flow), utc_now()
    for name, properties in raw.items():
        value = dumps({"properties": dict(properties)}).encode()
        try:
            fact = mirror.decode(
                "configs", f"connector-{name}".encode(), value, now
            )
        except ValueError:
            continue
        if isinstance(fact, Connector) or (
            isinstance(fact, Companion)
            and fact.role in {"checkpoints", "heartbeats"}
        ):
            yield SetupConnector(name=name, fact=fact, properties=properties)
