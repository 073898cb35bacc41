"""A stretch of time in which nothing is injected, and what was seen of it."""

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import count
from pathlib import Path
from statistics import median
from threading import Event, Thread
from types import TracebackType
from typing import Any, Self

import httpx
from confluent_kafka import (
    OFFSET_END,
    Consumer,
    KafkaException,
    Producer,
    TopicPartition,
)

from mirrorwatch.clock import utc_now
from mirrorwatch.domain.canary.model import ProbeMessage
from mirrorwatch.domain.canary.tracker import Ledger
from mirrorwatch.sources.canary.encoding import decode
from mirrorwatch.state import Database
from mirrorwatch.state.canary import CanaryStore
from mirrorwatch_lab import CANARY_TOPIC, Lab

from .agent_process import AgentProcess
from .alert_servers import ruling
from .footprint import Cost, Footprint
from .influx import InfluxServer, Rows, influx_config, influx_environment
from .lab import FLUSH_SECONDS
from .looks import Figures, Look, look, take_figures
from .stalls import Stalls
from .watch import FLOW, describe, wait_until

__all__ = [
    "MIXED_CONFIGS",
    "MIXED_TOPICS",
    "CleanRun",
    "MixedTraffic",
    "run_cleanly",
]


POLL_SECONDS = 0.2
"""How long one poll waits; it returns as soon as there is a record."""


@dataclass(frozen=True, slots=True)
class Timed:
    """One probe that was seen."""

    probe: ProbeMessage
    seen_at: datetime

    @property
    def seconds(self) -> float:
        return (self.seen_at - self.probe.sent_at).total_seconds()


class Onlooker(AbstractContextManager["Onlooker"]):
    """Reads the canary topic at the target from its end on, plainly.

    It shares nothing with the agent but the clock of the machine and the
    layout of a probe.
    """

    def __init__(self, lab: Lab) -> None:
        self.seen: list[Timed] = []
        self._topic = lab.target_name(CANARY_TOPIC)
        self._partitions = lab.target.topics.names()[self._topic]
        self._consumer = Consumer(
            {
                "bootstrap.servers": lab.target.bootstrap,
                "group.id": "onlooker",
                "enable.auto.commit": False,
                "enable.auto.offset.store": False,
                "allow.auto.create.topics": False,
                "isolation.level": "read_uncommitted",
            }
        )
        self._stopping = Event()
        self._thread = Thread(target=self._run, name="onlooker", daemon=True)

    def __enter__(self) -> Self:
        self._consumer.assign(
            [
                TopicPartition(self._topic, p, OFFSET_END)
                for p in range(self._partitions)
            ]
        )
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stopping.set()
        self._thread.join()
        self._consumer.close()

    def median_seconds(self, begin: datetime, end: datetime) -> float:
        """Return the median of what was seen between two times."""
        return median(self._seconds(begin, end))

    def share_below(
        self, seconds: float, begin: datetime, end: datetime
    ) -> float:
        """Return which share of what was seen took less."""
        seen = self._seconds(begin, end)
        return sum(each < seconds for each in seen) / len(seen)

    def worst_percent_seconds(self, begin: datetime, end: datetime) -> float:
        """Return what one of a hundred exceeded, 0 if none was seen."""
        slowest = sorted(self._seconds(begin, end), reverse=True)
        return slowest[len(slowest) // 100] if slowest else 0.0

    def _seconds(self, begin: datetime, end: datetime) -> list[float]:
        return [t.seconds for t in self.seen if begin <= t.seen_at <= end]

    def _run(self) -> None:
        while not self._stopping.is_set():
            message = self._consumer.poll(POLL_SECONDS)
            now = utc_now()
            if message is None or message.error() is not None:
                continue
            probe = decode(message.value())
            if probe is not None:
                self.seen.append(Timed(probe, now))


START_SECONDS = 600.0
"""Until everything is ok: the mirror has to make the canary topic first, and
what the first probes took on a busy machine is judged for five minutes."""

JUDGED = timedelta(minutes=5)

SLOW_SECONDS = 1.8
"""A bit less than what the check `latency` warns of: percentiles are
estimates."""

FIGURES_KEPT = 20
"""How many reports are compared as a whole, spread over the run."""


@dataclass(kw_only=True)
class CleanRun:
    """Everything that is known of a run."""

    ok_after: float = 0.0
    """Seconds from the start of the agent until everything was ok."""

    looks: list[Look] = field(default_factory=list)
    figures: list[Figures] = field(default_factory=list)
    footprints: list[Footprint] = field(default_factory=list)
    onlooker: Onlooker
    stalls: Stalls
    exit_status: int | None = None
    events: list[dict[str, Any]] = field(default_factory=list)
    run: str = ""
    ledgers: dict[int, Ledger] = field(default_factory=dict)
    rows: Rows | None = None
    """What InfluxDB holds in the end; `None` without one."""

    alerts: list[tuple[str, str, datetime]] = field(default_factory=list)
    """Every alert that Prometheus had at some time, once for each: its name,
    whether it was pending or firing, and when."""

    judged: int = 0

    @property
    def cost(self) -> Cost:
        return Cost(self.footprints[0], self.footprints[-1])

    @property
    def worries(self) -> list[dict[str, Any]]:
        """What was logged, once all was ok, for someone to look into."""
        begun = self.looks[0].at or ""
        return [
            event
            for event in self.events
            if event["level"] not in {"debug", "info"}
            and event["timestamp"] > begun
            and not self._is_explained(event)
        ]

    def is_true(self, at: str, check: str, health: str) -> bool:
        """Tell whether others saw what a verdict says of a busy machine.

        Probes were slow if the onlooker's were; nothing was known while
        nothing ran. Nothing else that is amiss is true in a clean run.
        """
        moment = datetime.fromisoformat(at)
        if check == "latency":
            slow = self.onlooker.worst_percent_seconds(moment - JUDGED, moment)
            return slow > SLOW_SECONDS
        return health == "unknown" and self.stalls.felt_at(moment)

    def _is_explained(self, event: dict[str, Any]) -> bool:
        at: str = event["timestamp"]
        if event["event"] == "Verdict changed":
            return self.is_true(at, event["check"], event["health"])
        return self.stalls.felt_at(datetime.fromisoformat(at))


def run_cleanly(
    lab: Lab,
    folder: Path,
    *,
    seconds: float,
    influx: InfluxServer | None = None,
    rules: Path | None = None,
    on_look: Callable[[float, AgentProcess], None] = lambda _at, _agent: None,
) -> CleanRun:
    """Let an agent watch a lab for some seconds, and look on.

    Parameters
    ----------
    lab
        The lab; it is left as it is.
    folder
        Empty folder for the agent.
    seconds
        How long, from the moment when everything is ok.
    influx
        Where it writes its figures to.
    rules
        Rules that a Prometheus follows beside, from the moment when
        everything is ok.
    on_look
        Called after every look with the seconds that have passed: where a
        soak injects its faults.
    """
    config = describe(lab)
    environment = {}
    if influx is not None:
        config["sinks"] = {"influxdb": influx_config(influx)}
        environment = influx_environment(influx)
    with (
        AgentProcess(folder, config, environment) as agent,
        httpx.Client(base_url=agent.url, timeout=60) as client,
    ):
        ok_after = wait_until(
            lambda: look(client).health == "ok",
            within=START_SECONDS,
            what=lambda: client.get("/api/status").json(),
        )
        with (
            Stalls(folder) as stalls,
            Onlooker(lab) as onlooker,
            ExitStack() as around,
        ):
            seen = CleanRun(
                onlooker=onlooker, stalls=stalls, ok_after=ok_after
            )
            # As sites do, every 15 s; it takes little from the others.
            prometheus = rules and around.enter_context(
                ruling(folder / "prometheus", agent.url, rules, every="15s")
            )
            _follow(agent, client, seconds, seen, on_look)
            if prometheus:
                seen.alerts = prometheus.alerts()
                seen.judged = prometheus.judged("canary")
        seen.exit_status = agent.stop()
    seen.events = agent.events
    database = Database(agent.state)
    store = CanaryStore(database, FLOW)
    seen.run, seen.ledgers = store.run, store.load()
    database.close()
    seen.rows = None if influx is None else influx.select_all()
    return seen


def _follow(
    agent: AgentProcess,
    client: httpx.Client,
    seconds: float,
    seen: CleanRun,
    on_look: Callable[[float, AgentProcess], None],
) -> None:
    """Look once a second; now and then take all figures of a report."""
    every = seconds / FIGURES_KEPT
    take_at = every
    for passed in _seconds(seconds):
        seen.looks.append(look(client))
        seen.footprints.append(agent.footprint)
        if passed >= take_at and (figures := take_figures(client)) is not None:
            seen.figures.append(figures)
            take_at += every
        on_look(passed, agent)


def _seconds(seconds: float) -> Iterator[float]:
    begin = time.monotonic()
    while (passed := time.monotonic() - begin) < seconds:
        yield passed
        time.sleep(1)  # the pace of the looks, and nothing waits for it


IDLE = "mixed.idle"
BURSTS = "mixed.bursts"
TRANSACTIONS = "mixed.transactions"
COMPACTED = "mixed.compacted"
EXPIRING = "mixed.expiring"
GROWING = "mixed.growing"
NEW = "mixed.new"

MIXED_TOPICS = {
    IDLE: 2,
    BURSTS: 3,
    TRANSACTIONS: 2,
    COMPACTED: 2,
    EXPIRING: 1,
    GROWING: 1,
}
"""Topics that exist before the mirror starts, and their partitions."""

MIXED_CONFIGS = {
    # A segment is closed by the next record after this time; only closed
    # ones are compacted or expire.
    COMPACTED: {
        "cleanup.policy": "compact",
        "segment.ms": "5000",
        "min.cleanable.dirty.ratio": "0.01",
    },
    EXPIRING: {"retention.ms": "120000", "segment.ms": "10000"},
}

BURST = 3000
"""Records at once, every 20 s: seconds of work for no mirror."""

KEYS = 5
"""Of the compacted topic: few, so that most of its records go."""


class MixedTraffic:
    """A thread that writes to all of them, and makes more topics.

    A transaction is committed or aborted in turn, every fifth record of the
    compacted topic is a tombstone, a topic is made every 100 s and another
    grows by a partition every 150 s.
    """

    def __init__(self, lab: Lab, *, fixed_topics: bool = False) -> None:
        self._lab = lab
        self._fixed_topics = fixed_topics
        self._client = {"bootstrap.servers": lab.source.bootstrap}
        self._stopping = Event()
        self._failed: list[str] = []
        self._thread = Thread(target=self._run, name="mixed", daemon=True)
        self._grown = MIXED_TOPICS[GROWING]
        self.rounds = 0
        """Seconds of work done."""

    def __enter__(self) -> Self:
        self._plain = Producer({**self._client, "linger.ms": 5})
        self._transactional = Producer(
            {**self._client, "transactional.id": "mixed-traffic"}
        )
        self._transactional.init_transactions(FLUSH_SECONDS)
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stopping.set()
        self._thread.join()
        assert self._plain.flush(FLUSH_SECONDS) == 0
        assert self._failed == []

    def _run(self) -> None:
        begin = time.monotonic()
        for second, deeds in enumerate(self._due()):
            for deed in deeds:
                deed()
            self._plain.poll(0)
            self.rounds = second + 1
            pause = begin + second + 1 - time.monotonic()
            if self._stopping.wait(max(0.0, pause)):
                return

    def _due(self) -> Iterator[list[Callable[[], None]]]:
        deeds = {
            self._compact: 1,
            self._transact: 2,
            self._sample: 3,
            self._burst: 20,
        }
        if not self._fixed_topics:
            deeds |= {self._make: 100, self._grow: 150}
        for second in count(1):
            yield [
                deed for deed, every in deeds.items() if second % every == 0
            ]

    def _write(
        self, topic: str, partition: int, value: bytes | None, key: str = ""
    ) -> None:
        self._plain.produce(
            topic,
            value,
            key or None,
            partition=partition,
            on_delivery=lambda error, _: (
                self._failed.append(str(error)) if error else None
            ),
        )

    def _compact(self) -> None:
        for partition in range(MIXED_TOPICS[COMPACTED]):
            n = self.rounds
            value = None if n % 5 == 0 else f"state {n}".encode()
            self._write(COMPACTED, partition, value, f"key {n % KEYS}")

    def _transact(self) -> None:
        producer = self._transactional
        producer.begin_transaction()
        for n in range(7):
            producer.produce(TRANSACTIONS, f"{self.rounds}/{n}")
        if self.rounds % 4 == 1:
            # Aborted with records in the log, not only in the producer.
            producer.flush(FLUSH_SECONDS)
            producer.abort_transaction(FLUSH_SECONDS)
        else:
            producer.commit_transaction(FLUSH_SECONDS)

    def _sample(self) -> None:
        self._write(EXPIRING, 0, f"sample {self.rounds}".encode())
        found = self._plain.list_topics(GROWING, timeout=FLUSH_SECONDS)
        for partition in found.topics[GROWING].partitions:
            # The producer knows what it was just told of a moment later.
            with suppress(KafkaException):
                self._write(GROWING, partition, f"n {self.rounds}".encode())

    def _burst(self) -> None:
        for n in range(BURST):
            self._write(BURSTS, n % MIXED_TOPICS[BURSTS], b"x" * 200)

    def _make(self) -> None:
        name = f"{NEW}.{self.rounds}"
        self._lab.source.topics.create(name, 2, {})
        for n in range(20):
            self._write(name, n % 2, f"first {n}".encode())

    def _grow(self) -> None:
        self._grown += 1
        self._lab.source.topics.grow(GROWING, self._grown)
