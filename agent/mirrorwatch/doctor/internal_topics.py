"""Findings of doctor about a mirror's internal topics.

A topic that is absent and one that may not be described look alike on a
cluster with an authorizer: it refuses both. What tells a wrong name in the
configuration from a missing right is a topic of the same kind under another
name.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from ..config import FlowConfig
from ..domain.doctor import FindingSeverity, SetupConnector
from ..domain.mirror_records import Companion
from ..ports import InternalTopic
from ..wiring.context import to_mirror
from .findings import Findings, ReachedCluster
from .rights import add_lacking, find_lacking, wanted_on

__all__ = [
    "FoundTopics",
    "Unseen",
    "add_unseen",
    "examine_internal",
    "find_not_ours",
]

_NAMED = {
    "offsets": re.compile(r"mm2-offsets\W.*"),
    "configs": re.compile(r"mm2-configs\W.*"),
    "status": re.compile(r"mm2-status\W.*"),
    "syncs": re.compile(r"mm2-offset-syncs\W.*"),
    "checkpoints": re.compile(r".*\Wcheckpoints\Winternal"),
}
"""Names of MirrorMaker 2's internal topics, with any alias."""

_OF_POLICY = {"syncs", "checkpoints", "carried"}
"""Kinds whose names follow from aliases and the replication policy."""

SHOWN = 4

Sides = Mapping[str, ReachedCluster | None]


@dataclass(frozen=True, slots=True)
class Unseen:
    """An internal topic that is absent, or may not even be described."""

    topic: InternalTopic
    lacking: tuple[str, ...] = ()
    """Rights on it that are missing; empty if it is absent."""


@dataclass(frozen=True, slots=True)
class FoundTopics:
    """The internal topics of a flow, as the clusters show them."""

    present: Mapping[tuple[str, str], str]
    unseen: tuple[Unseen, ...]


def examine_internal(
    flow: FlowConfig, sides: Sides, findings: Findings
) -> FoundTopics:
    """Look for the internal topics; those that are seen but not to be read
    are findings.
    """
    present: dict[tuple[str, str], str] = {}
    unseen: list[Unseen] = []
    for one in to_mirror(flow).internal_topics():
        reached = sides[one.side]
        if reached is None:
            continue
        wanted = wanted_on(flow, one.side, one.name)
        found, lacking = find_lacking(reached.cluster, one.name, wanted)
        if found is None:
            unseen.append(Unseen(one, tuple(lacking)))
        elif lacking:
            add_lacking(
                findings, reached.cluster, one.name, lacking, _severity(one)
            )
        else:
            present[one.side, one.name] = one.kind
    return FoundTopics(present, tuple(unseen))


def _severity(topic: InternalTopic) -> FindingSeverity:
    return FindingSeverity.WARNING if topic.optional else FindingSeverity.ERROR


def find_not_ours(
    sides: Sides, expected: AbstractSet[tuple[str, str]]
) -> dict[tuple[str, str], list[str]]:
    """Return MirrorMaker 2's internal topics that no flow is configured for,
    by side and kind.

    Parameters
    ----------
    sides
        The clusters, as far as they were reached.
    expected
        Internal topics of all configured flows, with our alias of their
        cluster.
    """
    return {
        (side, kind): sorted(
            name
            for name in reached.topics
            if pattern.fullmatch(name)
            and (reached.cluster.alias, name) not in expected
        )
        for side, reached in sides.items()
        if reached is not None
        for kind, pattern in _NAMED.items()
    }


def add_unseen(
    internal: FoundTopics,
    sides: Sides,
    findings: Findings,
    *,
    others: Mapping[tuple[str, str], Sequence[str]],
    connectors: Sequence[SetupConnector] = (),
    explained: bool = False,
) -> None:
    """Add one finding for each side with internal topics that are not seen.

    Parameters
    ----------
    internal
        The internal topics of a flow.
    sides
        The clusters, as far as they were reached.
    findings
        Findings to add to.
    others
        Internal topics that no flow is configured for, by side and kind.
    connectors
        Connectors of this flow, if they are known.
    explained
        The mirror is known already to have another alias or policy than is
        configured: then the names are wrong.
    """
    for side, reached in sides.items():
        mine = [
            one
            for one in internal.unseen
            if one.topic.side == side
            and not (explained and one.topic.kind in _OF_POLICY)
        ]
        if reached is None:
            continue
        there = {one: others.get((side, one.topic.kind), ()) for one in mine}
        if any(there.values()):
            mine = [one for one in mine if there[one]]
        else:
            for one in mine:
                add_lacking(
                    findings,
                    reached.cluster,
                    one.topic.name,
                    one.lacking,
                    _severity(one.topic),
                )
            mine = [
                one
                for one in mine
                if not one.lacking and _is_missed(one.topic, connectors)
            ]
        shown = [one for one in mine if not one.topic.optional] or mine
        if shown:
            found = [name for one in shown for name in there[one]]
            findings.add(
                "internal-topics",
                f"mirrorwatch does not see "
                f"{_list(one.topic.name for one in shown)} at "
                f"{reached.cluster.alias}",
                _remedy(shown, found),
                severity=_severity(shown[0].topic),
            )


def _remedy(unseen: Sequence[Unseen], found: Sequence[str]) -> str:
    there = f"; there is {_list(found)}" if found else ""
    if unseen[0].topic.optional and not found:
        return (
            "Check that the connector that writes it runs: it creates the "
            "topic when it starts"
        )
    denied = any(one.lacking for one in unseen)
    return (
        "Check that MirrorMaker runs. Set mirror.mode, mirror.source_alias, "
        "mirror.target_alias, mirror.syncs_location or mirror.topics as it "
        f"has them{there}"
        + (". If the names are right, grant READ on them" if denied else "")
    )


def _is_missed(
    topic: InternalTopic, connectors: Sequence[SetupConnector]
) -> bool:
    """Return whether there is no mirror as it should be without a topic."""
    if not topic.optional:
        return True
    role = "checkpoints" if topic.kind == "checkpoints" else "heartbeats"
    return topic.kind in {"checkpoints", "heartbeats"} and any(
        isinstance(one.fact, Companion)
        and one.fact.role == role
        and one.fact.interval is not None
        for one in connectors
    )


def _list(names: Iterable[str]) -> str:
    names = list(names)
    more = len(names) - SHOWN
    shown = ", ".join(names[:SHOWN])
    return f"{shown} and {more} more" if more > 0 else shown
