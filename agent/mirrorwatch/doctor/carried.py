"""Findings of doctor about a flow's topics and their consumer groups."""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping

from ..config import FlowConfig
from ..domain.acls import Operation, Right, Side
from ..domain.doctor import FindingSeverity
from ..domain.topics import ReplicatedTopics
from ..exceptions import SourceError
from ..kafka.groups import list_groups, read_group_offsets
from .findings import Findings, ReachedCluster
from .rights import (
    REFERENCE,
    add_denied_group,
    add_lacking_on_many,
    find_lacking_on_many,
)

__all__ = ["COMPARED", "carriage_of", "examine_carried"]

COMPARED = 1000
"""Topics that are looked at one by one: more take longer than there is
time."""


def carriage_of(flow: FlowConfig) -> ReplicatedTopics:
    """Return which topics a flow carries, and their names at the target."""
    return ReplicatedTopics(
        selection=flow.selection,
        naming=flow.topic_naming,
        target_alias=flow.mirror.target_alias,
    )


def examine_carried(
    flow: FlowConfig,
    sides: Mapping[Side, ReachedCluster | None],
    rights: Iterable[Right],
    findings: Findings,
) -> None:
    """Ask for rights on what a flow carries, and on its readers' groups.

    Parameters
    ----------
    flow
        The flow.
    sides
        Its clusters, as far as they were reached.
    rights
        Rights that are needed on these.
    findings
        Findings to add to.
    """
    wanted: dict[Side, dict[Operation, str]] = defaultdict(dict)
    for right in rights:
        if right.kind == "topic":
            wanted[right.side][right.operation] = right.check
    source, target = sides["source"], sides["target"]
    carried = carriage_of(flow)
    names = {
        topic: remote
        for topic, remote in carried.names(
            source.topics if source is not None else ()
        ).items()
        if topic != flow.canary.topic and not topic.endswith("heartbeats")
    }
    if source is not None:
        if not names:
            _add_unseen(flow, findings)
        _add_lacking(source, names, wanted["source"], findings)
    if target is not None:
        # With an authorizer, what may not be described is not even listed.
        _add_lacking(target, names.values(), wanted["target"], findings)
        if flow.readers.enabled:
            _readers(flow, target, findings)


def _add_unseen(flow: FlowConfig, findings: Findings) -> None:
    findings.add(
        "rights",
        f"mirrorwatch sees no topic of {flow.name} at "
        f"{flow.source}: no lag, no skips, no parity",
        "Grant DESCRIBE on its topics (READ includes it), or check "
        "topics.include",
        severity=FindingSeverity.WARNING,
    )


def _add_lacking(
    reached: ReachedCluster,
    names: Iterable[str],
    wanted: Mapping[Operation, str],
    findings: Findings,
) -> None:
    if not wanted:
        return
    try:
        lacking = find_lacking_on_many(
            reached.cluster, sorted(names)[:COMPARED], list(wanted)
        )
    except SourceError as e:
        findings.add_error("rights", e, FindingSeverity.WARNING)
        return
    for operation, check in wanted.items():
        add_lacking_on_many(
            findings, reached.cluster, lacking[operation], operation, check
        )


def _readers(
    flow: FlowConfig, target: ReachedCluster, findings: Findings
) -> None:
    alias = target.cluster.alias
    named = flow.readers.named
    try:
        seen, all_answered = list_groups(target.cluster)
        _, denied = read_group_offsets(target.cluster, named)
    except SourceError as e:
        findings.add_error("readers", e, FindingSeverity.WARNING)
        return
    for group in sorted(denied):
        add_denied_group(
            findings, target.cluster, group, FindingSeverity.WARNING
        )
    if not all_answered:
        return
    missing = [g for g in named if g not in seen and g not in denied]
    wrong = [
        pattern
        for pattern in flow.readers.groups
        if not any(re.fullmatch(pattern, group) for group in seen)
    ]
    for group in missing:
        findings.add(
            "readers",
            f"consumer group {group} does not exist at {alias}",
            "Start its connector, or correct readers.connectors",
            severity=FindingSeverity.WARNING,
        )
    for pattern in wrong:
        # Kafka lists only the groups that one may describe.
        findings.add(
            "readers",
            f"mirrorwatch sees no consumer group {pattern} at {alias}",
            "Grant DESCRIBE on it (mirrorwatch acls prints all rights), or "
            "correct readers.groups",
            severity=FindingSeverity.WARNING,
            reference=REFERENCE,
        )
