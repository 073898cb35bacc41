"""Two clusters and a mirror, as surveys would show them."""

from collections.abc import Collection
from dataclasses import dataclass, field, replace
from datetime import timedelta

from mirrorwatch.domain.cluster_view import ClusterView, FlowView, TopicFacts
from mirrorwatch.domain.mirror_records import Committed, Sync
from mirrorwatch.domain.position.check import PositionLimits, judge_position
from mirrorwatch.domain.position.model import (
    PositionObservation,
    PositionState,
    Reset,
)
from mirrorwatch.domain.position.tracker import PositionInputs, PositionTracker
from mirrorwatch.domain.report import Finding, Verdict
from mirrorwatch.exceptions import StateError
from mirrorwatch.state import Database
from mirrorwatch.state.position import PositionStore
from tests.support.builders import NOON
from tests.support.findings import find

__all__ = ["FLOW", "TICK", "Log", "World", "grow"]


FLOW = "summit->ldf"
TICK = timedelta(seconds=5)

Place = tuple[str, int]


@dataclass
class Log:
    """One topic at one cluster; start and end by partition."""

    id: str
    ends: dict[int, int]
    starts: dict[int, int] = field(default_factory=dict)
    epoch: int | None = None
    """Leader epoch of all partitions; `None` if the brokers do not say."""

    leaderless: int = 0


class World:
    """What is so, and an agent that looks at it every five seconds.

    It begins with the topic `t`, of which the mirror has copied 100 records.
    """

    def __init__(
        self,
        *,
        estimates: bool = True,
        merged: Collection[str] = (),
        keeps_offsets: bool = False,
    ) -> None:
        self.now = NOON
        self.source = {"t": Log("s1", {0: 100})}
        self.target = {"t": Log("t1", {0: 100})}
        self.ids = {"summit": "S", "ldf": "L"}
        self.accepted: dict[str, str] = {}
        self.answers = {"summit": True, "ldf": True}
        self.caught_up = True
        self.homes: dict[str, str | None] = {"offsets": "o1", "syncs": "y1"}
        self.empty_until: dict[Place, int] = {}
        self.dropped: dict[Place, tuple[int, int]] = {}
        self.foreign: set[Place] = set()
        self.first_copies: dict[Place, tuple[str, int]] = {}
        self.from_end = False
        self.resumes_at_end = False
        self.committed: dict[Place, Committed] = {}
        self.store = PositionStore(Database(None), FLOW)
        self._estimates = estimates
        self._merged = frozenset(merged)
        self._keeps_offsets = keeps_offsets
        self._unread: list[Sync] = []
        self._syncs: list[Sync] = []
        self._read: dict[Place, Sync] = {}
        self.seen: PositionObservation
        self.restart()

    @classmethod
    def settled(
        cls, *, estimates: bool = True, merged: Collection[str] = ()
    ) -> "World":
        """Return one whose mirror has copied all there is."""
        world = cls(estimates=estimates, merged=merged)
        world.commit(100)
        world.sync(99, 99)
        world.tick(2)
        return world

    def restart(self) -> None:
        """Start the agent, which reads the mirror's topics from the start."""
        self.watch = PositionTracker(
            flow=FLOW,
            source="summit",
            target="ldf",
            state=self.store.load(),
            accepted=self.accepted,
            internal={"offsets": "mm2-offsets", "syncs": "mm2-syncs"},
            estimates=self._estimates,
            merged=self._merged.__contains__,
            keeps_offsets=self._keeps_offsets,
        )
        self._unread, self._read = list(self._syncs), {}

    def commit(
        self, position: int | None, topic: str = "t", partition: int = 0
    ) -> None:
        self.committed[topic, partition] = Committed(
            topic=topic,
            partition=partition,
            position=position,
            written_at=self.now,
        )

    def sync(
        self,
        upstream: int,
        downstream: int,
        topic: str = "t",
        n: int = 0,
        *,
        behind: timedelta = timedelta(),
    ) -> None:
        sync = Sync(
            topic=topic,
            partition=n,
            upstream=upstream,
            downstream=downstream,
            written_at=self.now - behind,
        )
        self._unread.append(sync)
        self._syncs.append(sync)

    def take_unread(self) -> list[Sync]:
        """Return what the mirror wrote since the last call."""
        unread, self._unread = self._unread, []
        return unread

    def hold(self, unread: list[Sync]) -> None:
        """Let the agent read syncs with the next survey."""
        self._unread = [*unread, *self._unread]

    def tick(self, times: int = 1) -> None:
        for _ in range(times):
            self.now += TICK
            news = PositionInputs(
                homes=dict(self.homes),
                empty_until=self.empty_until,
                dropped=self.dropped,
                from_end=self.from_end,
                foreign=self.foreign,
                first_copies=self.first_copies,
                resumes_at_end=self.resumes_at_end,
            )
            unread = self.take_unread()
            self._read |= {sync.key: sync for sync in unread}
            view = replace(self.view(), new_syncs=tuple(unread))
            self.seen = self.watch.take(view, news)
            self._save()

    def settle(self) -> None:
        """Let what was written be judged: it takes a survey more."""
        self.tick(3)

    def view(self) -> FlowView:
        names = {t: t for t in self.source} if self.answers["summit"] else {}
        return FlowView(
            flow=FLOW,
            at=self.now,
            committed=dict(self.committed),
            syncs=dict(self._read),
            caught_up=self.caught_up,
            target=self._cluster("ldf", self.target),
            source=self._cluster("summit", self.source),
            names=names,
        )

    @property
    def resets(self) -> tuple[Reset, ...]:
        return self.seen.resets

    def verdict(self) -> Verdict:
        return judge_position(FLOW, self.seen, PositionLimits(), self.now)

    def reset(self) -> Reset:
        """The only one."""
        (found,) = self.resets
        return found

    def find(self, code: str, **facts: str | float | None) -> Finding:
        """Return the only finding of a code; its subject and numbers hold
        the facts.
        """
        return find(self.verdict(), f"position.{code}", **facts)

    def books(self) -> PositionState:
        return self.store.load()

    def _save(self) -> None:
        books = self.watch.state
        try:
            self.store.save(books, books.touched | books.moved)
        except StateError as e:
            raise AssertionError from e
        books.touched.clear()
        books.moved.clear()
        books.urgent = False

    def _cluster(self, alias: str, logs: dict[str, Log]) -> ClusterView | None:
        if not self.answers[alias]:
            return None
        return ClusterView(
            alias=alias,
            id=self.ids[alias],
            at=self.now,
            topics={
                name: TopicFacts(
                    id=log.id,
                    partitions=len(log.ends) + log.leaderless,
                    replication_factor=1,
                )
                for name, log in logs.items()
            },
            ends={
                (t, p): e
                for t, log in logs.items()
                for p, e in log.ends.items()
            },
            starts={
                (t, p): log.starts.get(p, 0)
                for t, log in logs.items()
                for p in log.ends
            },
            epochs={
                (t, p): log.epoch
                for t, log in logs.items()
                for p in log.ends
                if log.epoch is not None
            },
        )


def grow(world: World, end: int) -> None:
    """Let both logs of the topic ``t`` end at an offset."""
    world.source["t"].ends[0] = world.target["t"].ends[0] = end
