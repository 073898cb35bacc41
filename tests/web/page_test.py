"""The page in a real browser, fed with reports over a real socket."""

from collections.abc import Iterator
from datetime import timedelta

import pytest
from selenium.webdriver import Chrome
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.wait import WebDriverWait

from mirrorwatch.clock import utc_now
from mirrorwatch.domain.observations import CanaryCounts
from mirrorwatch.domain.verdicts import Flow, Health
from mirrorwatch.ports import Report
from mirrorwatch.web.server import Server
from tests.support.builders import (
    FLOW,
    a_canary,
    a_partition,
    a_report,
    a_verdict,
    an_arrival,
)
from tests.support.stage import Stage, serve_stage

pytestmark = pytest.mark.browser

MS = timedelta(milliseconds=1)
SECOND = timedelta(seconds=1)
PATIENCE = 20
TICKS = 60


def a_tick(
    age: timedelta = timedelta(),
    health: Health = Health.OK,
    reason: str = "Every probe arrives",
    *,
    latency: timedelta | None = 12 * MS,
    lost: int = 0,
    flow: Flow = FLOW,
) -> Report:
    at = utc_now() - age
    arrivals = [] if latency is None else [an_arrival(at, latency)]
    canary = a_canary(
        at,
        flow=flow.name,
        partitions=[
            a_partition(
                counts=CanaryCounts(delivered=9, lost=lost),
                outstanding=0 if arrivals else 40,
                last_arrival=at,
            )
        ],
        arrivals=arrivals,
    )
    verdict = a_verdict(
        health,
        flow=flow.name,
        reason=reason,
        since=at - 60 * SECOND,
        evidence={"lost_last_hour": lost, "leader": None},
    )
    return a_report(
        at, flows=[flow], observations=[canary], verdicts=[verdict]
    )


@pytest.fixture
def stage() -> Stage:
    stage = Stage()
    for tick in range(TICKS, -1, -1):
        stage.tick(a_tick(5 * tick * SECOND, latency=(12 + tick) * MS))
    return stage


@pytest.fixture
def server(stage: Stage) -> Iterator[Server]:
    with serve_stage(stage) as server:
        yield server


def text(browser: Chrome, selector: str) -> str:
    """Return what is to be read in a place, in one go: the page may replace
    its elements at any moment.
    """
    words = browser.execute_script(
        """
        const found = document.querySelector(arguments[0]);
        return found?.checkVisibility() ? found.innerText : "";
        """,
        selector,
    )
    return str(words)


def wait_for(browser: Chrome, selector: str, words: str) -> None:
    WebDriverWait(browser, PATIENCE).until(
        lambda b: words in text(b, selector),
        f"{selector} never said {words!r}, but {text(browser, selector)!r}",
    )


def wait_for_charts(browser: Chrome) -> None:
    wait_for(browser, ".latency .readout", "median")


def colours(browser: Chrome, selector: str) -> int:
    """Return how many colours a canvas has: a blank one has one at most."""
    count = browser.execute_script(
        """
        const canvas = document.querySelector(arguments[0]);
        const { data } = canvas.getContext("2d")
          .getImageData(0, 0, canvas.width, canvas.height);
        return new Set(new Uint32Array(data.buffer)).size;
        """,
        selector,
    )
    return int(count)


def width_beyond_window(browser: Chrome) -> int:
    beyond = browser.execute_script(
        "return document.documentElement.scrollWidth - innerWidth"
    )
    return int(beyond)


def complaints(browser: Chrome) -> list[str]:
    log = browser.get_log("browser")  # type: ignore[no-untyped-call]
    return [entry["message"] for entry in log]


def test_the_page_says_that_everything_arrives_and_how_late(
    browser: Chrome, server: Server
) -> None:
    browser.get(server.url)

    wait_for(browser, "h1", "summit → ldf: everything is arriving")
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
    browser: Chrome, server: Server
) -> None:
    browser.get(server.url)
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
    browser: Chrome, stage: Stage, server: Server
) -> None:
    browser.get(server.url)
    wait_for(browser, ".flow-health", "ok")

    stage.tick(
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

    stage.tick(a_tick())

    wait_for(browser, ".flow-health", "ok")
    # What was opened stays open while the page refreshes itself.
    assert "not known" in text(browser, ".check .evidence")
    assert complaints(browser) == []


def test_an_agent_that_stops_answering_is_never_shown_as_healthy(
    browser: Chrome, stage: Stage
) -> None:
    with serve_stage(stage) as server:
        port = server.port
        browser.get(server.url)
        wait_for(browser, ".flow-health", "ok")

    wait_for(browser, "#banner", "Cannot reach the agent since")
    assert text(browser, ".flow-health") == "unknown"
    assert "Last known (ok)" in text(browser, ".lead")
    assert "Cannot tell" in text(browser, "h1")
    assert "may be wrong" in text(browser, "#banner")

    stage.tick(a_tick())
    with serve_stage(stage, port):
        wait_for(browser, ".flow-health", "ok")
        assert text(browser, "#banner") == ""


def test_a_report_that_grows_old_is_never_shown_as_healthy(
    browser: Chrome,
) -> None:
    stage = Stage(interval=SECOND)
    stage.tick(a_tick())
    with serve_stage(stage) as server:
        browser.get(server.url)
        wait_for(browser, "#banner", "makes no new reports")
        assert text(browser, ".flow-health") == "unknown"
        assert "old and may be wrong" in text(browser, "#banner")

        stage.tick(a_tick())

        wait_for(browser, ".flow-health", "ok")


def test_an_agent_that_has_just_started_says_so(browser: Chrome) -> None:
    with serve_stage(Stage()) as server:
        browser.get(server.url)

        wait_for(browser, "#fresh", "Agent is starting")
        wait_for(browser, "h1", "Waiting for the first report")


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
    browser: Chrome, stage: Stage, server: Server, health: Health
) -> None:
    reason = f"Topic {'lsst.sal.MTMount.logevent_' * 6} is missing"
    stage.tick(a_tick(health=health, reason=reason, lost=1))
    browser.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": 360, "height": 740, "deviceScaleFactor": 2, "mobile": True},
    )
    browser.get(server.url)
    wait_for_charts(browser)
    for fold in browser.find_elements(By.CSS_SELECTOR, "summary"):
        if fold.is_displayed():
            fold.click()

    assert width_beyond_window(browser) <= 0


def test_it_works_with_the_keyboard_alone(
    browser: Chrome, server: Server
) -> None:
    browser.get(server.url)
    wait_for_charts(browser)
    quarter = browser.find_element(By.CSS_SELECTOR, "[data-seconds='900']")

    quarter.send_keys(Keys.ENTER)

    wait_for(browser, ".range-text", "over the last 15 minutes")
    assert quarter.get_attribute("aria-pressed") == "true"
    plot = browser.find_element(By.CSS_SELECTOR, ".latency .plot")
    newest = text(browser, ".latency .readout")
    plot.send_keys(Keys.ARROW_LEFT, Keys.ARROW_LEFT, Keys.ARROW_LEFT)
    WebDriverWait(browser, PATIENCE).until(
        lambda b: text(b, ".latency .readout") != newest
    )


def test_a_chosen_theme_is_kept(browser: Chrome, server: Server) -> None:
    browser.get(server.url)
    wait_for_charts(browser)
    theme = browser.find_element(By.ID, "theme")
    theme.click()
    theme.click()
    assert theme.text == "Theme: dark"

    browser.refresh()

    wait_for(browser, "#theme", "Theme: dark")
    page = browser.find_element(By.TAG_NAME, "body")
    assert page.value_of_css_property("background-color") == (
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
            observations=[*fine.observations, *bad.observations],
            verdicts=[*fine.verdicts, *bad.verdicts],
        )
    )
    with serve_stage(stage) as server:
        browser.get(server.url)

        wait_for(browser, "h1", "commands needs a look")
        wait_for(browser, "#overview", "warning\ncommands")
        assert len(browser.find_elements(By.CSS_SELECTOR, ".flow")) == 2
