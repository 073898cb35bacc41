"""What doctor finds of the topics in which a mirror keeps what it knows.

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
"""How MirrorMaker 2 names its internal topics, whatever alias is in them."""

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

    def may_be_renamed(self, flow: FlowConfig, topic: InternalTopic) -> bool:
        """Return whether a topic that is not seen may have another name.

        What else is named after the mirror's alias of the source, and is
        there, shows that the alias is right.
        """
        if getattr(flow.mirror.topics, topic.kind, None) is not None:
            return True
        return not any(
            side == topic.side and kind in _NAMED
            for (side, _), kind in self.present.items()
        )


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
    flow: FlowConfig,
    internal: FoundTopics,
    sides: Sides,
    findings: Findings,
    *,
    others: Mapping[tuple[str, str], Sequence[str]],
    connectors: Sequence[SetupConnector] = (),
    explained: bool = False,
) -> None:
    """Say of the internal topics that are not seen why that is, once.

    Parameters
    ----------
    flow
        The flow.
    internal
        Its internal topics.
    sides
        The clusters, as far as they were reached.
    findings
        Where to add what is found.
    others
        Internal topics that no flow is configured for, by side and kind.
    connectors
        Connectors of this flow, if they are known.
    explained
        Whether it is known already that the mirror has another alias or
        policy than is configured: then the names are wrong.
    """
    for side, reached in sides.items():
        mine = [
            one
            for one in internal.unseen
            if one.topic.side == side
            and not (explained and one.topic.kind in _OF_POLICY)
        ]
        if reached is None or not mine:
            continue
        renamed = [
            one
            for one in mine
            if others.get((side, one.topic.kind))
            and internal.may_be_renamed(flow, one.topic)
        ]
        if renamed:
            _add_other_names(side, renamed, reached, findings, others)
            continue
        for one in mine:
            add_lacking(
                findings,
                reached.cluster,
                one.topic.name,
                one.lacking,
                _severity(one.topic),
            )
        absent = [
            one.topic
            for one in mine
            if not one.lacking and _is_missed(one.topic, connectors)
        ]
        if absent:
            _add_absent(absent, reached, findings)


def _add_other_names(
    side: str,
    renamed: Sequence[Unseen],
    reached: ReachedCluster,
    findings: Findings,
    others: Mapping[tuple[str, str], Sequence[str]],
) -> None:
    needed = [one for one in renamed if not one.topic.optional]
    shown = needed or renamed
    there = [name for one in shown for name in others[side, one.topic.kind]]
    names = _list(one.topic.name for one in shown)
    absent = not any(one.lacking for one in shown)
    findings.add(
        "internal-topics",
        f"{names} {'does' if len(shown) == 1 else 'do'} not exist at "
        f"{reached.cluster.alias}"
        if absent
        else f"mirrorwatch does not see {names} at {reached.cluster.alias}",
        f"Set {_keys([one.topic for one in shown])} as MirrorMaker has "
        f"{'it' if len(shown) == 1 else 'them'}; there is {_list(there)}"
        + ("" if absent else ". If the names are right, grant READ on them"),
        severity=_severity(shown[0].topic),
    )


def _keys(topics: Sequence[InternalTopic]) -> str:
    kinds = {topic.kind for topic in topics}
    if len(kinds) == 1:
        (kind,) = kinds
        return f"mirror.topics.{kind} or the mirror's aliases"
    return "mirror.source_alias (or mirror.mode and mirror.topics)"


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


def _add_absent(
    absent: Sequence[InternalTopic],
    reached: ReachedCluster,
    findings: Findings,
) -> None:
    needed = [one for one in absent if not one.optional]
    shown = needed or absent
    findings.add(
        "internal-topics",
        f"{_list(one.name for one in shown)} "
        f"{'does' if len(shown) == 1 else 'do'} not exist at "
        f"{reached.cluster.alias}",
        _find_likely(shown, reached.topics),
        severity=_severity(shown[0]),
    )


def _find_likely(
    absent: Sequence[InternalTopic],
    topics: Mapping[str, int],
) -> str:
    """Return what to do about internal topics that are not there."""
    kinds = {one.kind for one in absent}
    side = absent[0].side
    if absent[0].optional:
        return (
            "Check that the connector that writes it runs: it creates the "
            "topic when it starts"
        )
    if kinds == {"syncs"}:
        other = "target" if side == "source" else "source"
        return (
            "Check that MirrorMaker runs and mirror.target_alias; with "
            f"offset-syncs.topic.location={other}, set mirror.syncs_location "
            f"to {other}"
        )
    likely = sorted(
        t
        for t in topics
        if re.search(r"(offsets?|configs?)(\b|[._-]|$)", t)
        and "offset-syncs" not in t
    )
    there = f"; there are {', '.join(likely[:SHOWN])}" if likely else ""
    return (
        "Check that MirrorMaker runs, and mirror.mode, mirror.source_alias "
        f"and mirror.topics{there}"
    )


def _list(names: Iterable[str]) -> str:
    names = list(names)
    more = len(names) - SHOWN
    shown = ", ".join(names[:SHOWN])
    return f"{shown} and {more} more" if more > 0 else shown
