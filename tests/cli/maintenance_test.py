"""Maintenance and notices at the side of a running agent."""

import json
import socket
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result

from mirrorwatch.cli.root import main
from tests.support.agent_process import AgentProcess
from tests.support.http import HTTP
from tests.support.watch import wait_until
from tests.support.webhook import Webhook, serve_webhook

FLOW = "summit->ldf"
SECONDS = 120
REASON = "MM2 3.9 to 4.3"


@pytest.fixture
def webhook() -> Iterator[Webhook]:
    with serve_webhook() as served:
        yield served


@pytest.fixture
def config(
    webhook: Webhook, monkeypatch: pytest.MonkeyPatch
) -> Iterator[dict[str, Any]]:
    """Two sites that do not answer, so that nobody can tell how they are."""
    monkeypatch.setenv("HOOK", webhook.url)
    with closing(socket.socket()) as nobody:
        nobody.bind(("127.0.0.1", 0))
        host, port = nobody.getsockname()
        kafka = {"kafka": {"bootstrap.servers": f"{host}:{port}"}}
        yield {
            "interval": "500ms",
            "clusters": {"summit": kafka, "ldf": kafka},
            "flows": [{"source": "summit", "target": "ldf"}],
            "sinks": {
                "notify": {
                    "receivers": [
                        {"name": "r0", "kind": "webhook", "url": "${env:HOOK}"}
                    ]
                }
            },
        }


def run(config: Path | None, *arguments: str) -> Result:
    file = [] if config is None else ["--config", str(config)]
    return CliRunner().invoke(main, [*arguments, *file])


def written(folder: Path, config: Mapping[str, Any]) -> Path:
    path = folder / "own.yaml"
    state = {"state": {"path": str(folder / "state.db")}}
    path.write_text(yaml.safe_dump(dict(config) | state))
    return path


def status(agent: AgentProcess) -> Any:
    return HTTP.get(f"{agent.url}/api/status", timeout=SECONDS).json()


def gauge(agent: AgentProcess) -> str:
    text = HTTP.get(f"{agent.url}/metrics", timeout=SECONDS).text
    (line,) = [
        line
        for line in text.splitlines()
        if line.startswith("mirrorwatch_maintenance{")
    ]
    return line


@pytest.mark.slow
def test_a_running_agent_takes_it_up(
    tmp_path: Path,
    config: dict[str, Any],
    webhook: Webhook,
) -> None:
    with AgentProcess(tmp_path, config, {"HOOK": webhook.url}) as agent:
        file = tmp_path / "config.yaml"
        # It writes its verdicts down after it has published them.
        wait_until(lambda: run(file, "maintenance").stderr == "")
        assert status(agent)["maintenance"] == []

        announced = run(
            *(file, "maintenance", "--for", "2h", "--reason", REASON)
        )
        assert announced.exit_code == 0, announced.output
        assert announced.stdout.startswith(
            f"{FLOW}: notifications are silenced until"
        )
        assert announced.stderr == ""
        wait_until(lambda: status(agent)["maintenance"])
        (window,) = status(agent)["maintenance"]
        assert (window["flow"], window["reason"]) == (FLOW, REASON)
        assert gauge(agent).endswith(" 1.0")
        shown = run(file, "maintenance", "--json")
        (in_force,) = json.loads(shown.stdout)
        assert in_force["until"][:19] == window["until"][:19]

        ended = run(file, "maintenance", "--end")
        assert f"{FLOW}: maintenance has ended" in ended.stdout
        wait_until(lambda: not status(agent)["maintenance"])
        assert gauge(agent).endswith(" 0.0")
        assert (
            run(file, "maintenance").stdout == "No flow is in maintenance.\n"
        )
        assert agent.stop() == 0

    assert "s3cret" not in agent.log_file.read_text()
    # Nobody runs any more, and whoever announces something should know.
    wait_until(lambda: run(file, "maintenance").stderr != "")
    assert (
        "check that mirrorwatch run is running"
        in run(file, "maintenance").stderr
    )


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--for", "2h"], "--for needs --reason"),
        (["--for", "2h", "--reason", " "], "--for needs --reason"),
        (["--reason", "x"], "--reason goes with --for"),
        (["--for", "8d", "--reason", "x"], "at most 7d"),
        (["--for", "0s", "--reason", "x"], "more than 0"),
        (["--for", "2", "--reason", "x"], "not a duration"),
        (["--end", "--for", "2h", "--reason", "x"], "--for or --end"),
        (["--flow", "nowhere"], "there are summit->ldf"),
    ],
)
def test_what_makes_no_sense_is_refused_with_the_remedy(
    tmp_path: Path,
    config: dict[str, Any],
    arguments: list[str],
    said: str,
) -> None:
    result = run(written(tmp_path, config), "maintenance", *arguments)
    assert result.exit_code == 2
    assert said in " ".join(result.output.split())


def test_where_no_agent_has_run_nothing_is_announced(
    tmp_path: Path,
    config: dict[str, Any],
) -> None:
    arguments = ("maintenance", "--for", "2h", "--reason", REASON)
    result = run(written(tmp_path, config), *arguments)
    assert result.exit_code == 1
    assert "has not run with this configuration" in result.output


def test_a_test_message_reaches_every_receiver(
    tmp_path: Path,
    config: dict[str, Any],
    webhook: Webhook,
) -> None:
    file = written(tmp_path, config)
    assert run(file, "notify", "--test").stdout == "r0 accepted it\n"
    (message,) = webhook.bodies
    assert message["kind"] == "test"
    assert message["title"] == "Test of mirrorwatch: nothing is wrong"

    webhook.status, webhook.words = 403, f"invalid token of {webhook.url}"
    refused = run(file, "notify", "--test")
    assert refused.exit_code == 1
    assert refused.stderr == ("Error: r0 answered 403: invalid token of ***\n")
