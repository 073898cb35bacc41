"""The check ``failover``: whether groups could go on at the target."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from heapq import nsmallest
from typing import ClassVar

from ..finding import Code, Finding, Health, Subject
from ..parity.tracker import FirstSeen, FirstSeenChanges
from ..report import Verdict, conclude
from . import texts
from .recovery import RecoveryPoint
from .translation import Start

__all__ = [
    "STALE",
    "FailoverLimits",
    "FailoverObservation",
    "FailoverTracker",
    "GroupStart",
    "MissingStart",
    "OldStart",
    "judge_failover",
    "select_starts",
]

STALE = timedelta(minutes=5)
"""Oldest look at the groups that is still believed: there is one each 15 s,
and each of a thousand groups may take a while to answer."""

MOST_STARTS = 200
"""Starts that are listed: `mirrorwatch offsets` prints all."""


@dataclass(frozen=True, kw_only=True, slots=True)
class MissingStart:
    """A group that cannot be translated in one partition."""

    group: str
    topic: str
    partition: int
    problem: str
    since: datetime
    moved: bool
    excluded: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class OldStart:
    """A group that read on while its start at the target did not move."""

    group: str
    topic: str
    partition: int
    offset: int
    repeated: int | None
    """Records at most that it would read again; `None` if not known."""

    since: datetime
    """Since when its start has not moved."""


@dataclass(frozen=True, kw_only=True, slots=True)
class GroupStart:
    """Start position of a group in one partition of the target."""

    group: str
    remote: str
    start: Start


def select_starts(starts: Sequence[GroupStart]) -> tuple[GroupStart, ...]:
    """Return the starts to list: the worst of each group, and then the worst
    of all; those without a start first.
    """
    worst: dict[str, GroupStart] = {}
    for each in starts:
        known = worst.get(each.group)
        if known is None or _rank(each) < _rank(known):
            worst[each.group] = each
    chosen = {
        _rank(each): each
        for each in (
            *nsmallest(MOST_STARTS, worst.values(), key=_rank),
            *nsmallest(MOST_STARTS, starts, key=_rank),
        )
    }
    listed = list(chosen.values())[:MOST_STARTS]
    return tuple(sorted(listed, key=_rank))


def _rank(each: GroupStart) -> tuple[bool, bool, int, str, str, int]:
    chosen, place = each.start.chosen, each.start.place
    repeated = chosen.repeated if chosen else None
    return (
        chosen is not None,
        repeated is not None,
        -(repeated or 0),
        each.group,
        place.topic,
        place.partition,
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class FailoverObservation:
    """Start positions of the groups of one flow at the target."""

    flow: str
    at: datetime
    """Time at which the groups were last judged."""

    read_at: datetime | None = None
    """Time of the last read of offsets at the source; `None` for never."""

    compared_at: datetime | None = None
    """Time of the last comparison of their starts with the target; `None` if
    that was when they were judged."""

    groups: int = 0
    repeated: int = 0
    """Most records that a group with a start would read again, of those of
    which it is known."""

    uncounted: int = 0
    """Groups with a start of which it is not known."""

    denied: int = 0
    """Groups that mirrorwatch may not describe, as far as it knows them."""

    unasked: int = 0
    """Groups that were not asked for, as there are too many."""

    missing: tuple[MissingStart, ...] = ()
    old: tuple[OldStart, ...] = ()
    """Groups whose start does not move."""

    starts: tuple[GroupStart, ...] = ()
    """Start positions, the worst of them: see `select_starts`."""

    starts_total: int = 0
    recovery: RecoveryPoint | None = None
    """Recovery point of the flow; `None` if not known yet."""

    problems: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Due:
    """A start that has not moved."""

    offset: int
    since: datetime
    committed: int | None = None
    """Committed offset of the group when it was first seen."""

    moved: bool = False
    """Group had read on before a restart."""


_MOVED = " moved"
"""Ends the condition that a group read on while it had no start."""

_STANDS = re.compile(r"(.*\]) start (\d+)", re.DOTALL)
"""The condition that a group read on while its start did not move."""

KEPT_AFTER = timedelta(minutes=2)
"""Age from which a start that does not move is kept: with MirrorMaker's next
checkpoints, once a minute, most have moved."""


class FailoverTracker:
    """Knows since when groups have no start, or none that moves.

    Parameters
    ----------
    since
        First-seen time of each condition, remembered from before a restart.

    Notes
    -----
    Some starts are early by nature: MirrorMaker writes an offset sync only
    every so many records. But the start of a group that reads on moves on,
    and one that does not is old.
    """

    def __init__(self, since: Mapping[str, datetime]) -> None:
        found = {name: _STANDS.fullmatch(name) for name in since}
        self._first = FirstSeen({n: since[n] for n in since if not found[n]})
        self._old = {n: since[n] for n in since if found[n]}
        self._moved = {name for name in since if name.endswith(_MOVED)}
        self._committed: dict[str, int | None] = {}
        self._due = {
            match[1]: _Due(int(match[2]), since[name], moved=True)
            for name, match in found.items()
            if match
        }

    def look(
        self,
        starts: Sequence[tuple[str, Start]],
        now: datetime,
        excluded: Callable[[str], bool],
    ) -> tuple[
        tuple[MissingStart, ...], tuple[OldStart, ...], FirstSeenChanges
    ]:
        """Take where each group would start now.

        Parameters
        ----------
        starts
            Groups by name, each with its start in one partition.
        now
            The time.
        excluded
            Returns whether the mirror's filter leaves out a group.

        Returns
        -------
        tuple
            Groups without a start, groups whose start does not move, and
            what is to be remembered.
        """
        missing = {_name(g, s): (g, s) for g, s in starts if not s.chosen}
        unknown = {
            _name(g, s)
            for g, s in starts
            if s.chosen and s.chosen.missed is None
        }

        def is_unseen(condition: str) -> bool:
            return condition.removesuffix(_MOVED) in unknown

        changes = self._first.update(
            self._conditions(missing, is_unseen), now, unseen=is_unseen
        )
        old = dict(self._find_old(starts, now))
        before, self._old = (
            self._old,
            {
                n: o.since
                for n, o in old.items()
                if now - o.since >= KEPT_AFTER
            },
        )
        began = {n: t for n, t in self._old.items() if before.get(n) != t}
        return (
            tuple(
                MissingStart(
                    group=group,
                    topic=start.place.topic,
                    partition=start.place.partition,
                    problem=start.problem or "",
                    since=self._first.since(name),
                    moved=name + _MOVED in self._moved,
                    excluded=excluded(group),
                )
                for name, (group, start) in missing.items()
            ),
            tuple(old.values()),
            FirstSeenChanges(
                {**changes.began, **began},
                changes.ended | (before.keys() - self._old.keys()),
            ),
        )

    def _conditions(
        self,
        missing: Mapping[str, tuple[str, Start]],
        is_unseen: Callable[[str], bool],
    ) -> Iterator[str]:
        before, self._committed = self._committed, {}
        moved, self._moved = self._moved, set(filter(is_unseen, self._moved))
        for name, (_, start) in missing.items():
            committed = start.place.committed
            first = before.get(name)
            if first is None:
                first = committed
            self._committed[name] = first
            yield name
            if name + _MOVED in moved or _differ(first, committed):
                self._moved.add(name + _MOVED)
                yield name + _MOVED

    def _find_old(
        self, starts: Iterable[tuple[str, Start]], now: datetime
    ) -> Iterator[tuple[str, OldStart]]:
        """Yield starts that do not move, each with its condition."""
        before, self._due = self._due, {}
        for group, start in starts:
            chosen, place = start.chosen, start.place
            if chosen is None or chosen.repeated == 0:
                continue
            name = _name(group, start)
            due = before.get(name)
            if due is None or due.offset != chosen.offset:
                due = _Due(chosen.offset, now, place.committed)
            elif due.committed is None:
                due = replace(due, committed=place.committed)
            self._due[name] = due
            if due.moved or _differ(due.committed, place.committed):
                yield (
                    f"{name} start {chosen.offset}",
                    OldStart(
                        group=group,
                        topic=place.topic,
                        partition=place.partition,
                        offset=chosen.offset,
                        repeated=chosen.repeated,
                        since=due.since,
                    ),
                )


def _differ(before: int | None, now: int | None) -> bool:
    """Return whether a group moved: one whose offset expired, or may not be
    read, did not.
    """
    return before is not None and now is not None and before != now


def _name(group: str, start: Start) -> str:
    return f"{group} {start.place.topic}[{start.place.partition}]"


@dataclass(frozen=True, kw_only=True, slots=True)
class FailoverLimits:
    """Limits of the check `failover`."""

    rpo: timedelta = field(
        default=timedelta(minutes=10),
        metadata={"title": "Recovery point of groups", "gt": timedelta()},
    )
    """RPO: time that a group may be without a start at the target, or with
    one that does not move while the group reads on. MirrorMaker emits
    checkpoints once a minute, and a new group needs a first one."""

    repeated: ClassVar[int] = 1000
    """Number of records that a group may read again where its start does not
    move. MirrorMaker writes an offset sync every 100 records
    (`offset.lag.max`), and its checkpoints are coarser for a group with
    lag."""


def judge_failover(
    flow: str,
    seen: FailoverObservation | None,
    limits: FailoverLimits,
    now: datetime,
) -> Verdict:
    """Judge where the groups of a flow would start at the target.

    Parameters
    ----------
    flow
        Name of the flow.
    seen
        Their starts.
    limits
        Limits of the check.
    now
        The time.
    """
    return conclude(
        _find(seen, limits, now),
        flow=flow,
        check="failover",
        now=now,
        evidence={},
    )


def _find(
    seen: FailoverObservation | None, limits: FailoverLimits, now: datetime
) -> Iterator[Finding]:
    if seen is None:
        yield texts.NO_DATA.found(Health.UNKNOWN)
        return
    for problem in seen.problems:
        yield texts.UNREADABLE.found(Health.UNKNOWN, problem=problem)
    age = now - seen.at
    if age > STALE:
        yield texts.STALE.found(Health.UNKNOWN, seconds=age.total_seconds())
    # What nobody looks at grows no older.
    until = seen.compared_at or now
    missing = [m for m in seen.missing if until - m.since > limits.rpo]
    yield from _find_missing(missing, now)
    old = [
        o
        for o in seen.old
        if until - o.since > limits.rpo
        and (o.repeated is None or o.repeated > limits.repeated)
    ]
    if old:
        yield _old(old, now)
    if seen.groups:
        yield texts.OK.found(
            Health.OK,
            groups=seen.groups,
            groups_without_start=len({m.group for m in seen.missing}),
            groups_not_counted=seen.uncounted or None,
            groups_not_read=seen.unasked or None,
            groups_denied=seen.denied or None,
            records_at_most=seen.repeated,
        )
    elif seen.denied and not seen.problems:
        yield texts.DENIED.found(Health.OFF, groups=seen.denied)
    elif not seen.problems:
        yield texts.OFF.found(Health.OFF)


def _find_missing(
    missing: Sequence[MissingStart], now: datetime
) -> Iterator[Finding]:
    """Yield groups without a start: the critical ones first.

    A group that rests may have been given up, and one that the filter leaves
    out is so on purpose: both are for working hours.
    """
    included = [m for m in missing if not m.excluded]
    for code, health, found in (
        (texts.NO_START, Health.CRITICAL, [m for m in included if m.moved]),
        (texts.NO_START, Health.WARNING, [m for m in included if not m.moved]),
        (texts.EXCLUDED, Health.WARNING, [m for m in missing if m.excluded]),
    ):
        if found:
            yield _missing(code, health, found, now)


def _missing(
    code: Code, health: Health, missing: Sequence[MissingStart], now: datetime
) -> Finding:
    worst = min(missing, key=lambda m: (m.since, m.group))
    partitions = sum(m.group == worst.group for m in missing)
    groups = len({m.group for m in missing})
    return code.found(
        health,
        _subject(worst),
        groups=groups,
        more_groups=groups - 1 or None,
        partitions=partitions,
        more_partitions=partitions - 1 or None,
        seconds=(now - worst.since).total_seconds(),
        problem=worst.problem or None,
    )


def _old(old: Sequence[OldStart], now: datetime) -> Finding:
    worst = min(old, key=lambda o: (o.since, o.group))
    groups = len({o.group for o in old})
    return texts.STALE_START.found(
        Health.WARNING,
        _subject(worst),
        groups=groups,
        more_groups=groups - 1 or None,
        records_at_most=worst.repeated,
        offset=worst.offset,
        seconds=(now - worst.since).total_seconds(),
    )


def _subject(start: MissingStart | OldStart) -> Subject:
    return {
        "group": start.group,
        "topic": start.topic,
        "partition": start.partition,
    }
