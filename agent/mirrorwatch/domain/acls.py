"""ACLs that the agent needs on each cluster."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

__all__ = [
    "ACL_WORDS",
    "Operation",
    "Right",
    "Side",
    "minimal_rights",
    "to_strimzi_acls",
    "topic_rights",
]


HEARTBEATS = "heartbeats"
"""Topic that MirrorMaker 2 writes heartbeats to, at every cluster."""

Side = Literal["source", "target"]

Operation = Literal["READ", "WRITE", "CREATE", "DESCRIBE", "DESCRIBE_CONFIGS"]
"""Kafka's own word. READ and WRITE imply DESCRIBE."""

ACL_WORDS: Mapping[str, str] = {
    "READ": "Read",
    "WRITE": "Write",
    "CREATE": "Create",
    "DESCRIBE": "Describe",
    "DESCRIBE_CONFIGS": "DescribeConfigs",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Right:
    """Right to one operation on one resource of one cluster (Kafka ACL)."""

    side: Side
    operation: Operation
    topic: str
    purpose: str
    check: str = "canary"
    """Check that is unknown without it; no other one suffers, unless it is
    the canary's, whose topics all of them need."""

    kind: Literal["topic", "group"] = "topic"
    prefixed: bool = False

    def __str__(self) -> str:
        return f"{self.operation} on {self.kind} {self.topic}"


def to_strimzi_acls(rights: Sequence[Right]) -> list[dict[str, object]]:
    """Return the `acls` of a `KafkaUser`: one item for each resource."""
    operations: dict[tuple[str, str, str], list[str]] = {}
    for right in rights:
        pattern = "prefix" if right.prefixed else "literal"
        operations.setdefault((right.kind, right.topic, pattern), []).append(
            ACL_WORDS[right.operation]
        )
    return [
        {
            "resource": {"type": kind, "name": name, "patternType": pattern},
            "operations": words,
        }
        for (kind, name, pattern), words in operations.items()
    ]


def group_rights(group: str) -> tuple[Right, ...]:
    """Return the rights on the group in which a mirror keeps its positions."""
    return (
        Right(
            side="source",
            operation="DESCRIBE",
            topic=group,
            purpose="positions and members of the mirror are known",
            kind="group",
        ),
    )


def connect_rights(
    topics: Mapping[str, str], group: str | None
) -> tuple[Right, ...]:
    """Return the rights on where a mirror on Connect keeps its positions.

    Parameters
    ----------
    topics
        Its internal topics at the target, by kind.
    group
        Consumer group at the source with its positions, if there is one.
    """
    purposes = {
        "offsets": "a loss is proved by the committed position",
        "configs": "it is known whether the mirror wants the canary topic",
    }
    return (
        *(group_rights(group) if group is not None else ()),
        *(
            _read("target", name, "tasks", "failed tasks are known")
            if kind == "status"
            else Right(
                side="target",
                operation="READ",
                topic=name,
                purpose=purposes[kind],
            )
            for kind, name in topics.items()
        ),
    )


def internal_rights(
    *,
    syncs: str,
    offsets: str,
    configs: str,
    status: str | None,
    checkpoints: str,
    carried_heartbeats: str,
    syncs_side: Side = "source",
) -> tuple[Right, ...]:
    """Return the rights on MirrorMaker 2's internal topics.

    Parameters
    ----------
    syncs, offsets, configs, status, checkpoints
        The mirror's internal topics; no ``status`` if its name is unknown.
    carried_heartbeats
        Name at the target of the source's heartbeats topic.
    syncs_side
        Side that holds the mirror's offset syncs.
    """
    rights = [
        Right(
            side=syncs_side,
            operation="READ",
            topic=syncs,
            purpose="positions and skips are known at once",
        ),
        Right(
            side="target",
            operation="READ",
            topic=offsets,
            purpose="a loss is proved by the committed position",
        ),
        Right(
            side="target",
            operation="READ",
            topic=configs,
            purpose="it is known whether the mirror wants the canary topic",
        ),
        _read(
            "target", checkpoints, "checkpoints", "stale checkpoints are known"
        ),
        _read("source", HEARTBEATS, "heartbeats", "late copies are known"),
        _read("target", HEARTBEATS, "heartbeats", "a dead worker is missed"),
        _read(
            "target", carried_heartbeats, "heartbeats", "copies are followed"
        ),
    ]
    if status is not None:
        rights.append(
            _read("target", status, "tasks", "failed tasks are known")
        )
    return tuple(rights)


def minimal_rights(
    *,
    canary: str | None,
    remote_canary: str,
    internal: Sequence[Right],
    create: bool = False,
    create_remote: bool = False,
    sized: bool = False,
) -> tuple[Right, ...]:
    """Return the smallest set of rights with which one flow is watched.

    Parameters
    ----------
    canary
        Canary topic at the source; `None` if no probes are sent.
    remote_canary
        Its name at the target.
    internal
        Rights on where the mirror keeps what it knows.
    create
        The agent creates the canary topic.
    create_remote
        The agent creates it at the target, too.
    sized
        Large probes are sent.
    """
    rights = list(internal)
    if canary is not None:
        rights += [
            Right(
                side="source",
                operation="WRITE",
                topic=canary,
                purpose="probes are written",
            ),
            Right(
                side="source",
                operation="READ",
                topic=canary,
                purpose="a send of unknown outcome is settled by reading",
            ),
            Right(
                side="target",
                operation="READ",
                topic=remote_canary,
                purpose="probes are seen to arrive",
            ),
        ]
    if canary is not None and sized:
        sides: tuple[tuple[Side, str], ...] = (
            ("source", canary),
            ("target", remote_canary),
        )
        rights += [
            Right(
                side=side,
                operation="DESCRIBE_CONFIGS",
                topic=topic,
                purpose="no probe is larger than the topic takes",
            )
            for side, topic in sides
        ]
    if canary is not None and create:
        rights.append(
            Right(
                side="source",
                operation="CREATE",
                topic=canary,
                purpose="the canary topic is created where it is missing",
            )
        )
    if canary is not None and create and create_remote:
        rights.append(
            Right(
                side="target",
                operation="CREATE",
                topic=remote_canary,
                purpose="the canary topic is created where it is missing",
            )
        )
    return tuple(rights)


def _read(side: Side, topic: str, check: str, purpose: str) -> Right:
    return Right(
        side=side, operation="READ", topic=topic, purpose=purpose, check=check
    )


def topic_rights(
    include: Sequence[str],
    remote: Callable[[str], str],
    *,
    configs: bool = True,
    audit: bool = False,
    schemas: bool = False,
    readers: Sequence[str] = (),
) -> Iterator[Right]:
    """Yield the rights on what a flow carries, and on consumer groups.

    Parameters
    ----------
    include
        Regexes of the flow's topics.
    remote
        Names a source topic at the target.
    configs
        Topic configurations are compared.
    audit
        Records are read and compared.
    schemas
        Schemas of records are compared.
    readers
        Regexes of the consumer groups that are watched at the target.
    """
    sides: tuple[Side, ...] = ("source", "target")
    for name, prefixed in dict.fromkeys(map(_to_resource, include)):
        for side in sides:
            there = name
            if side == "target" and name != "*":
                there = _rename(name, remote, prefixed=prefixed)
            wanted: list[tuple[Operation, str, str]] = [
                ("READ", "audit", "records are compared")
                if audit
                else ("READ", "schemas", "schemas of records are compared")
                if schemas
                else ("READ", "readers", "the age of what waits is known")
                if readers and side == "target"
                else ("DESCRIBE", "lag", "lag, skips and parity are known"),
            ]
            if configs:
                wanted.insert(
                    0, ("DESCRIBE_CONFIGS", "configs", "configs are compared")
                )
            for operation, check, purpose in wanted:
                yield Right(
                    side=side,
                    operation=operation,
                    topic=there,
                    purpose=purpose,
                    check=check,
                    prefixed=prefixed,
                )
    yield Right(
        side="source",
        operation="DESCRIBE",
        topic="*",
        purpose="stale checkpoints and failover are judged by groups",
        check="failover",
        kind="group",
    )
    for name, prefixed in dict.fromkeys(map(_to_resource, readers)):
        yield Right(
            side="target",
            operation="DESCRIBE",
            topic=name,
            purpose="the lag of readers is known",
            check="readers",
            kind="group",
            prefixed=prefixed,
        )


def _rename(name: str, remote: Callable[[str], str], *, prefixed: bool) -> str:
    """Return what covers at the target what a name covers at the source."""
    if not prefixed:
        return remote(name)
    # What stands behind the topic is no part of how its name begins.
    return remote(f"{name}\0").partition("\0")[0]


def _to_resource(pattern: str) -> tuple[str, bool]:
    """Return the narrowest resource that covers a regex, and whether it is
    the beginning of names: ACLs know no regexes.
    """
    plain = re.sub(r"\[\.\]|\\\.", "\0", pattern)
    found = re.match(r"[\w\0-]*", plain)
    start = found[0] if found else ""
    rest = plain[len(start) :]
    if rest[:1] in {"?", "*", "{"}:
        start = start[:-1]
    start = start.replace("\0", ".")
    if "|" in plain or not start:
        return "*", False
    return start, bool(rest)
