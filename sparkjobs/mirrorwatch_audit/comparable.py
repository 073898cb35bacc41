"""What digests of two sites have in common."""

from dataclasses import replace

from mirrorwatch.domain.audit import Plan, Unverifiable

from .lanes import name

__all__ = ["comparable"]

NOT_DIGESTED = "the digest of the {side} does not have it"

OTHERWISE = (
    "the mirror reads it by another isolation level than the digest of the "
    "source did: make that anew with --isolation {level}"
)

UNTIMED = (
    "the target puts timestamps of its own on records: what digests of a "
    "window hold does not belong together. Use mirrorwatch audit run"
)


def comparable(plan: Plan, source: Plan, target: Plan) -> Plan:
    """Leave out the lanes that are not in both digests.

    Parameters
    ----------
    plan
        What both clusters say belongs together.
    source
        What was digested of the source.
    target
        What was digested of the target.

    Returns
    -------
    Plan
        The plan with what both digests have, read as the mirror reads it;
        the rest is unverifiable.
    """
    sources = {
        (name(lane), s.topic_id): s.read_committed
        for lane in source.lanes
        for s in lane.sources
    }
    targets = {(name(lane), lane.topic_id) for lane in target.lanes}
    lanes, gaps = [], []
    for lane in plan.lanes:
        here = all((name(lane), s.topic_id) in sources for s in lane.sources)
        there = not lane.topic_id or (name(lane), lane.topic_id) in targets
        alike = all(
            # Where nobody knows how the mirror reads, all is wanted.
            sources.get((name(lane), s.topic_id)) is bool(s.read_committed)
            for s in lane.sources
        )
        if lane.timestamps and here and there and alike:
            lanes.append(lane)
            continue
        missing = NOT_DIGESTED.format(side="target" if here else "source")
        if here and there:
            committed = any(s.read_committed for s in lane.sources)
            missing = OTHERWISE.format(
                level="read_committed" if committed else "read_uncommitted"
            )
        gaps.append(
            Unverifiable(
                flow=lane.flow,
                topic=lane.topic,
                partition=lane.partition,
                reason=missing if lane.timestamps else UNTIMED,
            )
        )
    unverifiable = (*plan.unverifiable, *gaps)
    return replace(plan, lanes=tuple(lanes), unverifiable=unverifiable)
