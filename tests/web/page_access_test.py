"""Whether everybody can use the page, and nobody can misuse it."""

import pytest
from selenium.webdriver import Chrome
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from mirrorwatch.domain.observations import canaries
from mirrorwatch.domain.report import Flow, Health
from mirrorwatch.web.server import Server
from tests.support.builders import FLOW, a_report
from tests.support.page import (
    a_tick,
    complaints,
    content_width,
    text,
    until,
    wait_for,
    wait_for_charts,
)
from tests.support.stage import Stage, serve_stage

pytestmark = pytest.mark.browser


def test_words_from_outside_stay_words(browser: Chrome) -> None:
    evil = Flow(
        name="<img src=x onerror=alert(1)>", source="<b>a</b>", target="&lt;"
    )
    reason = "<script>document.title = 'owned'</script>"
    stage = Stage()
    stage.tick(a_tick(health=Health.WARNING, reason=reason, flow=evil))
    with serve_stage(stage) as server:
        browser.get(server.url)
        wait_for(browser, ".lead", reason)

        assert "<b>a</b>" in text(browser, ".flow h2")
        assert "&lt;" in text(browser, ".flow h2")
        assert evil.name in text(browser, ".alias")
        wait_for_charts(browser)
        assert complaints(browser) == []


@pytest.mark.parametrize("health", [Health.OK, Health.CRITICAL])
def test_a_phone_shows_it_without_scrolling_sideways(
    browser: Chrome, stage_with_history: Stage, page: Server, health: Health
) -> None:
    reason = f"Topic {'lsst.sal.MTMount.logevent_' * 6} is missing"
    stage_with_history.tick(a_tick(health=health, reason=reason, lost=1))
    browser.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": 360, "height": 740, "deviceScaleFactor": 2, "mobile": True},
    )
    browser.get(page.url)
    wait_for_charts(browser)
    for fold in browser.find_elements(By.CSS_SELECTOR, "summary"):
        if fold.is_displayed():
            fold.click()

    assert content_width(browser) <= 360


def test_it_works_with_the_keyboard_alone(
    browser: Chrome, page: Server
) -> None:
    browser.get(page.url)
    wait_for_charts(browser)
    quarter = browser.find_element(By.CSS_SELECTOR, "[data-seconds='900']")

    quarter.send_keys(Keys.ENTER)

    wait_for(browser, ".range-text", "over the last 15 minutes")
    assert quarter.get_attribute("aria-pressed") == "true"
    plot = browser.find_element(By.CSS_SELECTOR, ".latency .plot")
    newest = text(browser, ".latency .readout")
    plot.send_keys(Keys.ARROW_LEFT, Keys.ARROW_LEFT, Keys.ARROW_LEFT)
    until(browser, lambda b: text(b, ".latency .readout") != newest)


def test_a_chosen_theme_is_kept(browser: Chrome, page: Server) -> None:
    browser.get(page.url)
    wait_for_charts(browser)
    theme = browser.find_element(By.ID, "theme")
    theme.click()
    theme.click()
    assert theme.text == "Theme: dark"

    browser.refresh()

    wait_for(browser, "#theme", "Theme: dark")
    body = browser.find_element(By.TAG_NAME, "body")
    assert body.value_of_css_property("background-color") == (
        "rgba(12, 17, 23, 1)"
    )


def test_several_flows_have_an_overview(browser: Chrome) -> None:
    other = Flow(name="commands", source="summit", target="ldf")
    stage = Stage()
    fine, bad = a_tick(), a_tick(health=Health.WARNING, flow=other)
    stage.tick(
        a_report(
            fine.at,
            flows=[FLOW, other],
            observations=canaries(fine.observations + bad.observations),
            verdicts=[*fine.verdicts, *bad.verdicts],
        )
    )
    with serve_stage(stage) as server:
        browser.get(server.url)

        wait_for(browser, "h1", "commands needs a look")
        wait_for(browser, "#overview", "warning\ncommands")
        assert len(browser.find_elements(By.CSS_SELECTOR, ".flow")) == 2
