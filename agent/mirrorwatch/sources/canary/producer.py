"""Sends probes to the source topic, and reports what became of them."""

import logging
import time
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from threading import Event
from typing import Any

from confluent_kafka import KafkaError, KafkaException, Producer
from confluent_kafka import Message as KafkaMessage

from ...domain.canary.model import PROBE_BYTES, ProbeMessage
from ...kafka.errors import DENIED, client_properties, denial
from .encoding import hashed_key
from .settings import CanarySettings

__all__ = ["AckWorker", "CanaryProducer", "SendResult", "send_timeout"]


NEVER_WRITTEN = {
    KafkaError._UNKNOWN_PARTITION,  # noqa: SLF001 - how the library names it
    KafkaError._UNKNOWN_TOPIC,  # noqa: SLF001 - how the library names it
    KafkaError._PURGE_QUEUE,  # noqa: SLF001 - how the library names it
    KafkaError._QUEUE_FULL,  # noqa: SLF001 - how the library names it
    KafkaError.UNKNOWN_TOPIC_OR_PART,
    KafkaError.TOPIC_AUTHORIZATION_FAILED,
    KafkaError.CLUSTER_AUTHORIZATION_FAILED,
    KafkaError.MSG_SIZE_TOO_LARGE,
    KafkaError.INVALID_RECORD,
    KafkaError.POLICY_VIOLATION,
}
"""Errors with which the broker, or the client before it, refused the record.
After any other one it is unknown whether it was written."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SendResult:
    """Result of one send: stored, refused or unknown."""

    message: ProbeMessage
    source_offset: int | None = None
    """Source offset of the stored probe; `None` if it is not known."""

    took: timedelta = timedelta()
    refused: str | None = None
    """Reason why the probe was certainly not stored."""

    error: str | None = None


SEND_TIMEOUT_AT_LEAST = timedelta(seconds=10)
"""A broker that restarts is back within this; a shorter deadline must not
make each of its restarts a row of doubtful sends."""

REPLACE_AFTER = 5.0
"""Seconds until a dead producer is replaced: what killed it is seldom
fixed sooner, and each new one connects to every broker."""

LAST_REPORTS = 10
"""Polls for what a dead producer still has to report."""

LAST_REPORTS_POLL = 0.05
"""Seconds for each of them: together less than what the receiver takes for
a pause. All usually comes with the first."""

FATAL = KafkaError._FATAL  # noqa: SLF001 - how the library names it

SILENT = logging.Logger("mirrorwatch.silent")  # noqa: LOG001 - in no tree
SILENT.addHandler(logging.NullHandler())


Failure = KafkaException | SystemError
"""Exceptions that the library raises from within a poll."""

DeliveryReport = tuple[
    ProbeMessage, KafkaError | None, timedelta, KafkaMessage
]
"""A probe, what the library said of it, and how old it was when it was handed
over.
"""


def send_timeout(deadline: timedelta) -> timedelta:
    """Return how long the producer tries to send a probe."""
    return max(deadline, SEND_TIMEOUT_AT_LEAST)


ASKING = 2.0
"""Seconds that asking for partitions may hold up the canary."""

WAIT = 1.0
"""Seconds to wait for acknowledgements: the longest that a stop waits."""


class CanaryProducer:
    """Sends probes to explicit partitions, idempotently.

    Every probe handed to `send` has exactly one outcome, except those still
    under way at the end; nothing that the library raises gets out.

    Parameters
    ----------
    properties
        librdkafka properties of the source cluster.
    settings
        Settings of the canary.
    on_outcome
        Called for each probe, from within `send`, `poll` and `close`: in the
        thread that calls these, never in the one that calls `wait`.
    make_producer
        Makes a producer of its properties.
    clock
        A clock that only goes forward, in seconds.

    Notes
    -----
    A fatal error, for instance no right to write at the start, kills an
    idempotent producer for good. It is replaced, so that probes flow again
    once the cause is fixed.

    The library raises a fatal error from within its poll, and may call back
    in that state: what the callback does then can be cut short anywhere. So
    the callback only queues the delivery report, and a probe of which a dead
    producer reported nothing is in doubt.
    """

    def __init__(
        self,
        properties: Mapping[str, str],
        settings: CanarySettings,
        on_outcome: Callable[[SendResult], None],
        *,
        make_producer: Callable[[dict[str, Any]], Producer] = Producer,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        timeout = send_timeout(settings.deadline)
        self._properties: dict[str, Any] = {
            **client_properties(properties),
            "enable.idempotence": "true",
            "linger.ms": 0,
            "message.timeout.ms": int(timeout.total_seconds() * 1000),
            # Fatal errors go to stderr at any log level; they are reported
            # as outcomes.
            "logger": SILENT,
        }
        # Not known to producers: they create what they name. The topic is
        # named only after it was seen to exist.
        del self._properties["allow.auto.create.topics"]
        self._settings = settings
        self._on_outcome = on_outcome
        self._make_producer = make_producer
        self._clock = clock
        self._reports: deque[DeliveryReport] = deque()
        self._failures: deque[tuple[Producer, Failure]] = deque()
        self._waiting: dict[tuple[int, int], ProbeMessage] = {}
        self._unreported: set[tuple[int, int]] = set()

        self._has_sent = Event()
        self._fatal: str | None = None
        self.partitions: int | None = None
        """Partitions at the target, where keys must hash to theirs."""
        self._make()

    def send(
        self,
        message: ProbeMessage,
        size: int = PROBE_BYTES,
        age: timedelta = timedelta(),
    ) -> None:
        """Hand a probe to the producer.

        Parameters
        ----------
        message
            The probe.
        size
            Its size in bytes.
        age
            Age of the timestamp that it bears.
        """
        if self._fatal is not None:
            if self._clock() < self._made_at + REPLACE_AFTER:
                refused = self._fatal
                self._on_outcome(SendResult(message=message, refused=refused))
                return
            self._make()

        key, unreported = _key(message), self._unreported

        def report(error: KafkaError | None, sent: KafkaMessage) -> None:
            unreported.discard(key)
            self._reports.append((message, error, age, sent))

        unreported.add(key)
        try:
            self._producer.produce(
                self._settings.topic,
                partition=message.partition,
                key=message.key
                if self.partitions is None
                else hashed_key(message, self.partitions),
                value=self._settings.encoding.encode(message, size),
                headers=self._settings.headers(message),
                timestamp=int(message.sent_at.timestamp() * 1000),
                on_delivery=report,
            )
        except BufferError:
            refused = "The producer queue is full"
        except KafkaException as e:
            # Whatever the error: it was not taken, so it is not written.
            self._bury_if_fatal(e)
            refused = self._fatal or self._explain(e.args[0])
        else:
            self._waiting[key] = message
            self._has_sent.set()
            return
        unreported.discard(key)
        self._on_outcome(SendResult(message=message, refused=refused))

    def learn_partitions(self) -> None:
        """Ask for the topic's partitions now.

        The library asks every five minutes, and refuses the others until
        then. Should this fail, so will the next send, which says why.
        """
        with suppress(KafkaException):
            self._producer.list_topics(self._settings.topic, ASKING)

    def poll(self) -> None:
        """Report what became of sends so far. Does not wait."""
        self._serve(lambda: self._producer.poll(0))

    def wait(self) -> None:
        """Take acknowledgements as they come, for a second at most; `poll`
        reports them.

        Notes
        -----
        For a thread of its own, beside the one that does the rest. The library
        takes for the time of an acknowledgement when it is handed over
        (``rd_kafka_message_latency``), so somebody must wait for it.
        """
        self._has_sent.clear()
        if not self._unreported:
            # The library's own wait ends five times a second.
            self._has_sent.wait(WAIT)
        producer = self._producer
        try:
            producer.poll(WAIT if self._unreported else 0)
        except (KafkaException, SystemError) as e:
            self._failures.append((producer, e))
            time.sleep(WAIT)  # a dead one may fail at once, again and again

    def close(self, patience: float) -> None:
        """Wait some seconds for outcomes, then drop what is not sent."""
        self._serve(lambda: self._producer.flush(patience))
        self._producer.purge(in_queue=True, in_flight=False)
        for _ in range(LAST_REPORTS):
            # `wait` may have taken some that it has not handed over yet.
            self._serve(lambda: self._producer.poll(LAST_REPORTS_POLL))
            if not self._waiting:
                break

    def _make(self) -> None:
        self._unreported = set()
        self._producer = self._make_producer(dict(self._properties))
        self._made_at = self._clock()
        self._fatal = None

    def _serve(self, work: Callable[[], object]) -> None:
        try:
            work()
        except (KafkaException, SystemError) as e:
            self._bury_if_fatal(e)
        while self._failures:
            producer, failure = self._failures.popleft()
            if producer is self._producer:
                self._bury_if_fatal(failure)
        self._report()

    def _bury_if_fatal(self, error: Failure) -> None:
        """Take the last reports of a dead producer."""
        found = _cause(error)
        if found is not None and not (found.fatal() or found.code() == FATAL):
            return
        self._fatal = self._explain(found)
        self._producer.purge()
        for _ in range(LAST_REPORTS):
            if not self._waiting:
                break
            try:
                self._producer.poll(LAST_REPORTS_POLL)
            except (KafkaException, SystemError) as e:
                # This may say more than a refusal to take another record.
                self._fatal = self._explain(_cause(e) or found)
            self._report()
        for message in list(self._waiting.values()):
            self._finish(SendResult(message=message, error=self._fatal))

    def _report(self) -> None:
        while self._reports:
            self._finish(self._to_outcome(*self._reports.popleft()))

    def _finish(self, outcome: SendResult) -> None:
        if self._waiting.pop(_key(outcome.message), None) is not None:
            self._on_outcome(outcome)

    def _to_outcome(
        self,
        message: ProbeMessage,
        error: KafkaError | None,
        age: timedelta,
        sent: KafkaMessage,
    ) -> SendResult:
        if error is None:
            took = age + timedelta(seconds=sent.latency() or 0.0)
            return SendResult(
                message=message, source_offset=sent.offset(), took=took
            )
        if error.code() in NEVER_WRITTEN:
            why = self._fatal or self._explain(error)
            return SendResult(message=message, refused=why)
        return SendResult(message=message, error=error.str())

    def _explain(self, error: KafkaError | None) -> str:
        if error is None:
            return "The producer failed"
        if error.code() not in DENIED:
            return error.str()
        right = f"WRITE on topic {self._settings.topic}"
        return denial(right, self._settings.flow.source)


def _key(message: ProbeMessage) -> tuple[int, int]:
    return message.partition, message.sequence


def _cause(error: Failure) -> KafkaError | None:
    raised: BaseException | None = error
    while raised is not None:
        if isinstance(raised, KafkaException):
            found: KafkaError = raised.args[0]
            return found
        raised = raised.__cause__ or raised.__context__
    return None


class AckWorker:
    """Waits for the acknowledgements of one flow's probes.

    Parameters
    ----------
    name
        Its name.
    producer
        Producer of the probes.

    Notes
    -----
    The canary's own thread waits for records at the target, and would take
    acknowledgements late, or look for them many times a second.
    """

    interval = timedelta()

    def __init__(self, name: str, producer: CanaryProducer) -> None:
        self.name = name
        self._producer = producer

    def step(self) -> None:
        self._producer.wait()

    def close(self) -> None:
        """Leave the producer to the canary."""
