"""Notices reach real webhooks, whatever these do."""

import json
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from mirrorwatch.domain.notices.model import Line, NoticeMessage
from mirrorwatch.domain.report import Health
from mirrorwatch.exceptions import SinkError, StateError
from mirrorwatch.sinks.notify import to_slack, to_webhook
from tests.support.builders import NOON, a_window
from tests.support.sink_process import stepping
from tests.support.webhook import (
    PATIENCE_SECONDS,
    Delivering,
    Webhook,
    kinds,
    running,
    serve_webhook,
    until,
)

pytestmark = pytest.mark.slow


OK, WARNING, CRITICAL = Health.OK, Health.WARNING, Health.CRITICAL


def test_a_fault_and_its_end_reach_every_receiver(
    state: Path, webhook: Webhook, other: Webhook
) -> None:
    with running(Delivering(state, webhook, other)) as delivering:
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
    with running(Delivering(state, webhook, other)) as delivering:
        delivering.tick(CRITICAL)
        assert webhook.hanging.wait(PATIENCE_SECONDS)
        delivering.tick(OK)
        until(lambda: len(other.bodies) == 2)
        assert webhook.bodies == []
        webhook.hangs = False
        webhook.release.set()
        until(lambda: len(webhook.bodies) == 2)
    assert kinds(webhook) == ["worse", "recovered"]


def test_one_that_hangs_does_not_keep_the_agent_from_stopping(
    state: Path, webhook: Webhook
) -> None:
    webhook.hangs = True
    delivering = Delivering(state, webhook)
    (delivery,) = delivering.sink.deliveries
    with stepping(delivery):
        delivering.tick(CRITICAL)
        assert webhook.hanging.wait(PATIENCE_SECONDS)
        delivering.sink.close()
        assert delivery.up is None
        webhook.release.set()
        until(lambda: delivery.up is not None)
        assert delivering.sink.spooled_points == 1
    delivering.database.close()


@pytest.mark.parametrize("status", [302, 403, 404, 429, 500, 503])
def test_what_it_does_not_take_now_it_gets_later(
    state: Path, webhook: Webhook, status: int
) -> None:
    webhook.status, webhook.words = status, f"not now, {webhook.url}"
    webhook.headers = {"Retry-After": "1", "Location": "/elsewhere"}
    with (
        capture_logs() as logs,
        running(Delivering(state, webhook)) as delivering,
    ):
        delivering.tick(CRITICAL)
        until(lambda: delivering.sink.up is False)
        assert delivering.sink.spooled_points == 1
        webhook.status = 200
        until(lambda: webhook.bodies != [])
        until(lambda: delivering.sink.spooled_points == 0)
    (trouble,) = [e for e in logs if e["event"] == "Receiver unavailable"]
    advice = " (a redirect, which is not followed: correct its url)"
    assert trouble["error"] == (
        f"r0 answered {status}: not now, ***{advice * (status == 302)}"
    )
    assert "s3cret" not in str(logs)


def test_it_is_left_alone_for_as_long_as_it_asks(
    state: Path, webhook: Webhook
) -> None:
    webhook.status, webhook.headers = 429, {"Retry-After": "600"}
    with running(Delivering(state, webhook)) as delivering:
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
    with (
        capture_logs() as logs,
        running(Delivering(state, webhook)) as delivering,
    ):
        delivering.tick(CRITICAL)
        until(lambda: delivering.sink.lost_points == 1)
        webhook.status = 200
        delivering.tick(OK)
        until(lambda: webhook.bodies != [])
    assert kinds(webhook) == ["recovered"]
    assert "Notification rejected" in [e["event"] for e in logs]


def test_a_receiver_that_is_away_gets_all_when_it_is_back(
    state: Path,
) -> None:
    with serve_webhook() as webhook:
        port = webhook.port
    with (
        capture_logs() as logs,
        running(Delivering(state, webhook)) as delivering,
    ):
        for health in (CRITICAL, OK, CRITICAL):
            delivering.tick(health)
        until(lambda: delivering.sink.up is False)
        with serve_webhook(port) as back:
            until(lambda: len(back.bodies) == 3)
    assert kinds(back) == ["worse", "recovered", "worse"]
    (trouble,) = [e for e in logs if e["event"] == "Receiver unavailable"]
    assert trouble["error"] == (
        "r0 does not answer: cannot connect (Connection refused)"
    )


def test_nothing_is_told_in_maintenance(state: Path, webhook: Webhook) -> None:
    with running(Delivering(state, webhook)) as delivering:
        window = a_window(delivering.now)
        delivering.tick(CRITICAL, maintenance=[window])
        assert delivering.sink.spooled_points == 0
        delivering.tick(CRITICAL)
        until(lambda: kinds(webhook) == ["worse"])


PAGE = "https://watch.example"
MESSAGE = NoticeMessage(
    id="summit->ldf@12:00",
    at=NOON,
    title="summit->ldf is critical",
    lines=(
        Line(text="critical: lag: 3 < 5 & more", link=f"{PAGE}/runbook#lag"),
        Line(text=f"12:00 UTC, {PAGE}", link=PAGE),
    ),
    document={"kind": "worse", "flow": "summit->ldf"},
)


def test_slack_gets_text_with_its_own_marks_escaped() -> None:
    title = "*summit-&gt;ldf is critical*"
    rest = (
        "critical: lag: 3 &lt; 5 &amp; more "
        f"(<{PAGE}/runbook#lag|what to do>)\n12:00 UTC, {PAGE}"
    )
    assert to_slack(MESSAGE) == {
        "text": f"{title}\n{rest}",
        "blocks": [
            {"type": "section", "text": {"type": "mrkdwn", "text": title}},
            {"type": "section", "text": {"type": "mrkdwn", "text": rest}},
        ],
    }


def test_no_block_is_longer_than_slack_takes() -> None:
    lines = tuple(Line(text="x" * 400) for _ in range(12))
    blocks = to_slack(
        NoticeMessage(id="1", at=NOON, title="t" * 4000, lines=lines)
    )["blocks"]
    assert len(blocks) == 3
    assert all(len(block["text"]["text"]) <= 3000 for block in blocks)


def test_programs_get_the_document_and_the_text() -> None:
    document = to_webhook(MESSAGE)
    assert json.loads(json.dumps(document)) == {
        "kind": "worse",
        "flow": "summit->ldf",
        "title": "summit->ldf is critical",
        "text": MESSAGE.text,
    }


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


def test_a_new_receiver_is_told_what_still_stands_and_once_only(
    state: Path, webhook: Webhook, other: Webhook
) -> None:
    now = NOON
    for receivers in ([webhook], [webhook, other], [webhook, other]):
        with running(Delivering(state, *receivers)) as delivering:
            delivering.now = now
            delivering.tick(WARNING)
            delivering.tick(WARNING)
            until(lambda d=delivering: d.sink.spooled_points == 0)  # type: ignore[misc]
            now = delivering.now
    assert kinds(webhook) == ["worse", "reminder"]
    assert kinds(other) == ["reminder"]
    title = other.bodies[0]["title"]
    assert title == "summit->ldf still has a warning, for 2 min"


def test_a_new_receiver_is_told_nothing_where_all_is_well(
    state: Path, webhook: Webhook, other: Webhook
) -> None:
    first = Delivering(state, webhook)
    for health in (CRITICAL, OK):
        first.tick(health)
    first.close()
    with running(Delivering(state, webhook, other)) as second:
        second.now = first.now
        second.tick(OK)
        second.tick(CRITICAL)
        until(lambda: len(webhook.bodies) == 3)
        until(lambda: second.sink.spooled_points == 0)
    assert kinds(webhook) == ["worse", "recovered", "worse"]
    assert kinds(other) == ["worse"]


def fill_disk(delivering: Delivering) -> None:
    """Refuse what is to be written; what is there can be read and removed."""
    with delivering.database.transaction() as sql:
        for table in ("documents", "queue"):
            sql.execute(
                f"CREATE TRIGGER full_{table} BEFORE INSERT ON {table} "
                "BEGIN SELECT RAISE(ABORT, 'disk full'); END"
            )


def free_disk(delivering: Delivering) -> None:
    with delivering.database.transaction() as sql:
        for table in ("documents", "queue"):
            sql.execute(f"DROP TRIGGER full_{table}")


def test_what_cannot_be_written_is_told_all_the_same(
    state: Path, webhook: Webhook
) -> None:
    with running(Delivering(state, webhook)) as delivering:
        delivering.tick(OK)
        fill_disk(delivering)
        for health in (CRITICAL, CRITICAL, OK, CRITICAL):
            with pytest.raises(SinkError, match="disk full"):
                delivering.tick(health)
        until(lambda: len(webhook.bodies) == 3)
        free_disk(delivering)
        delivering.tick(CRITICAL)  # no news, and written down
    assert kinds(webhook) == ["worse", "recovered", "worse"]
    with running(Delivering(state, webhook)) as second:
        second.now = delivering.now
        second.tick(CRITICAL)
        second.tick(OK)
        until(lambda: len(webhook.bodies) == 4)
    assert kinds(webhook)[3:] == ["recovered"]


def test_what_waits_in_memory_waits_behind_what_is_written(
    state: Path, webhook: Webhook
) -> None:
    webhook.status = 503
    delivering = Delivering(state, webhook)
    (delivery,) = delivering.sink.deliveries
    delivering.tick(CRITICAL)
    fill_disk(delivering)
    with pytest.raises(SinkError):
        delivering.tick(OK)
    assert delivering.sink.spooled_points == 2
    webhook.status = 200
    with running(delivering):
        until(lambda: len(webhook.bodies) == 2)
    assert kinds(webhook) == ["worse", "recovered"]
    assert delivery.lost_points == 0


def test_what_waits_in_memory_is_kept_once_it_can_be(
    state: Path, webhook: Webhook
) -> None:
    first = Delivering(state, webhook)
    first.tick(OK)
    fill_disk(first)
    with pytest.raises(SinkError):
        first.tick(CRITICAL)
    free_disk(first)
    first.tick(CRITICAL)
    first.database.close()  # as if killed
    with running(Delivering(state, webhook)) as second:
        second.now = first.now
        second.tick(CRITICAL)
        second.tick(OK)
        until(lambda: len(webhook.bodies) == 2)
    assert kinds(webhook) == ["worse", "recovered"]


def test_what_was_brought_and_cannot_be_removed_is_not_brought_again(
    state: Path, webhook: Webhook
) -> None:
    delivering = Delivering(state, webhook)
    (delivery,) = delivering.sink.deliveries
    delivering.tick(CRITICAL)
    with delivering.database.transaction() as sql:
        sql.execute(
            "CREATE TRIGGER stuck BEFORE DELETE ON queue "
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
