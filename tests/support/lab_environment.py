"""The scripted scenarios on real clusters and a real MirrorMaker 2."""

from collections.abc import Callable
from pathlib import Path
from threading import Event, Thread
from types import TracebackType
from typing import Self

from confluent_kafka import Producer

from mirrorwatch.domain.canary.model import ProbeMessage
from mirrorwatch_lab import CANARY_TOPIC, TARGET, Lab, LabSettings
from mirrorwatch_lab.faults import MARK, drop_marked, recreate_topic
from tests.simulation.environment import (
    DROPPED,
    FIRST,
    FLUSH,
    PATIENT,
    REFRESH,
    Environment,
    Scenario,
    Side,
)

from .lab import FLUSH_SECONDS, produce, values
from .resets import MISSED_AT_ONCE
from .skips import committed, synced
from .watch import Watch, wait_until

__all__ = ["LabEnvironment", "fill", "settings_for"]


def settings_for(scenarios: list[Scenario]) -> LabSettings:
    """Return a lab with the topics of all of them, so that the mirror takes
    them up once.
    """
    topics = {scenario.name: scenario.partitions for scenario in scenarios}
    return LabSettings(
        topics={CANARY_TOPIC: 1} | topics,
        mirror_properties=drop_marked()
        | MISSED_AT_ONCE
        | {
            f"{TARGET}.offset.flush.interval.ms": str(1000 * FLUSH),
            "refresh.topics.interval.seconds": str(REFRESH),
        },
    )


def fill(lab: Lab, scenarios: list[Scenario]) -> None:
    """Give each topic its first records, and wait until they are committed."""
    for scenario in scenarios:
        first = [f"first {n}" for n in range(FIRST)]
        produce(lab, scenario.name, first)
    wait_until(
        lambda: {(s.name, 0) for s in scenarios} <= committed(lab).keys(),
        what=lambda: committed(lab),
    )


class LabEnvironment(Environment):
    """The scenario on a lab, which has its topic already.

    Each has an agent of its own, with a new state file, that watches the
    topics of the scenario alone: so they can share the lab.
    """

    def __init__(self, lab: Lab, scenario: Scenario, state: Path) -> None:
        super().__init__(scenario)
        self._lab = lab
        self._state = state
        self._probes_to_drop = 0
        self._transactions = 0

    def __enter__(self) -> Self:
        self.start_agent()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop_agent()
        if error is not None:
            # For the next one.
            self._lab.link_agent.restore()
            if self._lab.mirror.running:
                self._lab.mirror.thaw()
            self._lab.mirror.start()

    def start_agent(self) -> None:
        self._watch = Watch(
            self._lab,
            state=self._state,
            flow=self.scenario.flow(),
            headers=self._mark,
        )
        self._watch.__enter__()
        self._stopping = Event()
        self._follower = Thread(target=self._follow, daemon=True)
        self._follower.start()

    def stop_agent(self) -> None:
        self._stopping.set()
        self._follower.join()
        self._watch.stop()

    def _follow(self) -> None:
        while not self._stopping.wait(0.02):
            report = self._watch.agent.latest.get()
            if report is not None and report is not self.report:
                self.note(report)

    def _mark(self, _: ProbeMessage) -> list[tuple[str, str | bytes | None]]:
        if not self._probes_to_drop:
            return []
        self._probes_to_drop -= 1
        return [(MARK, b"")]

    def wait(self, condition: Callable[[], bool]) -> None:
        wait_until(condition, within=PATIENT, what=self.describe)

    def let_pass(self, seconds: float) -> None:
        self._watch.let_pass(seconds)

    def create(self, topic: str, partitions: int = 1) -> None:
        self._lab.create_topic(topic, partitions)

    def recreate(self, topic: str, side: Side = "source") -> None:
        lab = self._lab
        topics = (lab.source if side == "source" else lab.target).topics
        recreate_topic(topics, topic, topics.names()[topic])

    def grow(self, topic: str, partitions: int) -> None:
        self._lab.grow(topic, partitions)

    def expire(self, topic: str, keep: int) -> None:
        self._lab.delete_records(topic, {0: self.end(topic) - keep})

    def write_foreign(self, topic: str, records: int) -> None:
        producer = Producer({"bootstrap.servers": self._lab.target.bootstrap})
        for _ in range(records):
            producer.produce(topic, b"foreign", partition=0)
        assert producer.flush(FLUSH_SECONDS) == 0

    def transact(self, topic: str, records: int, *, commit: bool) -> None:
        self._transactions += 1
        producer = Producer(
            {
                "bootstrap.servers": self._lab.source.bootstrap,
                "transactional.id": f"{topic} {self._transactions}",
            }
        )
        producer.init_transactions(FLUSH_SECONDS)
        producer.begin_transaction()
        for _ in range(records):
            producer.produce(topic, b"in a transaction", partition=0)
        # Those that are aborted are in the log, too.
        assert producer.flush(FLUSH_SECONDS) == 0
        if commit:
            producer.commit_transaction(FLUSH_SECONDS)
        else:
            producer.abort_transaction(FLUSH_SECONDS)

    def stop_mirror(self) -> None:
        self._lab.mirror.stop()

    def kill_mirror(self) -> None:
        self._lab.mirror.kill()

    def start_mirror(self) -> None:
        self._lab.mirror.start()

    def freeze_mirror(self) -> None:
        self._lab.mirror.freeze()

    def thaw_mirror(self) -> None:
        self._lab.mirror.thaw()

    def cut_source(self) -> None:
        self._lab.link_agent.cut()

    def restore_source(self) -> None:
        self._lab.link_agent.restore()

    def drop_probes(self, probes: int) -> None:
        self._probes_to_drop = probes
        self.wait(lambda: not self._probes_to_drop)

    def write(self, topic: str, values: list[str], partition: int) -> None:
        for marked in (False, True):
            produce(
                self._lab,
                topic,
                [v for v in values if v.startswith(DROPPED) is marked],
                partition=partition,
                headers={MARK: b""} if marked else None,
            )

    def target_values(self, topic: str) -> set[str]:
        return set(values(self._lab, "target", topic))

    def committed(self, topic: str) -> int:
        return committed(self._lab).get((topic, 0), -1)

    def synced(self, topic: str) -> int:
        return synced(self._lab).get((topic, 0), -1)

    def end(self, topic: str) -> int:
        return self._lab.source.topics.ends(topic)[0][1]
