"""Asks a cluster which rights on topics the agent lacks."""

from collections.abc import Mapping, Sequence

from confluent_kafka import TopicCollection

from ..config import FlowConfig
from ..domain.acls import ACL_WORDS, Operation, Side
from ..domain.doctor import FindingSeverity
from ..domain.report import counted
from ..exceptions import SourceDeniedError, SourceError
from ..kafka.admin import Cluster, Topic, concerns_all
from ..kafka.errors import TIMEOUT
from ..wiring.context import rights_of
from .findings import Findings

__all__ = [
    "REFERENCE",
    "add_denied_group",
    "add_lacking",
    "add_lacking_on_many",
    "find_lacking",
    "find_lacking_on_many",
    "wanted_on",
]

REFERENCE = "docs/security.md"
"""Documentation page on rights."""


def wanted_on(flow: FlowConfig, side: Side, topic: str) -> list[Operation]:
    """Return the operations on a topic, without its creation."""
    return [
        right.operation
        for right in rights_of(flow)
        if (right.side, right.kind, right.topic) == (side, "topic", topic)
        and right.operation != "CREATE"
    ]


def find_lacking(
    cluster: Cluster, name: str, operations: Sequence[str]
) -> tuple[Topic | None, list[str]]:
    """Describe a topic; return it, and the rights on it that are missing.

    Notes
    -----
    A topic that may not even be described is no topic, and lacks rights.
    """
    try:
        found = cluster.describe_topic(name, right=" and ".join(operations))
    except SourceDeniedError:
        # DESCRIBE_CONFIGS is a right of its own.
        return None, [
            operation
            for operation in operations
            if operation != "DESCRIBE_CONFIGS" or _lacks_configs(cluster, name)
        ]
    return found, [] if found is None else list(found.lacks(*operations))


def _lacks_configs(cluster: Cluster, name: str) -> bool:
    try:
        cluster.max_message_bytes(name)
    except SourceDeniedError:
        return True
    return False


def add_lacking(
    findings: Findings,
    cluster: Cluster,
    name: str,
    lacking: Sequence[str],
    severity: FindingSeverity = FindingSeverity.ERROR,
) -> None:
    """Name the rights on a topic that are missing, if there are any."""
    if not lacking:
        return
    _add(findings, cluster, ("topic", name), lacking, severity=severity)


def add_denied_group(
    findings: Findings,
    cluster: Cluster,
    group: str,
    severity: FindingSeverity = FindingSeverity.ERROR,
) -> None:
    """Name a consumer group that may not be described."""
    right = ["DESCRIBE"]
    _add(findings, cluster, ("group", group), right, severity=severity)


def _add(
    findings: Findings,
    cluster: Cluster,
    resource: tuple[str, str],
    lacking: Sequence[str],
    *,
    severity: FindingSeverity,
    more: str = "",
    effect: str = "",
) -> None:
    kind, name = resource
    flags = " ".join(f"--operation {ACL_WORDS[o]}" for o in lacking)
    findings.add(
        "rights",
        f"mirrorwatch lacks {' and '.join(lacking)} on {kind} {name}{more} at "
        f"{cluster.alias}{effect}",
        f"Grant it: kafka-acls.sh --add --{kind} {name} {flags} "
        "--allow-principal User:NAME (mirrorwatch acls prints all rights)",
        severity=severity,
        reference=REFERENCE,
    )


def find_lacking_on_many(
    cluster: Cluster, names: Sequence[str], operations: Sequence[Operation]
) -> Mapping[Operation, Sequence[str]]:
    """Return the topics on which each of some operations is not allowed.

    Notes
    -----
    One request for all of them. What is gone, or of what the broker does not
    say what is allowed, is not among them. A topic that may not even be
    described lacks READ, too; DESCRIBE_CONFIGS is a right of its own.
    """
    found: dict[Operation, list[str]] = {o: [] for o in operations}
    if not names:
        return found
    futures = cluster.call(
        lambda admin: admin.describe_topics(
            TopicCollection(list(names)),
            include_authorized_operations=True,
            request_timeout=TIMEOUT,
        ),
        "DESCRIBE on its topics",
    )
    for name, future in sorted(futures.items()):
        try:
            topic = cluster.wait(future, f"DESCRIBE on topic {name}")
        except SourceDeniedError:
            for operation in found.keys() & {"READ", "DESCRIBE"}:
                found[operation].append(name)
        except SourceError as e:
            if concerns_all(e):
                raise
        else:
            allowed = {o.name for o in topic.authorized_operations or ()}
            for operation, topics in found.items():
                if allowed and operation not in allowed:
                    topics.append(name)
    return found


def add_lacking_on_many(
    findings: Findings,
    cluster: Cluster,
    topics: Sequence[str],
    operation: Operation,
    check: str,
) -> None:
    """Name topics on which an operation is not allowed, in one finding.

    Parameters
    ----------
    findings
        Findings to add to.
    cluster
        Cluster of the topics.
    topics
        The topics.
    operation
        The operation.
    check
        Check that is unknown without it.
    """
    if not topics:
        return
    first, *more = topics
    others = f" and {counted(len(more), 'other topic')}" if more else ""
    _add(
        findings,
        cluster,
        ("topic", first),
        [operation],
        severity=FindingSeverity.WARNING,
        more=others,
        effect=f": the check {check} is unknown without it",
    )
