from collections.abc import Iterator
from pathlib import Path

import pytest
from selenium.webdriver import Chrome

from tests.support.browser import open_browser


@pytest.fixture
def browser(tmp_path: Path) -> Iterator[Chrome]:
    with open_browser(tmp_path / "profile") as chrome:
        yield chrome
