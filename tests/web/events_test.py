"""The list of events: in the API, on the command line and on the page."""

import json
from dataclasses import replace
from datetime import datetime, timedelta

import httpx
import pytest
from click.testing import CliRunner
from selenium.webdriver import Chrome
from selenium.webdriver.common.by import By

from mirrorwatch.cli.root import main
from mirrorwatch.clock import utc_now
from mirrorwatch.domain.finding import Finding, Health
from mirrorwatch.domain.skips import texts as skips
from tests.support.builders import FLOW, NOON, a_cause, a_report, a_verdict
from tests.support.page import until, wait_for
from tests.support.stage import Stage, serve_stage

TICK = timedelta(seconds=5)


def dropped(records: int, topic: str = "events") -> Finding:
    return skips.DROPPED.found(
        Health.CRITICAL, {"topic": topic}, records=records, ranges="0: 3"
    )


def ticks(stage: Stage, end: datetime, *found: Finding) -> None:
    """Let a cause come and go and records be lost, at the end of an hour."""
    lost = replace(a_verdict(Health.CRITICAL, check="skips"), findings=found)
    stage.tick(a_report(end - timedelta(hours=1)))
    stage.tick(a_report(end - 3 * TICK, causes=[a_cause()]))
    stage.tick(a_report(end - 2 * TICK))
    stage.tick(a_report(end, verdicts=[lost]))


def test_events_have_the_documented_shape_the_newest_first(
    client: httpx.Client, stage: Stage
) -> None:
    ticks(stage, NOON, dropped(7))
    document = client.get("/api/events").json()
    assert document.keys() == {"events"}
    loss, cause = document["events"]
    assert loss == {
        "id": 2,
        "at": "2026-01-02T12:00:00.000+00:00",
        "until": "2026-01-02T12:00:00.000+00:00",
        "flow": FLOW.name,
        "code": "skips.dropped",
        "health": "critical",
        "title": loss["title"],
        "subject": {"topic": "events"},
        "numbers": {"records": 7, "ranges": "0: 3"},
    }
    assert "7 records of events" in loss["title"]
    assert (cause["code"], cause["health"]) == ("link.broken", "critical")
    # Its first sign was seen two minutes before the time of the builders.
    assert cause["at"] == "2026-01-02T11:58:00.000+00:00"
    assert cause["until"] == "2026-01-02T11:59:50.000+00:00"


@pytest.mark.parametrize(
    ("since", "codes"),
    [
        ("2026-01-02T11:59:50Z", ["skips.dropped", "link.broken"]),
        ("2026-01-02T11:59:51Z", ["skips.dropped"]),
        ("2026-01-02T12:00:01%2B00:00", []),
        (str(int(NOON.timestamp())), ["skips.dropped"]),
    ],
)
def test_events_that_were_over_before_are_not_told(
    client: httpx.Client, stage: Stage, since: str, codes: list[str]
) -> None:
    ticks(stage, NOON, dropped(7))
    found = client.get(f"/api/events?since={since}").json()["events"]
    assert [event["code"] for event in found] == codes


def test_a_time_without_zone_and_a_state_file_that_is_away_are_said(
    client: httpx.Client, stage: Stage
) -> None:
    refused = client.get("/api/events?since=2026-01-02T12:00")
    assert (refused.status_code, *refused.json()) == (400, "error")
    stage.database.close()
    away = client.get("/api/events")
    assert (away.status_code, *away.json()) == (503, "error")


def test_the_command_lists_them_for_an_incident_channel() -> None:
    stage = Stage()
    ticks(stage, utc_now(), dropped(7, topic="a\x1b[2J"))
    with serve_stage(stage) as server:

        def run(*options: str) -> str:
            arguments = ["events", "--url", server.url, *options]
            found = CliRunner().invoke(main, arguments)
            assert found.exit_code == 0, found.output
            return found.stdout

        first, *_ = run().splitlines()
        assert first.startswith("#2  ")
        assert f"UTC  critical  {FLOW.name}: " in first
        assert "7 records of a" in first
        assert "\x1b" not in first
        document = json.loads(run("--json"))
        (code,) = {e["code"] for e in document["events"][:1]}
        assert code == "skips.dropped"
        assert len(run("--since", "1s").splitlines()) == 1
        bad = CliRunner().invoke(main, ["events", "--since", "yesterday"])
        assert bad.exit_code == 2


@pytest.mark.browser
def test_the_page_lists_the_newest_and_copies_all(browser: Chrome) -> None:
    stage = Stage()
    topics = ("a", "b", "c", "<i>d")
    ticks(stage, utc_now(), *(dropped(3, topic) for topic in topics))
    with serve_stage(stage) as server:
        browser.get(server.url)
        wait_for(browser, "#events h2", "Events of the last 24 hours")
        find = browser.find_elements
        until(browser, lambda _: len(find(By.CSS_SELECTOR, "#events li")) == 3)
        browser.find_element(By.CSS_SELECTOR, ".events-more").click()
        rows = find(By.CSS_SELECTOR, "#events li")
        assert len(rows) == 5
        assert (
            "3 records of <i>d" in browser.find_element(By.ID, "events").text
        )
        browser.execute_script(
            "navigator.clipboard.writeText = async (text) => {"
            " window.copied = text; };"
        )
        browser.find_element(By.CSS_SELECTOR, ".events-copy").click()
        script = "return window.copied"
        until(browser, lambda b: b.execute_script(script) is not None)
        copied = browser.execute_script(script)
    lines = copied.splitlines()
    assert len(lines) == 5
    assert f"Z {FLOW.name}: " in lines[0]
    assert "3 records of" in lines[0]


def test_nothing_is_listed_of_a_flow_that_is_well(
    client: httpx.Client, stage: Stage
) -> None:
    stage.tick(a_report())
    assert client.get("/api/events").json() == {"events": []}
