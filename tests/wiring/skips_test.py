"""What compares topics at rest obeys the configuration."""

from datetime import timedelta
from typing import Any, cast

import pytest
import structlog

from mirrorwatch.clock import Clock
from mirrorwatch.config import Config
from mirrorwatch.domain.cluster_view import TopicPartition
from mirrorwatch.domain.offsets import OffsetRange
from mirrorwatch.domain.report import Health, Verdict
from mirrorwatch.domain.skips.check import SkipsLimits, judge_skips
from mirrorwatch.domain.skips.metrics import FILTERED, SKIPPED, samples
from mirrorwatch.sources.balance import BalanceWorker
from mirrorwatch.sources.mirror_state import MirrorState
from mirrorwatch.state import Database
from mirrorwatch.state.history import History
from mirrorwatch.state.levels import LevelHistory
from mirrorwatch.wiring import flows
from mirrorwatch.wiring.context import FlowParts, WiringContext, to_mirror
from tests.domain.skips.balance_test import World

TICK = timedelta(seconds=5)


class Wired:
    """A topic of a mirror without offset-syncs, and who watches it."""

    def __init__(
        self, monkeypatch: pytest.MonkeyPatch, filtered: list[Any]
    ) -> None:
        self.world, database = World(), Database(None)

        def count(
            _: object, __: str, ___: TopicPartition, span: OffsetRange
        ) -> tuple[int, int]:
            return len(span), 0  # all are records

        monkeypatch.setattr(flows, "count_committed", count)
        config = Config.from_mapping(
            {
                "clusters": {
                    alias: {"kafka": {"bootstrap.servers": "127.0.0.1:1"}}
                    for alias in ("a", "b")
                },
                "flows": [
                    {
                        "source": "a",
                        "target": "b",
                        "naming": "identity",
                        "topics": {"include": ["x"], "filtered": filtered},
                        "mirror": {
                            "kind": "mirus",
                            "connectors": ["m"],
                            "topics": {"offsets": "o", "configs": "c"},
                        },
                    }
                ],
            }
        )
        parts = FlowParts(
            config=config.flows[0],
            mirror=to_mirror(config.flows[0]),
            positions=MirrorState(),
        )
        around = WiringContext(
            clusters={},
            properties={"a": {}, "b": {}},
            database=database,
            history=History(database, TICK),
            levels=LevelHistory(database),
            interval=TICK,
            clock=cast("Clock", lambda: self.world.now),
            logger=structlog.get_logger("mirrorwatch"),
            cluster_ids={},
        )
        flows.wire_skips(parts, around)
        (worker,) = parts.listeners
        assert isinstance(worker, BalanceWorker)
        self.worker = worker
        self.rest()

    def rest(self) -> None:
        for _ in range(8):
            self.world.now += timedelta(seconds=10)
            self.worker.take(self.world.view())
        self.worker.step()

    def verdict(self) -> Verdict:
        (seen,) = self.worker.observe(self.world.now)
        return judge_skips("a->b", seen, SkipsLimits(), self.world.now)

    def counted(self) -> tuple[Any, Any]:
        """Return what the metrics say: skipped and filtered."""
        (seen,) = self.worker.observe(self.world.now)
        values = {x.metric: x.value for x in samples(seen, self.world.now)}
        return values[SKIPPED], values[FILTERED]


def test_what_a_transform_drops_on_purpose_is_no_alarm(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    wired = Wired(monkeypatch, ["x"])
    wired.world.write(200, copied=150)
    wired.rest()
    found = wired.verdict()
    assert found.health is Health.OK, found.reason
    note = "50 records missing on 1 filtered topic, as configured"
    assert note in found.reason
    assert wired.worker.at_rest().found == ()
    assert wired.counted() == (0, 50)


def test_without_a_filter_and_beyond_it_it_is_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for filtered in ([], [{"pattern": "x", "at_most": "20%"}]):
        wired = Wired(monkeypatch, filtered)
        wired.world.write(200, copied=150)
        wired.rest()
        found = wired.verdict()
        assert found.health is Health.CRITICAL, found.reason
        assert "At least 50 records of x" in found.reason
        assert wired.counted() == (50, 0)
    assert len(wired.worker.at_rest().found) == 1
