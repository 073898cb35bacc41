"""The check ``topics``: whether the target has what the flow carries."""

from collections.abc import Iterator
from datetime import datetime

from ..parity.topics import PartitionMismatch, TopicsObservation, names
from ..verdicts import Evidence, Health, Verdict
from ..words import agree, every
from .finding import Finding, conclude, seconds

__all__ = ["judge_topics"]


def judge_topics(
    flow: str,
    seen: TopicsObservation | None,
    now: datetime,
) -> Verdict:
    """Judge topics and their numbers of partitions.

    Parameters
    ----------
    flow
        Name of the flow.
    seen
        How the topics of both sides compare.
    now
        The time.
    """
    return conclude(
        _find(seen),
        flow=flow,
        check="topics",
        now=now,
        evidence=_evidence(seen),
    )


def _find(seen: TopicsObservation | None) -> Iterator[Finding]:
    if seen is None:
        yield Finding(
            Health.UNKNOWN, "The topics of both sides are not known yet"
        )
        return
    if not seen.known:
        told = seen.problems or (
            "The topics of both sides have not been known for a while",
        )
        yield from (Finding(Health.UNKNOWN, text) for text in told)
        return
    if not seen.carried:
        yield Finding(
            Health.UNKNOWN,
            f"The agent sees no topic at {seen.source_alias} that the flow "
            "carries: are topics.include and its right DESCRIBE as they "
            "should be?",
        )
        return
    yield from _find_unwanted(seen)
    yield from _find_missing(seen)
    yield from _find_mismatches(seen)
    yield from _find_cycles(seen)
    carried = seen.carried - len(seen.unwanted)
    theirs = every(carried, "topic")
    yield Finding(
        Health.OK,
        f"{theirs[0].upper()}{theirs[1:]} that the mirror carries "
        f"{agree(carried, 'are as')} {agree(carried, 'they should be')} at "
        f"{seen.target_alias}{_awaited_note(seen)}",
    )


def _find_unwanted(seen: TopicsObservation) -> Iterator[Finding]:
    if seen.unwanted and seen.chosen:
        yield Finding(
            Health.CRITICAL,
            f"The mirror's topic filter does not match {names(seen.unwanted)},"
            " which the flow carries, so they are not copied: add them to the "
            "connector's topics, or take them out of topics.include",
        )


def _find_missing(seen: TopicsObservation) -> Iterator[Finding]:
    there = seen.target_alias
    absent = [m for m in seen.late if m.hidden is False]
    if absent:
        oldest = min(m.since for m in absent)
        yield Finding(
            Health.CRITICAL,
            f"Missing at {there} for {seconds(seen.at - oldest)}, though the "
            f"mirror looks for new topics every {seconds(seen.refresh)}: "
            f"{names(m.topic for m in absent)}. Does the mirror run, and may "
            "it read them and create topics?",
        )
    hidden = [m.remote for m in seen.late if m.hidden]
    if hidden:
        yield Finding(
            Health.UNKNOWN,
            f"The agent may not see whether these are at {there}: "
            f"{names(hidden)}. Grant it DESCRIBE on them",
        )


def _find_mismatches(seen: TopicsObservation) -> Iterator[Finding]:
    """Say it of one topic in each direction, and name others: there may be
    very many.
    """
    fewer = [m for m in seen.divided if m.source > m.target]
    if fewer:
        first = min(fewer, key=lambda m: (m.since, m.topic))
        yield Finding(
            Health.WARNING,
            f"{first.topic} has {first.source} partitions at "
            f"{seen.source_alias} and only {first.target} at "
            f"{seen.target_alias} for {seconds(seen.at - first.since)}: the "
            "records of the others are not copied. Does the mirror run, and "
            "may it ALTER the topic?" + _likewise_note(first, fewer),
        )
    more = [m for m in seen.divided if m.source < m.target]
    if more:
        first = min(more, key=lambda m: m.topic)
        yield Finding(
            Health.WARNING,
            f"{first.topic} has {first.target} partitions at "
            f"{seen.target_alias} and only {first.source} at "
            f"{seen.source_alias}: the mirror fills the first ones only; "
            "somebody added the others there, or the topic was made anew with "
            "fewer" + _likewise_note(first, more),
        )


def _likewise_note(
    first: PartitionMismatch, found: list[PartitionMismatch]
) -> str:
    others = names(m.topic for m in found if m is not first)
    return f" (likewise {others})" if others else ""


def _find_cycles(seen: TopicsObservation) -> Iterator[Finding]:
    if seen.cycles:
        yield Finding(
            Health.WARNING,
            f"Topics at {seen.target_alias} came round to where they began: "
            f"{names(seen.cycles)}. Give all mirrors the same aliases of the "
            "clusters, then delete these topics",
        )


def _awaited_note(seen: TopicsObservation) -> str:
    awaited = len(seen.missing) + len(seen.mismatches)
    if not awaited:
        return ""
    new, grown = agree(awaited, "are new"), agree(awaited, "have grown")
    return f"; {awaited} of them {new} or {grown}"


def _evidence(seen: TopicsObservation | None) -> Evidence:
    if seen is None:
        return {}
    return {
        "topics": seen.carried,
        "missing_topics": seen.absent,
        "awaited_topics": len(seen.missing) - len(seen.late),
        "partition_mismatches": len(seen.divided),
        "not_wanted_by_mirror": len(seen.unwanted),
        "not_wanted_topics": names(seen.unwanted) or None,
        "only_at_target": len(seen.left_over),
        "only_at_target_topics": names(seen.left_over) or None,
        "other_replication_factor": len(seen.other_replication),
        "other_replication_factor_topics": names(seen.other_replication)
        or None,
        "refresh_seconds": seen.refresh.total_seconds(),
    }
