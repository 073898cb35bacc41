"""What tests of the page feed it with, and how they read it."""

import base64
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from selenium.common.exceptions import TimeoutException
from selenium.webdriver import Chrome, ChromeOptions, ChromeService
from selenium.webdriver.support.wait import WebDriverWait

from mirrorwatch.clock import utc_now
from mirrorwatch.domain.canary.model import CanaryCounts
from mirrorwatch.domain.lag.model import TopicLag
from mirrorwatch.domain.report import Flow, Health, Observation, Verdict
from mirrorwatch.ports import Report
from tests.support.builders import (
    FLOW,
    a_canary,
    a_partition,
    a_report,
    a_verdict,
    an_arrival,
)
from tests.support.reports import a_lag, some_topic_skips

__all__ = [
    "MS",
    "OFF",
    "OK",
    "PATIENCE",
    "SECOND",
    "TICKS",
    "WRONG",
    "a_tick",
    "a_tick_with_topics",
    "colours",
    "come_back",
    "complaints",
    "content_width",
    "emulate",
    "lines",
    "open_browser",
    "require_browser",
    "rows",
    "screenshot",
    "text",
    "until",
    "wait_for",
    "wait_for_charts",
]


MS = timedelta(milliseconds=1)
SECOND = timedelta(seconds=1)
PATIENCE = 240
"""Seconds; only a failure waits so long, or a machine under load."""

LOOK_EVERY = 0.05
"""Seconds; Selenium's own half a second is long against what a page does."""

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


def lines(browser: Chrome, selector: str) -> list[str]:
    """Return what is to be read, without the gaps between paragraphs."""
    return [line for line in text(browser, selector).splitlines() if line]


def until(browser: Chrome, condition: Callable[[Chrome], object]) -> None:
    WebDriverWait(browser, PATIENCE, LOOK_EVERY).until(condition)


def come_back(browser: Chrome) -> None:
    """Do as who comes back to the page: it asks at once."""
    browser.execute_script(
        "document.dispatchEvent(new Event('visibilitychange'))"
    )


def wait_for(browser: Chrome, selector: str, words: str) -> None:
    try:
        until(browser, lambda b: words in text(b, selector))
    except TimeoutException:
        pytest.fail(
            f"{selector} never said {words!r}, but {text(browser, selector)!r}"
            f"; the page: {text(browser, 'body')}; the console: "
            f"{complaints(browser)}"
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


def emulate(browser: Chrome, width: int, theme: str = "light") -> None:
    """Make the window that of a device, in CSS pixels, with its theme."""
    browser.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {
            "width": width,
            "height": 844,
            "deviceScaleFactor": 1,
            "mobile": width < 600,
        },
    )
    feature = {"name": "prefers-color-scheme", "value": theme}
    browser.execute_cdp_cmd(
        "Emulation.setEmulatedMedia", {"features": [feature]}
    )


def screenshot(browser: Chrome, file: Path, most: int = 20_000) -> None:
    """Keep a picture of the whole page, or of its first pixels."""
    width, height = browser.execute_script(
        "const { clientWidth, scrollHeight } = document.documentElement;"
        "return [clientWidth, scrollHeight];"
    )
    area = {"x": 0, "y": 0, "width": width, "height": min(height, most)}
    found = browser.execute_cdp_cmd(
        "Page.captureScreenshot",
        {"captureBeyondViewport": True, "clip": area | {"scale": 1}},
    )
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(base64.b64decode(found["data"]))


def content_width(browser: Chrome) -> int:
    """Return how wide the page is, in CSS pixels, what overflows included.

    To be compared with the width of the device: a phone's ``innerWidth``
    grows with what overflows.
    """
    return int(
        browser.execute_script("return document.documentElement.scrollWidth")
    )


def complaints(browser: Chrome) -> list[str]:
    """Return what the console holds, but that an answer took too long: the
    page says so itself, and asks again.
    """
    log = browser.get_log("browser")  # type: ignore[no-untyped-call]
    told = [entry["message"] for entry in log]
    return [message for message in told if "timed out" not in message]


OK = ("latency", "lag", "skips", "position", "retention", "topics", "configs")
WRONG = {"lag": Health.CRITICAL, "retention": Health.WARNING}
OFF = ("heartbeats", "checkpoints", "bottleneck")


def a_tick_with_topics(
    topics: list[TopicLag],
    wrong: dict[str, Health] | None = None,
    *,
    age: timedelta = timedelta(),
    skips: bool = False,
) -> Report:
    """Return a tick of which some checks are wrong, the others fine."""
    tick = a_tick(age)
    wrong = wrong or {}
    seen: list[Observation] = [*tick.observations, a_lag(topics, tick.at)]
    if skips:
        seen.append(some_topic_skips(tick.at))
    return replace(
        tick,
        observations=tuple(seen),
        verdicts=(
            *tick.verdicts,
            *(_verdict(check, wrong.get(check), tick) for check in OK),
            *(
                a_verdict(
                    Health.OFF,
                    check=check,
                    reason=f"Nothing tells {check}",
                    since=tick.at,
                )
                for check in OFF
            ),
        ),
    )


def _verdict(check: str, health: Health | None, tick: Report) -> Verdict:
    return a_verdict(
        health or Health.OK,
        check=check,
        reason=f"Something is wrong with {check}"
        if health
        else f"Nothing is wrong with {check}",
        since=tick.at - 300 * SECOND,
        evidence={"lag_records": 12_352},
    )


def rows(browser: Chrome) -> int:
    """Return how many topics the table shows."""
    found = browser.execute_script(
        "return document.querySelectorAll('.topics-table tbody tr').length"
    )
    return int(found)


BROWSERS = ("chromium", "chromium-browser", "google-chrome")
DRIVER = "chromedriver"

FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--force-color-profile=srgb",
    "--hide-scrollbars",
)
"""No sandbox, because tests may run as root in a container; nothing is asked
of the network but the page."""


def require_browser() -> tuple[str, str]:
    """Return the browser and its driver, or skip with how to get them."""
    driver = shutil.which(DRIVER)
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None or driver is None:
        pytest.skip(
            "chromium and chromedriver are not on PATH: "
            "apt-get install chromium chromium-driver"
        )
    return browser, driver


@contextmanager
def open_browser(profile: Path) -> Iterator[Chrome]:
    """Open a browser with an empty profile; its console is kept.

    Parameters
    ----------
    profile
        Empty folder for the profile.
    """
    browser, driver = require_browser()
    options = ChromeOptions()
    options.binary_location = browser
    for flag in (*FLAGS, f"--user-data-dir={profile}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    # Given the driver's path, selenium looks for none and fetches none.
    chrome = Chrome(options=options, service=ChromeService(driver))
    try:
        yield chrome
    finally:
        chrome.quit()
