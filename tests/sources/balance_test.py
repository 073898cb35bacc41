"""What the balance worker reads, keeps and reports."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from mirrorwatch.domain.cluster_view import TopicPartition
from mirrorwatch.domain.levels.model import LevelCounts
from mirrorwatch.domain.offsets import OffsetRange
from mirrorwatch.domain.report import Health, Verdict
from mirrorwatch.domain.skips.balance import BalanceState, BalanceTracker
from mirrorwatch.domain.skips.check import SkipsLimits, judge_skips
from mirrorwatch.domain.skips.metrics import samples
from mirrorwatch.domain.skips.model import SkipCounters
from mirrorwatch.exceptions import SourceError, SourceUnavailableError
from mirrorwatch.sources import balance
from mirrorwatch.sources.balance import BalanceWorker
from mirrorwatch.state import Database
from mirrorwatch.state.documents import DocumentStore
from mirrorwatch.state.levels import LevelHistory
from tests.domain.skips.balance_test import World
from tests.support.builders import FLOW, a_report

Count = Callable[[TopicPartition, OffsetRange], tuple[int, int]]


class Agent:
    """A worker over a state file, in a world of one topic."""

    def __init__(self, database: Database, world: World) -> None:
        store = DocumentStore(database, "a->b", "balance", BalanceState)
        self.world = world
        self.count: Count = lambda *_: pytest.fail("nothing is to be read")
        self.worker = BalanceWorker(
            flow="a->b",
            title="MirrorMaker 1",
            tracker=BalanceTracker(
                store.load(), lambda _: False, timedelta(seconds=15)
            ),
            store=store,
            count=self._count,
            clock=lambda: world.now,
        )

    def _count(
        self, partition: TopicPartition, offsets: OffsetRange
    ) -> tuple[int, int]:
        return self.count(partition, offsets)

    def rest(self) -> None:
        for _ in range(5):
            self.world.now += timedelta(seconds=10)
            self.worker.take(self.world.view())

    def read(self, records: int) -> None:
        """Let the source have so many records in what is read."""
        self.count = lambda *_: (records, 0)
        self.worker.step()

    def fail_to_read(self, why: str) -> None:
        """Let the source not answer."""

        def count(*_: object) -> tuple[int, int]:
            raise SourceUnavailableError(why, source="kafka", cluster="a")

        self.count = count
        with pytest.raises(SourceError):
            self.worker.step()

    def tally(self) -> SkipCounters:
        """Return what was counted of the one topic."""
        (seen,) = self.worker.observe(self.world.now)
        ((_, counts),) = seen.tallies
        return counts

    def verdict(self) -> Verdict:
        (seen,) = self.worker.observe(self.world.now)
        return judge_skips("a->b", seen, SkipsLimits(), self.world.now)


def test_what_is_missing_is_read_reported_and_kept() -> None:
    database, world = Database(None), World()
    agent = Agent(database, world)
    agent.rest()
    assert agent.verdict().health is Health.OK
    world.write(10, copied=8)
    agent.rest()
    assert agent.verdict().health is Health.UNKNOWN
    agent.fail_to_read("a does not answer")
    assert "a does not answer" in agent.verdict().reason
    agent.read(10)
    agent.rest()
    for known in (agent, Agent(database, world)):
        known.rest()
        verdict = known.verdict()
        assert verdict.health is Health.CRITICAL
        assert "At least 2 records of x" in verdict.reason
        (seen,) = known.worker.observe(world.now)
        assert [(t, c.skipped) for t, c in seen.tallies] == [("x", 2)]


def test_too_much_to_read_cannot_be_verified() -> None:
    agent = Agent(Database(None), World())
    agent.rest()
    agent.world.write(balance.MOST + 1, copied=balance.MOST)
    agent.rest()
    agent.worker.step()
    verdict = agent.verdict()
    assert verdict.health is Health.WARNING
    assert "1 record of x cannot be verified" in verdict.reason


NOT_READ = "MirrorMaker's internal topics have not been read to their ends"


@pytest.mark.parametrize(
    ("missing", "reason"),
    [
        ({"source": None, "names": {}, "problems": ("a is down",)}, "a is"),
        ({"target": None, "problems": ("b is down",)}, "b is down"),
        ({"caught_up": False}, NOT_READ),
    ],
)
def test_it_is_unknown_while_both_sides_cannot_be_compared(
    missing: dict[str, Any], reason: str
) -> None:
    agent = Agent(Database(None), World())
    agent.rest()
    for _ in range(20):
        agent.world.now += timedelta(seconds=10)
        agent.worker.take(replace(agent.world.view(), **missing))
        verdict = agent.verdict()
        assert verdict.health is Health.UNKNOWN
        assert reason in verdict.reason
    agent.rest()
    assert agent.verdict().health is Health.OK


def pending(agent: Agent) -> None:
    """Let 2 of 10 records be left out, and the source not be readable."""
    agent.rest()
    agent.world.write(10, copied=8)
    agent.rest()
    agent.fail_to_read("a is slow")


def test_what_is_copied_before_it_is_read_is_not_missing() -> None:
    agent = Agent(Database(None), World())
    pending(agent)
    # The mirror was rewound: it copies all 10 again.
    agent.world.copies[1] += 10
    agent.rest()
    agent.read(10)
    agent.rest()
    counts = agent.tally()
    assert (counts.skipped, counts.repeated) == (0, 8)
    assert agent.verdict().health is Health.WARNING


def test_only_what_is_still_missing_when_it_is_read_is_called_so() -> None:
    agent = Agent(Database(None), World())
    pending(agent)
    agent.world.copies[1] += 1
    agent.rest()
    agent.read(10)
    agent.rest()
    counts = agent.tally()
    assert (counts.skipped, counts.repeated) == (1, 0)


@pytest.mark.parametrize("ids", [("s2", "t"), ("s", "t2")])
def test_what_is_read_of_another_topic_says_nothing(
    ids: tuple[str, str],
) -> None:
    agent = Agent(Database(None), World())
    pending(agent)
    agent.world.ids = ids
    agent.rest()
    agent.read(10)
    agent.rest()
    assert agent.tally().skipped == 0
    assert agent.verdict().health is Health.OK


def test_a_deleted_topic_is_not_waited_for() -> None:
    agent = Agent(Database(None), World())
    pending(agent)
    assert agent.verdict().health is Health.UNKNOWN
    agent.worker.take(replace(agent.world.view(), names={}))
    agent.worker.step()
    assert agent.verdict().health is not Health.UNKNOWN


def test_no_topic_waits_for_another_that_cannot_be_read() -> None:
    agent = Agent(Database(None), World())
    pending(agent)

    def both(one: Any) -> Any:
        """Return what is known of a topic, of another one as well."""
        if isinstance(next(iter(one)), str):
            return one | {"y": one["x"]}
        return one | {("y", p): fact for (_, p), fact in one.items()}

    def take(more: int) -> None:
        for _ in range(5):
            agent.world.now += timedelta(seconds=10)
            seen = agent.world.view()
            assert seen.source is not None
            assert seen.target is not None
            ends = both(seen.target.ends)
            ends["y", 0] += more
            agent.worker.take(
                replace(
                    seen,
                    committed=both(seen.committed),
                    names={"x": "x", "y": "y"},
                    source=replace(
                        seen.source,
                        topics=both(seen.source.topics),
                        ends=both(seen.source.ends),
                        starts=both(seen.source.starts),
                    ),
                    target=replace(
                        seen.target, topics=both(seen.target.topics), ends=ends
                    ),
                )
            )

    take(10)
    agent.world.write(10, copied=10)
    take(3)

    def count(partition: TopicPartition, _: OffsetRange) -> tuple[int, int]:
        if partition[0] == "x":
            raise SourceError("no READ on x", source="kafka", cluster="a")
        return 10, 0

    agent.count = count
    for _ in range(2):
        with suppress(SourceError):
            agent.worker.step()
    verdict = agent.verdict()
    assert verdict.health is Health.CRITICAL
    assert "At least 7 records of y are missing" in verdict.reason


def test_the_level_of_verified_records_is_of_all_that_were_passed() -> None:
    history, agent = (
        LevelHistory(Database(None)),
        Agent(Database(None), World()),
    )

    def count() -> LevelCounts:
        (seen,) = agent.worker.observe(agent.world.now)
        seen = replace(seen, flow=FLOW.name)
        history.record(a_report(agent.world.now, observations=[seen]))
        return history.totals(FLOW.name)["verified"]

    agent.rest()
    assert count() == LevelCounts()
    agent.world.write(100, copied=99)
    agent.rest()
    agent.read(100)
    assert count() == LevelCounts(good=99, bad=1)
    agent.world.write(50, copied=50)
    agent.rest()
    assert count() == LevelCounts(good=149, bad=1)


@pytest.mark.parametrize("kind", ["recreated", "copy recreated", "truncated"])
def test_no_counter_falls_where_a_topic_begins_anew(kind: str) -> None:
    agent = Agent(Database(None), World())
    world = agent.world

    def counters() -> list[Any]:
        (seen,) = agent.worker.observe(world.now)
        return [s.value for s in samples(seen, world.now)] + [
            tally.passed for _, tally in seen.tallies
        ]

    agent.rest()
    for written, copied in (
        (20, 17),
        (20, 25),
        (balance.MOST + 1, balance.MOST),
    ):
        world.write(written, copied=copied)
        agent.rest()
        agent.read(20)
    before = counters()
    assert sorted(before)[-4:] == [1, 3, 5, balance.MOST + 41]
    if kind == "truncated":
        world.ends[0] -= 8
        world.committed[0] = world.ends[0]
    else:
        world.ids = ("s2", "t") if kind == "recreated" else ("s", "t2")
    agent.rest()
    assert counters() == before
    world.write(20, copied=18)
    agent.rest()
    agent.read(20)
    assert sorted(counters())[-4:] == [1, 5, 5, balance.MOST + 61]
