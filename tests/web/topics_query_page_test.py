"""Finding a topic among a thousand, with the keyboard, in a browser."""

from collections.abc import Iterator

import pytest
from selenium.webdriver import Chrome
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.ui import Select

from tests.support.page import (
    complaints,
    lines,
    text,
    until,
    wait_for,
)
from tests.support.stage import Stage, serve_stage
from tests.support.topics_page import a_tick_with_topics
from tests.support.topics_report import MANY, many_topics

pytestmark = pytest.mark.browser


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
        "every class"
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
