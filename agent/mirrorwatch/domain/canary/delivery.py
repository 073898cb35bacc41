"""Which probes count as delivered within the bound of the service level.

Each probe counts once: as good or bad when that is known, as unknown when
nobody will know. One that has not arrived when its bound is over is bad from
that moment on, so that an outage counts while it lasts.
"""

from collections.abc import Iterable
from datetime import datetime, timedelta

from ..levels.model import LevelCounts
from .model import Probe

__all__ = [
    "count_arrival",
    "count_end",
    "count_overdue",
    "count_unsent",
]


def count_arrival(
    level: LevelCounts,
    probe: Probe,
    seen_at: datetime,
    absent_until: datetime,
    within: timedelta,
) -> None:
    """Count a probe that arrived between two times.

    Parameters
    ----------
    level
        Where to count.
    probe
        The probe.
    seen_at
        When it was read.
    absent_until
        Until when it is known not to have been there.
    within
        Bound of the latency.
    """
    if probe.overdue:
        return
    # Of a source that did not answer in time it is not known when the mirror
    # could first read the probe.
    timed = probe.acked_at is not None or not probe.doubtful
    if probe.warming:
        level.unknown += 1
    elif seen_at - probe.due_from <= within:
        level.good += 1
    elif timed and absent_until - probe.due_from > within:
        level.bad += 1
    else:
        level.unknown += 1


def count_overdue(
    level: LevelCounts,
    probes: Iterable[Probe],
    now: datetime,
    within: timedelta,
) -> list[int]:
    """Count the probes that are known not to have arrived in time.

    Parameters
    ----------
    level
        Where to count.
    probes
        Those under way, of a partition that is read to its end.
    now
        The time.
    within
        Bound of the latency.

    Returns
    -------
    list of int
        Their sequences.
    """
    found = []
    for probe in probes:
        if probe.acked_at is None or probe.overdue or probe.warming:
            continue
        if not probe.unseen and now - probe.acked_at > within:
            probe.overdue = True
            level.bad += 1
            found.append(probe.sequence)
    return found


def count_end(level: LevelCounts, probe: Probe, *, lost: bool) -> None:
    """Count a probe that will not arrive: lost, never written, or given up."""
    if probe.overdue:
        return
    if lost:
        level.bad += 1
    else:
        level.unknown += 1


MOST = timedelta(days=30)
"""Longest pause that is made up for: what counts is 30 days."""


def count_unsent(
    level: LevelCounts, pause: timedelta, interval: timedelta, *, sent: bool
) -> int:
    """Return how many probes were due in a pause, and were not sent.

    Parameters
    ----------
    level
        Where they count as unknown.
    pause
        Time since this was last asked.
    interval
        How often a probe is due.
    sent
        Whether one is sent now.
    """
    due = round(min(pause, MOST) / interval)
    missing = max(0, due - sent)
    level.unknown += missing
    return missing
