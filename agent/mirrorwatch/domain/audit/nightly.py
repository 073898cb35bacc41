"""Ranges that a nightly audit compares in one pair."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from .facts import Lookup, PairedLogs
from .plan import AuditedEnd, Stated, Unverifiable
from .ranges import (
    AlignedOffsets,
    PlanningOutcome,
    Settled,
    asked_from_of,
    cut_of,
    find_loss,
    limit_of,
    settled_of,
    start_of,
    to_gap,
    to_pair,
)

__all__ = [
    "NOWHERE",
    "UNCUT",
    "UNPAIRED",
    "NightlyInputs",
    "plan_night",
    "waiting",
]


NOWHERE = (
    "not at the target {cluster}: no record of it is known to be copied. "
    "Check that the mirror's topic filter matches it and that the mirror "
    "may create topics there"
)


def plan_missing_target(
    look: Lookup,
    pair: PairedLogs,
    ends: Mapping[tuple[str, str, int], AuditedEnd],
    *,
    newest: datetime,
    latest: datetime,
    slack: timedelta,
) -> PlanningOutcome:
    """Work out what is compared of sources whose target does not exist.

    Parameters
    ----------
    look
        Answers questions.
    pair
        The pair.
    ends
        Up to where partitions were audited; none of an ad hoc audit.
    newest
        Time before which records are settled.
    latest
        Latest time that a timestamp can be without being wrong.
    slack
        By how much records may be out of time order.

    Notes
    -----
    An empty source needs no target, and a young one may wait for the mirror's
    next look for topics. Where the mirror's position is past records, it read
    them, and they are missing: so they are compared with nothing. Where it is
    not, they cannot be verified. What was audited may be gone with a target
    that was deleted: that is reported until there is a target again.
    """
    begins, lasts, positions, gaps = [], [], [], []
    for source in pair.sources:
        found = settled_of(look, source, newest, latest)
        end = ends.get(source.key)
        known = end is not None and end.source_id == source.log.topic_id
        reason = None if end is None else find_loss(source, end, None)
        if reason is not None:
            gaps.append(to_gap(source, reason))
        begin = source.log.retained.start
        if known and end is not None:
            begin = max(begin, end.source_end)
        read = begin if found.position is None else found.position
        last = max(begin, min(read, found.end))
        if last < found.end:
            reason = NOWHERE.format(cluster=pair.cluster)
            gaps.append(to_gap(source, reason, found.end - last))
        begins.append(begin)
        lasts.append(last)
        positions.append(found.position)
    if lasts == begins:
        return PlanningOutcome(unverifiable=tuple(gaps))
    asked_from = asked_from_of(
        look, pair.sources, [], ends, slack, starts_at_end=pair.starts_at_end
    )
    return PlanningOutcome(
        pair=to_pair(
            pair,
            AlignedOffsets(sources=tuple(begins), target=0),
            AlignedOffsets(sources=tuple(lasts), target=0),
            positions=positions,
            cut="timestamp",
            cut_at=newest,
            asked_from=asked_from,
        ),
        unverifiable=tuple(gaps),
    )


UNPAIRED = (
    "the logs are incomplete, and no pair of source and target offsets is "
    "known"
)

UNCUT = (
    "no pair of source and target offsets is known to start from: "
    "timestamps do not give one, and the mirror wrote no offset sync there"
)

STUCK = (
    "The mirror's position has not moved since the last audit, though "
    "records follow it: they are lag, or were dropped at the end of the "
    "log, which only a later record can show"
)


@dataclass(frozen=True, kw_only=True, slots=True)
class NightlyInputs:
    """Planning inputs shared by all pairs of a nightly audit."""

    now: datetime
    settle: timedelta
    slack: timedelta
    ends: Mapping[tuple[str, str, int], AuditedEnd]
    """Up to where partitions were audited."""

    @property
    def newest(self) -> datetime:
        """Time before which records are settled."""
        return self.now - self.settle

    @property
    def latest(self) -> datetime:
        """Latest time that a timestamp can be without being wrong."""
        return self.now + self.settle


def plan_night(
    look: Lookup, pair: PairedLogs, night: NightlyInputs
) -> PlanningOutcome:
    """Work out what a night compares of one pair."""
    if pair.target is None:
        return plan_missing_target(
            look,
            pair,
            night.ends,
            newest=night.newest,
            latest=night.latest,
            slack=night.slack,
        )
    start = start_of(look, pair, pair.target, night.ends, night.slack)
    if start.aligned is None:
        gaps = start.lost or tuple(
            to_gap(source, UNPAIRED, len(source.log.retained))
            for source in pair.sources
        )
        return PlanningOutcome(unverifiable=gaps)
    limit = limit_of(start.since, night.now, night.settle)
    settled = []
    for source in pair.sources:
        found = settled_of(look, source, limit, night.latest)
        settled.append(found)
    cut = cut_of(look, pair, pair.target, start.aligned, settled, limit=limit)
    if cut is None:
        return PlanningOutcome(
            unverifiable=(
                *start.lost,
                *(
                    to_gap(source, UNCUT, found.copied - first)
                    for source, found, first in zip(
                        pair.sources,
                        settled,
                        start.aligned.sources,
                        strict=True,
                    )
                    if found.copied > first
                ),
            )
        )
    more = cut.kind != "idle" and cut.at == limit < night.newest
    at = night.newest if cut.kind == "idle" else cut.at
    stuck, stated = waiting(pair, night, settled)
    asked_from = asked_from_of(
        look,
        pair.sources,
        [pair.target],
        night.ends,
        night.slack,
        starts_at_end=pair.starts_at_end,
    )
    return PlanningOutcome(
        pair=to_pair(
            pair,
            start.aligned,
            cut.aligned,
            positions=[found.position for found in settled],
            cut=cut.kind,
            cut_at=at,
            asked_from=asked_from,
        ),
        unverifiable=(*start.lost, *stuck),
        stated=tuple(stated),
        more=more,
    )


def waiting(
    pair: PairedLogs, night: NightlyInputs, settled: Sequence[Settled]
) -> tuple[list[Unverifiable], list[Stated]]:
    """Return settled records that the mirror has not copied."""
    stuck: list[Unverifiable] = []
    stated: list[Stated] = []
    for source, found in zip(pair.sources, settled, strict=True):
        if found.position is None or found.position >= found.end:
            continue
        count = found.end - found.position
        end = night.ends.get(source.key)
        if end is not None and found.position == end.position:
            stuck.append(to_gap(source, STUCK, count))
        else:
            topic, partition = source.log.topic_partition
            stated.append(
                Stated(
                    flow=source.flow,
                    topic=topic,
                    partition=partition,
                    kind="in_flight",
                    count=count,
                )
            )
    return stuck, stated
