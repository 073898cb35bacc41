"""A real Chromium without a window, for tests of the page."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from selenium.webdriver import Chrome, ChromeOptions, ChromeService

__all__ = ["open_browser", "require_browser"]

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
