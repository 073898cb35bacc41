"""What the agent must be allowed to do on each cluster."""

from dataclasses import dataclass
from typing import Literal

__all__ = ["Right", "minimal_rights"]


HEARTBEATS = "heartbeats"
"""Topic that MirrorMaker 2 writes heartbeats to, at every cluster."""

Side = Literal["source", "target"]
"""Cluster of the flow."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Right:
    """One operation on one resource of one cluster, as Kafka's ACLs say."""

    side: Side
    """Cluster of the flow."""

    operation: Literal["READ", "WRITE", "CREATE", "DESCRIBE_CONFIGS"]
    """Operation, in Kafka's own word. READ and WRITE imply DESCRIBE."""

    topic: str
    """Topic, literally."""

    purpose: str
    """What cannot be done without it."""

    check: str = "canary"
    """Check that is unknown without it; no other one suffers, unless it is
    the canary's, whose topics all of them need."""

    def __str__(self) -> str:
        return f"{self.operation} on topic {self.topic}"


def minimal_rights(
    *,
    canary: str,
    remote_canary: str,
    syncs: str,
    offsets: str,
    configs: str,
    status: str,
    checkpoints: str,
    carried_heartbeats: str,
    syncs_side: Side = "source",
    create: bool = False,
) -> tuple[Right, ...]:
    """Return the smallest set of rights with which one flow is watched.

    Parameters
    ----------
    canary
        Canary topic at the source.
    remote_canary
        Its name at the target.
    syncs, offsets, configs, status, checkpoints
        The mirror's internal topics.
    carried_heartbeats
        Name at the target of the source's heartbeats topic.
    syncs_side
        Where the mirror keeps its offset syncs.
    create
        Whether the agent shall create the canary topic.
    """
    rights = [
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
            side="source",
            operation="DESCRIBE_CONFIGS",
            topic=canary,
            purpose="no probe is larger than the topic takes",
        ),
        Right(
            side=syncs_side,
            operation="READ",
            topic=syncs,
            purpose="positions and skips are known at once",
        ),
        Right(
            side="target",
            operation="READ",
            topic=remote_canary,
            purpose="probes are seen to arrive",
        ),
        Right(
            side="target",
            operation="DESCRIBE_CONFIGS",
            topic=remote_canary,
            purpose="no probe is larger than the topic takes",
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
        _read("target", status, "tasks", "failed tasks are known"),
        _read(
            "target", checkpoints, "checkpoints", "stale checkpoints are known"
        ),
        _read("source", HEARTBEATS, "heartbeats", "late copies are known"),
        _read("target", HEARTBEATS, "heartbeats", "a dead worker is missed"),
        _read(
            "target", carried_heartbeats, "heartbeats", "copies are followed"
        ),
    ]
    if create:
        rights.append(
            Right(
                side="source",
                operation="CREATE",
                topic=canary,
                purpose="the canary topic is created where it is missing",
            )
        )
    return tuple(rights)


def _read(side: Side, topic: str, check: str, purpose: str) -> Right:
    return Right(
        side=side, operation="READ", topic=topic, purpose=purpose, check=check
    )
