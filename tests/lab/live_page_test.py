"""The page in a real browser, while a real mirror stands still."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from selenium.webdriver import Chrome
from selenium.webdriver.common.by import By
from selenium.webdriver.support.wait import WebDriverWait

from mirrorwatch.domain.report import Health
from mirrorwatch_lab import Lab
from tests.support.page import (
    PATIENCE,
    colours,
    complaints,
    open_browser,
    require_browser,
    text,
    wait_for,
    wait_for_charts,
)
from tests.support.watch import Watch

pytestmark = [pytest.mark.lab, pytest.mark.browser, pytest.mark.long]

DEADLINE = 10

FLOW = {
    "limits": {
        # Long enough for a browser to see that probes were late.
        "canary": {"warning_window": "2m"},
        # Of a mirror that just starts, nothing is asked here.
        "latency": {"warning": "5m", "critical": "10m"},
    }
}
CANARY = ".check[data-check='canary']"


@pytest.fixture
def browser(tmp_path: Path) -> Iterator[Chrome]:
    with open_browser(tmp_path / "profile") as chrome:
        chrome.set_window_size(1280, 1600)
        yield chrome


@pytest.fixture(scope="module", autouse=True)
def _browser_is_there() -> None:
    """Skip before a lab is started for nothing."""
    require_browser()


def figure(browser: Chrome, name: str) -> int:
    words = text(browser, f".figure.{name} .value")
    return int(words) if words.isdigit() else 0


def test_the_page_shows_a_frozen_mirror_and_its_return(
    lab: Lab, browser: Chrome, tmp_path: Path
) -> None:
    canary = {"deadline": f"{DEADLINE}s"}
    with Watch(lab, canary=canary, flow=FLOW) as watch:
        watch.wait_for(Health.OK)
        browser.get(watch.url)
        wait_for(browser, "h1", "summit → ldf: replication is healthy")
        wait_for_charts(browser)
        wait_for(browser, ".flow-health", "ok")
        assert colours(browser, ".latency canvas") > 3
        assert text(browser, ".figure.median .value").endswith("s")
        browser.save_screenshot(str(tmp_path / "1-ok.png"))

        lab.mirror.freeze()
        try:
            wait_for(browser, ".flow-health", "critical")
            wait_for(browser, ".lead", "overdue")
            wait_for(browser, "#answer-detail", "summit → ldf is critical")
            wait_for(browser, "h1", "Replication has stopped")
            assert browser.title.startswith("critical: ")
            # It counts on while nothing arrives: no figure freezes.
            WebDriverWait(browser, PATIENCE).until(
                lambda b: figure(b, "waiting") > 0
            )
            waiting = figure(browser, "waiting")
            WebDriverWait(browser, PATIENCE).until(
                lambda b: figure(b, "waiting") > waiting
            )
            assert colours(browser, ".probes canvas") > 3
            browser.save_screenshot(str(tmp_path / "2-frozen.png"))
        finally:
            lab.mirror.thaw()

        # Late ones keep it at a warning for a while, and the latency of these
        # minutes may be judged for longer; none of them is lost.
        wait_for(browser, f"{CANARY} .check-health", "warning")
        wait_for(browser, f"{CANARY} .check-reason", "none was lost")
        WebDriverWait(browser, PATIENCE).until(
            lambda b: figure(b, "waiting") < waiting
        )
        browser.find_element(By.CSS_SELECTOR, ".table-fold summary").click()
        wait_for(browser, ".history-table", " ms")
        browser.save_screenshot(str(tmp_path / "3-back.png"))
        assert text(browser, ".figure.lost .value") == "0"
        assert complaints(browser) == []
    print(f"\nscreenshots: {tmp_path}")
