"""Webhooks on loopback, and a state file."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.webhook import Webhook, serve_webhook


@pytest.fixture
def webhook() -> Iterator[Webhook]:
    with serve_webhook() as served:
        yield served


@pytest.fixture
def other() -> Iterator[Webhook]:
    with serve_webhook() as served:
        yield served


@pytest.fixture
def state(tmp_path: Path) -> Path:
    return tmp_path / "state.db"
