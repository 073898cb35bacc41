"""Decides what is told: the state machine of notices."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import datetime, timedelta

from ..verdicts import Flow, Health, Verdict
from .books import Books, Told
from .notice import Change, Kind, Notice
from .policy import REGROUP, RESTLESS, UNKNOWN_HOLD, Policy
from .room import Room
from .standing import Standing

__all__ = ["Notifier"]

URGENCY = (
    Kind.WORSE,
    Kind.UNKNOWN,
    Kind.RECOVERED,
    Kind.BETTER,
    Kind.CHANGED,
    Kind.REMINDER,
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

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self._standing: dict[str, Standing] = {}

    def see(
        self,
        books: Books,
        flows: Iterable[Flow],
        verdicts: Sequence[Verdict],
        held: Collection[str],
        now: datetime,
    ) -> tuple[Books, tuple[Notice, ...]]:
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
        told = {name: books.flows.get(name, Told()) for name in names}
        due = []
        for name in names:
            if name in held:
                self._standing.pop(name, None)
            elif found := self._due(name, told[name], judged[name], now):
                due.append(found)
        due.sort(key=lambda n: (URGENCY.index(n.kind), -n.health))
        room = Room(books, self._policy.most_per_hour, now)
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
        books = Books(flows=told, times=tuple(room.times), untold=room.untold)
        return books, tuple(sent)

    def _due(
        self, flow: str, told: Told, verdicts: list[Verdict], now: datetime
    ) -> Notice | None:
        policy = self._policy
        health = policy.weigh_flow(verdicts)
        standing = self._standing.setdefault(flow, Standing())
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
        end = standing.ok_since if kind is Kind.RECOVERED else now
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
        told: Told,
        standing: Standing,
        changes: tuple[Change, ...],
        now: datetime,
    ) -> Kind | None:
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
                or stood(standing.worse_since, max(policy.hold, UNKNOWN_HOLD))
                or stood(standing.restless_since, RESTLESS)
            )
            return _towards(health, Kind.WORSE) if firm else None
        if health is Health.OK:
            well = stood(standing.ok_since, policy.recovery)
            known = told.health is Health.OK
            return Kind.RECOVERED if well and not known else None
        if health < told.health:
            better = stood(standing.better_since, policy.recovery)
            due = better and stood(last, REGROUP)
            return _towards(health, Kind.BETTER) if due else None
        more = any(
            policy.weigh(c.verdict.health) > c.before
            and stood(c.verdict.since, policy.hold)
            for c in changes
        )
        if more and stood(last, REGROUP):
            return Kind.CHANGED
        reminds = health is Health.CRITICAL and policy.remind > timedelta()
        return (
            Kind.REMINDER if reminds and stood(last, policy.remind) else None
        )

    def _changes(
        self, told: Told, verdicts: list[Verdict]
    ) -> Iterator[Change]:
        """Yield every check that is bad or was told to be, worst first."""
        for verdict in sorted(verdicts, key=lambda v: -v.health):
            before = told.checks.get(verdict.check, Health.OK)
            if (
                self._policy.weigh(verdict.health) is not Health.OK
                or before is not Health.OK
            ):
                yield Change(verdict=verdict, before=before)

    def _believed(self, notice: Notice) -> Told:
        """Return what people believe after a notice."""
        return Told(
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


def _towards(health: Health, kind: Kind) -> Kind:
    """Return why a change is told; that nobody can tell is no direction."""
    return Kind.UNKNOWN if health is Health.UNKNOWN else kind
