"""Traffic like that of an observatory's engineering database."""

import heapq
import json
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from random import Random
from threading import Event, Lock, Thread
from types import MappingProxyType
from typing import Any

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from mirrorwatch.clock import utc_now

from .start_stop import StartStop

__all__ = ["TRAFFIC_TOPICS", "Signal", "Traffic", "plan"]


_PREFIX = "lsst.sal"

_TELEMETRY = {
    # Rates in Hz: axes report often, the weather slowly.
    "MTMount.azimuth": 5.0,
    "MTMount.elevation": 5.0,
    "MTMount.azimuthDrives": 2.0,
    "MTMount.cooling": 0.5,
    "MTRotator.rotation": 5.0,
    "MTRotator.electrical": 2.0,
    "MTRotator.motors": 2.0,
    "ATDome.position": 2.0,
    "ATDome.mainDoor": 1.0,
    "ESS.temperature": 1.0,
    "ESS.airFlow": 1.0,
    "ESS.pressure": 0.5,
}

_COMMANDS = (
    "MTMount.command_moveToTarget",
    "MTMount.command_trackTarget",
    "MTMount.command_stop",
    "MTRotator.command_move",
    "MTRotator.command_trackStart",
    "ATDome.command_moveAzimuth",
    "ATDome.command_openShutter",
    "ATDome.command_closeShutter",
)

_EVENTS = (
    "MTMount.logevent_summaryState",
    "MTMount.logevent_heartbeat",
    "MTMount.logevent_target",
    "MTMount.logevent_axesInPosition",
    "MTRotator.logevent_summaryState",
    "MTRotator.logevent_inPosition",
    "MTRotator.logevent_logMessage",
    "ATDome.logevent_summaryState",
    "ATDome.logevent_azimuthInPosition",
    "ATDome.logevent_shutterInPosition",
    "ESS.logevent_summaryState",
    "ESS.logevent_sensorStatus",
)

_BUSY_HZ = 5.0
"""From this rate on a telemetry topic has several partitions."""

TRAFFIC_TOPICS: Mapping[str, int] = MappingProxyType(
    {
        f"{_PREFIX}.{name}": 3 if rate >= _BUSY_HZ else 1
        for name, rate in _TELEMETRY.items()
    }
    | {f"{_PREFIX}.{name}": 1 for name in (*_COMMANDS, *_EVENTS)}
)
"""Topics of the traffic, and how many partitions each has."""

_JITTER = 0.1
"""Share of its period by which a telemetry record is early or late."""

_COMMAND_SECONDS = 4.0
"""Mean time between two commands, whichever they are."""

_BURST_SECONDS = 6.0

_BURST_RECORDS = (3, 15)

_BURST_WIDTH_SECONDS = 0.5

_VALUES = (3, 22)
"""Fewest and most numbers in a record: 150 to 550 bytes of JSON."""


@dataclass(frozen=True, order=True, slots=True)
class Signal:
    """Record to be written at a given time."""

    at: float
    """Time of writing, in seconds since the start."""

    topic: str
    values: tuple[float, ...]

    def to_json(self, sequence: int, sent: float) -> bytes:
        """Return the record's value.

        Parameters
        ----------
        sequence
            Number of the record within its topic.
        sent
            Unix time of sending, in seconds.
        """
        fields: dict[str, Any] = {
            "private_sndStamp": sent,
            "private_seqNum": sequence,
            "private_identity": self.topic.removeprefix(f"{_PREFIX}."),
            "salIndex": 0,
        }
        fields |= {f"value{i}": v for i, v in enumerate(self.values)}
        return json.dumps(fields, separators=(",", ":")).encode()


def plan(seed: int) -> Iterator[Signal]:
    """Yield the records to write, for ever, in order of time.

    Parameters
    ----------
    seed
        The same seed makes the same records.
    """
    random = Random(seed)  # noqa: S311 - the demo needs no secrets
    sizes = {topic: random.randint(*_VALUES) for topic in TRAFFIC_TOPICS}
    return (
        Signal(
            at,
            topic,
            tuple(round(random.gauss(0, 100), 6) for _ in range(sizes[topic])),
        )
        for at, topic in heapq.merge(
            *(
                _telemetry(name, rate, random.random())
                for name, rate in _TELEMETRY.items()
            ),
            _commands(random.random()),
            _events(random.random()),
        )
    )


def _telemetry(
    name: str, rate: float, seed: float
) -> Iterator[tuple[float, str]]:
    random = Random(seed)  # noqa: S311
    period = 1 / rate
    due = random.uniform(0, period)
    while True:
        shift = random.uniform(-_JITTER, _JITTER) * period / 2
        yield max(0.0, due + shift), f"{_PREFIX}.{name}"
        due += period


def _commands(seed: float) -> Iterator[tuple[float, str]]:
    random = Random(seed)  # noqa: S311
    due = 0.0
    while True:
        due += random.expovariate(1 / _COMMAND_SECONDS)
        yield due, f"{_PREFIX}.{random.choice(_COMMANDS)}"


def _events(seed: float) -> Iterator[tuple[float, str]]:
    random = Random(seed)  # noqa: S311
    due = 0.0
    while True:
        # From the end of one burst on, so that time never goes back.
        due += random.expovariate(1 / _BURST_SECONDS)
        times = sorted(
            due + random.uniform(0, _BURST_WIDTH_SECONDS)
            for _ in range(random.randint(*_BURST_RECORDS))
        )
        for at in times:
            yield at, f"{_PREFIX}.{random.choice(_EVENTS)}"
        due = times[-1]


_BEHIND_SECONDS = 2.0
"""A writer that was held up for longer goes on from now: a sensor does not
make up for what it did not measure."""

_FLUSH_SECONDS = 30.0
"""Timeout for the last records to be acknowledged at the end."""


class Traffic(StartStop):
    """A thread that writes such traffic to one cluster.

    Parameters
    ----------
    client
        Properties of librdkafka to reach the cluster with.
    seed
        Seed of the generator.

    Notes
    -----
    The topics are not made here: they exist before the mirror starts, as
    it would otherwise find them ten minutes later.
    """

    def __init__(self, client: Mapping[str, str], *, seed: int = 1) -> None:
        self._producer = Producer(
            {
                "enable.idempotence": True,
                "linger.ms": 5,
                "compression.type": "lz4",
                # A broker that is down is the point of some demos.
                "log_level": 0,
                **client,
            }
        )
        self._plan = plan(seed)
        self._stopping = Event()
        self._lock = Lock()
        self._acked: Counter[str] = Counter()
        self._failed = 0
        self._thread = Thread(target=self._run, name="traffic", daemon=True)

    @property
    def acked(self) -> Mapping[str, int]:
        """Records that the cluster has taken so far, by topic."""
        with self._lock:
            return dict(self._acked)

    @property
    def failed(self) -> int:
        """Records that the cluster did not take."""
        with self._lock:
            return self._failed

    def start(self) -> None:
        """Start to write."""
        self._thread.start()

    def stop(self) -> None:
        """Stop writing, and wait until the last records are taken."""
        self._stopping.set()
        self._thread.join()
        self._producer.flush(_FLUSH_SECONDS)

    def _run(self) -> None:
        begin = time.monotonic()
        sequences: Counter[str] = Counter()
        for signal in self._plan:
            wait = begin + signal.at - time.monotonic()
            if wait < -_BEHIND_SECONDS:
                begin -= wait
            if self._stopping.wait(max(0.0, wait)):
                return
            self._send(signal, sequences[signal.topic])
            sequences[signal.topic] += 1
            self._producer.poll(0)

    def _send(self, signal: Signal, sequence: int) -> None:
        now = utc_now().timestamp()
        try:
            self._producer.produce(
                signal.topic,
                signal.to_json(sequence, now),
                timestamp=round(now * 1000),
                on_delivery=self._delivered,
            )
        except (BufferError, KafkaException):
            self._fail()

    def _delivered(self, error: KafkaError | None, message: Message) -> None:
        if error is not None:
            self._fail()
            return
        with self._lock:
            self._acked[message.topic() or ""] += 1

    def _fail(self) -> None:
        with self._lock:
            self._failed += 1
