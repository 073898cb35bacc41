"""The check ``canary``: whether probes arrive."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from ..report import (
    Finding,
    Health,
    Verdict,
    conclude,
    counted,
    every,
    seconds,
)
from .model import NOT_STARTED, CanaryObservation

__all__ = ["CanaryLimits", "judge_canary"]


STALE = timedelta(seconds=5)
"""The canary says at least once a second what it knows; one that has not for
this long hangs."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CanaryLimits:
    """Limits of the check `canary`."""

    enabled: bool = True
    """Whether probes are sent at all."""

    deadline: timedelta = timedelta(seconds=30)
    """Age from which an outstanding probe is overdue."""

    lost_window: timedelta = field(
        default=timedelta(hours=1),
        metadata={"title": "Critical after a loss for", "gt": timedelta()},
    )
    """How long a lost probe keeps the check critical. Long enough to be
    noticed, short enough that a repaired flow is ok again within a shift.
    `mirrorwatch_canary_lost_total` keeps the total."""

    warning_window: timedelta = field(
        default=timedelta(minutes=10),
        metadata={"title": "Warning for", "gt": timedelta()},
    )
    """How long late, duplicated or failed probes keep the check at warning. No
    record is lost, so one topic refresh of MirrorMaker is enough."""


def judge_canary(
    flow: str,
    seen: CanaryObservation | None,
    limits: CanaryLimits,
    now: datetime,
) -> Verdict:
    """Judge whether probes arrive on every partition.

    Parameters
    ----------
    flow
        Name of the flow.
    seen
        Latest state of its canary.
    limits
        Limits of the check.
    now
        The time.
    """
    return conclude(
        _find(seen, limits, now),
        flow=flow,
        check="canary",
        now=now,
        evidence=_evidence(seen, now),
    )


def _find(
    seen: CanaryObservation | None, limits: CanaryLimits, now: datetime
) -> Iterator[Finding]:
    if not limits.enabled:
        yield Finding(
            "canary.off",
            Health.OFF,
            "Canary is disabled (canary.enabled is false)",
        )
        return
    if seen is None:
        yield Finding("canary.no-data", Health.UNKNOWN, NOT_STARTED)
        return
    if now - seen.at > STALE:
        yield Finding(
            "canary.stale",
            Health.UNKNOWN,
            f"Canary has been stuck for {seconds(now - seen.at)}. Check "
            "mirrorwatch's log and the disk of its state file",
            numbers={"seconds": (now - seen.at).total_seconds()},
        )
    yield from _find_losses(seen, limits, now)
    yield from _find_overdue(seen, limits, now)
    yield from (
        Finding(f"canary.{p.condition}", p.health, p.text)
        for p in seen.problems
    )
    yield from _find_blindness(seen, limits, now)
    yield from _find_trouble(seen, limits, now)
    yield Finding(
        "canary.ok",
        Health.OK,
        f"Probes arrive on {every(len(seen.partitions), 'partition')}"
        + _warming_note(seen),
        numbers={
            "partitions": len(seen.partitions),
            "warming_partitions": sum(p.warming for p in seen.partitions),
        },
    )


def _find_losses(
    seen: CanaryObservation, limits: CanaryLimits, now: datetime
) -> Iterator[Finding]:
    recent = [
        x for x in seen.losses if now - x.proved_at <= limits.lost_window
    ]
    if recent:
        last = recent[-1]
        yield Finding(
            "canary.lost",
            Health.CRITICAL,
            f"{counted(len(recent), 'probe')} confirmed lost in the last "
            f"{seconds(limits.lost_window)}, most recently sequence "
            f"{last.sequence} on partition {last.partition} (source offset "
            f"{last.source_offset}). {last.proof}",
            subject={"topic": seen.topic},
            numbers={"records": len(recent)},
        )


def _find_overdue(
    seen: CanaryObservation, limits: CanaryLimits, now: datetime
) -> Iterator[Finding]:
    # Not since then: what has arrived after a pause is yet to be read.
    looked_at = min(now, seen.at)
    outstanding = {
        p.partition: looked_at - p.oldest_outstanding
        for p in seen.partitions
        if p.oldest_outstanding is not None
        and looked_at - p.oldest_outstanding > limits.deadline
    }
    overdue = {
        partition: age
        for partition, age in outstanding.items()
        if partition not in seen.unread
    }
    if overdue:
        oldest = max(overdue.values())
        yield Finding(
            "canary.overdue",
            Health.CRITICAL,
            f"Probes on {_name(overdue, len(seen.partitions))} are overdue, "
            f"the oldest outstanding for {seconds(oldest)}. "
            "Check that MirrorMaker runs and reaches both clusters",
            subject={"topic": seen.topic},
            numbers={
                "partitions": len(overdue),
                "seconds": oldest.total_seconds(),
            },
        )
    elif outstanding and not seen.problems:
        yield Finding(
            "canary.unread",
            Health.UNKNOWN,
            f"Canary topic {seen.remote_topic} at the target is still being "
            "read",
            subject={"topic": seen.remote_topic},
            numbers={"partitions": len(outstanding)},
        )


def _find_blindness(
    seen: CanaryObservation, limits: CanaryLimits, now: datetime
) -> Iterator[Finding]:
    if not seen.partitions:
        yield Finding(
            "canary.no-data",
            Health.UNKNOWN,
            "No canary partition is known yet",
        )
        return
    unacked = [
        now - p.oldest_unacked
        for p in seen.partitions
        if p.oldest_unacked is not None
        and now - p.oldest_unacked > limits.deadline
    ]
    if unacked:
        yield Finding(
            "canary.unacknowledged",
            Health.UNKNOWN,
            "Source brokers have not acknowledged probes for "
            f"{seconds(max(unacked))}, so replication cannot be verified",
            subject={"topic": seen.topic},
            numbers={
                "partitions": len(unacked),
                "seconds": max(unacked).total_seconds(),
            },
        )
    silent = [
        p.partition
        for p in seen.partitions
        if not p.warming
        and (p.last_arrival is None or now - p.last_arrival > limits.deadline)
    ]
    if silent:
        where = _name(silent, len(seen.partitions))
        where = where.replace("all ", "any of ")
        yield Finding(
            "canary.silent",
            Health.UNKNOWN,
            f"No probe has arrived on {where} "
            f"for {seconds(limits.deadline)} or since mirrorwatch started",
            subject={"topic": seen.remote_topic},
            numbers={"partitions": len(silent)},
        )
    if all(p.warming for p in seen.partitions):
        yield Finding(
            "canary.warming",
            Health.UNKNOWN,
            f"Canary topic {seen.topic} is new: waiting for MirrorMaker to "
            "discover it (refresh.topics.interval.seconds, 10 min by "
            "default)",
            subject={"topic": seen.topic},
        )


def _find_trouble(
    seen: CanaryObservation, limits: CanaryLimits, now: datetime
) -> Iterator[Finding]:
    for code, what, moments in (
        (
            "canary.late",
            "arrived late",
            [p.last_late for p in seen.partitions],
        ),
        (
            "canary.duplicated",
            "were duplicated at the target",
            [p.last_duplicate for p in seen.partitions],
        ),
        (
            "canary.failed",
            "could not be produced to the source",
            [p.last_failed for p in seen.partitions],
        ),
    ):
        recent = [
            m
            for m in moments
            if m is not None and now - m <= limits.warning_window
        ]
        if recent:
            yield Finding(
                code,
                Health.WARNING,
                f"Probes {what}, most recently {seconds(now - max(recent))} "
                "ago; none was lost",
                subject={"topic": seen.topic},
                numbers={
                    "partitions": len(recent),
                    "seconds": (now - max(recent)).total_seconds(),
                },
            )


def _warming_note(seen: CanaryObservation) -> str:
    warming = sum(p.warming for p in seen.partitions)
    return (
        (
            f", {warming} of them new and waiting for MirrorMaker to discover "
            "them"
        )
        if warming
        else ""
    )


def _name(partitions: Collection[int], of: int) -> str:
    if len(partitions) == of:
        return every(of, "partition")
    shown = sorted(partitions)[:5]
    rest = len(partitions) - len(shown)
    noun = "partition" if len(partitions) == 1 else "partitions"
    names = ", ".join(str(p) for p in shown)
    more = f" and {rest} more" if rest else ""
    return f"{noun} {names}{more} of {of}"


def _evidence(
    seen: CanaryObservation | None, now: datetime
) -> dict[str, str | int | float | bool | None]:
    if seen is None:
        return {}
    totals: dict[str, int] = {}
    for partition in seen.partitions:
        for name, count in partition.counts.as_dict().items():
            totals[name] = totals.get(name, 0) + count
    outstanding = [
        p.oldest_outstanding for p in seen.partitions if p.oldest_outstanding
    ]
    oldest = min(outstanding, default=None)
    arrivals = [p.last_arrival for p in seen.partitions if p.last_arrival]
    return {
        "topic": seen.topic,
        "remote_topic": seen.remote_topic,
        "partitions": len(seen.partitions),
        "outstanding": sum(p.outstanding for p in seen.partitions),
        "oldest_outstanding_seconds": None
        if oldest is None
        else round((now - oldest).total_seconds(), 3),
        "last_arrival": max(arrivals).isoformat() if arrivals else None,
        **totals,
    }
