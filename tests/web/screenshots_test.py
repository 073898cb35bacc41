"""The page as people see it, on wide screens and on phones.

The pictures are left in ``build/screenshots`` to be looked at.
"""

from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path

import pytest
from selenium.webdriver import Chrome
from selenium.webdriver.common.by import By

from mirrorwatch.clock import utc_now
from mirrorwatch.ports import Report
from tests.support.page import (
    SECOND,
    complaints,
    content_width,
    emulate,
    screenshot,
    wait_for,
)
from tests.support.page_scenes import broken, healthy
from tests.support.stage import Stage, serve_stage

pytestmark = pytest.mark.browser

FOLDER = Path(__file__).parents[2] / "build" / "screenshots"
WIDTHS = {"wide": 1280, "phone": 390}
SCENES = {"healthy": healthy, "broken": broken}

CONTRAST = (Path(__file__).parent / "contrast.js").read_text("utf-8")
"""Finds words that are hard to read on what lies behind them."""


@pytest.fixture(scope="module", params=SCENES)
def scene(request: pytest.FixtureRequest) -> Iterator[tuple[str, str]]:
    """Serve a flow that was well, and is so or not by now."""
    stage = Stage()
    seen: Callable[[datetime], Report] = SCENES[request.param]
    for tick in range(60, -1, -1):
        at = utc_now() - 5 * tick * SECOND
        stage.tick(healthy(at) if tick > 20 else seen(at))
    with serve_stage(stage) as server:
        yield request.param, server.url


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("device", WIDTHS)
def test_all_of_it_can_be_read(
    browser: Chrome, scene: tuple[str, str], device: str, theme: str
) -> None:
    name, url = scene
    emulate(browser, WIDTHS[device], theme)
    browser.get(url)
    wait_for(browser, ".latency .readout", ":")
    wait_for(browser, ".part[data-part='tasks']", "that copy say RUNNING")
    screenshot(browser, FOLDER / f"{name}-{device}-{theme}.png")
    for summary in browser.find_elements(By.TAG_NAME, "summary"):
        if summary.is_displayed():
            browser.execute_script("arguments[0].click()", summary)
    wait_for(browser, ".history-table tbody", "ms")
    screenshot(browser, FOLDER / f"{name}-{device}-{theme}-open.png")

    assert content_width(browser) <= WIDTHS[device]
    assert browser.execute_script(CONTRAST) == []
    assert complaints(browser) == []


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("device", WIDTHS)
def test_the_runbook_can_be_read(
    browser: Chrome, device: str, theme: str
) -> None:
    emulate(browser, WIDTHS[device], theme)
    with serve_stage(Stage()) as server:
        browser.get(f"{server.url}/runbook#tasks")
        wait_for(browser, "h1", "Runbook")
        screenshot(browser, FOLDER / f"runbook-{device}-{theme}.png", 1600)

        assert content_width(browser) <= WIDTHS[device]
        assert browser.execute_script(CONTRAST) == []
        assert complaints(browser) == []
