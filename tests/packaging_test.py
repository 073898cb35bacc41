"""What is shipped: the wheel, and the image as far as it can be told."""

import fnmatch
import json
import os
import re
import subprocess
import sys
import sysconfig
import threading
import tomllib
import venv
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from email import message_from_bytes
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path, PurePath

import pytest
from readme_renderer import markdown

from mirrorwatch.cli.root import COMMANDS
from tests.support.programs import program

pytestmark = pytest.mark.slow


ROOT = Path(__file__).parent.parent
DOCKERFILE = (ROOT / "Dockerfile").read_text(encoding="utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))

SMALLEST = """\
clusters:
  summit: {kafka: {bootstrap.servers: "kafka.summit.example:9092"}}
  ldf: {kafka: {bootstrap.servers: "kafka.ldf.example:9092"}}
flows: [{source: summit, target: ldf}]
"""

Agent = Callable[..., subprocess.CompletedProcess[str]]


PACKAGES = {
    "mirrorwatch": ("agent/mirrorwatch", "sparkjobs/mirrorwatch_audit"),
    "mirrorwatch-lab": ("agent/mirrorwatch_lab",),
    "mirrorwatch-promotion": ("agent/mirrorwatch_promotion",),
}
"""Folders of each package's code. The generators of dashboards and alerts
are in none: what they write is."""

DATA = {
    "mirrorwatch": {},
    "mirrorwatch-lab": {"mirrorwatch_lab/LICENSE": "LICENSE"},
    "mirrorwatch-promotion": {
        "mirrorwatch_promotion/LICENSE": "LICENSE",
        **{
            f"mirrorwatch_promotion/share/{name}": name
            for kind in ("alerts", "dashboards")
            for file in (ROOT / kind).rglob("*")
            if file.is_file()
            for name in [file.relative_to(ROOT).as_posix()]
        },
    },
}
"""What else a wheel has, and where it is kept."""

packages = pytest.mark.parametrize("package", PACKAGES)


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Every wheel, by its package."""
    made = {}
    for package, (first, *_) in PACKAGES.items():
        folder = tmp_path_factory.mktemp("wheel")
        subprocess.run(
            [
                *(sys.executable, "-m", "hatchling", "build"),
                *("--target", "wheel", "--directory", str(folder)),
            ],
            cwd=ROOT if package == "mirrorwatch" else ROOT / first,
            check=True,
            capture_output=True,
            timeout=600,
        )
        (made[package],) = folder.glob("*.whl")
    return made


def _names(wheel: Path) -> set[str]:
    return set(zipfile.ZipFile(wheel).namelist())


@packages
def test_a_wheel_has_the_files_of_its_package_and_no_others(
    wheels: dict[str, Path], package: str
) -> None:
    listed = subprocess.run(
        [
            *("git", "ls-files", "--cached", "--others"),
            *("--exclude-standard", *PACKAGES[package]),
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    ).stdout.split()
    if not listed:
        pytest.skip("not a git checkout: nothing says what belongs to it")
    code = {
        name.partition("/")[2]
        for name in listed
        # One that was just deleted is still in git's index.
        if not name.endswith("pyproject.toml") and (ROOT / name).exists()
    }
    found = {n for n in _names(wheels[package]) if ".dist-info/" not in n}
    assert found == code | {*DATA[package]}


@packages
def test_a_wheel_has_what_is_kept_elsewhere_unchanged(
    wheels: dict[str, Path], package: str
) -> None:
    with zipfile.ZipFile(wheels[package]) as wheel:
        for name, kept in DATA[package].items():
            assert wheel.read(name) == (ROOT / kept).read_bytes(), name


def test_the_index_shows_a_readme_without_dead_links(
    wheels: dict[str, Path],
) -> None:
    with zipfile.ZipFile(wheels["mirrorwatch"]) as wheel:
        (name,) = (n for n in wheel.namelist() if n.endswith("/METADATA"))
        metadata = message_from_bytes(wheel.read(name))
    assert metadata["Description-Content-Type"] == "text/markdown"
    page = markdown.render(str(metadata.get_payload()))
    assert page is not None
    shown = re.sub(r"<[^>]+>", "", page)
    for link in re.findall(r"(?:href|src)=\"([^\"]+)\"", page):
        assert re.match(r"https?://|#", link), link
    for text in ("pip install mirrorwatch", "mirrorwatch once", "Canary"):
        assert text in shown
    for text in ("pip install .", "make test", "]("):
        assert text not in shown


PYTHONS = [
    name.rpartition(" ")[2]
    for name in PROJECT["project"]["classifiers"]
    if re.search(r":: 3\.\d+$", name)
]


@pytest.mark.long
@pytest.mark.parametrize("version", PYTHONS)
def test_the_wheel_is_installed_and_run_by_each_python(
    wheels: dict[str, Path], version: str, tmp_path: Path
) -> None:
    """With what the index has now, and as `uvx` does it: needs a network."""
    uv = program("uv")
    config = tmp_path / "config.yaml"
    config.write_text(SMALLEST, encoding="utf-8")
    words = ["mirrorwatch", "check-config", "--config", str(config)]
    environment = {
        **os.environ,
        "UV_PYTHON_DOWNLOADS": "never",
        "PYTHONPATH": "",
        "PYTHONWARNINGS": "error",
    }
    ran = subprocess.run(
        [
            *(uv, "tool", "run", "--isolated", "--python", version),
            *("--from", str(wheels["mirrorwatch"]), *words),
        ],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    if re.search("No interpreter found|Failed to inspect Python", ran.stderr):
        pytest.skip(f"Python {version} is not here")
    assert ran.returncode == 0, ran.stderr
    assert "can be used" in " ".join(ran.stdout.split())


def test_the_packages_are_of_one_version_and_ask_for_it() -> None:
    version = PROJECT["project"]["version"]
    for package in {*PACKAGES} - {"mirrorwatch"}:
        (folder,) = PACKAGES[package]
        text = (ROOT / folder / "pyproject.toml").read_text("utf-8")
        project = tomllib.loads(text)["project"]
        assert project["version"] == version
        assert f"mirrorwatch=={version}" in project["dependencies"]
        extra = package.removeprefix("mirrorwatch-")
        assert PROJECT["project"]["optional-dependencies"][extra] == [package]
    members = PROJECT["tool"]["uv"]["workspace"]["members"]
    assert {folder for (folder, *_) in PACKAGES.values()} - {
        "agent/mirrorwatch"
    } == {*members}


def test_the_lock_names_the_public_index_only() -> None:
    lock = (ROOT / "uv.lock").read_text(encoding="utf-8")
    assert {*re.findall(r"https?://[^/\"]+", lock)} == {
        "https://files.pythonhosted.org",
        "https://pypi.org",
    }


@pytest.fixture(scope="module")
def agent(
    wheels: dict[str, Path], tmp_path_factory: pytest.TempPathFactory
) -> Agent:
    """`mirrorwatch` of an environment that has only the agent's wheel."""
    folder = tmp_path_factory.mktemp("installed")
    venv.create(folder / "venv", with_pip=True)
    python = folder / "venv" / "bin" / "python"
    subprocess.run(
        [
            *(python, "-m", "pip", "install", "--quiet", "--no-index"),
            *("--no-deps", wheels["mirrorwatch"]),
        ],
        check=True,
        capture_output=True,
        timeout=600,
    )

    def call(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [python.with_name("mirrorwatch"), *words],
            # What the agent depends on, as it is here. What is installed
            # here for development (.pth files) is not found by this.
            env={"PYTHONPATH": sysconfig.get_path("purelib")},
            cwd=folder,
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )

    return call


def test_the_agent_runs_without_the_other_packages(
    agent: Agent, tmp_path: Path
) -> None:
    assert agent("--version").stdout == f"{PROJECT['project']['version']}\n"
    _, _, below = agent("--help").stdout.partition("Commands:\n")
    commands, _, _ = below.partition("\n\n")
    listed = {*re.findall(r"^  ([a-z-]+) ", commands, re.MULTILINE)}
    assert listed == {n for n, c in COMMANDS.items() if not c.package}
    config = tmp_path / "config.yaml"
    config.write_text(SMALLEST, encoding="utf-8")
    checked = agent("check-config", "--config", str(config))
    assert checked.returncode == 0, checked.stderr
    assert "can be used" in " ".join(checked.stdout.split())


@pytest.mark.parametrize(
    ("command", "package"),
    [
        ("alerts", "mirrorwatch-promotion"),
        ("dashboards", "mirrorwatch-promotion"),
        ("demo", "mirrorwatch-lab"),
        ("lab", "mirrorwatch-lab"),
    ],
)
def test_a_command_whose_package_is_missing_names_it(
    agent: Agent, command: str, package: str
) -> None:
    result = agent(command, "--help")
    assert result.returncode == 2
    (line,) = result.stderr.splitlines()
    needs = f"mirrorwatch {command} needs the package {package}: "
    folder = package.replace("-", "_")
    assert line.startswith(f"Error: {needs}pip install ./agent/{folder},")


def test_the_image_is_made_of_files_that_are_there_and_sent() -> None:
    ignore = (ROOT / ".dockerignore").read_text(encoding="utf-8").split("\n")
    sent = [line[1:] for line in ignore if line.startswith("!")]
    assert "*" in ignore
    copied = [
        source
        for name, words in _instructions()
        if name == "COPY" and "--from" not in words
        for source in words.split()[:-1]
    ]
    assert "agent/mirrorwatch" in copied
    for source in copied:
        assert (ROOT / source.removeprefix("./")).exists(), source
        wanted = {source, *map(str, PurePath(source).parents)}
        assert any(
            fnmatch.fnmatch(one.removeprefix("./"), name)
            for one in wanted
            for name in sent
        ), source


def test_stages_are_copied_from_only_if_they_are_there() -> None:
    stages = re.findall(r"^FROM \S+ AS ([\w-]+)$", DOCKERFILE, re.MULTILINE)
    used = re.findall(r"--from=([\w-]+)", DOCKERFILE)
    assert set(used) <= set(stages)


def test_the_image_has_a_python_that_the_project_wants() -> None:
    (found,) = re.findall(
        r"^ARG PYTHON=python:3\.(\d+)\.\d+-", DOCKERFILE, re.MULTILINE
    )
    least = PROJECT["project"]["requires-python"].removeprefix(">=3.")
    assert int(found) >= int(least)
    bases = re.findall(r"^FROM (\S+)", DOCKERFILE, re.MULTILINE)
    (spark,) = (
        requirement.partition("==")[2]
        for requirement in PROJECT["project"]["optional-dependencies"]["spark"]
        if requirement.startswith("pyspark")
    )
    assert bases == [
        *("${PYTHON}", "${PYTHON}", "build", "agent"),
        *(f"apache/spark:{spark}", "audit"),
    ]


def test_the_image_installs_what_the_lock_says_without_tools() -> None:
    syncs = re.findall(r"uv sync (.*)$", DOCKERFILE, re.MULTILINE)
    assert len(syncs) == 3
    for flags in syncs:
        assert {"--frozen", "--no-default-groups"} <= set(flags.split())
    # An editable install would point to a folder of the other stage.
    assert ["--no-editable" in flags for flags in syncs] == [False, True, True]
    # Spark is half a gigabyte that the agent does not need.
    assert ["--extra spark" in f for f in syncs] == [False, False, True]


def test_the_image_runs_the_agent_as_a_number_that_owns_its_state() -> None:
    last = dict(_instructions("audit"))
    assert json.loads(last["ENTRYPOINT"]) == ["mirrorwatch"]
    assert json.loads(last["CMD"])[0] == "run"
    user = last["USER"]
    assert re.fullmatch(r"[1-9]\d*:[1-9]\d*", user)
    owner, _, group = user.partition(":")
    made = f"install -d -o {owner} -g {group} {last['VOLUME']}"
    assert made in DOCKERFILE
    # Spark does not start for a user without a name.
    assert f"useradd --uid {owner} --user-group " in DOCKERFILE
    (driver,) = {
        words for name, words in _instructions() if name == "USER"
    } - {"root"}
    assert driver == user
    assert last["VOLUME"] == "/var/lib/mirrorwatch"
    assert "XDG_STATE_HOME=/var/lib " in DOCKERFILE


@pytest.mark.parametrize(("status", "exit_status"), [(200, 0), (503, 1)])
def test_the_health_check_fails_when_the_agent_is_stale(
    status: int, exit_status: int
) -> None:
    with _answering(status) as url:
        assert _check_health(url) == exit_status


def test_the_health_check_fails_when_nobody_answers() -> None:
    with _answering(200) as url:
        pass
    assert _check_health(url) == 1


def _instructions(stage: str = "") -> list[tuple[str, str]]:
    """Return the instructions of the Dockerfile, each on one line.

    Until the end of ``stage``, or all of them.
    """
    before, _, rest = DOCKERFILE.partition(f" AS {stage}\n")
    text = before + rest.partition("\nFROM ")[0] if stage else DOCKERFILE
    lines = [
        line
        for line in text.split("\n")
        if line.strip() and not line.startswith("#")
    ]
    joined = "\n".join(lines).replace("\\\n", " ").split("\n")
    return [
        (name, " ".join(words.split()))
        for name, _, words in (line.partition(" ") for line in joined)
    ]


def _check_health(url: str) -> int:
    words = dict(_instructions("agent"))["HEALTHCHECK"]
    program, *arguments = json.loads(words.partition("CMD ")[2])
    assert program == "python"
    ran = subprocess.run(
        [sys.executable, *arguments],
        # A proxy that is not there must not be asked.
        env={"MIRRORWATCH_HEALTHZ": url, "http_proxy": "http://127.0.0.1:9"},
        capture_output=True,
        check=False,
        timeout=120,
    )
    return ran.returncode


@contextmanager
def _answering(status: int) -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status)
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/healthz"
        finally:
            server.shutdown()
            thread.join()
