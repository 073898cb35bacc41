"""What the page says of topics and of many checks, in a real browser."""

import pytest
from selenium.webdriver import Chrome
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from mirrorwatch.domain.lag.model import LagStatus
from tests.support.page import (
    come_back,
    complaints,
    content_width,
    emulate,
    lines,
    text,
    until,
    wait_for,
)
from tests.support.stage import Stage, serve_stage
from tests.support.topics_page import WRONG, a_tick_with_topics, rows
from tests.support.topics_report import (
    MANY,
    a_topic,
    many_topics,
    some_topics,
)

pytestmark = pytest.mark.browser

STOPPED = LagStatus.STOPPED

NONE = "\N{EN DASH}"
"""How the page shows what has no figure."""


def test_topics_are_told_by_how_long_until_loss_and_what_waits(
    browser: Chrome,
) -> None:
    stage = Stage()
    stage.tick(a_tick_with_topics(some_topics(), WRONG, skips=True))
    with serve_stage(stage) as server:
        browser.get(server.url)

        # A topic that is kept for an hour is the first to lose records.
        wait_for(browser, ".loss-time", "1 h")
        more = text(browser, ".loss-more")
        assert "First to lose: lsst.sal.MTMount.command_start." in more
        assert "lsst.sal.MTMount.elevation, in 2 d 21 h" in more
        assert "1 stalled, 1 moving, 3 even" in text(browser, ".topics h3")
        assert text(browser, ".topic-figures .oldest .value") == "3 h"
        assert text(browser, ".topic-figures .waiting .value") == "12,352"
        assert text(browser, ".topic-figures .behind") == (
            "Topics behind\n2\nof 5"
        )
        assert text(browser, ".topic-figures .missing") == (
            "Missing\n7\n20 suspected, 3 came later"
        )
        assert text(browser, ".topic-figures .resets .note") == "not known"
        assert "telemetry\t1 of 2\t12,345\t3 h" in text(browser, ".classes")
        worst, second = lines(browser, ".topics-table tbody")
        assert worst == (
            "lsst.sal.MTMount.elevation\ttelemetry\tstalled\t12,345\t3 h\t"
            "not getting less\t2 d 21 h\t0 (20 suspected)\t"
            "1 at offset 4711 (sync)"
        )
        # Even, but seven of its records are missing.
        assert second.split("\t") == [
            "lsst.sal.ESS.temperature",
            "telemetry",
            "even",
            "0",
            NONE,
            NONE,
            "3 d",
            "7",
            NONE,
        ]
        assert text(browser, ".topics-note") == (
            "1 topic has records on the way, as is usual."
        )
        assert complaints(browser) == []


def test_the_first_lines_say_which_topics_are_late_and_when_they_lose(
    browser: Chrome,
) -> None:
    stage = Stage()
    stage.tick(a_tick_with_topics(many_topics(behind=3)))
    with serve_stage(stage) as server:
        browser.get(server.url)
        # Records on their way are no lateness.
        wait_for(
            browser,
            ".lead-topics",
            f"{MANY:,} topics keep up · 3 d until loss, were the mirror to",
        )

        stage.tick(a_tick_with_topics(some_topics(), WRONG, skips=True))
        come_back(browser)

        wait_for(
            browser,
            ".lead-topics",
            "2 of 5 topics behind, the oldest record waits 3 h "
            "(lsst.sal.MTMount.elevation) · 7 records are missing · "
            "what waits is lost in 2 d 21 h",
        )
        stage.tick(
            a_tick_with_topics(
                [a_topic("old", records=1, seconds=9e5, status=STOPPED)]
            )
        )
        come_back(browser)

        wait_for(browser, ".lead-topics", "may be deleted any moment")
        assert text(browser, ".loss-time") == "Now"
        assert "past what the source keeps" in text(browser, ".loss-words")


def test_all_topics_are_shown_when_the_keyboard_asks_for_them(
    browser: Chrome,
) -> None:
    stage = Stage()
    stage.tick(a_tick_with_topics(many_topics(behind=80)))
    with serve_stage(stage) as server:
        browser.get(server.url)
        wait_for(browser, ".topics-note", "The worst 10; 70 more are behind")
        assert rows(browser) == 10
        more = browser.find_element(By.CSS_SELECTOR, ".topics-more")
        assert more.text == f"Show all {MANY:,} topics"

        more.send_keys(Keys.ENTER)

        until(browser, lambda b: rows(b) == 50)
        further = browser.find_element(By.CSS_SELECTOR, ".topics-next")
        assert further.text == "Show 50 more"
        further.send_keys(Keys.ENTER)
        until(browser, lambda b: rows(b) == 100)
        assert more.get_attribute("aria-expanded") == "true"
        # They follow while they are shown, and the button keeps the focus.
        stage.tick(
            a_tick_with_topics(
                [
                    *many_topics(behind=80),
                    a_topic(
                        "zzz",
                        records=1,
                        seconds=7200,
                        status=STOPPED,
                    ),
                ]
            )
        )
        come_back(browser)
        wait_for(
            browser,
            ".topics-table tbody tr:first-child",
            "zzz\ttelemetry\tstopped",
        )
        assert browser.switch_to.active_element == further
        more.send_keys(Keys.SPACE)
        until(browser, lambda b: rows(b) == 10)
        assert more.get_attribute("aria-expanded") == "false"
        assert complaints(browser) == []


def test_a_refresh_changes_words_and_no_elements(browser: Chrome) -> None:
    stage = Stage()
    stage.tick(a_tick_with_topics(some_topics()))
    with serve_stage(stage) as server:
        browser.get(server.url)
        wait_for(browser, ".topics-table", "12,345")
        browser.execute_script(
            "document.querySelectorAll('.topics *')"
            ".forEach((element) => { element.isOld = true; })"
        )
        topics = [
            a_topic(t.topic, records=t.records + 1, seconds=t.seconds)
            if t.records
            else t
            for t in some_topics()
        ]

        stage.tick(a_tick_with_topics(topics))
        come_back(browser)

        wait_for(browser, ".topics-table", "12,346")
        fresh = browser.execute_script(
            "return [...document.querySelectorAll('.topics *')]"
            ".filter((element) => !element.isOld).length"
        )
        assert fresh == 0


def test_what_is_not_known_of_topics_is_not_shown_as_fine(
    browser: Chrome,
) -> None:
    stage = Stage()
    tick = a_tick_with_topics([])
    stage.tick(
        type(tick)(
            at=tick.at,
            flows=tick.flows,
            observations=tick.observations[:1],
            verdicts=tick.verdicts,
        )
    )
    with serve_stage(stage) as server:
        browser.get(server.url)

        wait_for(browser, ".topics h3", "not surveyed yet")
        assert text(browser, ".loss-time") == "Not known"
        assert text(browser, ".topic-figures") == ""

        stage.tick(a_tick_with_topics([a_topic("kept", kept=None)]))
        come_back(browser)

        wait_for(browser, ".topics h3", "1 even")
        assert "kept for ever" in text(browser, ".loss-words")
        assert text(browser, ".topic-figures .oldest .value") == "none"
        assert text(browser, ".topics-table") == ""


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_phone_shows_topics_without_scrolling_sideways(
    browser: Chrome, theme: str
) -> None:
    name = "lsst.sal.MTMount.logevent_" * 4
    topics = [
        *some_topics(),
        a_topic(name, records=123_456_789, seconds=9e5, topic_class="x" * 30),
    ]
    stage = Stage()
    stage.tick(a_tick_with_topics(topics, WRONG, skips=True))
    emulate(browser, 360, theme)
    with serve_stage(stage) as server:
        browser.get(server.url)
        wait_for(browser, ".topics-table", "123,456,789")
        browser.find_element(By.CSS_SELECTOR, ".topics-more").click()
        wait_for(browser, ".topics-more", "Show only the worst")

        assert content_width(browser) <= 360
        table = browser.find_element(By.CSS_SELECTOR, ".topics-scroll")
        assert int(str(table.get_property("scrollWidth"))) <= 360
        assert "elevation\ntelemetry\nstalled" in text(
            browser, ".topics-table"
        )
