"""A row of reports, and what is told of them."""

from collections.abc import Collection, Iterable, Mapping
from datetime import timedelta

from mirrorwatch.domain.notices.model import Notice, NotificationState
from mirrorwatch.domain.notices.notifier import NotificationPolicy, Notifier
from mirrorwatch.domain.report import Flow, Health, Verdict, keep_since

from .builders import FLOW, NOON, a_verdict

__all__ = ["OTHER", "Telling"]

OTHER = Flow(name="commands", source="summit", target="ldf")


class Telling:
    """Ticks by hand, and what was told by them."""

    def __init__(
        self,
        policy: NotificationPolicy | None = None,
        *,
        flows: Iterable[Flow] = (FLOW,),
    ) -> None:
        self.policy = policy or NotificationPolicy()
        self.notifier = Notifier(self.policy)
        self.books = NotificationState()
        self.now = NOON
        self.told: list[Notice] = []
        self.flows = tuple(flows)
        self.verdicts: tuple[Verdict, ...] = ()

    def tick(
        self,
        health: Health | Mapping[str, Health],
        *,
        after: timedelta = timedelta(seconds=5),
        held: Collection[str] = (),
        flow: str = FLOW.name,
    ) -> list[Notice]:
        """Judge a flow some time after the last tick, others as before."""
        self.now += after
        checks = {"canary": health} if isinstance(health, Health) else health
        others = tuple(v for v in self.verdicts if v.flow != flow)
        fresh = tuple(
            a_verdict(
                found,
                flow=flow,
                check=check,
                since=self.now,
                reason=f"{check} says {found.label}",
            )
            for check, found in checks.items()
        )
        self.verdicts = (*others, *keep_since(fresh, self.verdicts))
        self.books, notices = self.notifier.see(
            self.books, self.flows, self.verdicts, held, self.now
        )
        self.told += notices
        return list(notices)

    def last(
        self,
        health: Health | Mapping[str, Health],
        duration: timedelta,
        *,
        every: timedelta = timedelta(seconds=5),
        held: Collection[str] = (),
    ) -> list[Notice]:
        """Let a health last for a while; return what was told of it."""
        told: list[Notice] = []
        end = self.now + duration
        while self.now < end:
            told += self.tick(health, after=every, held=held)
        return told

    def restart(self) -> None:
        """Begin anew with what was kept."""
        self.notifier = Notifier(self.policy)
