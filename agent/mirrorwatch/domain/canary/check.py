"""The check ``canary``: whether probes arrive."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from ..finding import Finding, Health
from ..losses.model import CRITICAL_FOR
from ..report import Evidence, Verdict, conclude
from . import texts
from .model import CanaryObservation

__all__ = ["CanaryLimits", "judge_canary"]


STALE = timedelta(seconds=5)
"""The canary says at least once a second what it knows; one that has not for
this long hangs."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CanaryLimits:
    """Limits of the check `canary`."""

    enabled: bool = True
    """Probes are sent."""

    deadline: timedelta = timedelta(seconds=30)
    """Age from which an outstanding probe is overdue."""

    lost_window: timedelta = CRITICAL_FOR
    """Time the check stays critical after a lost probe."""

    warning_window: timedelta = field(
        default=timedelta(minutes=10),
        metadata={"title": "Warning for", "gt": timedelta()},
    )
    """Time the check stays at warning after late, duplicated or failed probes.
    No record is lost: one topic refresh of MirrorMaker is enough."""


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
        yield texts.OFF.found(Health.OFF)
        return
    if seen is None:
        yield texts.NO_DATA.found(Health.UNKNOWN)
        return
    age = now - seen.at
    if age > STALE:
        yield texts.STALE.found(Health.UNKNOWN, seconds=age.total_seconds())
    yield from _find_losses(seen, limits, now)
    yield from _find_overdue(seen, limits, now)
    yield from seen.problems
    yield from _find_blindness(seen, limits, now)
    yield from _find_trouble(seen, limits, now)
    warming = sum(p.warming for p in seen.partitions)
    yield texts.OK.found(
        Health.OK,
        partitions=len(seen.partitions),
        warming_partitions=warming,
        new_partitions=warming or None,
    )


def _find_losses(
    seen: CanaryObservation, limits: CanaryLimits, now: datetime
) -> Iterator[Finding]:
    recent = [
        x for x in seen.losses if now - x.proved_at <= limits.lost_window
    ]
    if recent:
        last = recent[-1]
        found = texts.LOST.found(
            Health.CRITICAL,
            {"topic": seen.topic},
            records=len(recent),
            window_seconds=limits.lost_window.total_seconds(),
            partition=last.partition,
            source_offset=last.source_offset,
            proof=last.proof,
        )
        yield replace(found, total=sum(p.counts.lost for p in seen.partitions))


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
    overdue = [
        age
        for partition, age in outstanding.items()
        if partition not in seen.unread
    ]
    if overdue:
        yield texts.OVERDUE.found(
            Health.CRITICAL,
            {"topic": seen.topic},
            partitions=len(overdue),
            all_partitions=len(seen.partitions),
            seconds=max(overdue).total_seconds(),
        )
    elif outstanding and not seen.problems:
        yield texts.UNREAD.found(
            Health.UNKNOWN,
            {"topic": seen.remote_topic},
            partitions=len(outstanding),
        )


def _find_blindness(
    seen: CanaryObservation, limits: CanaryLimits, now: datetime
) -> Iterator[Finding]:
    if not seen.partitions:
        yield texts.NO_DATA.found(Health.UNKNOWN)
        return
    unacked = [
        now - p.oldest_unacked
        for p in seen.partitions
        if p.oldest_unacked is not None
        and now - p.oldest_unacked > limits.deadline
    ]
    if unacked:
        yield texts.UNACKNOWLEDGED.found(
            Health.UNKNOWN,
            {"topic": seen.topic},
            partitions=len(unacked),
            seconds=max(unacked).total_seconds(),
        )
    silent = sum(
        not p.warming
        and (p.last_arrival is None or now - p.last_arrival > limits.deadline)
        for p in seen.partitions
    )
    if silent:
        yield texts.SILENT.found(
            Health.UNKNOWN,
            {"topic": seen.remote_topic},
            partitions=silent,
            all_partitions=len(seen.partitions),
            seconds=limits.deadline.total_seconds(),
        )
    if all(p.warming for p in seen.partitions):
        yield texts.WARMING.found(Health.UNKNOWN, {"topic": seen.topic})


def _find_trouble(
    seen: CanaryObservation, limits: CanaryLimits, now: datetime
) -> Iterator[Finding]:
    for code, moments in (
        (texts.LATE, [p.last_late for p in seen.partitions]),
        (texts.DUPLICATED, [p.last_duplicate for p in seen.partitions]),
        (texts.FAILED, [p.last_failed for p in seen.partitions]),
    ):
        recent = [
            m
            for m in moments
            if m is not None and now - m <= limits.warning_window
        ]
        if recent:
            yield code.found(
                Health.WARNING,
                {"topic": seen.topic},
                partitions=len(recent),
                seconds=(now - max(recent)).total_seconds(),
            )


def _evidence(seen: CanaryObservation | None, now: datetime) -> Evidence:
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
        "outstanding": sum(p.outstanding for p in seen.partitions),
        "oldest_outstanding_seconds": None
        if oldest is None
        else round((now - oldest).total_seconds(), 3),
        "last_arrival": max(arrivals).isoformat() if arrivals else None,
        **totals,
    }
