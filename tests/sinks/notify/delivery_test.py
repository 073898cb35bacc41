"""Notices reach real webhooks, whatever these do."""

import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from mirrorwatch.domain.verdicts import Health
from mirrorwatch.exceptions import SinkError, StateError
from tests.support.builders import a_window
from tests.support.delivering import Delivering
from tests.support.outlets import stepping
from tests.support.webhook import Webhook, serve_webhook

OK, CRITICAL = Health.OK, Health.CRITICAL
PATIENCE_SECONDS = 120


def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)  # between looks; the deadline decides


def kinds(webhook: Webhook) -> list[str]:
    return [body["kind"] for body in webhook.bodies]


@pytest.fixture
def webhook() -> Iterator[Webhook]:
    with serve_webhook() as served:
        yield served


@pytest.fixture
def other() -> Iterator[Webhook]:
    with serve_webhook() as served:
        yield served


@pytest.fixture
def state(tmp_path: Path) -> Path:
    return tmp_path / "state.db"


def running(stack: ExitStack, delivering: Delivering) -> None:
    stack.callback(delivering.close)
    for delivery in delivering.sink.deliveries:
        stack.enter_context(stepping(delivery))


def test_a_fault_and_its_end_reach_every_receiver(
    state: Path, webhook: Webhook, other: Webhook
) -> None:
    with ExitStack() as stack:
        delivering = Delivering(state, webhook, other)
        running(stack, delivering)
        seen = [delivering.sink.up]
        for health in (OK, CRITICAL, CRITICAL, OK, OK):
            delivering.tick(health)
        until(lambda: len(webhook.bodies) == len(other.bodies) == 2)
        until(lambda: delivering.sink.spooled_points == 0)
        seen.append(delivering.sink.up)
    assert seen == [None, True]
    assert kinds(webhook) == kinds(other) == ["worse", "recovered"]
    assert webhook.bodies[0]["checks"][0]["runbook"] == (
        "http://watch.example/runbook#canary"
    )


def test_a_receiver_that_hangs_delays_nobody(
    state: Path, webhook: Webhook, other: Webhook
) -> None:
    webhook.hangs = True
    with ExitStack() as stack:
        delivering = Delivering(state, webhook, other)
        running(stack, delivering)
        delivering.tick(CRITICAL)
        assert webhook.hanging.wait(PATIENCE_SECONDS)
        delivering.tick(OK)
        until(lambda: len(other.bodies) == 2)
        assert webhook.bodies == []
        webhook.hangs = False
        webhook.release.set()
        until(lambda: len(webhook.bodies) == 2)
    assert kinds(webhook) == ["worse", "recovered"]


@pytest.mark.parametrize("status", [302, 403, 404, 429, 500, 503])
def test_what_it_does_not_take_now_it_gets_later(
    state: Path, webhook: Webhook, status: int
) -> None:
    webhook.status, webhook.words = status, f"not now, {webhook.url}"
    webhook.headers = {"Retry-After": "1", "Location": "/elsewhere"}
    with capture_logs() as logs, ExitStack() as stack:
        delivering = Delivering(state, webhook)
        running(stack, delivering)
        delivering.tick(CRITICAL)
        until(lambda: delivering.sink.up is False)
        assert delivering.sink.spooled_points == 1
        webhook.status = 200
        until(lambda: webhook.bodies != [])
        until(lambda: delivering.sink.spooled_points == 0)
    (trouble,) = [e for e in logs if e["event"] == "Receiver unavailable"]
    assert trouble["error"] == f"r0 answered {status}: not now, ***"
    assert "s3cret" not in str(logs)


def test_it_is_left_alone_for_as_long_as_it_asks(
    state: Path, webhook: Webhook
) -> None:
    webhook.status, webhook.headers = 429, {"Retry-After": "600"}
    with ExitStack() as stack:
        delivering = Delivering(state, webhook)
        running(stack, delivering)
        delivering.tick(CRITICAL)
        (delivery,) = delivering.sink.deliveries
        until(lambda: delivery.up is False)
        for _ in range(4):
            delivery.step()
    assert len(webhook.seen) == 1


def test_a_refused_message_does_not_block_the_next(
    state: Path, webhook: Webhook
) -> None:
    webhook.status = 400
    with capture_logs() as logs, ExitStack() as stack:
        delivering = Delivering(state, webhook)
        running(stack, delivering)
        delivering.tick(CRITICAL)
        until(lambda: delivering.sink.lost_points == 1)
        webhook.status = 200
        delivering.tick(OK)
        until(lambda: webhook.bodies != [])
    assert kinds(webhook) == ["recovered"]
    assert "Notice refused for good" in [e["event"] for e in logs]


def test_a_receiver_that_is_away_gets_all_when_it_is_back(
    state: Path,
) -> None:
    with serve_webhook() as webhook:
        port = webhook.port
    with capture_logs() as logs, ExitStack() as stack:
        delivering = Delivering(state, webhook)
        running(stack, delivering)
        for health in (CRITICAL, OK, CRITICAL):
            delivering.tick(health)
        until(lambda: delivering.sink.up is False)
        back = stack.enter_context(serve_webhook(port))
        until(lambda: len(back.bodies) == 3)
    assert kinds(back) == ["worse", "recovered", "worse"]
    (trouble,) = [e for e in logs if e["event"] == "Receiver unavailable"]
    assert trouble["error"] == (
        "r0 does not answer: cannot connect (Connection refused)"
    )


def test_a_new_agent_brings_what_waited_and_repeats_nothing(
    state: Path, webhook: Webhook
) -> None:
    # The first one ends without having brought anything, as if killed.
    first = Delivering(state, webhook)
    first.tick(CRITICAL)
    first.database.close()
    with ExitStack() as stack:
        second = Delivering(state, webhook)
        running(stack, second)
        second.now = first.now
        second.tick(CRITICAL)
        second.tick(OK)
        until(lambda: len(webhook.bodies) == 2)
        until(lambda: second.sink.spooled_points == 0)
    assert kinds(webhook) == ["worse", "recovered"]


def test_what_cannot_be_written_is_told_once_it_can(
    state: Path, webhook: Webhook
) -> None:
    with ExitStack() as stack:
        delivering = Delivering(state, webhook)
        running(stack, delivering)
        delivering.tick(OK)
        blocker = sqlite3.connect(state, isolation_level=None)
        stack.callback(blocker.close)
        blocker.execute("ALTER TABLE notice_books RENAME TO away")
        with pytest.raises(SinkError):
            delivering.tick(CRITICAL)
        blocker.execute("ALTER TABLE away RENAME TO notice_books")
        delivering.tick(CRITICAL)
        until(lambda: len(webhook.bodies) == 1)
        until(lambda: delivering.sink.spooled_points == 0)
    assert kinds(webhook) == ["worse"]


def test_what_was_brought_and_cannot_be_removed_is_not_brought_again(
    state: Path, webhook: Webhook
) -> None:
    delivering = Delivering(state, webhook)
    (delivery,) = delivering.sink.deliveries
    delivering.tick(CRITICAL)
    with delivering.database.transaction() as sql:
        sql.execute(
            "CREATE TRIGGER stuck BEFORE DELETE ON notice_outbox "
            "BEGIN SELECT RAISE(ABORT, 'disk full'); END"
        )
    for _ in range(3):
        with pytest.raises(StateError, match="disk full"):
            delivery.step()
    assert len(webhook.bodies) == 1
    delivering.close()


def test_only_so_many_messages_wait(state: Path, webhook: Webhook) -> None:
    delivering = Delivering(state, webhook)
    for _ in range(400):
        delivering.tick(CRITICAL)
        delivering.tick(OK)
    assert delivering.sink.spooled_points == 100
    assert delivering.sink.lost_points > 0
    delivering.close()


def test_nothing_is_told_in_maintenance(state: Path, webhook: Webhook) -> None:
    with ExitStack() as stack:
        delivering = Delivering(state, webhook)
        running(stack, delivering)
        window = a_window(delivering.now)
        delivering.tick(CRITICAL, maintenance=[window])
        assert delivering.sink.spooled_points == 0
        delivering.tick(CRITICAL)
        until(lambda: kinds(webhook) == ["worse"])
