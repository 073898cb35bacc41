"""Notices reach services by Apprise, here one that takes JSON."""

import logging
import sys
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from mirrorwatch.domain.report import Health
from mirrorwatch.exceptions import ConfigError
from mirrorwatch.sinks.apprise import AppriseReceiver
from tests.support.webhook import PATH, Delivering, Webhook, running, until

OK, CRITICAL = Health.OK, Health.CRITICAL


def test_a_fault_and_its_end_reach_the_service(
    state: Path, webhook: Webhook
) -> None:
    with running(Delivering(state, webhook, kind="apprise")) as delivering:
        for health in (OK, CRITICAL, CRITICAL, OK, OK):
            delivering.tick(health)
        until(lambda: len(webhook.bodies) == 2)
        until(lambda: delivering.sink.spooled_points == 0)
    fault, end = webhook.bodies
    assert (fault["type"], end["type"]) == ("failure", "success")
    assert "critical" in fault["title"]
    assert "http://watch.example/runbook#canary" in fault["message"]


def test_what_it_does_not_take_now_it_gets_later_and_no_log_has_its_address(
    state: Path, webhook: Webhook, caplog: pytest.LogCaptureFixture
) -> None:
    webhook.status = 503
    caplog.set_level(logging.WARNING)  # as the agent does for libraries
    with (
        capture_logs() as logs,
        running(Delivering(state, webhook, kind="apprise")) as delivering,
    ):
        delivering.tick(CRITICAL)
        until(lambda: delivering.sink.up is False)
        webhook.status = 200
        until(lambda: len(webhook.bodies) == 1)
    said = f"{logs}{caplog.text}"
    assert "did not take it (status 503)" in said
    assert PATH.rpartition("/")[2] not in said


@pytest.mark.parametrize("url", ["nothing://a/b", "pagerduty://x"])
def test_an_address_that_apprise_does_not_know_is_refused(url: str) -> None:
    with pytest.raises(ConfigError, match="Apprise does not know") as refused:
        AppriseReceiver("on-call", url=url)
    assert url not in str(refused.value)


def test_without_apprise_the_extra_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "apprise", None)
    with pytest.raises(ConfigError, match=r"mirrorwatch\[apprise\]"):
        AppriseReceiver("on-call", url="json://localhost/a")
