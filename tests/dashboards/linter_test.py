"""Grafana's own linter finds nothing in the dashboards but what is named."""

import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from mirrorwatch_promotion.bundled_files import bundled_folder
from tests.support.programs import program

pytestmark = pytest.mark.linter

EXCEPTIONS = Path(__file__).with_name("linter.yaml")
KEPT = sorted(bundled_folder("dashboards").glob("grafana-*/*.json"))


def findings(board: Path, config: Path | None = None) -> list[str]:
    """Return what the linter says against a dashboard."""
    more = [] if config is None else ["--config", str(config)]
    ran = subprocess.run(
        [program("dashboard-linter"), "lint", "--strict", *more, str(board)],
        capture_output=True,
        text=True,
        check=False,
    )
    said = ran.stdout + ran.stderr
    lines = [line for line in said.splitlines() if "❌" in line or "⚠" in line]
    assert lines or ran.returncode == 0, said
    return lines


@pytest.mark.parametrize("board", KEPT, ids=lambda b: f"{b.parent.name}")
def test_the_linter_finds_nothing_but_what_is_named(board: Path) -> None:
    assert findings(board, EXCEPTIONS) == []


def test_every_exception_is_needed_and_has_its_reason(tmp_path: Path) -> None:
    named = yaml.safe_load(EXCEPTIONS.read_text("utf-8"))["exclusions"]
    board = next(
        b for b in KEPT if b.name == "flow-overview.json" and "prom" in str(b)
    )
    copy = Path(shutil.copy(board, tmp_path))
    for rule, entry in named.items():
        assert entry["reason"]
        others = {r: e for r, e in named.items() if r != rule}
        config = tmp_path / "others.yaml"
        config.write_text(yaml.safe_dump({"exclusions": others}), "utf-8")
        assert findings(copy, config), rule
