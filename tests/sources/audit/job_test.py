"""An audit's processes: what they may do, and that nothing of them is left."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from mirrorwatch.sources.audit.job import AuditProcess, JobSettings
from tests.support.audit_run import audit_command
from tests.support.watch import wait_until

SECONDS = 60.0


def settings(
    folder: Path, act: str, *rest: str, memory: int = 2048
) -> JobSettings:
    return JobSettings(
        command=audit_command(folder, act, *rest),
        memory=memory,
        secrets=("hunter2",),
    )


def status_of(job: AuditProcess) -> int | None:
    wait_until(lambda: job.poll() is not None, within=SECONDS)
    return job.poll()


def is_there(pid: int) -> bool:
    """Tell whether a process runs, and is not only waited for."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except FileNotFoundError:
        return False
    return text.rpartition(")")[2].split()[0] != "Z"


def pids(folder: Path) -> list[int]:
    file = folder / "pids"
    wait_until(file.exists, within=SECONDS)
    wait_until(lambda: len(file.read_text().split()) == 2, within=SECONDS)
    return [int(pid) for pid in file.read_text().split()]


def test_its_status_and_the_end_of_its_words_are_kept(tmp_path: Path) -> None:
    job = AuditProcess(settings(tmp_path, "fail"), ["--date", "2026-11-21"])
    assert status_of(job) == 1
    assert job.output == (
        "20 %",
        "Error: the token is **********, and no broker answers",
        "(see above)",
    )
    assert (tmp_path / "started").read_text() == "--date 2026-11-21"


def test_one_that_talks_without_end_neither_stops_nor_fills_memory(
    tmp_path: Path,
) -> None:
    job = AuditProcess(settings(tmp_path, "flood"))
    assert status_of(job) == 1
    assert job.output[-1] == "the end"
    assert max(map(len, job.output)) <= 300


def test_a_signal_is_told_as_the_shell_does(tmp_path: Path) -> None:
    assert status_of(AuditProcess(settings(tmp_path, "killed"))) == 128 + 9


@pytest.mark.slow
def test_it_gives_way_to_others_and_has_its_own_group(tmp_path: Path) -> None:
    lower = min(os.getpriority(os.PRIO_PROCESS, 0) + 5, 19)
    job = AuditProcess(settings(tmp_path, "hang"))
    try:
        program, child = pids(tmp_path)
        for pid in (program, child):
            assert os.getpriority(os.PRIO_PROCESS, pid) == lower
            assert os.getpgid(pid) == program != os.getpgid(0)
    finally:
        job.stop()


def test_more_memory_than_allowed_is_refused(tmp_path: Path) -> None:
    most = 700
    greedy = str(800 * 1024 * 1024)
    refused = AuditProcess(settings(tmp_path, "greedy", greedy, memory=most))
    assert status_of(refused) == 1
    assert refused.output[-1] == "MemoryError"
    modest = str(400 * 1024 * 1024)
    granted = AuditProcess(settings(tmp_path, "greedy", modest, memory=most))
    assert status_of(granted) == 0


@pytest.mark.slow
def test_stopping_leaves_nothing_even_of_what_ignores_it(
    tmp_path: Path,
) -> None:
    job = AuditProcess(settings(tmp_path, "hang"))
    running = [*pids(tmp_path), job.pid]
    assert all(map(is_there, running))
    job.stop()
    assert not any(map(is_there, running))
    assert job.poll() is not None


@pytest.mark.slow
def test_one_that_ends_leaves_nothing_of_what_it_started(
    tmp_path: Path,
) -> None:
    job = AuditProcess(settings(tmp_path, "leave"))
    running = pids(tmp_path)
    assert status_of(job) == 0
    assert not any(map(is_there, running))


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_an_agent_that_dies_takes_its_audit_with_it(
    tmp_path: Path, number: signal.Signals
) -> None:
    program = (
        "import sys, time\n"
        "from mirrorwatch.sources.audit.job import AuditProcess, JobSettings\n"
        "job = AuditProcess(JobSettings(command=sys.argv[1:], memory=2048))\n"
        "time.sleep(600)\n"
    )
    command = audit_command(tmp_path, "hang")
    with subprocess.Popen([sys.executable, "-c", program, *command]) as agent:
        running = pids(tmp_path)
        agent.send_signal(number)
    wait_until(lambda: not any(map(is_there, running)), within=SECONDS)
