import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from mirrorwatch.cli import main
from mirrorwatch.config import Config
from mirrorwatch.config.base import ReferenceFailedError, resolve
from mirrorwatch.config.display import hidden_values, to_display
from mirrorwatch.exceptions import ConfigError

SECRET = "hunter2"  # noqa: S105

REFERENCED = """
clusters:
  a:
    kafka:
      bootstrap.servers: a:1
      client.id: pre-${env:SECRET}
      sasl.password: ${file:FOLDER/secret}
      sasl.username: ${env:SECRET}
    schema_registry:
      {url: "https://r", username: "${env:SECRET}", password: "${env:SECRET}"}
  b: {kafka: {bootstrap.servers: "${env:SECRET}:9092"}}
flows:
  - source: a
    target: b
    topics: {include: ["${env:SECRET}.*"], exclude: "${env:SECRET}"}
    naming: {format: "${env:SECRET}.${topic}"}
    classes: {x: "${env:SECRET}"}
    mirror:
      source_alias: ${env:SECRET}
      topics: {syncs: "${env:SECRET}"}
      connectors: ["${env:SECRET}"]
      connect: {url: "http://${env:SECRET}"}
      jmx: {format: jolokia, urls: ["http://${env:SECRET}:1"]}
    canary: {topic: "${env:SECRET}.canary"}
sinks:
  influxdb:
    url: http://${env:SECRET}:1
    database: ${env:SECRET}
    username: ${env:SECRET}
    password: ${env:SECRET}
state: {path: "/${env:SECRET}/state.db"}
"""


def one_flow(**parts: Any) -> Config:
    """Return two clusters and a flow, with other parts in their place."""
    return Config.from_mapping(
        {
            "clusters": {
                alias: {"kafka": {"bootstrap.servers": alias}}
                for alias in "ab"
            },
            "flows": [{"source": "a", "target": "b"}],
            **parts,
        }
    )


@pytest.fixture
def referenced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SECRET", SECRET)
    (tmp_path / "secret").write_text(f"{SECRET}\n")
    path = tmp_path / "config.yaml"
    path.write_text(REFERENCED.replace("FOLDER", str(tmp_path)))
    return path


def test_references_are_followed_in_every_value(referenced: Path) -> None:
    config = Config.from_file(referenced)
    kafka = config.clusters["a"].kafka
    assert kafka["sasl.password"] == SECRET
    assert kafka["client.id"] == f"pre-{SECRET}"
    assert config.clusters["b"].kafka["bootstrap.servers"] == f"{SECRET}:9092"
    (flow,) = config.flows
    assert flow.topic_naming.remote("t") == f"{SECRET}.t"
    influxdb = config.sinks.influxdb
    assert influxdb is not None
    assert influxdb.password is not None
    assert influxdb.password.get_secret_value() == SECRET


def test_what_came_from_a_reference_is_never_shown(referenced: Path) -> None:
    config = Config.from_file(referenced)
    for part in (config, *config.flows, *config.clusters.values()):
        assert SECRET not in repr(part)
        assert SECRET not in str(part)
        assert SECRET not in json.dumps(to_display(part))
    assert "a:1" in repr(config)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("flows", [{"source": "a", "target": "b", "name": "${env:SECRET}"}]),
        ("web", {"url": "http://${env:SECRET}"}),
        (
            "sinks",
            {
                "notify": {
                    "receivers": [
                        {
                            "name": "${env:SECRET}",
                            "kind": "slack",
                            "url": "http://h",
                        }
                    ]
                }
            },
        ),
    ],
)
def test_what_everybody_is_shown_is_written_in_the_file(
    key: str, value: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET", SECRET)
    with pytest.raises(ConfigError) as caught:
        one_flow(**{key: value})
    assert "is shown by page, metrics and notifications" in str(caught.value)
    assert "write the value here" in str(caught.value)
    assert SECRET not in str(caught.value)


def test_a_limit_from_a_reference_hides_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SHARE", "0.8125")
    limits = {"retention": {"warning_share": "${env:SHARE}"}}
    with_limits = {"source": "a", "target": "b", "limits": limits}
    config = one_flow(flows=[with_limits])
    (flow,) = config.flows
    assert flow.limits.retention.warning_share == 0.8125
    shown = to_display(flow)["limits"]["retention"]
    assert shown["warning_share"] == "**********"
    assert shown["critical_share"] == 0.5
    assert "0.8125" not in repr(config)


@pytest.mark.parametrize("options", [[], ["--json"]])
def test_check_config_shows_no_secret(
    referenced: Path, options: list[str]
) -> None:
    arguments = ["check-config", "--config", str(referenced), *options]
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 0
    assert SECRET not in result.output


def test_secrets_that_stand_in_the_file_are_not_shown_either() -> None:
    config = Config.from_mapping(
        {
            "clusters": {
                "a": {
                    "kafka": {
                        "bootstrap.servers": "a:1",
                        "sasl.password": SECRET,
                        "ssl.key.pem": SECRET,
                        "sasl.oauthbearer.config": "kept",
                    }
                },
                "b": {"kafka": {"bootstrap.servers": "b:1"}},
            },
            "flows": [{"source": "a", "target": "b"}],
        }
    )
    assert SECRET not in repr(config)
    assert SECRET not in str(config.model_dump())
    assert SECRET not in config.model_dump_json()
    assert SECRET not in f"{config.clusters['a'].kafka}"
    assert config.clusters["a"].kafka["ssl.key.pem"] == SECRET


BAD_VALUES: list[tuple[str, Any]] = [
    ("interval", "${env:SECRET}"),
    ("web", {"listen": "${env:SECRET}"}),
    ("audit", {"timezone": "${env:SECRET}", "schedule": "${env:SECRET}"}),
    ("sinks", {"influxdb": {"url": "${env:SECRET}", "token": [SECRET]}}),
    ("sinks", {"influxdb": {"url": "x", "token": 5, "tokken": SECRET}}),
    ("flows", [{"source": "${env:SECRET}", "target": "${env:SECRET}"}]),
    (
        "flows",
        [
            {
                "source": "a",
                "target": "b",
                "topics": {
                    "include": ["(?P=${env:SECRET})", "(${env:SECRET}"]
                },
                "naming": "${env:SECRET}",
                "canary": {"topic": "#${env:SECRET}", "partitions": SECRET},
                "mirror": {"kind": "${env:SECRET}"},
            }
        ],
    ),
    (
        "flows",
        [
            {"source": "a", "target": "b", "topics": {"include": [topic]}}
            for topic in ("${env:SECRET}", "${env:SECRET}.*")
        ],
    ),
]


@pytest.mark.parametrize(("key", "value"), BAD_VALUES)
def test_no_error_shows_what_came_from_a_reference(
    key: str, value: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET", SECRET)
    with pytest.raises(ConfigError) as caught:
        one_flow(**{key: value})
    shown = str(caught.value).replace("(is 'hunter2')", "")
    assert SECRET not in shown
    # pydantic's own error must not travel along in the traceback.
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__


def test_a_password_in_an_address_of_jmx_is_not_shown() -> None:
    jmx = {"format": "jolokia", "urls": [f"http://user:{SECRET}@mm2:8778"]}
    flow = {"source": "a", "target": "b", "mirror": {"jmx": jmx}}
    with pytest.raises(ConfigError) as caught:
        one_flow(flows=[flow])
    assert "urls[0]: must hold no user, password" in str(caught.value)
    assert SECRET not in str(caught.value)


def test_a_reference_may_stand_inside_of_a_text() -> None:
    environment = {"A": "1", "B": "2", "EMPTY": ""}
    assert resolve("x${env:A}-${env:B}y", environment) == "x1-2y"
    assert resolve("[${env:EMPTY}]", environment) == "[]"
    assert resolve("$${env:A} ${topic} $1", environment) == (
        "${env:A} ${topic} $1"
    )


def test_a_value_is_not_searched_for_references_again() -> None:
    assert resolve("${env:A}", {"A": "${env:B}", "B": "b"}) == "${env:B}"


def test_a_failed_reference_is_named_but_nothing_else(tmp_path: Path) -> None:
    with pytest.raises(ReferenceFailedError, match=r"^\$\{env:NOPE\}: the "):
        resolve("before-${env:NOPE}-after", {})
    path = tmp_path / "binary"
    path.write_bytes(b"\xff")
    with pytest.raises(ReferenceFailedError, match="not UTF-8"):
        resolve(f"${{file:{path}}}")


def test_every_secret_is_found_wherever_it_stands(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("USER_NAME", "referenced")
    config = Config.from_mapping(
        {
            "clusters": {
                "summit": {
                    "kafka": {
                        "bootstrap.servers": "summit:9092",
                        "sasl.username": "${env:USER_NAME}",
                        "sasl.password": "kafka-secret",
                    },
                    "schema_registry": {
                        "url": "http://registry:8081",
                        "username": "reader",
                        "password": "registry-secret",
                    },
                },
                "ldf": {"kafka": {"bootstrap.servers": "ldf:9092"}},
            },
            "flows": [{"source": "summit", "target": "ldf"}],
            "sinks": {
                "influxdb": {
                    "url": "http://influx:8086",
                    "org": "efd",
                    "bucket": "b",
                    "token": "influx-secret",
                }
            },
        }
    )
    assert set(hidden_values(config)) == {
        "referenced",
        "kafka-secret",
        "registry-secret",
        "influx-secret",
    }
