"""The unit for systemd."""

import configparser
import re
import shlex
import subprocess
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

from mirrorwatch.cli.root import EXIT_USAGE, main
from tests.support.programs import program

pytestmark = pytest.mark.slow


ROOT = Path(__file__).parent.parent.parent
UNIT = ROOT / "deploy" / "systemd" / "mirrorwatch.service"
USERS = UNIT.with_name("mirrorwatch.sysusers")

EXPOSURE = 20
"""Tenths, of `systemd-analyze security`: "OK" ends at 4.0, it was 1.4 here."""


def settings(section: str) -> dict[str, str]:
    """Return the settings of a section; of several of a name, the last."""
    parser = configparser.ConfigParser(
        interpolation=None, strict=False, delimiters=("=",)
    )
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    parser.read_string(UNIT.read_text("utf-8"))
    return dict(parser[section])


def test_the_service_is_started_as_the_command_wants_it() -> None:
    path, *words = shlex.split(settings("Service")["ExecStart"])
    assert Path(path).name == "mirrorwatch"
    command, option, config = words
    assert Path(config).is_absolute()
    result = CliRunner().invoke(main, [command, "--help"])
    assert result.exit_code == 0
    assert f"{option} " in result.output


def test_a_configuration_that_cannot_be_used_is_not_tried_again(
    tmp_path: Path,
) -> None:
    service = settings("Service")
    assert service["Restart"] == "always"
    assert service["RestartPreventExitStatus"] == str(EXIT_USAGE)
    (tmp_path / "config.yaml").write_text("flows: 1")
    words = ["run", "--config", str(tmp_path / "config.yaml")]
    assert CliRunner().invoke(main, words).exit_code == EXIT_USAGE


def test_the_user_is_made_and_owns_its_state() -> None:
    service = settings("Service")
    kind, user, *_, home = shlex.split(USERS.read_text("utf-8"), comments=True)
    assert (kind, user) == ("u", service["User"])
    state = service["Environment"].removeprefix("XDG_STATE_HOME=")
    assert home == f"{state}/{service['StateDirectory']}"


def test_it_may_have_as_much_memory_as_in_kubernetes() -> None:
    chart = ROOT / "deploy" / "helm" / "mirrorwatch" / "values.yaml"
    values = yaml.safe_load(chart.read_text("utf-8"))
    limit = values["resources"]["limits"]["memory"]
    assert settings("Service")["MemoryMax"] == limit.removesuffix("i")


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """The unit, with a program that this machine has."""
    unit = tmp_path / UNIT.name
    text = UNIT.read_text("utf-8")
    text, times = re.subn(r"(?m)^(ExecStart=)\S+", r"\1/bin/true", text)
    assert times == 1
    unit.write_text(text, encoding="utf-8")
    return unit


@pytest.mark.systemd
def test_systemd_knows_every_setting(installed: Path) -> None:
    def complaints() -> str:
        words = ["verify", "--man=no", "--recursive-errors=no", str(installed)]
        return _analyze(*words).stderr

    assert complaints() == ""
    installed.write_text(
        installed.read_text("utf-8").replace("Restart=", "Restrat=", 1)
    )
    assert "Restrat" in complaints()


@pytest.mark.systemd
def test_the_service_has_few_rights(installed: Path) -> None:
    limit = f"--threshold={EXPOSURE}"
    words = ["security", "--no-pager", "--offline=true", limit]
    ran = _analyze(*words, str(installed))
    assert ran.returncode == 0, ran.stdout[-2000:]


def _analyze(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [program("systemd-analyze"), *words],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
