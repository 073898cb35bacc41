"""What files are, to other users of the machine."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from mirrorwatch.cli import root
from mirrorwatch.state import Database
from tests.support.audit import a_finished, write_audit, write_report

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def open_to_all() -> Iterator[None]:
    """Start as in a shell whose files everybody may read and write."""
    before = os.umask(0)
    yield
    os.umask(before)


def modes_below(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): f"{path.stat().st_mode & 0o777:o}"
        for path in folder.rglob("*")
    }


def test_nobody_else_can_read_what_a_command_writes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    @click.command
    def write() -> None:
        write_audit(tmp_path / "audit", a_finished())
        write_report(tmp_path / "audit", "run", "<!doctype html>")
        (tmp_path / "report.html").write_text("<!doctype html>")
        subprocess.run(  # as Spark, which runs in Java
            ["/bin/sh", "-c", "mkdir -p spark/digests; > spark/digests/x"],
            cwd=tmp_path,
            check=True,
        )

    monkeypatch.setattr(root.Commands, "get_command", lambda *_: write)
    result = CliRunner().invoke(root.main, ["write"])
    assert result.exit_code == 0
    assert modes_below(tmp_path) == {
        "audit": "700",
        "audit/runs": "700",
        "audit/runs/nightly-2026-11-21": "700",
        "audit/runs/nightly-2026-11-21/result.json": "600",
        "audit/runs/run": "700",
        "audit/runs/run/report.html": "600",
        "report.html": "600",
        "spark": "700",
        "spark/digests": "700",
        "spark/digests/x": "600",
    }
    # What runs in the same process afterwards is not the command's matter.
    assert os.umask(0) == 0


def test_nobody_else_can_read_the_state(tmp_path: Path) -> None:
    path = tmp_path / "folder" / "state.db"
    database = Database(path)
    with database.transaction() as connection:
        connection.execute("CREATE TABLE x (y)")
    modes = {f.name: f.stat().st_mode & 0o777 for f in path.parent.iterdir()}
    database.close()
    assert path.parent.stat().st_mode & 0o777 == 0o700
    assert set(modes.values()) == {0o600}
    assert len(modes) == 4
    path.chmod(0o644)
    Database(path).close()
    assert path.stat().st_mode & 0o777 == 0o600
