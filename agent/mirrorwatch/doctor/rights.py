"""Asks a cluster which rights on topics the agent lacks."""

from collections.abc import Iterable, Sequence

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
    "add_lacking",
    "add_unread",
    "find_lacking",
    "find_unread",
    "wanted_on",
]

REFERENCE = "docs/security.md"
"""Where rights are explained."""


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
    rights = " and ".join(lacking)
    flags = " ".join(f"--operation {ACL_WORDS[o]}" for o in lacking)
    findings.add(
        "rights",
        f"mirrorwatch lacks {rights} on topic {name} at {cluster.alias}",
        f"Grant it: kafka-acls.sh --add --topic {name} {flags} "
        "--allow-principal User:NAME (mirrorwatch acls prints all rights)",
        severity=severity,
        reference=REFERENCE,
    )


def find_unread(cluster: Cluster, names: Iterable[str]) -> list[str]:
    """Return those of some topics that the agent may not read.

    Notes
    -----
    One request for all of them. What is gone, or of what the broker does not
    say who may read it, is not among them.
    """
    names = list(names)
    if not names:
        return []
    futures = cluster.call(
        lambda admin: admin.describe_topics(
            TopicCollection(names),
            include_authorized_operations=True,
            request_timeout=TIMEOUT,
        ),
        "DESCRIBE on its topics",
    )
    found = []
    for name, future in futures.items():
        try:
            topic = cluster.wait(future, f"READ on topic {name}")
        except SourceDeniedError:
            found.append(name)
        except SourceError as e:
            if concerns_all(e):
                raise
        else:
            allowed = {o.name for o in topic.authorized_operations or ()}
            if allowed and "READ" not in allowed:
                found.append(name)
    return sorted(found)


def add_unread(
    findings: Findings, cluster: Cluster, unread: Sequence[str], why: str
) -> None:
    """Name topics that may not be read, in one finding.

    Parameters
    ----------
    findings
        Where to add it.
    cluster
        Where the topics are.
    unread
        The topics.
    why
        What cannot be done without it.
    """
    if not unread:
        return
    first, *more = unread
    others = f" and {counted(len(more), 'other topic')}" if more else ""
    findings.add(
        "rights",
        f"mirrorwatch lacks READ on topic {first}{others} at "
        f"{cluster.alias}: {why}",
        f"Grant it: kafka-acls.sh --add --topic {first} --operation Read "
        "--allow-principal User:NAME (mirrorwatch acls prints all rights)",
        severity=FindingSeverity.WARNING,
        reference=REFERENCE,
    )
