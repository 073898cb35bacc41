"""`make servers` says what it lacks. Building takes minutes: by hand only."""

import os
import subprocess
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow


SCRIPT = Path(__file__).with_name("build.sh")


def build(*arguments: str, path: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["/bin/bash", SCRIPT, *arguments],
        env={"PATH": path, "HOME": "/nowhere"},
        check=False,
        capture_output=True,
        text=True,
        timeout=120,
    )


@pytest.fixture
def tools(tmp_path: Path) -> Path:
    """A PATH without Go."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in ("chmod", "mkdir", "mktemp", "realpath", "rm"):
        for parent in os.get_exec_path():
            if (program := Path(parent) / name).exists():
                (folder / name).symlink_to(program)
                break
    return folder


def test_without_go_it_says_where_to_get_it(
    tools: Path, tmp_path: Path
) -> None:
    ran = build(str(tmp_path / "out"), path=str(tools))
    assert ran.returncode == 1
    assert "Go is needed: https://go.dev" in ran.stderr
    assert not (tmp_path / "out").exists()


def test_a_server_that_it_does_not_know_is_refused(
    tools: Path, tmp_path: Path
) -> None:
    (tools / "go").symlink_to("/bin/false")
    ran = build(str(tmp_path / "out"), "influxd3", path=str(tools))
    assert ran.returncode == 2
    assert "No such server: influxd3 (influxd18, influxd2, " in ran.stderr


def test_without_rust_the_newer_server_is_left_out(
    tools: Path, tmp_path: Path
) -> None:
    (tools / "go").symlink_to("/bin/false")
    ran = build(str(tmp_path / "out"), "influxd2", path=str(tools))
    assert ran.returncode == 0
    assert "influxd2 is left out: it takes Rust" in ran.stderr
