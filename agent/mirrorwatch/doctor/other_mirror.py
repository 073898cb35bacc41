"""Findings about mirrors that keep positions in a group or in ZooKeeper."""

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet

from ..config import FlowConfig
from ..exceptions import ConfigError, SourceDeniedError, SourceError
from ..kafka.groups import read_source_group
from ..wiring.context import to_offset_nodes
from .findings import Findings, ReachedCluster
from .rights import add_denied_group

__all__ = ["examine_group", "examine_zookeeper"]

CHECK = "mirror"

SHOWN = 3


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
        Cluster of the group.
    carried
        Topics of the flow that are seen there.
    findings
        Findings to add to.
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
        add_denied_group(findings, source.cluster, group)
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
        Findings to add to.
    """
    try:
        nodes = to_offset_nodes(flow)
    except ConfigError as e:
        findings.add(CHECK, str(e), "Install the extra zookeeper")
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
