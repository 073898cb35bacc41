"""Decides what is told: the state machine of notices."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from ..report import Flow, Health, Verdict
from .model import (
    CheckChange,
    LastNotified,
    Notice,
    NoticeKind,
    NotificationState,
)
from .policy import (
    FLAPPING,
    REGROUP,
    UNKNOWN_NOTICE_HOLD,
    NotificationPolicy,
)

__all__ = ["Notifier"]


HOUR = timedelta(hours=1)

LESSER = {NoticeKind.CHANGED, NoticeKind.REMINDER}
"""Kinds that say no other health than what was told."""


class HourlyLimit:
    """How many notices the hour has room for, and what found none.

    What finds no room stays due. If it goes by before it is told, the next
    notice says so.

    Parameters
    ----------
    books
        When people were told.
    most_per_hour
        Most notices in any hour.
    now
        Time of the report.
    """

    def __init__(
        self, books: NotificationState, most_per_hour: int, now: datetime
    ) -> None:
        self._most = most_per_hour
        self._now = now
        # A clock that was set back must not use up the hour's room.
        self.times = [t for t in books.times if timedelta() <= now - t < HOUR]
        self.untold = books.untold

    def settle(self, told: LastNotified, health: Health) -> LastNotified:
        """Count what was withheld of a flow that is again as was told."""
        if told.withheld is None or health is not told.health:
            return told
        self.untold += 1
        return replace(told, withheld=None)

    def admit(self, notice: Notice, told: LastNotified) -> Notice | None:
        """Return a notice as it is sent; `None` if there is no room."""
        lesser = notice.kind in LESSER
        if not lesser and told.withheld not in {None, notice.health}:
            self.untold += 1
        if len(self.times) >= self._most:
            return None
        self.times.append(self._now)
        full = len(self.times) >= self._most
        sent = replace(notice, untold=self.untold, is_last=full)
        self.untold = 0
        return sent

    def withhold(self, notice: Notice, told: LastNotified) -> LastNotified:
        """Remember what found no room."""
        if notice.kind in LESSER:
            return told
        return replace(told, withheld=notice.health)


@dataclass(kw_only=True, slots=True)
class PendingChange:
    """How long a flow has stood worse or better than what was told.

    Notes
    -----
    It is kept in memory only. After a restart everything has to stand anew:
    that delays a notice by a hold-down, and never makes a second one.
    """

    worse_since: datetime | None = None
    """Since when it has been worse than told, without a break."""

    bad_since: datetime | None = None
    """The same, and it was known to be bad all the time."""

    restless_since: datetime | None = None
    """Since when it has not stood as told for the time of a recovery."""

    calm_since: datetime | None = None
    """Since when it has not been worse than told."""

    better_since: datetime | None = None
    """Since when it has been better than told."""

    ok_since: datetime | None = None
    """Since when it has been well."""

    def see(
        self,
        health: Health,
        told: Health,
        now: datetime,
        recovery: timedelta,
    ) -> None:
        """Take in what a tick found.

        Parameters
        ----------
        health
            Health of the flow.
        told
            What was last told of it.
        now
            Time of the tick.
        recovery
            How long a flow must stand well to count as calm.
        """
        worse = health > told
        self.worse_since = _since(self.worse_since, now, worse)
        bad = worse and health is not Health.UNKNOWN
        self.bad_since = _since(self.bad_since, now, bad)
        self.calm_since = _since(self.calm_since, now, not worse)
        calm = (
            self.calm_since is not None and now - self.calm_since >= recovery
        )
        trouble = worse or (self.restless_since is not None and not calm)
        self.restless_since = _since(self.restless_since, now, trouble)
        self.better_since = _since(self.better_since, now, health < told)
        self.ok_since = _since(self.ok_since, now, health is Health.OK)


def _since(
    since: datetime | None,
    now: datetime,
    holds: bool,  # noqa: FBT001
) -> datetime | None:
    """Return since when something holds; never a time that is to come."""
    if not holds:
        return None
    return now if since is None else min(since, now)


URGENCY = (
    NoticeKind.WORSE,
    NoticeKind.UNKNOWN,
    NoticeKind.RECOVERED,
    NoticeKind.BETTER,
    NoticeKind.CHANGED,
    NoticeKind.REMINDER,
)
"""Which kind goes first where there is not room for all."""


class Notifier:
    """Decides what is told of each report.

    A flow is one subject: whatever its checks say, one notice tells it. The
    last notice of a flow is what people believe of it, and the next one is
    due when the truth has stood apart from that for long enough.

    Parameters
    ----------
    policy
        When people are told.
    """

    def __init__(self, policy: NotificationPolicy) -> None:
        self._policy = policy
        self._standing: dict[str, PendingChange] = {}

    def see(
        self,
        books: NotificationState,
        flows: Iterable[Flow],
        verdicts: Sequence[Verdict],
        held: Collection[str],
        now: datetime,
    ) -> tuple[NotificationState, tuple[Notice, ...]]:
        """Take in a report and say what is to be told.

        Parameters
        ----------
        books
            What was told. If they were not kept, the same ones may come
            again: nothing is lost by that.
        flows
            Every flow.
        verdicts
            What was found.
        held
            Flows of which nothing is told now.
        now
            Time of the report.

        Returns
        -------
        tuple
            What was told once these notices are; and the notices.
        """
        names = [flow.name for flow in flows]
        judged: dict[str, list[Verdict]] = {name: [] for name in names}
        for verdict in verdicts:
            if verdict.flow in judged:
                judged[verdict.flow].append(verdict)
        told = {name: books.flows.get(name, LastNotified()) for name in names}
        due = []
        for name in names:
            if name in held:
                self._standing.pop(name, None)
            elif found := self._due(name, told[name], judged[name], now):
                due.append(found)
        due.sort(key=lambda n: (URGENCY.index(n.kind), -n.health))
        room = HourlyLimit(books, self._policy.most_per_hour, now)
        for name in names:
            health = self._policy.weigh_flow(judged[name])
            told[name] = room.settle(told[name], health)
        sent = []
        for notice in due:
            before = told[notice.flow]
            admitted = room.admit(notice, before)
            if admitted is None:
                told[notice.flow] = room.withhold(notice, before)
            else:
                sent.append(admitted)
                told[notice.flow] = self._believed(admitted)
        books = NotificationState(
            flows=told, times=tuple(room.times), untold=room.untold
        )
        return books, tuple(sent)

    def _due(
        self,
        flow: str,
        told: LastNotified,
        verdicts: list[Verdict],
        now: datetime,
    ) -> Notice | None:
        policy = self._policy
        health = policy.weigh_flow(verdicts)
        standing = self._standing.setdefault(flow, PendingChange())
        standing.see(health, told.health, now, policy.recovery)
        changes = tuple(self._changes(told, verdicts))
        kind = self._kind(health, told, standing, changes, now)
        if kind is None:
            return None
        sinces = [
            change.verdict.since
            for change in changes
            if policy.weigh(change.verdict.health) is not Health.OK
        ]
        began = standing.restless_since or now
        since = min(told.bad_since or now, began, *sinces)
        end = standing.ok_since if kind is NoticeKind.RECOVERED else now
        return Notice(
            at=now,
            flow=flow,
            kind=kind,
            health=health,
            before=told.health,
            since=since,
            lasted=max((end or now) - since, timedelta()),
            changes=changes,
        )

    def _kind(
        self,
        health: Health,
        told: LastNotified,
        standing: PendingChange,
        changes: tuple[CheckChange, ...],
        now: datetime,
    ) -> NoticeKind | None:
        """Return why a notice is due now, if one is."""
        policy = self._policy

        def stood(since: datetime | None, time: timedelta) -> bool:
            return since is not None and now - since >= time

        last = told.at
        if last is not None and last - now > policy.hold:
            # The clock was set back since: as if it were long ago.
            last = datetime.min.replace(tzinfo=now.tzinfo)
        if last is not None and not stood(last, policy.hold):
            return None
        if health > told.health:
            firm = (
                stood(standing.bad_since, policy.hold)
                or stood(
                    standing.worse_since, max(policy.hold, UNKNOWN_NOTICE_HOLD)
                )
                or stood(standing.restless_since, FLAPPING)
            )
            return _towards(health, NoticeKind.WORSE) if firm else None
        if health is Health.OK:
            well = stood(standing.ok_since, policy.recovery)
            known = told.health is Health.OK
            return NoticeKind.RECOVERED if well and not known else None
        if health < told.health:
            better = stood(standing.better_since, policy.recovery)
            due = better and stood(last, REGROUP)
            return _towards(health, NoticeKind.BETTER) if due else None
        more = any(
            policy.weigh(c.verdict.health) > c.before
            and stood(c.verdict.since, policy.hold)
            for c in changes
        )
        if more and stood(last, REGROUP):
            return NoticeKind.CHANGED
        reminds = health is Health.CRITICAL and policy.remind > timedelta()
        return (
            NoticeKind.REMINDER
            if reminds and stood(last, policy.remind)
            else None
        )

    def _changes(
        self, told: LastNotified, verdicts: list[Verdict]
    ) -> Iterator[CheckChange]:
        """Yield every check that is bad or was told to be, worst first."""
        for verdict in sorted(verdicts, key=lambda v: -v.health):
            before = told.checks.get(verdict.check, Health.OK)
            if (
                self._policy.weigh(verdict.health) is not Health.OK
                or before is not Health.OK
            ):
                yield CheckChange(verdict=verdict, before=before)

    def _believed(self, notice: Notice) -> LastNotified:
        """Return what people believe after a notice."""
        return LastNotified(
            health=notice.health,
            at=notice.at,
            bad_since=None if notice.health is Health.OK else notice.since,
            checks={
                change.verdict.check: health
                for change in notice.changes
                if (health := self._policy.weigh(change.verdict.health))
                is not Health.OK
            },
        )


def _towards(health: Health, kind: NoticeKind) -> NoticeKind:
    """Return why a change is told; that nobody can tell is no direction."""
    return NoticeKind.UNKNOWN if health is Health.UNKNOWN else kind
