"""What is shipped: the wheel, and the image as far as it can be told."""

import fnmatch
import json
import re
import subprocess
import sys
import threading
import tomllib
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parent.parent
AGENT = ROOT / "agent"
DOCKERFILE = (ROOT / "Dockerfile").read_text(encoding="utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run(
        [
            *(sys.executable, "-m", "hatchling", "build"),
            *("--target", "wheel", "--directory", str(folder)),
        ],
        cwd=ROOT,
        check=True,
        capture_output=True,
        timeout=600,
    )
    (file,) = folder.glob("*.whl")
    return zipfile.ZipFile(file)


def test_the_wheel_has_every_file_of_the_package(
    wheel: zipfile.ZipFile,
) -> None:
    tracked = subprocess.run(
        ["git", "ls-files", "agent/mirrorwatch"],  # noqa: S607 - from PATH
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    if not tracked:
        pytest.skip("not a git checkout: nothing says what belongs to it")
    package = {name.removeprefix("agent/") for name in tracked}
    assert package <= set(wheel.namelist())


def test_the_wheel_has_what_is_not_code(wheel: zipfile.ZipFile) -> None:
    names = set(wheel.namelist())
    assert {
        "mirrorwatch/py.typed",
        "mirrorwatch/share/docs/runbook.md",
        "mirrorwatch/web/runbook.html",
        "mirrorwatch/web/static/index.html",
        "mirrorwatch/web/static/vendor/uplot/LICENSE",
        "mirrorwatch_lab/jars/kafka-4.3.1.txt",
        "mirrorwatch_lab/jars/kafka-3.9.2.txt",
        "mirrorwatch/sources/canary/probe.avsc",
        "mirrorwatch_audit/report/report.html.j2",
        "mirrorwatch_audit/report/report.css",
    } <= names


@pytest.mark.parametrize("kind", ["alerts", "dashboards"])
def test_the_wheel_has_what_is_pushed_to_servers(
    wheel: zipfile.ZipFile, kind: str
) -> None:
    kept = {
        file.relative_to(ROOT).as_posix()
        for file in (ROOT / kind).rglob("*")
        if file.is_file()
    }
    assert kept
    assert {f"mirrorwatch/share/{name}" for name in kept} <= set(
        wheel.namelist()
    )


def test_the_wheel_puts_nothing_beside_the_packages(
    wheel: zipfile.ZipFile,
) -> None:
    tops = {name.partition("/")[0] for name in wheel.namelist()}
    version = PROJECT["project"]["version"]
    packages = {"mirrorwatch", "mirrorwatch_audit"}
    packages |= {"mirrorwatch_lab", "mirrorwatch_promotion"}
    assert tops == {*packages, f"mirrorwatch-{version}.dist-info"}


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
    assert "agent" in copied
    for source in copied:
        assert (ROOT / source.removeprefix("./")).exists(), source
        assert any(fnmatch.fnmatch(source, name) for name in sent), source


def test_stages_are_copied_from_only_if_they_are_there() -> None:
    stages = re.findall(r"^FROM \S+ AS (\w+)$", DOCKERFILE, re.MULTILINE)
    used = re.findall(r"--from=(\w+)", DOCKERFILE)
    assert stages == ["build", "agent", "spark", "audit"]
    assert set(used) <= set(stages)


def test_the_image_has_a_python_that_the_project_wants() -> None:
    (found,) = re.findall(
        r"^ARG PYTHON=python:3\.(\d+)\.\d+-", DOCKERFILE, re.MULTILINE
    )
    least = PROJECT["project"]["requires-python"].removeprefix(">=3.")
    assert int(found) >= int(least)
    bases = re.findall(r"^FROM (\S+)", DOCKERFILE, re.MULTILINE)
    assert bases == ["${PYTHON}", "${PYTHON}", "build", "agent"]


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
    last = dict(_instructions())
    assert json.loads(last["ENTRYPOINT"]) == ["mirrorwatch"]
    assert json.loads(last["CMD"])[0] == "run"
    user = last["USER"]
    assert re.fullmatch(r"[1-9]\d*:[1-9]\d*", user)
    owner, _, group = user.partition(":")
    made = f"install -d -o {owner} -g {group} {last['VOLUME']}"
    assert made in DOCKERFILE
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


def test_hooks_run_the_tools_of_the_makefile() -> None:
    hooks = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())
    (repository,) = hooks["repos"]
    assert repository["repo"] == "local"
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for hook in repository["hooks"]:
        tool = hook["entry"].removesuffix(" --force-exclude")
        assert tool.replace(".venv/bin", "$(BIN)") in makefile


def test_ci_runs_the_test_command_of_the_readme() -> None:
    file = ROOT / ".ci" / "run"
    assert file.stat().st_mode & 0o111
    subprocess.run(["bash", "-n", str(file)], check=True)  # noqa: S607
    text = file.read_text(encoding="utf-8")
    assert re.search(r"\bmake test\b", text)
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert "```sh\nmake test\n```" in readme
    assert "export MIRRORWATCH_REQUIRE_ALL=1" in text


def _instructions() -> list[tuple[str, str]]:
    """Return the instructions of the Dockerfile, each on one line."""
    lines = [
        line
        for line in DOCKERFILE.split("\n")
        if line.strip() and not line.startswith("#")
    ]
    joined = "\n".join(lines).replace("\\\n", " ").split("\n")
    return [
        (name, " ".join(words.split()))
        for name, _, words in (line.partition(" ") for line in joined)
    ]


def _check_health(url: str) -> int:
    words = dict(_instructions())["HEALTHCHECK"]
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
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/healthz"
        finally:
            server.shutdown()
            thread.join()
