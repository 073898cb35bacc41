from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from selenium.webdriver import Chrome

from mirrorwatch.web.server import Server
from tests.support.browser import open_browser
from tests.support.builders import NOON
from tests.support.page import MS, SECOND, TICKS, a_tick
from tests.support.stage import SetClock, Stage, serve_stage


@pytest.fixture
def browser(tmp_path: Path) -> Iterator[Chrome]:
    with open_browser(tmp_path / "profile") as chrome:
        yield chrome


@pytest.fixture
def stage_with_history() -> Stage:
    stage = Stage()
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


@pytest.fixture
def client(stage: Stage) -> Iterator[httpx.Client]:
    with (
        serve_stage(stage) as server,
        httpx.Client(
            base_url=server.url, trust_env=False, timeout=60
        ) as client,
    ):
        yield client
