"""The report in the log."""

from datetime import timedelta

import structlog
from structlog.testing import capture_logs

from mirrorwatch.domain.report import Health, Verdict
from mirrorwatch.sinks.log import LogSink
from tests.support.builders import (
    FLOW,
    NOON,
    a_canary,
    a_report,
    a_verdict,
    an_arrival,
)


def test_each_tick_is_one_line() -> None:
    sink = LogSink(logger=structlog.get_logger())
    arrival = an_arrival(NOON, timedelta(milliseconds=12))
    with capture_logs() as logs:
        sink.publish(
            a_report(
                observations=[a_canary(arrivals=[arrival, arrival])],
                verdicts=[a_verdict(), a_verdict(Health.OFF, check="lag")],
            )
        )
    assert logs == [
        {
            "event": "Tick finished",
            "log_level": "debug",
            "health": {FLOW.name: "ok"},
            "verdicts": {"ok": 1, "off": 1},
            "observations": 1,
            "arrivals": 2,
        }
    ]


def changes(*ticks: Verdict) -> list[tuple[str, str | None, str]]:
    """Return the level, the health before and after of each change logged."""
    sink = LogSink(logger=structlog.get_logger())
    with capture_logs() as logs:
        for verdict in ticks:
            sink.publish(a_report(verdicts=[verdict]))
    return [
        (log["log_level"], log["before"], log["health"])
        for log in logs
        if log["event"] == "Verdict changed"
    ]


def test_a_change_is_told_once_and_warns_when_worse_than_ok() -> None:
    ok, lost = a_verdict(), a_verdict(Health.CRITICAL, reason="3 lost")
    assert changes(ok, ok, lost, lost, a_verdict(Health.UNKNOWN), ok) == [
        ("warning", "ok", "critical"),
        ("warning", "critical", "unknown"),
        ("info", "unknown", "ok"),
    ]


def test_the_first_verdict_is_news_only_if_something_is_wrong() -> None:
    assert changes(a_verdict()) == []
    assert changes(a_verdict(Health.OFF)) == []
    assert changes(a_verdict(Health.WARNING)) == [("warning", None, "warning")]


def test_to_know_nothing_at_first_is_told_but_is_no_trouble() -> None:
    assert changes(a_verdict(Health.UNKNOWN)) == [("info", None, "unknown")]


def test_a_change_says_which_check_and_why() -> None:
    sink = LogSink(logger=structlog.get_logger())
    with capture_logs() as logs:
        sink.publish(
            a_report(verdicts=[a_verdict(Health.WARNING, reason="2 late")])
        )
    assert logs[0] == {
        "event": "Verdict changed",
        "log_level": "warning",
        "flow": FLOW.name,
        "check": "canary",
        "health": "warning",
        "before": None,
        "reason": "2 late",
    }
