"""Two clusters and a mirror, as surveys would show them."""

from dataclasses import dataclass, field
from datetime import timedelta

from mirrorwatch.domain.cluster_view import ClusterView, FlowView, TopicFacts
from mirrorwatch.domain.copies.pair import Beginning
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
    leaderless: int = 0


class World:
    """What is so, and an agent that looks at it every five seconds.

    It begins with the topic `t`, of which the mirror has copied 100 records.
    """

    def __init__(
        self,
        *,
        compares: bool = False,
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
        self.copied: dict[Place, int] = {}
        """Positions by copies."""

        self.beginnings: dict[Place, Beginning] = {}
        self.from_end = False
        self.committed: dict[Place, Committed] = {}
        self.store = PositionStore(Database(None), FLOW)
        self.compares = compares
        self._keeps_offsets = keeps_offsets
        self.seen: PositionObservation
        self.restart()

    @classmethod
    def settled(cls, *, compares: bool = False) -> "World":
        """Return one whose mirror has copied all there is."""
        world = cls(compares=compares)
        world.commit(100)
        world.copied["t", 0] = 100
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
            keeps_offsets=self._keeps_offsets,
        )

    def commit(
        self, position: int | None, topic: str = "t", partition: int = 0
    ) -> None:
        self.committed[topic, partition] = Committed(
            topic=topic,
            partition=partition,
            position=position,
            written_at=self.now,
        )

    def tick(self, times: int = 1) -> None:
        for _ in range(times):
            self.now += TICK
            news = PositionInputs(
                homes=dict(self.homes),
                position=lambda place, _seen: self.copied.get(place),
                compares=lambda _topic: self.compares,
                beginnings=self.beginnings,
                empty_until=self.empty_until,
                dropped=self.dropped,
                from_end=self.from_end,
            )
            self.seen = self.watch.take(self.view(), news)
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
            syncs=self._syncs(),
            caught_up=self.caught_up,
            target=self._cluster("ldf", self.target),
            source=self._cluster("summit", self.source),
            names=names,
        )

    def _syncs(self) -> dict[Place, Sync]:
        """Return a sync, if there are any: nobody reads its offsets."""
        if not self.compares:
            return {}
        sync = Sync(
            topic="t",
            partition=0,
            upstream=0,
            downstream=0,
            written_at=NOON,
        )
        return {sync.key: sync}

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
            self.store.save(books, books.touched)
        except StateError as e:
            raise AssertionError from e
        books.touched.clear()
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
        )


def grow(world: World, end: int) -> None:
    """Let both logs of the topic ``t`` end at an offset."""
    world.source["t"].ends[0] = world.target["t"].ends[0] = end
