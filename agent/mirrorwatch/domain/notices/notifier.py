"""Decides what is notified: the state machine of notices."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from ..report import Flow, Health, Verdict
from .model import (
    FLAPPING,
    REGROUP,
    UNKNOWN_NOTICE_HOLD,
    CheckChange,
    LastNotified,
    Notice,
    NoticeKind,
    NotificationPolicy,
    NotificationState,
)

__all__ = ["Notifier"]


HOUR = timedelta(hours=1)

LESSER = {NoticeKind.CHANGED, NoticeKind.REMINDER}
"""Kinds that report the health that was last notified."""


class HourlyLimit:
    """How many notices the hour has left, and what was withheld.

    What is withheld stays due. If it is over before it is notified, the next
    notice counts it.

    Parameters
    ----------
    state
        When people were notified.
    most_per_hour
        Most notices in any hour.
    now
        Time of the report.
    """

    def __init__(
        self, state: NotificationState, most_per_hour: int, now: datetime
    ) -> None:
        self._most = most_per_hour
        self._now = now
        # A clock that was set back must not use up the hour.
        self.times = [t for t in state.times if timedelta() <= now - t < HOUR]
        self.untold = state.untold

    def settle(self, last: LastNotified, health: Health) -> LastNotified:
        """Count what was withheld of a flow that is as last notified again."""
        if last.withheld is None or health is not last.health:
            return last
        self.untold += 1
        return replace(last, withheld=None)

    def admit(self, notice: Notice, last: LastNotified) -> Notice | None:
        """Return a notice as it is sent; `None` above the limit."""
        lesser = notice.kind in LESSER
        if not lesser and last.withheld not in {None, notice.health}:
            self.untold += 1
        if len(self.times) >= self._most:
            return None
        self.times.append(self._now)
        full = len(self.times) >= self._most
        sent = replace(notice, untold=self.untold, is_last=full)
        self.untold = 0
        return sent

    def withhold(self, notice: Notice, last: LastNotified) -> LastNotified:
        """Remember what is withheld."""
        if notice.kind in LESSER:
            return last
        return replace(last, withheld=notice.health)


@dataclass(kw_only=True, slots=True)
class PendingChange:
    """How long a flow has been worse or better than last notified.

    Notes
    -----
    It is kept in memory only. After a restart every hold begins again: that
    delays a notice, and never sends a second one.
    """

    worse_since: datetime | None = None
    """Since when it has been worse than notified, without a break."""

    bad_since: datetime | None = None
    """The same, and never `unknown` in between."""

    flapping_since: datetime | None = None
    """Since when it has not been as notified for the time of a recovery."""

    settled_since: datetime | None = None
    """Since when it has not been worse than notified."""

    better_since: datetime | None = None
    """Since when it has been better than notified."""

    ok_since: datetime | None = None
    """Since when it has been ok."""

    def see(
        self,
        health: Health,
        notified: Health,
        now: datetime,
        recovery: timedelta,
    ) -> None:
        """Take in what a tick found.

        Parameters
        ----------
        health
            Health of the flow.
        notified
            Health that was last notified.
        now
            Time of the tick.
        recovery
            How long a flow must not be worse to have settled.
        """
        worse = health > notified
        self.worse_since = _since(self.worse_since, now, worse)
        bad = worse and health is not Health.UNKNOWN
        self.bad_since = _since(self.bad_since, now, bad)
        since = self.settled_since = _since(self.settled_since, now, not worse)
        settled = since is not None and now - since >= recovery
        flaps = worse or (self.flapping_since is not None and not settled)
        self.flapping_since = _since(self.flapping_since, now, flaps)
        self.better_since = _since(self.better_since, now, health < notified)
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
"""Which kind goes first where the hour has not enough left for all."""


class Notifier:
    """Decides what is notified of each report.

    All checks of a flow go into one notice. The last notice of a flow is what
    people believe of it, and the next one is due when the flow has differed
    from that for long enough.

    Parameters
    ----------
    policy
        When people are notified.
    """

    def __init__(self, policy: NotificationPolicy) -> None:
        self._policy = policy
        self._pending: dict[str, PendingChange] = {}

    def see(
        self,
        state: NotificationState,
        flows: Iterable[Flow],
        verdicts: Sequence[Verdict],
        silenced: Collection[str],
        now: datetime,
    ) -> tuple[NotificationState, tuple[Notice, ...]]:
        """Take in a report and return what is to be notified.

        Parameters
        ----------
        state
            What was notified. If it was not kept, the same notices may come
            again: nothing is lost by that.
        flows
            Every flow.
        verdicts
            What was found.
        silenced
            Flows of which nothing is notified now.
        now
            Time of the report.

        Returns
        -------
        tuple
            The state once these notices are sent; and the notices.
        """
        names = [flow.name for flow in flows]
        judged: dict[str, list[Verdict]] = {name: [] for name in names}
        for verdict in verdicts:
            if verdict.flow in judged:
                judged[verdict.flow].append(verdict)
        notified = {
            name: state.flows.get(name, LastNotified()) for name in names
        }
        due = []
        for name in names:
            if name in silenced:
                self._pending.pop(name, None)
            elif found := self._due(name, notified[name], judged[name], now):
                due.append(found)
        due.sort(key=lambda n: (URGENCY.index(n.kind), -n.health))
        limit = HourlyLimit(state, self._policy.most_per_hour, now)
        for name in names:
            health = self._policy.weigh_flow(judged[name])
            notified[name] = limit.settle(notified[name], health)
        sent = []
        for notice in due:
            before = notified[notice.flow]
            admitted = limit.admit(notice, before)
            if admitted is None:
                notified[notice.flow] = limit.withhold(notice, before)
            else:
                sent.append(admitted)
                notified[notice.flow] = self._to_last_notified(admitted)
        state = NotificationState(
            flows=notified, times=tuple(limit.times), untold=limit.untold
        )
        return state, tuple(sent)

    def _due(
        self,
        flow: str,
        last: LastNotified,
        verdicts: list[Verdict],
        now: datetime,
    ) -> Notice | None:
        policy = self._policy
        health = policy.weigh_flow(verdicts)
        pending = self._pending.setdefault(flow, PendingChange())
        pending.see(health, last.health, now, policy.recovery)
        changes = tuple(self._changes(last, verdicts))
        kind = self._kind(health, last, pending, changes, now)
        if kind is None:
            return None
        sinces = [
            change.verdict.since
            for change in changes
            if policy.weigh(change.verdict.health) is not Health.OK
        ]
        began = pending.flapping_since or now
        since = min(last.bad_since or now, began, *sinces)
        end = pending.ok_since if kind is NoticeKind.RECOVERED else now
        return Notice(
            at=now,
            flow=flow,
            kind=kind,
            health=health,
            before=last.health,
            since=since,
            lasted=max((end or now) - since, timedelta()),
            changes=changes,
        )

    def _kind(
        self,
        health: Health,
        last: LastNotified,
        pending: PendingChange,
        changes: tuple[CheckChange, ...],
        now: datetime,
    ) -> NoticeKind | None:
        """Return why a notice is due now, if one is."""
        policy = self._policy

        def lasts(since: datetime | None, time: timedelta) -> bool:
            return since is not None and now - since >= time

        last_at = last.at
        if last_at is not None and last_at - now > policy.hold:
            # The clock was set back since: as if it were long ago.
            last_at = datetime.min.replace(tzinfo=now.tzinfo)
        if last_at is not None and not lasts(last_at, policy.hold):
            return None
        if health > last.health:
            firm = (
                lasts(pending.bad_since, policy.hold)
                or lasts(
                    pending.worse_since, max(policy.hold, UNKNOWN_NOTICE_HOLD)
                )
                or lasts(pending.flapping_since, FLAPPING)
            )
            return _towards(health, NoticeKind.WORSE) if firm else None
        if health is Health.OK:
            well = lasts(pending.ok_since, policy.recovery)
            known = last.health is Health.OK
            return NoticeKind.RECOVERED if well and not known else None
        if health < last.health:
            better = lasts(pending.better_since, policy.recovery)
            due = better and lasts(last_at, REGROUP)
            return _towards(health, NoticeKind.BETTER) if due else None
        more = any(
            policy.weigh(c.verdict.health) > c.before
            and lasts(c.verdict.since, policy.hold)
            for c in changes
        )
        if more and lasts(last_at, REGROUP):
            return NoticeKind.CHANGED
        reminds = health is Health.CRITICAL and policy.remind > timedelta()
        return (
            NoticeKind.REMINDER
            if reminds and lasts(last_at, policy.remind)
            else None
        )

    def _changes(
        self, last: LastNotified, verdicts: list[Verdict]
    ) -> Iterator[CheckChange]:
        """Yield every check that is bad or was notified to be, worst first."""
        for verdict in sorted(verdicts, key=lambda v: -v.health):
            before = last.checks.get(verdict.check, Health.OK)
            if (
                self._policy.weigh(verdict.health) is not Health.OK
                or before is not Health.OK
            ):
                yield CheckChange(verdict=verdict, before=before)

    def _to_last_notified(self, notice: Notice) -> LastNotified:
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
    """Return why a change is notified; `unknown` is no direction."""
    return NoticeKind.UNKNOWN if health is Health.UNKNOWN else kind
