"""An agent that no longer watches is seen to be dead, however it died."""

import os
import signal
import socket
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import pytest
import structlog
from click.testing import CliRunner
from prometheus_client.parser import text_string_to_metric_families

from mirrorwatch.cli.root import main
from mirrorwatch.clock import Clock, utc_now
from mirrorwatch.config import Config
from mirrorwatch.daemon import Daemon
from mirrorwatch.factory import build_agent
from mirrorwatch.state import Database
from tests.support.agent_process import AgentProcess
from tests.support.http import HTTP
from tests.support.watch import wait_until

pytestmark = pytest.mark.slow

LAST_TICK = "mirrorwatch_last_tick_timestamp_seconds"
TICK = 0.5
STALE = 3 * TICK
SECONDS = 60
"""Longest wait for an answer, on a machine that does other things."""


@pytest.fixture
def config() -> Iterator[dict[str, Any]]:
    """Two sites that do not answer: an agent alive says so, and ticks on."""
    with closing(socket.socket()) as nobody:
        nobody.bind(("127.0.0.1", 0))
        host, port = nobody.getsockname()
        kafka = {"kafka": {"bootstrap.servers": f"{host}:{port}"}}
        yield {
            "interval": f"{int(TICK * 1000)}ms",
            "clusters": {"summit": kafka, "ldf": kafka},
            "flows": [{"source": "summit", "target": "ldf"}],
            "web": {"listen": "127.0.0.1:0"},
        }


def answers_ok(url: str, seconds: float = SECONDS) -> bool:
    try:
        return HTTP.get(f"{url}/healthz", timeout=seconds).is_success
    except httpx.TransportError:
        return False


def last_tick(url: str) -> float:
    text = HTTP.get(f"{url}/metrics", timeout=SECONDS).text
    return next(
        family.samples[0].value
        for family in text_string_to_metric_families(text)
        if family.name == LAST_TICK
    )


def test_one_that_serves_but_no_longer_ticks(config: dict[str, Any]) -> None:
    logger = structlog.get_logger("mirrorwatch")
    agent = build_agent(
        Config.from_mapping(config),
        database=Database(None),
        clock=Clock(),
        logger=logger,
    )
    assert agent.server is not None
    with Daemon(agent, logger=logger) as daemon:
        url = agent.server.url
        wait_until(lambda: answers_ok(url))
        alive = last_tick(url)
        wait_until(lambda: last_tick(url) > alive)

        daemon.stop_working()
        died = last_tick(url)
        asked: list[float] = []

        def is_found_dead() -> bool:
            asked.append(utc_now().timestamp())
            return not answers_ok(url)

        wait_until(is_found_dead)
        # Whoever asked from then on was told.
        assert all(at < died + STALE for at in asked[:-1])

        answer = HTTP.get(f"{url}/healthz", timeout=SECONDS)
        assert answer.status_code == 503
        assert answer.json()["status"] == "stale"
        assert last_tick(url) == died
        assert utc_now().timestamp() - died >= STALE
        status = HTTP.get(f"{url}/api/status", timeout=SECONDS).json()
        (flow,) = status["flows"]
        assert flow["health"] != "ok"


def test_one_whose_process_hangs(
    config: dict[str, Any], tmp_path: Path
) -> None:
    with AgentProcess(tmp_path, config) as agent:
        wait_until(lambda: answers_ok(agent.url))
        agent.freeze()
        # A stop signal takes effect a moment after it was sent.
        wait_until(lambda: not answers_ok(agent.url, seconds=2))
        agent.thaw()
        wait_until(lambda: answers_ok(agent.url))


def test_one_that_crashes_says_where(
    config: dict[str, Any], tmp_path: Path
) -> None:
    with AgentProcess(tmp_path, config) as agent:
        wait_until(lambda: answers_ok(agent.url))
        os.kill(agent.pid, signal.SIGSEGV)
        wait_until(lambda: agent.status == -signal.SIGSEGV)
        log = agent.log_file.read_text()
    assert "Fatal Python error: Segmentation fault" in log
    # Of each thread, as the library's own have no Python.
    assert "mirrorwatch/sources/survey.py" in log
    assert "mirrorwatch/web/server.py" in log


def test_one_whose_process_is_gone(
    config: dict[str, Any], tmp_path: Path
) -> None:
    with AgentProcess(tmp_path, config) as agent:
        wait_until(lambda: answers_ok(agent.url))
        agent.kill()
        with pytest.raises(httpx.ConnectError):
            HTTP.get(f"{agent.url}/healthz", timeout=SECONDS)
        result = CliRunner().invoke(main, ["status", "--url", agent.url])
    assert result.exit_code == 1
    assert f"No agent answers at {agent.url}/api/status" in result.output
    assert "mirrorwatch run" in result.output
    assert "Traceback" not in result.output
