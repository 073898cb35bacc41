"""What can be told of compose.yaml without Docker: nothing here starts it."""

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from mirrorwatch.config import Config
from mirrorwatch_promotion.bundled_files import bundled_folder
from tests.support.programs import program

pytestmark = pytest.mark.slow


ROOT = Path(__file__).parent.parent
COMPOSE = yaml.safe_load((ROOT / "compose.yaml").read_text("utf-8"))
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]

SECRET = re.compile("PASSWORD|TOKEN|SECRET")


STARTED_AS_ROOT = {"influxdb", "chronograf", "kapacitor"}
"""Their images give their rights up themselves, and need some for that."""


def test_images_are_pinned() -> None:
    for name, service in SERVICES.items():
        if name == "mirrorwatch":
            assert service["build"]["target"] == "agent"
        else:
            image = service["image"]
            assert re.fullmatch(r"[\w/]+:v?\d+\.\d+\.\d+", image), image


def test_nothing_has_or_gains_rights_of_the_kernel() -> None:
    for name, service in SERVICES.items():
        if name not in STARTED_AS_ROOT:
            assert service["cap_drop"] == ["ALL"], name
        assert service["security_opt"] == ["no-new-privileges:true"], name
    assert SERVICES["mirrorwatch"]["read_only"]


def test_only_what_must_be_is_administrator_of_influxdb() -> None:
    admin = "${INFLUXDB_ADMIN_PASSWORD:?choose one}"
    have = {
        name
        for name, service in SERVICES.items()
        if admin in service.get("environment", {}).values()
    }
    assert have == {"influxdb", "kapacitor"}


def test_it_is_reached_from_this_machine_only() -> None:
    for service in SERVICES.values():
        assert "network_mode" not in service
        for port in service.get("ports", ()):
            assert port.startswith("127.0.0.1:"), port


def test_no_secret_is_written_down() -> None:
    asked = 0
    for service in SERVICES.values():
        for key, value in service.get("environment", {}).items():
            if SECRET.search(key):
                assert re.fullmatch(r"\$\{\w+:\?choose one\}", value), key
                asked += 1
    assert asked
    for path in (ROOT / "compose").rglob("*.yaml"):
        text = path.read_text(encoding="utf-8")
        for value in re.findall(r"password: *(\S+)", text):
            assert value.strip("{}").startswith(("$INFLUX", "${env:", "$"))


def test_all_that_is_mounted_is_there() -> None:
    volumes = set()
    for service in SERVICES.values():
        for mount in service.get("volumes", ()):
            source = mount.partition(":")[0]
            if source.startswith("."):
                assert (ROOT / source).exists(), source
                assert mount.endswith(":ro"), mount
            else:
                volumes.add(source)
    assert volumes == {*COMPOSE["volumes"]}


def test_the_agent_takes_its_configuration(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("INFLUXDB_PASSWORD", "of a test")
    config = Config.from_file(ROOT / "compose" / "mirrorwatch.yaml")
    assert config.sinks.influxdb is not None
    assert config.sinks.influxdb.database == "mirrorwatch"
    database = SERVICES["influxdb"]["environment"]["INFLUXDB_DB"]
    assert database == config.sinks.influxdb.database


def test_every_dashboard_of_chronograf_is_among_its_resources() -> None:
    mounts = SERVICES["chronograf"]["volumes"]
    found = {
        Path(source).name
        for source, _, target in (mount.partition(":") for mount in mounts)
        if target.endswith(".dashboard:ro")
    }
    kept = (bundled_folder("dashboards") / "chronograf").glob("*.json")
    assert found == {path.name for path in kept}


def test_grafana_has_what_its_dashboards_ask() -> None:
    folder = ROOT / "compose" / "grafana"
    kinds = {
        (source["type"], source["jsonData"].get("version"))
        for source in _load(folder / "datasources.yaml")["datasources"]
    }
    assert kinds == {("prometheus", None), ("influxdb", "InfluxQL")}
    paths = {
        provider["options"]["path"]
        for provider in _load(folder / "dashboards.yaml")["providers"]
    }
    mounts = SERVICES["grafana"]["volumes"]
    assert paths <= {mount.split(":")[1] for mount in mounts}


def test_prometheus_takes_its_configuration_and_our_rules(
    tmp_path: Path,
) -> None:
    text = (ROOT / "compose" / "prometheus.yaml").read_text(encoding="utf-8")
    rules = str(bundled_folder("alerts") / "prometheus")
    file = tmp_path / "prometheus.yaml"
    file.write_text(text.replace("/etc/prometheus/rules", rules))
    said = _run(program("promtool"), "check", "config", str(file))
    assert re.search(r"SUCCESS: \d+ rules found", said)
    targets = _load(file)["scrape_configs"][0]["static_configs"][0]["targets"]
    assert targets == ["mirrorwatch:8080"]


def test_alertmanager_takes_its_configuration() -> None:
    file = ROOT / "compose" / "alertmanager.yaml"
    said = _run(program("amtool"), "check-config", str(file))
    assert "SUCCESS" in said


def _load(path: Path) -> Any:
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def _run(*command: str) -> str:
    ran = subprocess.run(
        command, check=False, capture_output=True, text=True, timeout=120
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout + ran.stderr
