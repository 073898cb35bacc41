"""The sender when its producer refuses, dies, or says nothing any more."""

import logging
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from threading import Thread
from typing import Any, cast

import pytest
from confluent_kafka import KafkaError, KafkaException, Producer
from confluent_kafka import Message as KafkaMessage

from mirrorwatch.domain.canary.model import ProbeMessage
from mirrorwatch.domain.report import Flow
from mirrorwatch.sources.canary import producer as module
from mirrorwatch.sources.canary.producer import (
    REPLACE_AFTER,
    AckWorker,
    CanaryProducer,
    SendResult,
)
from mirrorwatch.sources.canary.settings import CanarySettings
from mirrorwatch_lab.waiting import wait_until

pytestmark = pytest.mark.slow


DENIED = "Mirrorwatch lacks WRITE on topic canary at summit. Grant it"

FATAL = KafkaException(
    KafkaError(
        KafkaError.CLUSTER_AUTHORIZATION_FAILED, "No producer id", fatal=True
    )
)

MINUTE = timedelta(minutes=1)

SETTINGS = CanarySettings(
    flow=Flow(name="f", source="summit", target="ldf"),
    topic="canary",
    remote_topic="canary",
    interval=timedelta(seconds=1),
    deadline=timedelta(seconds=30),
    warmup=timedelta(minutes=10),
    create=True,
)

PROBE = ProbeMessage(
    run="r",
    flow="f",
    partition=0,
    sequence=1,
    sent_at=datetime(2026, 1, 1, tzinfo=UTC),
)

Report = Callable[[KafkaError | None, Any], None]


class Stored:
    """A record that the broker took."""

    def latency(self) -> float:
        return 0.25

    def offset(self) -> int:
        return 42


class FakeProducer:
    """Does what a test says, in place of the library's producer."""

    def __init__(self, config: dict[str, Any]) -> None:
        self.config = config
        self.taken: list[Report] = []
        self.refusal: Exception | None = None
        self.polls: list[Callable[[], None]] = []
        self.waits: list[float] = []

        self.purged: list[int] = []

    def produce(self, *_: object, on_delivery: Report, **__: object) -> None:
        if self.refusal is not None:
            raise self.refusal
        self.taken.append(on_delivery)

    def poll(self, timeout: float) -> int:
        self.waits.append(timeout)
        if self.polls:
            self.polls.pop(0)()
        return 0

    flush = poll

    def purge(self, **_: object) -> None:
        """Answer as the library does, for what `purged` names."""

        def report() -> None:
            for n in self.purged:
                self.taken[n](KafkaError(KafkaError._PURGE_QUEUE), None)  # noqa: SLF001 - how the library names it

        self.polls.append(report)


class Stage:
    """A sender with fake producers and a clock that stands still."""

    def __init__(self) -> None:
        self.made: list[FakeProducer] = []
        self.now = 0.0
        self.outcomes: list[SendResult] = []
        self.sender = CanaryProducer(
            {"bootstrap.servers": "nowhere"},
            SETTINGS,
            self.outcomes.append,
            make_producer=self.make,
            clock=lambda: self.now,
        )
        self.acks = AckWorker("acknowledgements", self.sender)

    def make(self, config: dict[str, Any]) -> Producer:
        self.made.append(FakeProducer(config))
        return cast("Producer", self.made[-1])

    def send(self, *sequences: int) -> None:
        for sequence in sequences:
            self.sender.send(replace(PROBE, sequence=sequence))

    @property
    def told(self) -> list[tuple[int, str]]:
        return [(o.message.sequence, _short(o)) for o in self.outcomes]


def _short(outcome: SendResult) -> str:
    if outcome.source_offset is not None:
        return f"stored at {outcome.source_offset}"
    if outcome.refused is not None:
        return f"refused: {outcome.refused}"
    return f"doubt: {outcome.error}"


def _raise(error: BaseException) -> Callable[[], None]:
    def do() -> None:
        raise error

    return do


def test_a_stored_probe_has_its_offset_and_the_library_s_own_time() -> None:
    stage = Stage()
    stage.send(1)
    (producer,) = stage.made
    producer.polls = [
        lambda: producer.taken[0](None, cast("KafkaMessage", Stored()))
    ]
    stage.sender.poll()
    (outcome,) = stage.outcomes
    assert outcome.source_offset == 42
    assert outcome.took.total_seconds() == 0.25


def test_what_comes_while_it_is_waited_for_is_reported_by_the_next_poll() -> (
    None
):
    stage = Stage()
    stage.send(1)
    (producer,) = stage.made
    producer.polls = [
        lambda: producer.taken[0](None, cast("KafkaMessage", Stored()))
    ]
    stage.acks.step()
    assert not stage.told
    stage.sender.poll()
    assert stage.told == [(1, "stored at 42")]


def test_only_what_is_under_way_is_waited_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "WAIT", 0.1)
    stage = Stage()
    (producer,) = stage.made
    stage.acks.step()
    assert producer.waits.pop() == 0
    stage.send(1)
    producer.polls = [
        lambda: producer.taken[0](None, cast("KafkaMessage", Stored()))
    ]
    stage.acks.step()
    assert producer.waits.pop() == 0.1
    producer.refusal = BufferError()
    stage.send(2)
    stage.acks.step()
    assert producer.waits.pop() == 0


def test_a_send_ends_the_rest_of_who_waits(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "WAIT", 600.0)
    stage = Stage()
    (producer,) = stage.made
    waiting = Thread(target=stage.acks.step, daemon=True)
    waiting.start()
    assert not producer.waits
    stage.send(1)
    waiting.join(60)
    assert producer.waits == [600.0]


def test_who_waits_rests_after_a_failure(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rests = list[float]()
    monkeypatch.setattr(f"{module.__name__}.time.sleep", rests.append)
    stage = Stage()
    stage.send(1)
    stage.made[0].polls = [_raise(FATAL)]
    stage.acks.step()
    assert rests == [module.WAIT]


def test_a_new_producer_is_not_waited_for_because_of_an_old_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "WAIT", 0.1)
    stage = Stage()
    stage.send(1)
    stage.made[0].polls = [_raise(FATAL)]
    stage.sender.poll()
    stage.now = REPLACE_AFTER
    stage.send(2)
    new = stage.made[1]
    new.polls = [lambda: new.taken[0](None, cast("KafkaMessage", Stored()))]
    stage.acks.step()
    new.waits.clear()
    stage.acks.step()
    assert new.waits == [0]


def test_a_death_while_waiting_loses_no_outcome(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "WAIT", 0.0)
    stage = Stage()
    stage.send(1, 2)
    (producer,) = stage.made

    def report_one_and_die() -> None:
        producer.taken[0](None, cast("KafkaMessage", Stored()))
        raise SystemError("returned a result with an exception set") from FATAL

    producer.polls = [report_one_and_die]
    stage.acks.step()
    assert not stage.told
    stage.sender.poll()
    assert stage.told == [(1, "stored at 42"), (2, f"doubt: {DENIED}")]
    stage.now = REPLACE_AFTER
    stage.send(3)
    assert len(stage.made) == 2


def test_a_late_failure_of_a_replaced_producer_does_not_end_the_next(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "WAIT", 0.0)
    stage = Stage()
    stage.made[0].polls = [_raise(FATAL)]
    stage.sender.poll()
    stage.now = REPLACE_AFTER

    def replace_and_fail() -> None:
        stage.send(1)  # by the other thread, meanwhile
        raise FATAL

    stage.made[0].polls = [replace_and_fail]
    stage.acks.step()
    stage.sender.poll()
    assert not stage.told
    assert len(stage.made) == 2


def test_the_time_of_an_acknowledgement_is_that_when_it_came() -> None:
    brokers = Producer({"test.mock.num.brokers": 1, "log_level": 0})
    (broker,) = brokers.list_topics(timeout=30).brokers.values()
    outcomes = list[SendResult]()
    sender = CanaryProducer(
        {"bootstrap.servers": f"{broker.host}:{broker.port}"},
        SETTINGS,
        outcomes.append,
    )
    acks = AckWorker("acknowledgements", sender)
    begin = time.monotonic()
    sender.send(PROBE)

    def has_come() -> bool:
        acks.step()
        return bool(sender._reports)  # noqa: SLF001 - what it has taken

    wait_until(has_come, limit=MINUTE, what="no acknowledgement came")
    came = time.monotonic() - begin
    wait_until(
        lambda: time.monotonic() - begin > 2 * came,
        limit=MINUTE,
        what="the clock does not go on",
    )
    sender.poll()
    (outcome,) = outcomes
    assert outcome.source_offset == 0
    assert 0 < outcome.took.total_seconds() <= came
    sender.close(0)


def test_the_producer_measures_itself_for_nobody() -> None:
    (producer,) = Stage().made
    assert producer.config["enable.metrics.push"] == "false"


def test_a_refusal_to_take_a_record_names_the_right() -> None:
    stage = Stage()
    (producer,) = stage.made
    producer.refusal = KafkaException(
        KafkaError(KafkaError.TOPIC_AUTHORIZATION_FAILED)
    )
    stage.send(1)
    producer.refusal = None
    stage.send(2)
    assert stage.told == [(1, f"refused: {DENIED}")]
    assert stage.made == [producer]


def test_a_dead_producer_is_replaced_but_not_at_once() -> None:
    stage = Stage()
    stage.send(1, 2)
    producer = stage.made[0]
    producer.purged = [0, 1]
    producer.polls = [_raise(FATAL)]
    stage.sender.poll()
    assert stage.told == [(1, f"refused: {DENIED}"), (2, f"refused: {DENIED}")]
    stage.now = REPLACE_AFTER - 1
    stage.send(3)
    assert stage.told[2:] == [(3, f"refused: {DENIED}")]
    assert stage.made == [producer]
    stage.now = REPLACE_AFTER
    stage.send(4)
    assert len(stage.made) == 2
    assert len(stage.made[1].taken) == 1
    assert stage.told[3:] == []


def test_what_a_dead_producer_never_told_is_in_doubt() -> None:
    stage = Stage()
    stage.send(1, 2)
    stage.made[0].purged = [1]
    stage.made[0].polls = [_raise(FATAL)]
    stage.sender.poll()
    assert stage.told == [(2, f"refused: {DENIED}"), (1, f"doubt: {DENIED}")]


def test_a_death_beneath_a_callback_loses_no_outcome() -> None:
    stage = Stage()
    stage.send(1, 2)
    (producer,) = stage.made

    def tell_one_and_die() -> None:
        producer.taken[0](None, cast("KafkaMessage", Stored()))
        raise SystemError("returned a result with an exception set") from FATAL

    producer.polls = [tell_one_and_die]
    stage.sender.poll()
    assert stage.told == [(1, "stored at 42"), (2, f"doubt: {DENIED}")]


def test_a_death_seen_when_sending_is_told_by_its_cause() -> None:
    stage = Stage()
    stage.send(1)
    (producer,) = stage.made
    producer.purged = [0]
    producer.refusal = KafkaException(KafkaError(KafkaError._FATAL))  # noqa: SLF001 - how the library names it
    producer.polls = [_raise(FATAL)]
    stage.send(2)
    assert stage.told == [(1, f"refused: {DENIED}"), (2, f"refused: {DENIED}")]


def test_closing_a_dying_producer_hears_its_last_words() -> None:
    stage = Stage()
    stage.send(1)
    (producer,) = stage.made
    producer.purged = [0]
    producer.polls = [_raise(FATAL)]
    stage.sender.close(3)
    assert stage.told == [(1, f"refused: {DENIED}")]


def test_the_library_logs_nothing() -> None:
    logger: logging.Logger = Stage().made[0].config["logger"]
    assert not logger.propagate or logger.parent is None
    assert [type(h) for h in logger.handlers] == [logging.NullHandler]
