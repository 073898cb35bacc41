"""Notices reach services by Apprise, here one that takes JSON."""

import importlib
import json
import logging
import sys
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from structlog.testing import capture_logs

from mirrorwatch.domain.notices.model import Line, NoticeMessage
from mirrorwatch.domain.report import Health
from mirrorwatch.exceptions import ConfigError, SinkError
from mirrorwatch.sinks.apprise import AppriseReceiver
from tests.support.builders import FLOW, NOON
from tests.support.webhook import PATH, Delivering, Webhook, running, until

pytestmark = pytest.mark.slow

OK, CRITICAL = Health.OK, Health.CRITICAL
WARNING, UNKNOWN = Health.WARNING, Health.UNKNOWN


@pytest.mark.slow
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
    with pytest.raises(ConfigError, match=r"extra apprise"):
        AppriseReceiver("on-call", url="json://localhost/a")


def a_message(title: str = "a message", **document: Any) -> NoticeMessage:
    lines = (Line(text="what is wrong"),)
    return NoticeMessage(
        id=title, at=NOON, title=title, lines=lines, document=document
    )


def a_notice(health: Health) -> NoticeMessage:
    title = f"{FLOW.name} is {health.label}"
    return a_message(title, flow=FLOW.name, health=health.label)


@pytest.fixture
def service(webhook: Webhook, monkeypatch: pytest.MonkeyPatch) -> Webhook:
    """Stand in for the services that have one address for everybody."""
    webhook.words = json.dumps({"requestId": "r"})
    for name in ("opsgenie", "pagerduty"):
        plugin = importlib.import_module(f"apprise.plugins.{name}")
        table = getattr(plugin, f"{name.upper()}_API_LOOKUP")
        for region in table:
            monkeypatch.setitem(table, region, webhook.url)
    splunk = importlib.import_module("apprise.plugins.splunk").NotifySplunk
    monkeypatch.setattr(splunk, "notify_url", webhook.url)
    # Apprise leaves seconds between two requests to a service.
    base = importlib.import_module("apprise.plugins.base").NotifyBase
    monkeypatch.setattr(base, "request_rate_per_sec", 0)
    return webhook


def test_every_message_becomes_an_alert_of_opsgenie(service: Webhook) -> None:
    receiver = AppriseReceiver("on-call", url="opsgenie://an-api-key")
    sent = [a_notice(health) for health in (WARNING, CRITICAL, UNKNOWN, OK)]
    sent.append(a_message("t", kind="test"))
    for message in sent:
        receiver.post(message)
    taken = [body["message"] for body in service.bodies]
    assert taken == [message.title for message in sent]


@pytest.mark.parametrize("asked", ["action=map", ":warning=note"])
def test_what_the_url_says_of_alerts_holds(
    service: Webhook, asked: str
) -> None:
    receiver = AppriseReceiver("on-call", url=f"opsgenie://an-api-key?{asked}")
    receiver.post(a_notice(CRITICAL))
    receiver.post(a_notice(OK))  # closes an alert of another title: none
    assert len(service.bodies) == 1


def of_pagerduty(service: Webhook) -> list[tuple[str, str | None]]:
    taken = [
        (body["event_action"], body.get("dedup_key"))
        for body in service.bodies
    ]
    service.bodies.clear()
    return taken


def test_incidents_of_a_flow_are_resolved_as_it_recovers(
    service: Webhook,
) -> None:
    receiver = AppriseReceiver(
        "on-call", url="pagerduty://a-key@an-api-key?action=map"
    )
    unknown, warning, critical = (
        f"mirrorwatch {FLOW.name} {health}"
        for health in ("unknown", "warning", "critical")
    )
    receiver.post(a_notice(WARNING))
    assert of_pagerduty(service)[0] == ("trigger", warning)
    # An incident of its own: else nobody would be woken.
    receiver.post(a_notice(CRITICAL))
    assert of_pagerduty(service) == [("trigger", critical)]
    receiver.post(a_notice(UNKNOWN))
    assert of_pagerduty(service) == [("trigger", unknown)]
    receiver.post(a_notice(WARNING))
    assert of_pagerduty(service) == [
        ("trigger", warning),
        ("resolve", critical),
    ]
    receiver.post(a_notice(OK))
    assert of_pagerduty(service) == [
        ("resolve", unknown),
        ("resolve", warning),
        ("resolve", critical),
    ]
    receiver.post(a_message("t", kind="test"))
    ((action, key),) = of_pagerduty(service)
    assert (action, key not in {unknown, warning, critical}) == (
        "trigger",
        True,
    )


def test_one_flow_that_recovers_resolves_nothing_of_another(
    service: Webhook,
) -> None:
    receiver = AppriseReceiver("on-call", url="splunk://a-route@an-api-key")
    receiver.post(a_notice(CRITICAL))
    other = a_message("ok", flow="commands", health="ok")
    receiver.post(other)
    receiver.post(a_message("t", kind="test"))
    fault, *ends, test = service.bodies
    assert fault["message_type"] == "CRITICAL"
    assert {end["message_type"] for end in ends} == {"RECOVERY"}
    assert len(ends) == 3
    assert fault["entity_id"] not in {end["entity_id"] for end in ends}
    assert test["entity_id"] == "mirrorwatch/a-route"


@pytest.mark.parametrize("asked", ["", "?action=trigger"])
def test_without_a_word_of_incidents_every_message_is_one(
    service: Webhook, asked: str
) -> None:
    receiver = AppriseReceiver(
        "on-call", url=f"pagerduty://a-key@an-api-key{asked}"
    )
    for health in (WARNING, OK):
        receiver.post(a_notice(health))
    severities = [b["payload"]["severity"] for b in service.bodies]
    assert severities == ["warning", "info"]
    assert of_pagerduty(service) == [("trigger", None)] * 2


def test_an_incident_key_of_the_url_is_kept(service: Webhook) -> None:
    receiver = AppriseReceiver(
        "on-call", url="pagerduty://a-key@an-api-key?action=map&dedup=ours"
    )
    receiver.post(a_notice(CRITICAL))
    receiver.post(a_notice(OK))
    assert of_pagerduty(service) == [("trigger", "ours"), ("resolve", "ours")]


def test_what_another_receiver_was_answered_is_not_told(
    webhook: Webhook, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused_beside(*_: object, **__: object) -> bool:
        other = Thread(
            target=logging.getLogger("apprise").warning,
            args=("Failed to send: error=401.",),
        )
        other.start()
        other.join()
        return False

    service = importlib.import_module("apprise.plugins.custom_json")
    monkeypatch.setattr(service.NotifyJSON, "notify", refused_beside)
    receiver = AppriseReceiver("on-call", url=webhook.apprise_url)
    with pytest.raises(SinkError, match="no usable answer"):
        receiver.post(a_notice(CRITICAL))
