"""What the page says of many checks, in a real browser."""

from dataclasses import replace

import pytest
from selenium.webdriver import Chrome
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from mirrorwatch.domain.report import Health
from tests.support.builders import a_verdict
from tests.support.page import a_tick, come_back, lines, text, wait_for
from tests.support.stage import Stage, serve_stage
from tests.support.topics_page import OFF, OK, WRONG, a_tick_with_topics
from tests.support.topics_report import some_topics

pytestmark = pytest.mark.browser


def test_what_is_fine_or_off_is_one_line_that_the_keyboard_opens(
    browser: Chrome,
) -> None:
    stage = Stage()
    stage.tick(a_tick_with_topics(some_topics(), WRONG))
    with serve_stage(stage) as server:
        browser.get(server.url)
        wait_for(browser, ".quiet-fold", "6 checks are ok, 3 are off")

        shown = lines(browser, ".checks")
        assert shown[:3] == [
            "critical",
            "lag",
            "Something is wrong with lag",
        ]
        assert "Something is wrong with retention" in shown
        assert not any("Nothing is wrong" in line for line in shown)
        fold = browser.find_element(By.CSS_SELECTOR, ".quiet-fold summary")
        fold.send_keys(Keys.ENTER)
        for check in (*OK, *OFF):
            told = f"Nothing is wrong with {check}"
            if check not in WRONG and check not in OFF:
                wait_for(browser, ".checks.quiet", told)
        wait_for(browser, ".checks.quiet", "Nothing tells bottleneck")

        stage.tick(a_tick_with_topics(some_topics()))
        come_back(browser)

        wait_for(browser, ".quiet-fold", "All 8 checks are ok, 3 are off")
        assert text(browser, ".checks") == ""
        # What was opened stays open.
        assert "Nothing is wrong with lag" in text(browser, ".checks.quiet")


def test_evidence_is_told_in_words_and_offsets_as_they_are_looked_up(
    browser: Chrome,
) -> None:
    tick = a_tick()
    verdict = a_verdict(
        Health.CRITICAL,
        check="lag",
        since=tick.at,
        evidence={
            "lag_records": 1234567,
            "worst_position": 1234567,
            "lag_seconds": 10800.5,
            "p99_seconds": 0.25,
            "drain_seconds": None,
            "read_at": "2026-01-02T12:34:56.789+00:00",
            "is_estimated": False,
            "my_Connector-0": "RUNNING <b>",
        },
    )
    stage = Stage()
    stage.tick(replace(tick, verdicts=(verdict,)))
    with serve_stage(stage) as server:
        browser.get(server.url)
        wait_for(browser, ".checks", "lag")
        summary = browser.find_element(By.CSS_SELECTOR, ".evidence summary")
        # By ear, it says of what.
        assert summary.get_property("textContent") == "Evidence of lag"

        summary.send_keys(Keys.ENTER)

        wait_for(browser, ".evidence dl", "my_Connector-0")
        told = lines(browser, ".evidence dl")
        assert dict(zip(told[::2], told[1::2], strict=True)) == {
            "lag records": "1,234,567",
            "worst position": "1234567",
            "lag": "3 h (10,800.5 s)",
            "p99": "250 ms",
            "drain": "none known",
            "read at": "2026-01-02 12:34:56",
            "is estimated": "no",
            "my_Connector-0": "RUNNING <b>",
        }


def test_verdicts_are_told_while_topics_cannot_be_had(
    browser: Chrome,
) -> None:
    stage = Stage()
    stage.tick(a_tick_with_topics(some_topics(), WRONG))
    with serve_stage(stage) as server:
        browser.get(server.url)
        wait_for(browser, ".loss-time", "1 h")
        browser.execute_cdp_cmd("Network.enable", {})
        blocked = {"urls": ["*api/topics*"]}
        browser.execute_cdp_cmd("Network.setBlockedURLs", blocked)

        stage.tick(a_tick_with_topics([]))
        come_back(browser)

        wait_for(browser, ".quiet-fold", "All 8 checks are ok")
        # The topics are those of before; the page is not cut off for it.
        assert text(browser, ".loss-time") == "1 h"
        assert text(browser, "#banner") == ""
