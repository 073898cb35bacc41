"""What was told is kept with the messages that tell it."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from mirrorwatch.domain.report import Health
from mirrorwatch.exceptions import SinkError, StateError
from tests.support.delivering import Delivering, kinds, running, until
from tests.support.webhook import Webhook

OK, CRITICAL = Health.OK, Health.CRITICAL


def test_a_new_agent_brings_what_waited_and_repeats_nothing(
    state: Path, webhook: Webhook
) -> None:
    # The first one ends without having brought anything, as if killed.
    first = Delivering(state, webhook)
    first.tick(CRITICAL)
    first.database.close()
    with running(Delivering(state, webhook)) as second:
        second.now = first.now
        second.tick(CRITICAL)
        second.tick(OK)
        until(lambda: len(webhook.bodies) == 2)
        until(lambda: second.sink.spooled_points == 0)
    assert kinds(webhook) == ["worse", "recovered"]


def test_what_cannot_be_written_is_told_once_it_can(
    state: Path, webhook: Webhook
) -> None:
    with running(Delivering(state, webhook)) as delivering:
        delivering.tick(OK)
        with closing(sqlite3.connect(state, isolation_level=None)) as other:
            other.execute("ALTER TABLE notice_books RENAME TO away")
            with pytest.raises(SinkError):
                delivering.tick(CRITICAL)
            other.execute("ALTER TABLE away RENAME TO notice_books")
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
