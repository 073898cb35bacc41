"""The commands where no server is needed."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from mirrorwatch.cli import main

pytestmark = pytest.mark.slow


SITES = """
sites:
  summit: {kapacitor: {url: "http://127.0.0.1:1", username: u, password: pw9}}
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "sites.yaml"
    path.write_text(SITES)
    return path


def run(file: Path, *arguments: str) -> Result:
    runner = CliRunner(env={"MIRRORWATCH_SITES": str(file), "COLUMNS": "200"})
    return runner.invoke(main, arguments)


@pytest.mark.parametrize("group", ["dashboards", "alerts"])
def test_what_comes_with_mirrorwatch_can_be_listed(
    file: Path, group: str
) -> None:
    listed = run(file, group, "list", "--from", "ours", "--json")
    assert listed.exit_code == 0, listed.output
    items = json.loads(listed.output)
    assert items
    shown = run(file, group, "list", "--from", "ours")
    assert all(item["name"] in shown.output for item in items)


@pytest.mark.parametrize(
    ("arguments", "status", "problem"),
    [
        (
            ("alerts", "list", "--from", "sumit"),
            2,
            "no site 'sumit'; allowed are summit, ours",
        ),
        (
            ("dashboards", "list", "--from", "summit"),
            2,
            "sites.summit: has no chronograf or grafana, where dashboards",
        ),
        (
            ("alerts", "list", "--from", "ours", "--only", "nope*"),
            2,
            "ours has nothing called 'nope*'; it has mirrorwatch",
        ),
        (
            ("alerts", "diff", "--from", "summit", "--to", "summit"),
            2,
            "--to summit: is the site to copy from",
        ),
        (
            ("alerts", "diff", "--from", "summit", "--to", "ours"),
            1,
            "kapacitor of summit (http://127.0.0.1:1) cannot be reached",
        ),
        (
            ("dashboards", "pull", "--from", "ours"),
            2,
            "Missing option '--into'",
        ),
    ],
)
def test_what_is_wrong_is_told_with_its_remedy(
    file: Path, arguments: tuple[str, ...], status: int, problem: str
) -> None:
    result = run(file, *arguments)
    assert result.exit_code == status
    assert problem in result.output
    assert "pw9" not in result.output


def test_a_pull_writes_scripts_and_the_rest_into_files(
    file: Path, tmp_path: Path
) -> None:
    into = tmp_path / "pulled"
    pulled = run(file, "alerts", "pull", "--from", "ours", "--into", str(into))
    assert pulled.exit_code == 0, pulled.output
    scripts = sorted((into / "task").glob("*.tick"))
    shipped = sorted(Path(__file__).parents[2].glob("alerts/kapacitor/*.tick"))
    assert [s.read_text() for s in scripts] == [s.read_text() for s in shipped]
    for script in scripts:
        # Scripts may hold tokens.
        assert script.stat().st_mode & 0o077 == 0
        rest = json.loads(script.with_suffix(".json").read_text())
        assert rest["status"] == "enabled"
