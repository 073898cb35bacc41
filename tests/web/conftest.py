from collections.abc import Iterator

import httpx
import pytest
from selenium.webdriver import Chrome

from mirrorwatch.web.server import Server
from tests.support.builders import NOON
from tests.support.page import (
    MS,
    SECOND,
    TICKS,
    a_tick,
    complaints,
    open_browser,
)
from tests.support.stage import SetClock, SharedServer, Stage, serve_stage


@pytest.fixture(scope="session")
def chrome(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chrome]:
    """Open one browser for all files: it takes seconds to start."""
    with open_browser(tmp_path_factory.mktemp("browser") / "profile") as found:
        yield found


@pytest.fixture
def browser(chrome: Chrome) -> Chrome:
    """Return the browser as if it were new.

    What pages keep is theirs alone: each test serves at a port of its own.
    """
    chrome.get("about:blank")
    chrome.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    chrome.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
    chrome.execute_cdp_cmd("Network.enable", {})
    chrome.execute_cdp_cmd("Network.setBlockedURLs", {"urls": []})
    complaints(chrome)
    return chrome


@pytest.fixture
def stage_with_history() -> Stage:
    stage = Stage(path="/apps/mirrorwatch")
    for tick in range(TICKS, -1, -1):
        stage.tick(a_tick(5 * tick * SECOND, latency=(12 + tick) * MS))
    return stage


@pytest.fixture
def page(stage_with_history: Stage) -> Iterator[Server]:
    with serve_stage(stage_with_history) as server:
        yield server


@pytest.fixture
def clock() -> SetClock:
    return SetClock(NOON)


@pytest.fixture
def stage(clock: SetClock) -> Stage:
    return Stage(clock=clock)


@pytest.fixture(scope="module")
def shared_server() -> Iterator[SharedServer]:
    with SharedServer() as server:
        yield server


@pytest.fixture
def client(
    stage: Stage, shared_server: SharedServer
) -> Iterator[httpx.Client]:
    with httpx.Client(
        base_url=shared_server.serve(stage).url,
        trust_env=False,
        timeout=60,
        verify=False,  # noqa: S501
    ) as client:
        yield client
