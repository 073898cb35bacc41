"""Makes what reads and judges consumer groups at both sides of a flow."""

from collections.abc import Iterable
from functools import partial

from ..domain.failover.recovery import CopyFacts, RecoveryState
from ..domain.readers.model import ReadersState
from ..domain.topics import Selection
from ..sources.failover import FailoverSource
from ..sources.groups import GroupListener, GroupsWorker
from ..sources.readers import ReadersSource
from ..state.documents import DocumentStore, FirstSeenStore
from ..state.failover import GroupStore, SourceEndStore
from .context import (
    FlowParts,
    WiredParts,
    WiringContext,
)

__all__ = ["wire_failover", "wire_groups", "wire_readers"]


def wire_failover(parts: FlowParts, around: WiringContext) -> WiredParts:
    """Wire what keeps and judges the offsets of consumer groups.

    Its lag, skips and position must have been wired before: they know of
    copies.

    Raises
    ------
    StateError
        Raised if the state file cannot be used.
    """
    flow = parts.config
    facts, copies, resets = parts.facts, parts.facts.copies, parts.facts.resets
    assert copies is not None  # noqa: S101 - wired before
    assert resets is not None  # noqa: S101 - wired before

    def copy_facts() -> CopyFacts:
        return CopyFacts(
            position=facts.position,
            missing=copies.missing(),
            dropped=facts.dropped(),
            resets=resets.resets(),
        )

    source = FailoverSource(
        flow=flow.name,
        positions=parts.positions,
        store=GroupStore(around.database, flow.name),
        first_seen=FirstSeenStore(around.database, flow.name, "failover"),
        copied=copies.copied,
        copy_facts=copy_facts,
        recovery=DocumentStore(
            around.database, flow.name, "recovery", RecoveryState
        ),
        source_ends=SourceEndStore(around.database, flow.name),
    )
    parts.listeners.append(source)
    parts.group_listeners.append(source)
    return WiredParts(sources=(source,))


def wire_readers(parts: FlowParts, around: WiringContext) -> WiredParts:
    """Wire what judges the consumer groups at the target of a flow.

    Raises
    ------
    StateError
        Raised if the state file cannot be used.
    """
    flow = parts.config
    if not flow.readers.enabled:
        return WiredParts()
    matches = Selection(include=flow.readers.groups).matches
    required = flow.readers.named
    source = ReadersSource(
        flow=flow.name,
        target=flow.target,
        properties=around.properties[flow.target],
        chosen=lambda group: group in required or matches(group),
        required=required,
        store=DocumentStore(
            around.database, flow.name, "readers", ReadersState
        ),
    )
    parts.listeners.append(source)
    parts.target_group_listeners.append(source)
    return WiredParts(sources=(source,))


def wire_groups(
    flows: Iterable[FlowParts], around: WiringContext
) -> WiredParts:
    """Wire what reads the consumer groups of all sources, each once, and the
    chosen ones of all targets.

    The areas of the flows must have been wired before: their listeners
    are taken now.
    """
    listeners: dict[str, list[GroupListener]] = {}
    chosen: dict[str, list[ReadersSource]] = {}
    for flow in flows:
        listeners.setdefault(flow.config.source, []).extend(
            flow.group_listeners
        )
        if flow.target_group_listeners:
            chosen.setdefault(flow.config.target, []).extend(
                flow.target_group_listeners
            )
    return WiredParts(
        workers=(
            *(
                GroupsWorker(
                    source=around.clusters[alias],
                    listeners=of_cluster,
                    clock=around.clock,
                    guard=around.guard,
                )
                for alias, of_cluster in listeners.items()
            ),
            *(
                GroupsWorker(
                    source=around.clusters[alias],
                    listeners=of_cluster,
                    clock=around.clock,
                    guard=around.guard,
                    chosen=partial(_is_chosen, of_cluster),
                )
                for alias, of_cluster in chosen.items()
            ),
        )
    )


def _is_chosen(readers: Iterable[ReadersSource], group: str) -> bool:
    return any(reader.chooses(group) for reader in readers)
