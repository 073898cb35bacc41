"""What the page says of topics and of many checks, in a real browser."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta

import pytest
from selenium.webdriver import Chrome
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.ui import Select

from mirrorwatch.clock import utc_now
from mirrorwatch.domain.audit.flow_result import TopicTally
from mirrorwatch.domain.lag.model import LagObservation, LagStatus, TopicLag
from mirrorwatch.domain.report import Health
from mirrorwatch.ports import AgentState, Report
from tests.support.audit import a_night, an_audit
from tests.support.builders import FLOW, a_canary, a_partition, a_report
from tests.support.page import (
    WRONG,
    a_tick_with_topics,
    come_back,
    complaints,
    content_width,
    emulate,
    lines,
    rows,
    text,
    until,
    wait_for,
)
from tests.support.page_scenes import all_topics, tasks_in
from tests.support.reports import (
    MANY,
    a_lag,
    a_topic,
    many_topics,
    some_configs,
    some_topic_lags,
)
from tests.support.stage import Stage, serve_stage

pytestmark = pytest.mark.browser

STOPPED = LagStatus.STOPPED

NONE = "\N{EN DASH}"
"""How the page shows what has no figure."""


def test_topics_are_told_by_how_long_until_loss_and_what_waits(
    browser: Chrome,
) -> None:
    stage = Stage()
    stage.tick(a_tick_with_topics(some_topic_lags(), WRONG, skips=True))
    with serve_stage(stage) as server:
        browser.get(server.url)

        # A topic that is kept for an hour is the first to lose records.
        wait_for(browser, ".loss-time", "1 h")
        more = text(browser, ".loss-more")
        assert (
            "First topic to lose records: lsst.sal.MTMount.command_start."
            in more
        )
        assert "lsst.sal.MTMount.elevation, in 2 d 21 h" in more
        assert "1 stalled, 1 moving, 3 even" in text(browser, ".topics h3")
        assert text(browser, ".topic-figures .oldest .value") == "3 h"
        assert text(browser, ".topic-figures .waiting .value") == "12,352"
        assert text(browser, ".topic-figures .behind") == (
            "Topics with lag\n2\nof 5"
        )
        assert text(browser, ".topic-figures .resets .note") == "unknown"
        assert "telemetry\t1 of 2\t12,345\t3 h" in text(browser, ".classes")
        worst, second = lines(browser, ".topics-table tbody")
        assert worst == (
            "lsst.sal.MTMount.elevation\ttelemetry\tstalled\t12,345\t3 h\t"
            "not shrinking\t2 d 21 h\t0\t"
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
            "1 topic has records in flight, as is normal."
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
            f"no lag on {MANY:,} topics · 3 d until loss if replication",
        )

        stage.tick(a_tick_with_topics(some_topic_lags(), WRONG, skips=True))
        come_back(browser)

        wait_for(
            browser,
            ".lead-topics",
            "2 of 5 topics with lag, oldest record 3 h old "
            "(lsst.sal.MTMount.elevation) · "
            "records that are not copied expire in 2 d 21 h",
        )
        # Nobody could read when the first of them was produced.
        unread = a_topic(
            "unread", records=4, seconds=300, status=STOPPED, topic_class="x"
        )
        stage.tick(a_tick_with_topics([replace(unread, at_least=True)]))
        come_back(browser)
        wait_for(
            browser,
            ".lead-topics",
            "1 of 1 topic with lag, oldest record at least 5 min old (unread)",
        )
        oldest = text(browser, ".topic-figures .oldest .value")
        assert oldest == "at least 5 min"
        assert "x\t1 of 1\t4\tat least 5 min" in text(browser, ".classes")
        stage.tick(
            a_tick_with_topics(
                [a_topic("old", records=1, seconds=9e5, status=STOPPED)]
            )
        )
        come_back(browser)

        wait_for(browser, ".lead-topics", "may expire at any moment")
        assert text(browser, ".loss-time") == "Now"
        assert "beyond the source's retention" in text(browser, ".loss-words")


def an_old_survey(topics: list[TopicLag], age: timedelta) -> Report:
    """Return a tick that is new, with topics that were listed before."""
    tick = a_tick_with_topics(topics, {"lag": Health.UNKNOWN})
    seen = tuple(
        replace(fact, at=tick.at - age)
        if isinstance(fact, LagObservation)
        else fact
        for fact in tick.observations
    )
    return replace(tick, observations=seen)


def test_the_first_lines_say_how_old_it_is_what_they_say_of_topics(
    browser: Chrome,
) -> None:
    stage = Stage()
    stage.tick(an_old_survey(many_topics(behind=0), timedelta(minutes=10)))
    with serve_stage(stage) as server:
        browser.get(server.url)
        wait_for(browser, ".topics-state", "as of 10 min ago")
        assert text(browser, ".lead-topics").startswith(
            f"As of 10 min ago: no lag on {MANY:,} topics · "
            "3 d until loss if replication stopped then"
        )
        # What was urgent is still said.
        overdue = a_topic("old", records=1, seconds=9e5, status=STOPPED)
        stage.tick(an_old_survey([overdue], timedelta(minutes=20)))
        come_back(browser)
        wait_for(browser, ".lead-topics", "As of 20 min ago: 1 of 1 topic")
        assert "may expire at any moment" in text(browser, ".lead-topics")
        # A survey that is new has no age.
        stage.tick(an_old_survey(many_topics(behind=0), timedelta(seconds=1)))
        come_back(browser)
        wait_for(browser, ".lead-topics", "if replication stops now")
        assert text(browser, ".lead-topics").startswith("no lag on ")
        assert complaints(browser) == []


def test_all_topics_are_shown_when_the_keyboard_asks_for_them(
    browser: Chrome,
) -> None:
    stage = Stage()
    stage.tick(a_tick_with_topics(many_topics(behind=80)))
    with serve_stage(stage) as server:
        browser.get(server.url)
        wait_for(browser, ".topics-note", "The worst 10; 70 more have lag")
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
    stage.tick(a_tick_with_topics(some_topic_lags()))
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
            for t in some_topic_lags()
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

        wait_for(browser, ".topics h3", "not listed yet")
        assert text(browser, ".loss-time") == "Unknown"
        assert text(browser, ".topic-figures") == ""

        stage.tick(a_tick_with_topics([a_topic("kept", kept=None)]))
        come_back(browser)

        wait_for(browser, ".topics h3", "1 even")
        assert "retained forever" in text(browser, ".loss-words")
        assert text(browser, ".topic-figures .oldest .value") == "none"
        assert text(browser, ".topics-table") == ""

        tick = a_tick_with_topics([])
        away = replace(a_lag([], tick.at), problems=("summit is away",))
        stage.tick(replace(tick, observations=(away,)))
        come_back(browser)

        wait_for(browser, ".topics h3", "summit is away")
        wait_for(browser, ".lead-topics", "Lag unknown: summit is away")
        assert text(browser, ".loss-time") == "Unknown"
        assert text(browser, ".topic-figures") == ""


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_phone_shows_topics_without_scrolling_sideways(
    browser: Chrome, theme: str
) -> None:
    name = "lsst.sal.MTMount.logevent_" * 4
    topics = [
        *some_topic_lags(),
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


@pytest.fixture
def page(browser: Chrome) -> Iterator[Chrome]:
    stage = Stage()
    stage.tick(a_tick_with_topics(many_topics(behind=80)))
    with serve_stage(stage) as server:
        browser.get(server.url)
        wait_for(browser, ".topics-note", "The worst 10")
        yield browser


def control(page: Chrome, name: str) -> WebElement:
    return page.find_element(By.CSS_SELECTOR, f".topic-query [id$='{name}']")


def header(page: Chrome, number: int) -> WebElement:
    place = f".topics-table thead th:nth-child({number})"
    return page.find_element(By.CSS_SELECTOR, place)


def wait_for_first(page: Chrome, name: str) -> None:
    wait_for(page, ".topics-table tbody tr:first-child", name)


def test_a_topic_is_found_by_a_part_of_its_name(page: Chrome) -> None:
    control(page, "search").send_keys("TOPIC_117")

    wait_for(page, ".found", f"2 of {MANY:,} topics")
    assert [
        line.split("\t")[0] for line in lines(page, ".topics-table tbody")
    ] == ["lsst.sal.Subsystem58.topic_1170", "lsst.sal.Subsystem58.topic_1171"]
    assert complaints(page) == []


def test_topics_are_chosen_by_class_and_status(page: Chrome) -> None:
    Select(control(page, "class")).select_by_visible_text("events")

    wait_for(page, ".found", f"390 of {MANY:,} topics")
    Select(control(page, "status")).select_by_value("moving")
    wait_for(page, ".found", f"26 of {MANY:,} topics")
    # One click leads back.
    more = page.find_element(By.CSS_SELECTOR, ".topics-more")
    assert more.text == "Show only the worst"
    more.send_keys(Keys.ENTER)
    wait_for(page, ".topics-note", "The worst 10")
    assert text(page, ".found") == ""
    assert Select(control(page, "class")).first_selected_option.text == (
        "all classes"
    )


def test_a_column_sorts_by_keyboard_and_says_so(page: Chrome) -> None:
    topic = header(page, 1).find_element(By.TAG_NAME, "button")

    topic.send_keys(Keys.ENTER)

    wait_for_first(page, "topic_0000")
    assert header(page, 1).get_attribute("aria-sort") == "ascending"
    topic.send_keys(Keys.SPACE)
    wait_for_first(page, "Subsystem9.topic_0199")
    assert header(page, 1).get_attribute("aria-sort") == "descending"
    assert page.switch_to.active_element == topic
    records = header(page, 4).find_element(By.TAG_NAME, "button")
    assert records.text == "Records"
    records.send_keys(Keys.ENTER)
    wait_for_first(page, "topic_0079")
    assert header(page, 1).get_attribute("aria-sort") is None
    assert header(page, 4).get_attribute("aria-sort") == "descending"


def test_only_the_last_answer_counts_while_somebody_types(
    page: Chrome,
) -> None:
    search = control(page, "search")
    for letter in "topic_0003":
        search.send_keys(letter)

    until(page, lambda b: text(b, ".found") == f"1 of {MANY:,} topics")
    wait_for_first(page, "topic_0003")


ONE = AgentState(spooled_points={"influxdb": 1}, lost_points={"influxdb": 1})


def test_one_of_everything_is_told_in_the_singular(browser: Chrome) -> None:
    at = utc_now()
    topic = a_topic("t", records=1, seconds=90, status=LagStatus.STALLED)
    configs = some_configs(at)
    night = a_night(
        at,
        topics=(TopicTally(topic="t", source_records=1, target_records=1),),
    )
    stage = Stage()
    stage.tick(
        a_report(
            at,
            flows=[FLOW],
            observations=[
                a_canary(at, partitions=[a_partition(last_arrival=at)]),
                replace(a_lag([topic], at), unknown_partitions=1),
                replace(all_topics(at), carried=1),
                replace(configs, compared=1, drifts=configs.drifts[:1]),
                replace(
                    tasks_in(at, ["RUNNING"]), unassigned=frozenset({("t", 0)})
                ),
                replace(an_audit(at), night=night),
            ],
            agent=ONE,
        )
    )
    with serve_stage(stage) as server:
        browser.get(server.url)
        wait_for(
            browser,
            ".lead-topics",
            "1 of 1 topic with lag, oldest record 1 min 30 s old (t) · "
            "1 partition unknown",
        )
        for name, told in (
            ("tasks", "1 partition unassigned"),
            ("parity", "1 topic · all present with matching partitions · "),
            ("parity", "1 config differs"),
            ("audit", "1 record compared up to"),
        ):
            wait_for(browser, f".part[data-part='{name}']", told)
        assert text(browser, ".topics-more") == "Show the topic"
        fold = text(browser, ".partitions-fold > summary")
        assert fold.startswith("Canary on 1 partition of ")
        state = text(browser, "#agent-state")
        assert "1 point queued · 1 point lost" in state
        assert complaints(browser) == []
