"""How flows are before and after maintenance is noted and told."""

import json
from collections.abc import Iterator
from datetime import timedelta

import pytest
import structlog
from structlog.testing import capture_logs

from mirrorwatch.domain.report import Flow, Health
from mirrorwatch.ports import Report
from mirrorwatch.sinks.maintenance import PATIENCE, MaintenanceSink
from mirrorwatch.state import Database
from mirrorwatch.state.history import History
from mirrorwatch.state.maintenance import MaintenanceStore
from mirrorwatch.state.queue import Outbox
from tests.support.builders import FLOW, NOON, a_report, a_verdict

TICK = timedelta(seconds=5)
OTHER = Flow(name="commands", source="summit", target="ldf")


class Bench:
    """The sink on books of its own."""

    def __init__(self) -> None:
        self.database = Database(None)
        self.store = MaintenanceStore(self.database)
        self.outbox = Outbox(self.database, ["r0"])
        self.start()

    def start(self) -> None:
        """Begin anew, as an agent that was started again."""
        self.sink = MaintenanceSink(
            self.store,
            History(self.database),
            outbox=self.outbox,
            page="http://page",
            logger=structlog.get_logger(),
        )

    def tick(self, number: float, health: Health = Health.OK) -> None:
        self.sink.publish(self.report(number, health))

    def report(self, number: float, health: Health) -> Report:
        return a_report(
            NOON + number * TICK,
            flows=[FLOW, OTHER],
            verdicts=[a_verdict(health, flow=f.name) for f in (FLOW, OTHER)],
        )

    def announce(self, *flows: str, begin: float, end: float) -> None:
        self.store.announce(
            flows, NOON + begin * TICK, NOON + end * TICK, "upgrade"
        )


@pytest.fixture
def bench() -> Iterator[Bench]:
    bench = Bench()
    yield bench
    bench.database.close()


def test_before_is_the_last_report_and_after_the_first_one(
    bench: Bench,
) -> None:
    bench.tick(0, Health.OK)
    bench.announce(FLOW.name, begin=0.5, end=2.5)
    bench.tick(1, Health.CRITICAL)
    bench.tick(2, Health.CRITICAL)
    assert bench.outbox.waiting == 0
    with capture_logs() as logs:
        bench.tick(3, Health.WARNING)
        bench.tick(4, Health.OK)
    (outcome,) = bench.store.last([FLOW.name])
    assert outcome.before is not None
    assert (outcome.before.at, outcome.before.health) == (NOON, Health.OK)
    assert outcome.after.at == NOON + 3 * TICK
    assert outcome.after.health is Health.WARNING
    assert [e["event"] for e in logs] == ["Maintenance has ended"]


def test_flows_that_end_together_are_one_message(bench: Bench) -> None:
    bench.announce(FLOW.name, OTHER.name, begin=0, end=1)
    for number in range(3):
        bench.tick(number)
    assert bench.outbox.waiting == 1
    found = bench.outbox.queues["r0"].oldest(1)
    assert found is not None
    document = json.loads(found[1].body)["document"]
    assert document["kind"] == "maintenance"
    assert len(document["flows"]) == 2


def test_a_restart_forgets_nothing_of_it(bench: Bench) -> None:
    bench.tick(0)
    bench.announce(FLOW.name, begin=0.5, end=9)
    bench.tick(1, Health.WARNING)
    bench.start()
    bench.tick(8, Health.CRITICAL)
    bench.start()
    bench.tick(10, Health.CRITICAL)
    (outcome,) = bench.store.last([FLOW.name])
    assert outcome.before is not None
    assert outcome.before.health is Health.OK
    assert outcome.after.health is Health.CRITICAL
    assert bench.outbox.waiting == 1


def test_an_agent_that_was_started_again_compares_when_it_knows(
    bench: Bench,
) -> None:
    bench.announce(FLOW.name, begin=0, end=9)
    bench.tick(0)
    bench.start()
    for number in range(100, 103):
        bench.tick(number, Health.UNKNOWN)
    assert bench.store.last([FLOW.name]) == ()
    bench.tick(103, Health.WARNING)
    (outcome,) = bench.store.last([FLOW.name])
    assert outcome.after.health is Health.WARNING


def test_what_stays_unknown_is_not_waited_for_for_ever(bench: Bench) -> None:
    bench.announce(FLOW.name, begin=-1, end=1)
    waits = PATIENCE // TICK
    for number in range(waits + 1):
        bench.tick(number, Health.UNKNOWN)
    assert bench.store.last([FLOW.name]) == ()
    bench.tick(waits + 1, Health.UNKNOWN)
    (outcome,) = bench.store.last([FLOW.name])
    assert outcome.after.health is Health.UNKNOWN


def test_what_went_by_without_an_agent_has_no_before(bench: Bench) -> None:
    bench.announce(FLOW.name, begin=0, end=1)
    bench.tick(10)
    (outcome,) = bench.store.last([FLOW.name])
    assert outcome.before is None


def test_what_an_agent_sees_within_it_is_no_before(bench: Bench) -> None:
    bench.announce(FLOW.name, begin=-9, end=9)
    for number in range(9):
        bench.tick(number, Health.CRITICAL)
    bench.tick(10, Health.WARNING)
    (outcome,) = bench.store.last([FLOW.name])
    assert outcome.before is None
    assert outcome.worse is None


def test_a_clock_that_is_set_back_after_the_start_hides_no_before(
    bench: Bench,
) -> None:
    bench.tick(10_000)
    bench.tick(0)
    bench.announce(FLOW.name, begin=0.5, end=2)
    bench.tick(1, Health.CRITICAL)
    bench.tick(2)
    (outcome,) = bench.store.last([FLOW.name])
    assert outcome.before is not None
    assert outcome.before.health is Health.OK


def test_a_flow_that_is_no_longer_configured_is_left_alone(
    bench: Bench,
) -> None:
    bench.announce("gone", begin=0, end=1)
    bench.tick(0)
    bench.tick(10)
    assert bench.outbox.waiting == 0
