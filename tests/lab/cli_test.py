"""`mirrorwatch lab` as a person uses it: from several terminals."""

import json
import re
import shutil
import signal
import subprocess
import sys
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from mirrorwatch.cli.root import main
from mirrorwatch_lab.control import ask, control_folder
from mirrorwatch_lab.waiting import wait_until

_COMMAND = [sys.executable, "-m", "mirrorwatch", "lab"]


def call(*arguments: str) -> Result:
    """Call it in this process, where a process of its own proves no more."""
    return CliRunner().invoke(main, ["lab", *arguments])


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*_COMMAND, *arguments],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )


@contextmanager
def up(name: str) -> Iterator["subprocess.Popen[str]"]:
    with subprocess.Popen(
        [*_COMMAND, "up", "--name", name],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        try:
            yield process
        finally:
            process.kill()
            process.wait()
            shutil.rmtree(control_folder(name), ignore_errors=True)


def shown(name: str) -> dict[str, Any]:
    labs: dict[str, Any] = json.loads(call("status", "--json").stdout)
    found: dict[str, Any] = labs.get(name, {})
    return found


def states(name: str) -> dict[str, str]:
    return {
        part["name"]: part["state"] for part in shown(name).get("parts", [])
    }


def name_of_a_lab() -> str:
    return f"test-{uuid.uuid4().hex[:8]}"


@pytest.mark.long
@pytest.mark.lab
def test_a_lab_is_started_looked_at_broken_and_stopped() -> None:
    name = name_of_a_lab()
    with up(name) as owner:
        wait_until(
            lambda: bool(states(name)) or owner.poll() is not None,
            limit=timedelta(seconds=400),
            what="the lab does not come up",
        )
        assert states(name) == {
            "summit": "running",
            "ldf": "running",
            "mirror": "running",
        }
        assert name in run("status").stdout

        second = run("up", "--name", name)
        assert second.returncode == 1
        assert f"A lab {name} is running" in second.stderr

        key = control_folder(name) / "control.key"
        assert key.stat().st_mode & 0o077 == 0

        # Long enough for a command to end, and to see it.
        frozen = run(
            "faults", "freeze", "mirror", "--for", "20s", "--name", name
        )
        assert frozen.returncode == 0, frozen.stderr
        parts = ask(name, {"do": "status"})["parts"]
        assert {p["name"]: p["state"] for p in parts}["mirror"] == "frozen"
        wait_until(
            lambda: states(name)["mirror"] == "running",
            limit=timedelta(seconds=180),
            what="the fault was not taken back",
        )

        assert run("faults", "kill", "target", "--name", name).returncode == 0
        assert states(name)["ldf"] == "stopped"
        assert run("faults", "start", "target", "--name", name).returncode == 0
        assert states(name)["ldf"] == "running"

        wrong = run("faults", "freeze", "moon", "--name", name)
        assert wrong.returncode == 1
        assert "No part moon; there are source, target" in wrong.stderr
        wrong = run("faults", "grow", "t", "3", "--for", "1s", "--name", name)
        assert "grow cannot be undone" in wrong.stderr

        stopped = run("down", "--name", name)
        assert stopped.returncode == 0, stopped.stderr
        assert owner.wait(180) == 0
        assert owner.stdout
        said = owner.stdout.read()
        assert "Stopped. The logs are in" in said
        logs = re.search(r"The logs are in (\S+)", said)
        assert logs
        assert (Path(logs[1]) / "mirror.log").stat().st_size > 0
    assert not states(name)


@pytest.mark.lab
def test_ctrl_c_while_a_lab_starts_stops_it() -> None:
    name = name_of_a_lab()
    with up(name) as owner:
        log = control_folder(name) / "lab" / "logs" / "summit.log"
        wait_until(
            log.exists,
            limit=timedelta(seconds=180),
            what="no broker is started",
        )
        owner.send_signal(signal.SIGINT)
        assert owner.wait(180) == 0
    assert not states(name)


def test_the_faults_are_listed_without_a_lab() -> None:
    listed = call("faults")
    assert listed.exit_code == 0
    for fault in ("freeze", "cut", "drop-marked", "delete-records"):
        assert fault in listed.stdout


def test_a_lab_that_does_not_run_is_said_to_be_none() -> None:
    for arguments in (["down"], ["faults", "freeze", "mirror"]):
        answer = call(*arguments, "--name", "nowhere")
        assert answer.exit_code == 1
        assert "No lab nowhere is running" in answer.stderr


def test_a_lab_has_a_name_that_a_folder_can_have() -> None:
    answer = call("up", "--name", "../etc")
    assert answer.exit_code == 1
    assert "is no name for a lab" in answer.stderr


def test_every_command_has_help_with_an_example() -> None:
    for arguments in ([], ["up"], ["down"], ["status"], ["faults"]):
        shown = call(*arguments, "--help")
        assert shown.exit_code == 0
        assert "Example" in shown.stdout
