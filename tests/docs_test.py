"""What the documentation says is so."""

import ast
import re
import shlex
import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path

import bcrypt
import click
import pytest
import trustme
import yaml
from click.testing import CliRunner
from starlette.routing import Route

from mirrorwatch import __version__
from mirrorwatch.cli.root import COMMANDS, main
from mirrorwatch.config import Config, WebConfig
from mirrorwatch.domain.catalogue import CATALOGUE
from mirrorwatch.domain.checks import CHECKS
from mirrorwatch.domain.report import Health
from mirrorwatch.domain.runbook import runbook_page
from mirrorwatch_lab import jmx, registry
from mirrorwatch_lab.process import KAFKA_VERSIONS, MIRROR_VERSIONS
from tests.deploy.charts import KUBERNETES
from tests.support.builders import NOON
from tests.support.programs import program
from tests.support.stage import SetClock, Stage

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "agent" / "mirrorwatch"
PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md"]
PAGES += sorted((ROOT / "docs").glob("*.md"))
INSTALLATION = (ROOT / "docs" / "installation.md").read_text("utf-8")
VERDICTS = (ROOT / "docs" / "verdicts.md").read_text(encoding="utf-8")
GENERATED = {"configuration.md", "metrics.md", "runbook.md"}


SYSTEMD = ("252",)
"""That of Debian 12."""

DEBIANS = {"promtool": ("2.42",), "amtool": ("0.25",)}
"""Versions of what `.ci/run` installs, and Debian 12 has."""


pages = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)


@pages
def test_links_lead_somewhere(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    for link in re.findall(r"\]\(([^)\s]+)\)", text):
        if link.startswith("https://"):
            continue
        name, _, anchor = link.partition("#")
        linked = page.parent / name if name else page
        assert linked.exists(), link
        if anchor:
            assert anchor in _anchors(linked), link


@pages
def test_commands_in_the_docs_exist_with_their_options(page: Path) -> None:
    for words in _commands(page.read_text(encoding="utf-8"), "mirrorwatch"):
        found: click.Command = main
        context = click.Context(main)
        for word in words:
            if word.startswith("-"):
                options = {
                    option
                    for parameter in found.get_params(context)
                    for option in parameter.opts
                }
                assert word in options, words
            elif isinstance(found, click.Group):
                command = found.get_command(context, word)
                assert command is not None, words
                found = command
                context = click.Context(found, parent=context)


@pages
def test_make_targets_in_the_docs_exist(page: Path) -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z-]+):", makefile, re.MULTILINE))
    named = _commands(page.read_text(encoding="utf-8"), "make")
    assert {words[0] for words in named if words} <= targets


@pages
def test_metrics_in_the_docs_are_exported(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    named = set(re.findall(r"\bmirrorwatch_[a-z_]+\b", text))
    named -= {folder.name for folder in PACKAGE.parent.iterdir()}
    named -= {"mirrorwatch_audit"}
    assert named <= {metric.name for metric in CATALOGUE}


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_every_command_explains_itself_with_an_example(name: str) -> None:
    result = CliRunner().invoke(main, [name, "--help"])
    assert result.exit_code == 0
    assert "Example" in result.output
    assert f"mirrorwatch {name}" in result.output


def test_the_help_names_every_command_and_the_version_is_told() -> None:
    help_ = CliRunner().invoke(main, ["--help"])
    assert help_.exit_code == 0
    assert all(name in help_.output for name in COMMANDS)
    _, _, commands = help_.output.partition("Commands:")
    assert "..." not in commands, "click cuts what has no room in a line"
    version = CliRunner().invoke(main, ["--version"])
    assert version.output == f"{__version__}\n"


@pytest.mark.parametrize("page", ["systemd", "logins"])
def test_the_documented_configuration_can_be_used(
    tmp_path: Path, page: str
) -> None:
    (smallest,) = _blocks(INSTALLATION, "yaml")
    added = (ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8")
    text = smallest + _blocks(added, "yaml")[0]
    for place in ("/run/secrets/mirrorwatch", "/etc/mirrorwatch/tls"):
        text = text.replace(place, str(tmp_path))
    password = bcrypt.hashpw(b"a", bcrypt.gensalt(10))
    (tmp_path / "operator.hash").write_bytes(password)
    (tmp_path / "prometheus.sha256").write_text("5f" * 32, encoding="utf-8")
    own = trustme.CA().issue_cert("mirrorwatch.example.org")
    own.cert_chain_pems[0].write_to_path(tmp_path / "tls.crt")
    own.private_key_pem.write_to_path(tmp_path / "tls.key")
    file = tmp_path / "mirrorwatch.yaml"
    file.write_text(text, encoding="utf-8")
    result = CliRunner().invoke(main, ["check-config", "--config", str(file)])
    assert result.exit_code == 0
    assert f"{file.name} can be used." in result.output.replace("\n", "")


def test_telegraf_asks_where_the_agent_answers() -> None:
    page = (ROOT / "docs" / "influxdb.md").read_text(encoding="utf-8")
    (block,) = _blocks(page, "toml")
    for text in (block, block.replace("# tls_ca", "tls_ca")):
        (prometheus,) = tomllib.loads(text)["inputs"]["prometheus"]
        assert prometheus["metric_version"] == 2
        assert prometheus["urls"] == [f"http://{WebConfig().listen}/metrics"]


def test_the_smallest_configuration_is_what_is_required() -> None:
    smallest = yaml.safe_load(_blocks(INSTALLATION, "yaml")[0])
    assert set(smallest) == {"clusters", "flows"}
    flow = Config.from_mapping(smallest).flows[0]
    assert (flow.canary.topic, flow.canary.create) == (
        "mirrorwatch.canary",
        True,
    )


def test_the_documented_filter_lets_the_canary_pass() -> None:
    flow = Config.from_mapping(
        yaml.safe_load(_blocks(INSTALLATION, "yaml")[0])
    ).flows[0]
    assert re.fullmatch("|".join(flow.topics.include), flow.canary.topic)
    pattern = r'^(.) *topicsPattern: "(.+)"$'
    (diff,) = _blocks(INSTALLATION, "diff")
    before, after = re.findall(pattern, diff, re.MULTILINE)
    assert (before[0], after[0]) == ("-", "+")
    assert after[1] == "|".join(flow.topics.include)
    assert not re.fullmatch(before[1], flow.canary.topic)


def test_the_words_of_the_verdicts_are_explained() -> None:
    table = re.findall(r"^\| `(\w+)` \| (-?\d) \|", VERDICTS, re.MULTILINE)
    assert table == [(health.label, str(health.value)) for health in Health]


def test_every_address_is_explained() -> None:
    app = Stage(clock=SetClock(NOON)).app
    routes = {r.path for r in app.routes if isinstance(r, Route)}
    rows = re.findall(r"^\| `(/[^?`]*)[^|]* \|", VERDICTS, re.MULTILINE)
    assert set(rows) == routes


def test_every_check_is_explained() -> None:
    for check in CHECKS:
        assert f"\n| `{check}` | " in VERDICTS


def test_the_map_leads_to_every_page() -> None:
    """In two clicks: the README leads to the map."""
    folder = ROOT / "docs"
    page_link = r"\]\(([\w-]+\.md)\)"
    linked = re.findall(page_link, (folder / "README.md").read_text("utf-8"))
    assert {"README.md", *linked} == {p.name for p in folder.glob("*.md")}
    assert "](docs/README.md)" in PAGES[0].read_text(encoding="utf-8")


@pages
def test_a_page_by_hand_is_short(page: Path) -> None:
    most = 600 if page == PAGES[0] else 2500
    words = len(page.read_text(encoding="utf-8").split())
    assert words <= most or page.name in GENERATED


def test_the_supported_versions_are_those_of_the_tests() -> None:
    page = (ROOT / "docs" / "versions.md").read_text(encoding="utf-8")
    _, _, table = page.partition("| --- | --- | --- |\n| Python")
    rows = re.findall(
        r"^\| ([^|]+) \| ([\d., -]+) \| ", "| Python" + table, re.MULTILINE
    )
    named = {name: tuple(versions.split(", ")) for name, versions in rows}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    spark = project["project"]["optional-dependencies"]["spark"]
    servers = (ROOT / "tests" / "servers" / "build.sh").read_text("utf-8")
    influxdb = re.findall(r"main\.version=v?([\d.]+)", servers)
    ci = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    requires = project["project"]["requires-python"]
    assert named == {
        "Python": (requires.removeprefix(">="),),
        "Apache Kafka brokers": KAFKA_VERSIONS,
        "MirrorMaker 2, dedicated": tuple(
            sorted((*KAFKA_VERSIONS, *MIRROR_VERSIONS), reverse=True)
        ),
        "MirrorMaker 2 on Kafka Connect": KAFKA_VERSIONS,
        "Strimzi": ("-",),
        "Helm": tuple(re.findall(r"cmd/helm@v(\d+[.]\d+)", servers)),
        "Kubernetes": (KUBERNETES,),
        "systemd": SYSTEMD,
        "Apache Spark": tuple(
            pin.removeprefix("pyspark==")
            for pin in spark
            if pin.startswith("pyspark")
        ),
        "Java": tuple(re.findall(r"openjdk-(\d+)-jre-headless", ci)),
        "InfluxDB": tuple(sorted(influxdb, reverse=True)),
        "Prometheus": DEBIANS["promtool"],
        "Alertmanager": DEBIANS["amtool"],
        "Schema registry": (registry.ARTIFACT.version,),
        "JMX exporter": (jmx.EXPORTER.version,),
        "Strimzi metrics reporter": (jmx.REPORTER.rpartition("-")[2],),
        "Grafana": ("-",),
        "Chronograf": ("-",),
        "Kapacitor": ("-",),
    }


@pytest.mark.slow
@pytest.mark.parametrize("name", DEBIANS)
def test_debians_programs_are_of_the_supported_version(name: str) -> None:
    ran = subprocess.run(
        [program(name), "--version"],
        capture_output=True,
        text=True,
        check=True,
    )
    if "debian" not in (told := ran.stdout + ran.stderr):
        pytest.skip(f"{name} is not Debian's: {told.partition(chr(10))[0]}")
    (supported,) = DEBIANS[name]
    assert f"version {supported}." in told


def test_the_runbook_is_made_from_the_catalogue() -> None:
    """The one snapshot of the texts of all findings."""
    kept = (ROOT / "docs" / "runbook.md").read_text(encoding="utf-8")
    assert kept == runbook_page(), "python -m mirrorwatch.domain.runbook"


def _blocks(text: str, language: str) -> list[str]:
    return re.findall(
        rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL
    )


def _commands(text: str, program: str) -> Iterator[list[str]]:
    script = "".join(_blocks(text, "sh")).replace("\\\n", " ")
    lines = script.splitlines()
    prose = re.sub(r"(?ms)^```.*?^```", "", text)
    spans = re.findall(r"`([^`\n]+)`", prose)
    for line in [*lines, *spans]:
        if line.startswith(f"{program} ") and "|" not in line:
            yield shlex.split(line, comments=True)[1:]


def _anchors(page: Path) -> set[str]:
    headings = re.findall(
        r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE
    )
    return {
        re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
        for heading in headings
    }


NAMED_TEST = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")


@pages
def test_tests_in_the_docs_exist(page: Path) -> None:
    named = NAMED_TEST.findall(page.read_text(encoding="utf-8"))
    assert [
        f"{file}::{name}" for file, name in named if name not in _tests(file)
    ] == []


def _tests(file: str) -> set[str]:
    path = ROOT / file
    if not path.exists():
        return set()
    body = ast.parse(path.read_text(encoding="utf-8")).body
    return {
        node.name
        for node in body
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
    }
