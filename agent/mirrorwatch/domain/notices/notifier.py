"""Decides what is notified: the state machine of notices."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from ..report import Cause, Flow, Health, Verdict, worst
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

LESSER = {NoticeKind.CHANGED, NoticeKind.CAUSE, NoticeKind.REMINDER}
"""Kinds that report the health that was last notified."""


class HourlyLimit:
    """Hourly limit of notices, and the changes that it withheld.

    What is withheld stays due. If it is over before it is notified, the next
    notice counts it.

    Parameters
    ----------
    state
        Notification state, with the times of recent notices.
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
    """Pending change: time since a flow became worse or better than last
    notified.

    Notes
    -----
    It is kept in memory only. After a restart every hold begins again: that
    delays a notice, and never sends a second one.
    """

    worse_since: datetime | None = None
    bad_since: datetime | None = None
    """The same, and never `unknown` in between."""

    flapping_since: datetime | None = None
    """Since when it has not been as notified for the time of a recovery."""

    settled_since: datetime | None = None
    """Since when it has not been worse than notified."""

    better_since: datetime | None = None
    unknown_since: datetime | None = None
    ok_since: datetime | None = None

    def see(
        self,
        health: Health,
        notified: Health,
        now: datetime,
        recovery: timedelta,
        *,
        firm: bool,
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
            Time for which a flow must not be worse to have settled.
        firm
            More is known of the flow than that it cannot be verified.
        """
        worse = health > notified
        self.worse_since = _since(self.worse_since, now, worse)
        bad = worse and firm
        self.bad_since = _since(self.bad_since, now, bad)
        since = self.settled_since = _since(self.settled_since, now, not worse)
        settled = since is not None and now - since >= recovery
        flaps = worse or (self.flapping_since is not None and not settled)
        self.flapping_since = _since(self.flapping_since, now, flaps)
        self.better_since = _since(self.better_since, now, health < notified)
        unknown = health is Health.UNKNOWN
        self.unknown_since = _since(self.unknown_since, now, unknown)
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
    NoticeKind.CAUSE,
    NoticeKind.UNKNOWN,
    NoticeKind.RECOVERED,
    NoticeKind.BETTER,
    NoticeKind.CHANGED,
    NoticeKind.REMINDER,
)
"""Which kind goes first where the hour has not enough left for all."""


@dataclass(frozen=True, kw_only=True, slots=True)
class FlowState:
    """State of one flow in a report, as far as it is notified."""

    health: Health
    """Its health. A flow that is known to be stopped is critical at once: its
    checks will say so one after the other, and one notice is enough."""

    firm: bool
    verdicts: Sequence[Verdict]
    cause: Cause | None
    """Which part is at fault, if one stands out."""

    @classmethod
    def of(
        cls,
        verdicts: Sequence[Verdict],
        cause: Cause | None,
        policy: NotificationPolicy,
    ) -> "FlowState":
        """Return the state of a flow by a policy."""
        health = policy.weigh_flow(verdicts)
        firm = health is not Health.UNKNOWN
        if cause is not None and cause.stops and health is not Health.OK:
            health = Health.CRITICAL
        return cls(health=health, firm=firm, verdicts=verdicts, cause=cause)

    def is_known_symptom(self, verdict: Verdict, last: LastNotified) -> bool:
        """Return whether a check is bad because of what was notified.

        Of a part that was slow it was not, once that part stops everything.
        """
        cause = self.cause
        return (
            cause is not None
            and cause.part == last.cause
            and not (cause.stops and last.stopped is False)
            and verdict.check in cause.symptoms
        )


class Notifier:
    """Decides what is notified of each report.

    All checks of a flow go into one notice. The last notice of a flow is what
    people believe of it, and the next one is due when the flow has differed
    from that for long enough.

    Parameters
    ----------
    policy
        Policy for notifying people.
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
        *,
        causes: Iterable[Cause] = (),
    ) -> tuple[NotificationState, tuple[Notice, ...]]:
        """Take in a report and return what is to be notified.

        Parameters
        ----------
        state
            State as last notified. If it was not kept, the same notices may
            come again: nothing is lost by that.
        flows
            Every flow.
        verdicts
            Verdicts of the report.
        silenced
            Flows of which nothing is notified now.
        now
            Time of the report.
        causes
            Which part is at fault, of each flow of which that is known.

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
        of_flow = {cause.flow: cause for cause in causes}
        flows_now = {
            name: FlowState.of(judged[name], of_flow.get(name), self._policy)
            for name in names
        }
        due = []
        for name in names:
            if name in silenced:
                self._pending.pop(name, None)
            elif found := self._due(
                name, notified[name], flows_now[name], now
            ):
                due.append(found)
        due.sort(key=lambda n: (URGENCY.index(n.kind), -n.health))
        limit = HourlyLimit(state, self._policy.most_per_hour, now)
        for name in names:
            health = flows_now[name].health
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
        state = replace(
            state,
            flows=notified,
            times=tuple(limit.times),
            untold=limit.untold,
        )
        return state, tuple(sent)

    def _due(
        self,
        flow: str,
        last: LastNotified,
        found: FlowState,
        now: datetime,
    ) -> Notice | None:
        policy, health = self._policy, found.health
        pending = self._pending.setdefault(flow, PendingChange())
        pending.see(health, last.health, now, policy.recovery, firm=found.firm)
        changes = tuple(self._changes(last, found.verdicts))
        kind = self._kind(found, last, pending, changes, now)
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
            actual=max(worst(found.verdicts), health),
            before=last.health,
            since=since,
            lasted=max((end or now) - since, timedelta()),
            changes=changes,
            cause=found.cause,
        )

    def _kind(
        self,
        found: FlowState,
        last: LastNotified,
        pending: PendingChange,
        changes: tuple[CheckChange, ...],
        now: datetime,
    ) -> NoticeKind | None:
        """Return why a notice is due now, if one is."""
        policy, health = self._policy, found.health

        def lasts(since: datetime | None, time: timedelta) -> bool:
            return since is not None and now - since >= time

        last_at = last.at
        if last_at is None or last_at - now > policy.hold:
            # Never, or the clock was set back since: as if it were long ago.
            last_at = datetime.min.replace(tzinfo=now.tzinfo)
        if not lasts(last_at, policy.hold):
            return None
        unknown_hold = max(policy.hold, UNKNOWN_NOTICE_HOLD)
        if health > last.health:
            firm = (
                lasts(pending.bad_since, policy.hold)
                or lasts(pending.worse_since, unknown_hold)
                or lasts(pending.flapping_since, FLAPPING)
            )
            return _towards(health, NoticeKind.WORSE) if firm else None
        if health is Health.OK:
            well = lasts(pending.ok_since, policy.recovery)
            known = last.health is Health.OK
            return NoticeKind.RECOVERED if well and not known else None
        if health < last.health:
            better = lasts(pending.better_since, policy.recovery)
            if health is Health.UNKNOWN:
                better = lasts(pending.unknown_since, unknown_hold)
            due = better and lasts(last_at, REGROUP)
            return _towards(health, NoticeKind.BETTER) if due else None
        return self._kind_if_as_bad(found, last, last_at, changes, now)

    def _kind_if_as_bad(
        self,
        found: FlowState,
        last: LastNotified,
        last_at: datetime,
        changes: tuple[CheckChange, ...],
        now: datetime,
    ) -> NoticeKind | None:
        """Return why a notice is due of a flow that is as bad as notified."""
        policy, waited = self._policy, now - last_at
        unknown_hold = max(policy.hold, UNKNOWN_NOTICE_HOLD)
        more = any(
            policy.weigh(c.verdict.health) > c.before
            and now - c.verdict.since
            >= (
                unknown_hold
                if c.verdict.health is Health.UNKNOWN
                else policy.hold
            )
            for c in changes
            if not found.is_known_symptom(c.verdict, last)
        )
        if self._is_new_cause(found.cause, last, last_at, now):
            return NoticeKind.CAUSE
        if more and waited >= REGROUP:
            return NoticeKind.CHANGED
        reminds = found.health is Health.CRITICAL and bool(policy.remind)
        due = last.at is None or (reminds and waited >= policy.remind)
        return NoticeKind.REMINDER if due else None

    def _is_new_cause(
        self,
        cause: Cause | None,
        last: LastNotified,
        last_at: datetime,
        now: datetime,
    ) -> bool:
        """Return whether a cause began after the last notice: whatever stays
        as bad as notified, it is another incident.

        The part that was notified may flap.
        """
        if cause is None or now - cause.since < self._policy.hold:
            return False
        apart = REGROUP if cause.part == last.cause else timedelta()
        return cause.since > last_at + apart

    def _changes(
        self, last: LastNotified, verdicts: Sequence[Verdict]
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
            cause=None if notice.cause is None else notice.cause.part,
            stopped=None if notice.cause is None else notice.cause.stops,
            checks={
                change.verdict.check: health
                for change in notice.changes
                if (health := self._policy.weigh(change.verdict.health))
                is not Health.OK
            },
        )


def _towards(health: Health, kind: NoticeKind) -> NoticeKind:
    return NoticeKind.UNKNOWN if health is Health.UNKNOWN else kind
