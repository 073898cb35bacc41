"""Findings of doctor about a flow: rights, internal topics, pitfalls of a
mirror.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from datetime import timedelta
from json import dumps

from confluent_kafka.admin import NewTopic
from pydantic_core import from_json

from ..clock import utc_now
from ..config import FlowConfig
from ..domain.doctor import (
    FindingSeverity,
    MirrorSetup,
    SetupConnector,
    find_traps,
)
from ..domain.mirror_records import (
    TARGET_ALIAS,
    Companion,
    Connector,
    as_read_by,
)
from ..exceptions import SourceDeniedError, SourceError
from ..kafka.admin import Cluster, describe_topics
from ..kafka.errors import TIMEOUT
from ..kafka.offsets import read_newest_timestamp
from ..kafka.reader import read_all
from ..kafka.topic_configs import read_configs
from ..wiring.context import carried_rights, to_mirror
from .carried import COMPARED, carriage_of, examine_carried
from .findings import Connectors, Findings, ReachedCluster, to_texts
from .internal_topics import (
    add_unseen,
    examine_internal,
    find_not_ours,
)
from .other_mirror import examine_group, examine_zookeeper
from .rights import add_lacking, find_lacking, wanted_on

__all__ = ["examine_flow"]

AHEAD = timedelta(seconds=5)
"""A record from so far in the future is of a clock that is wrong."""

COMMON_TRAPS = {"canary-filter", "overlap", "single-replica", "target-size"}
"""Traps of any mirror on Kafka Connect; others are of settings that only
MirrorMaker 2 has."""

RENAMING = {"policy", "separator"}
"""Traps by which the names at the target are others than expected."""


def examine_flow(
    flow: FlowConfig,
    source: ReachedCluster | None,
    target: ReachedCluster | None,
    *,
    connectors: Callable[[], Connectors | None],
    properties: Mapping[str, str],
    expected: AbstractSet[tuple[str, str]],
    audit: bool,
    schemas: bool,
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
        Waits for the connectors that Connect's REST API knows; `None` if
        unknown.
    properties
        librdkafka properties of the target.
    expected
        Internal topics of all flows, with our alias of their cluster.
    audit
        Records are read and compared by an audit.
    schemas
        The schemas of its records are compared.
    findings
        Findings to add to.
    """
    sides = {"source": source, "target": target}
    if source and target and source.id == target.id:
        findings.add(
            "cluster-id",
            f"{flow.source} and {flow.target} are one cluster ({source.id})",
            "Correct bootstrap.servers of one of them",
        )
        return
    internal = examine_internal(flow, sides, findings)
    if source is not None and flow.canary.enabled:
        _canary_source(flow, source, findings)
    raw = connectors()
    if raw is None:
        raw = _read_configs(target, properties, internal.present)
    known = () if raw is None else tuple(_to_connectors(flow, raw))
    traps = find_traps(_setup(flow, source, target, internal.present, known))
    if flow.mirror.traits.in_connect:
        traps = [trap for trap in traps if trap.check in COMMON_TRAPS]
    findings.all += traps
    named = {trap.check for trap in traps}
    other = raw is not None and _add_other_mirror(flow, raw, known, findings)
    if (
        target is not None
        and flow.canary.enabled
        and not named & {"canary-filter", *RENAMING}
    ):
        _canary_target(flow, target, findings)
    others = find_not_ours(sides, expected)
    if source is not None:
        _examine_positions(flow, source, others, findings)
    add_unseen(
        internal,
        sides,
        findings,
        others=others,
        connectors=known,
        explained=other or bool(named & {"syncs-location", *RENAMING}),
    )
    examine_carried(
        flow,
        {"source": source, "target": target},
        carried_rights(flow, audit=audit, schemas=schemas),
        findings,
    )
    for reached in filter(None, (source, target)):
        # The mirror carries heartbeats: that of the source is at the target.
        if _clock(flow, reached, internal.present, findings):
            break


def _examine_positions(
    flow: FlowConfig,
    source: ReachedCluster,
    others: Mapping[tuple[str, str], Sequence[str]],
    findings: Findings,
) -> None:
    carried = {t for t in source.topics if carriage_of(flow).carries(t)}
    if flow.mirror.traits.in_zookeeper:
        examine_zookeeper(flow, carried, findings)
    elif (group := to_mirror(flow).group) is not None:
        examine_group(flow, group, source, carried, findings, others=others)


def _canary_source(
    flow: FlowConfig, reached: ReachedCluster, findings: Findings
) -> None:
    name = flow.canary.topic
    cluster = reached.cluster
    found, lacking = find_lacking(
        cluster, name, wanted_on(flow, "source", name)
    )
    if found is not None or lacking:
        add_lacking(findings, cluster, name, lacking)
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
    # Where it is not there yet, the mirror makes it at its next refresh.
    _, lacking = find_lacking(
        reached.cluster, name, wanted_on(flow, "target", name)
    )
    add_lacking(findings, reached.cluster, name, lacking)


def _clock(
    flow: FlowConfig,
    reached: ReachedCluster,
    present: Mapping[tuple[str, str], str],
    findings: Findings,
) -> bool:
    cluster = reached.cluster
    side = "source" if cluster.alias == flow.source else "target"
    beats = ("beats", "heartbeats", "carried")
    for (place, name), kind in present.items():
        if place != side or kind not in beats:
            continue
        with suppress(SourceError):  # brokers before 3.0 do not say
            newest = read_newest_timestamp(cluster, name)
            ahead = newest - utc_now() if newest else timedelta(0)
            if ahead > AHEAD:
                findings.add(
                    "clocks",
                    f"a heartbeat in {name} at {cluster.alias} is "
                    f"{ahead.total_seconds():.0f} s in the future",
                    "Synchronise the clocks of MirrorMaker and of this "
                    "machine (NTP): latencies are wrong otherwise",
                    severity=FindingSeverity.WARNING,
                )
                return True
    return False


def _add_other_mirror(
    flow: FlowConfig,
    raw: Connectors,
    known: Sequence[SetupConnector],
    findings: Findings,
) -> bool:
    """Say that no connector copies this flow, if that is so; return whether
    there are connectors of other aliases.
    """
    if any(isinstance(c.fact, Connector) for c in known):
        return False
    traits = flow.mirror.traits
    if traits.in_connect:
        names = ", ".join(sorted(raw.properties)[:5])
        findings.add(
            "connectors",
            f"none of mirror.connectors is a connector of {traits.title}"
            + (f"; there are {names}" if names else ""),
            "Set mirror.connectors to the names of its connectors, or correct "
            "mirror.topics.configs",
        )
        return bool(names)
    pairs = sorted(
        {
            f"{p['source.cluster.alias']}->"
            f"{p.get('target.cluster.alias', TARGET_ALIAS)}"
            for p in raw.properties.values()
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
    return bool(pairs)


def _read_configs(
    target: ReachedCluster | None,
    properties: Mapping[str, str],
    present: Mapping[tuple[str, str], str],
) -> Connectors | None:
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
    return Connectors(found)


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
        topics=carriage_of(flow),
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


def _try_to_create(cluster: Cluster, name: str) -> None:
    new = NewTopic(name, 1, replication_factor=-1)
    (future,) = cluster.call(
        lambda admin: admin.create_topics(
            [new], request_timeout=TIMEOUT, validate_only=True
        ),
        f"CREATE on topic {name}",
    ).values()
    cluster.wait(future, f"CREATE on topic {name}")


def _replication(cluster: Cluster, names: Sequence[str]) -> dict[str, int]:
    try:
        found = describe_topics(cluster, names)
    except SourceError:
        return {}
    return {name: topic.replication_factor for name, topic in found.items()}


def _largest(
    flow: FlowConfig, source: ReachedCluster, target: ReachedCluster
) -> dict[str, tuple[int, int]]:
    names = carriage_of(flow).names(source.topics)
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


def _to_connectors(
    flow: FlowConfig, raw: Connectors
) -> Iterator[SetupConnector]:
    mirror, now = to_mirror(flow), utc_now()
    for name, properties in raw.properties.items():
        value = dumps({"properties": dict(properties)}).encode()
        try:
            fact = mirror.decode(
                "configs", f"connector-{name}".encode(), value, now
            )
        except ValueError:
            continue
        match fact:
            case Connector():
                fact = as_read_by(raw.version, fact)
            case Companion(role="checkpoints" | "heartbeats"):
                fact = as_read_by(raw.version, fact)
            case _:
                continue
        yield SetupConnector(name=name, fact=fact, properties=properties)
