"""Looks for the mirror that is there where the configured one is not."""

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet

from ..config import FlowConfig
from ..domain.mirror_presets import PRESETS
from ..domain.report import counted
from ..exceptions import ConfigError, SourceDeniedError, SourceError
from ..kafka.groups import (
    list_groups,
    read_group_offsets,
    read_source_group,
)
from ..wiring.context import to_offset_nodes
from .findings import Findings, ReachedCluster

__all__ = ["examine_group", "find_mirroring_groups"]

CHECK = "mirror"

ASKED = 50
"""Groups whose positions are asked for, a request for each: those that are
named like a mirror's first."""

SHOWN = 3

_LIKELY = re.compile(
    "|".join(
        [r"mirror|mm\d?(\b|_)|migrat|replicat", *map(re.escape, PRESETS)]
    ),
    re.IGNORECASE,
)
"""How people name the group of a mirror."""

_HELPERS = tuple(
    traits.helper_groups for traits in PRESETS.values() if traits.helper_groups
)
"""How names of groups end with which a mirror copies nothing."""


def examine_group(
    flow: FlowConfig,
    group: str,
    source: ReachedCluster,
    carried: AbstractSet[str],
    findings: Findings,
    *,
    others: Mapping[tuple[str, str], Sequence[str]],
) -> None:
    """Ask for the positions of the group that is configured.

    Parameters
    ----------
    flow
        The flow.
    group
        Its mirror's consumer group.
    source
        Where the group is.
    carried
        Topics of the flow that are seen there.
    findings
        Where to add what is found.
    others
        Internal topics of MirrorMaker 2 that no flow is configured for, by
        side and kind.
    """
    alias = source.cluster.alias
    traces = sorted({name for names in others.values() for name in names})
    there = ", ".join(traces[:SHOWN])
    try:
        found = read_source_group(source.cluster, group)
    except SourceDeniedError:
        if traces:
            findings.add(
                CHECK,
                f"group {group} at {alias} may not be described, and there "
                f"are topics of MirrorMaker 2: {there}",
                "Set mirror.kind to mirrormaker2; if it is "
                f"{flow.mirror.traits.title}, grant DESCRIBE on group "
                f"{group}",
            )
            return
        findings.add(
            "rights",
            f"mirrorwatch lacks DESCRIBE on group {group} at {alias}",
            f"Grant it: kafka-acls.sh --add --group {group} --operation "
            "Describe --allow-principal User:NAME (mirrorwatch acls prints "
            "all rights)",
            reference="docs/security.md",
        )
        return
    except SourceError as e:
        findings.add_error(CHECK, e)
        return
    if found.members or not carried:
        return  # it may have committed nothing yet
    if any(topic in carried for topic, _ in found.offsets):
        return  # stopped, which is for the agent to tell
    if traces:
        remedy = f"Set mirror.kind to mirrormaker2: there is {there}"
    elif likely := find_mirroring_groups(source, carried):
        remedy = f"Set mirror.group; there is {', '.join(likely)}"
    else:
        remedy = "Start the mirror, or correct mirror.group"
    findings.add(
        CHECK,
        f"group {group} at {alias} has no members, and no positions in "
        f"topics of {flow.name}",
        remedy,
    )


def examine_zookeeper(
    flow: FlowConfig, carried: AbstractSet[str], findings: Findings
) -> None:
    """Ask for the positions that are configured to be in ZooKeeper.

    Parameters
    ----------
    flow
        The flow.
    carried
        Topics of the flow that are seen at the source.
    findings
        Where to add what is found.
    """
    try:
        nodes = to_offset_nodes(flow)
    except ConfigError as e:
        findings.add(CHECK, str(e), "Install mirrorwatch[zookeeper]")
        return
    try:
        found = nodes.read()
    except SourceError as e:
        findings.add(
            CHECK,
            str(e),
            "Correct mirror.zookeeper, or mirror.group: znodes of positions "
            f"are {nodes.path}/TOPIC/PARTITION",
        )
        return
    finally:
        nodes.close()
    if carried and not any(topic in carried for topic, _ in found):
        findings.add(
            CHECK,
            f"{nodes.path} in ZooKeeper has no positions in topics of "
            f"{flow.name}",
            "Start the mirror, or correct mirror.group",
        )


def find_mirroring_groups(
    source: ReachedCluster, carried: AbstractSet[str]
) -> list[str]:
    """Return consumer groups that may be a mirror's, the likeliest first.

    Their positions are in at least half of the flow's topics. None where the
    agent may not ask.
    """
    covered: dict[str, set[str]] = defaultdict(set)
    try:
        listed, _ = list_groups(source.cluster)
        groups = [name for name in listed if not name.endswith(_HELPERS)]
        groups.sort(key=lambda name: _LIKELY.search(name) is None)
        offsets, _ = read_group_offsets(source.cluster, groups[:ASKED])
    except SourceError:
        return []
    for group, topic, _ in offsets:
        if topic in carried:
            covered[group].add(topic)
    enough = [
        g for g, topics in covered.items() if 2 * len(topics) >= len(carried)
    ]
    enough.sort(key=lambda g: (_LIKELY.search(g) is None, -len(covered[g]), g))
    return [
        f"{g} (positions in {counted(len(covered[g]), 'topic')})"
        for g in enough[:SHOWN]
    ]
