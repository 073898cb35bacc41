"""The page in a real browser, fed with reports over a real socket."""

import pytest
from selenium.webdriver import Chrome
from selenium.webdriver.common.by import By

from mirrorwatch.clock import utc_now
from mirrorwatch.domain.report import Health
from mirrorwatch.web.server import Server
from tests.support.page import (
    SECOND,
    a_tick,
    colours,
    complaints,
    text,
    until,
    wait_for,
    wait_for_charts,
)
from tests.support.stage import Stage, serve_stage

pytestmark = pytest.mark.browser


def test_the_page_says_that_everything_arrives_and_how_late(
    browser: Chrome, page: Server
) -> None:
    browser.get(page.url)

    wait_for(browser, "h1", "summit → ldf: arriving as it should")
    wait_for_charts(browser)

    assert text(browser, ".flow-health") == "ok"
    assert text(browser, ".lead") == "Every probe arrives."
    assert "since" in text(browser, ".lead-more")
    # 12 ms to 72 ms over 5 minutes, of which a tick or two have gone by.
    median, unit = text(browser, ".figure.median .value").split()
    assert 38 <= int(median) <= 43
    assert unit == "ms"
    assert browser.title.startswith("ok: ")
    assert complaints(browser) == []


def test_the_charts_and_their_table_hold_the_history(
    browser: Chrome, page: Server
) -> None:
    browser.get(page.url)
    wait_for_charts(browser)

    assert colours(browser, ".latency canvas") > 3
    assert colours(browser, ".probes canvas") > 3
    browser.find_element(By.CSS_SELECTOR, ".table-fold summary").click()
    wait_for(browser, ".history-table", "ms")
    rows = text(browser, ".history-table tbody").splitlines()
    seen = [row for row in rows if " ms" in row]
    # 300 s of ticks in points of 20 s; the first one may be begun.
    assert 15 <= len(seen) <= 17
    assert any("72 ms" in row for row in seen)


def test_the_page_follows_the_verdict_by_itself(
    browser: Chrome, stage_with_history: Stage, page: Server
) -> None:
    browser.get(page.url)
    wait_for(browser, ".flow-health", "ok")

    stage_with_history.tick(
        a_tick(
            health=Health.CRITICAL,
            reason="The mirror has stopped",
            latency=None,
            lost=3,
        )
    )

    wait_for(browser, ".flow-health", "critical")
    wait_for(browser, "h1", "summit → ldf is failing")
    wait_for(browser, ".lead", "The mirror has stopped.")
    wait_for(browser, ".figure.lost .value", "3")
    assert "40" in text(browser, ".figure.waiting")
    assert browser.title.startswith("critical: ")
    announced = browser.find_element(By.ID, "announcer")
    assert "is now critical" in str(announced.get_attribute("textContent"))
    browser.find_element(By.CSS_SELECTOR, ".check .evidence summary").click()
    assert "lost last hour\n3" in text(browser, ".check .evidence")

    stage_with_history.tick(a_tick())

    wait_for(browser, ".flow-health", "ok")
    # What was opened stays open while the page refreshes itself.
    assert "leader\nnone known" in text(browser, ".check .evidence")
    assert complaints(browser) == []


def test_an_agent_that_stops_answering_is_never_shown_as_healthy(
    browser: Chrome, stage_with_history: Stage
) -> None:
    with serve_stage(stage_with_history) as server:
        port = server.port
        browser.get(server.url)
        wait_for(browser, ".flow-health", "ok")

    wait_for(browser, "#banner", "Cannot reach the agent since")
    assert text(browser, ".flow-health") == "unknown"
    assert "Last known (ok)" in text(browser, ".lead")
    assert "Cannot tell" in text(browser, "h1")
    assert "may be wrong" in text(browser, "#banner")

    stage_with_history.tick(a_tick())
    with serve_stage(stage_with_history, port):
        wait_for(browser, ".flow-health", "ok")
        assert text(browser, "#banner") == ""


def test_a_report_that_grows_old_is_never_shown_as_healthy(
    browser: Chrome,
) -> None:
    stage = Stage(interval=SECOND, clock=utc_now)
    stage.tick(a_tick())
    with serve_stage(stage) as server:
        browser.get(server.url)
        wait_for(browser, "#banner", "makes no new reports")
        assert text(browser, ".flow-health") == "unknown"
        assert "old and may be wrong" in text(browser, "#banner")

        def is_shown_as_healthy_again(_: Chrome) -> bool:
            # On and on, or it grew old while the browser was busy.
            stage.tick(a_tick())
            return text(browser, ".flow-health") == "ok"

        until(browser, is_shown_as_healthy_again)


def test_an_agent_that_has_just_started_says_so(browser: Chrome) -> None:
    with serve_stage(Stage()) as server:
        browser.get(server.url)

        wait_for(browser, "#fresh", "Agent is starting")
        wait_for(browser, "h1", "Waiting for the first report")
