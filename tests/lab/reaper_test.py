import json
import signal
import subprocess
import sys
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from mirrorwatch_lab import reaper
from mirrorwatch_lab.lifeline import Lifeline
from mirrorwatch_lab.process import LabProcess
from mirrorwatch_lab.waiting import wait_until

_OWNER = """
import json, sys, threading
from mirrorwatch_lab import Lab, LabSettings
lab = Lab(LabSettings(topics={"t": 1}))
# From a thread that ends: the parts must not die with it.
start = threading.Thread(target=lab.start)
start.start()
start.join()
parts = (lab.source, lab.target, lab.mirror)
lab.mirror.freeze()
print(json.dumps({
    "pids": [part.pid for part in parts], "folder": str(lab.folder)
}), flush=True)
sys.stdin.read()
"""


def _alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2]
    except FileNotFoundError:
        return False
    # A zombie is dead; it only waits for its parent to look.
    return state.split()[0] != "Z"


def _sleeper(lifeline: Lifeline, folder: Path) -> LabProcess:
    return LabProcess(
        "sleeper",
        ["sleep", "600"],
        folder=folder,
        log=folder / "log",
        lifeline=lifeline,
    )


@pytest.mark.lab
def test_a_killed_owner_leaves_nothing_behind() -> None:
    owner = subprocess.Popen(
        [sys.executable, "-c", _OWNER],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with owner:
        assert owner.stdout
        said: dict[str, Any] = json.loads(owner.stdout.readline())
        assert all(_alive(pid) for pid in said["pids"])
        assert Path(said["folder"]).exists()
        owner.kill()
        owner.wait()
        wait_until(
            lambda: not any(_alive(pid) for pid in said["pids"]),
            limit=timedelta(seconds=120),
            what="processes are left behind",
        )
        wait_until(
            lambda: not Path(said["folder"]).exists(),
            limit=timedelta(seconds=120),
            what="the folder is left behind",
        )


@pytest.mark.slow
def test_closing_the_lifeline_kills_what_still_runs(tmp_path: Path) -> None:
    lifeline = Lifeline()
    sleeper = _sleeper(lifeline, tmp_path)
    sleeper.start()
    pid = sleeper.pid
    assert pid
    assert _alive(pid)
    lifeline.close()
    wait_until(
        lambda: not _alive(pid), limit=timedelta(seconds=120), what="alive"
    )
    sleeper.kill()


@pytest.mark.slow
def test_the_reaper_kills_who_has_not_ended_and_nobody_else(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "lab"
    folder.mkdir()
    with _waiting() as left_behind, _waiting() as ended:
        # The second number is a stranger's by now.
        orders = f"+{left_behind.pid}\n+{ended.pid}\n-{ended.pid}\n"
        subprocess.run(
            [sys.executable, "-IS", reaper.__file__, str(folder)],
            input=orders,
            text=True,
            timeout=120,
            check=True,
        )
        assert left_behind.wait(120) == -signal.SIGKILL
        assert ended.poll() is None
        ended.kill()
    assert not folder.exists()


def _waiting() -> "subprocess.Popen[bytes]":
    command = [sys.executable, "-c", "import sys; sys.stdin.read()"]
    return subprocess.Popen(command, stdin=subprocess.PIPE, process_group=0)


def test_a_frozen_part_is_thawed_and_stopped(tmp_path: Path) -> None:
    lifeline = Lifeline()
    sleeper = _sleeper(lifeline, tmp_path)
    sleeper.start()
    sleeper.freeze()
    assert (sleeper.running, sleeper.frozen) == (True, True)
    sleeper.stop(timedelta(seconds=10))
    assert (sleeper.running, sleeper.frozen) == (False, False)
    lifeline.close()
