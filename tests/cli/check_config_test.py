import json
import re
import socket
from pathlib import Path

import pytest
import trustme
from click.testing import CliRunner, Result

from mirrorwatch.cli import main

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "agent" / "config.example.yaml"
CLUSTERS = """
clusters:
  summit: {kafka: {bootstrap.servers: "127.0.0.1:PORT"PROPERTIES}}
  ldf: {kafka: {bootstrap.servers: "127.0.0.1:PORT"}}
flows:
"""


def check(path: Path, *options: str) -> Result:
    # Wide enough that no sentence is broken.
    runner = CliRunner(env={"COLUMNS": "300"})
    arguments = ["check-config", "--config", str(path), *options]
    return runner.invoke(main, arguments)


def write(
    folder: Path, flows: str, properties: str = "", port: int = 1
) -> Path:
    path = folder / "config.yaml"
    text = CLUSTERS.replace("PORT", str(port))
    path.write_text(text.replace("PROPERTIES", properties) + flows)
    return path


def test_the_summary_says_what_a_flow_means_and_what_its_canary_costs() -> (
    None
):
    result = check(EXAMPLE)
    assert result.exit_code == 0
    for text in (
        "kafka.summit.example:9094",
        "Flow summit->ldf",
        "identity: lsst.sal.ATDome.position -> lsst.sal.ATDome.position",
        "mirrorwatch.canary -> mirrorwatch.canary, every 1s, late after 30s",
        "30.8 MB a day per partition; 184.6 MB in all if the agent creates",
        "http://127.0.0.1:8080/",
        "state.db",
    ):
        assert text in result.output


def test_json_holds_the_same_for_programs() -> None:
    result = check(EXAMPLE, "--json")
    summary = json.loads(result.output)
    (flow,) = summary["flows"]
    assert flow["canary"]["partition_bytes_per_day"] == 30_758_400
    assert flow["canary"]["bytes_per_day"] is None
    assert summary["notes"] == []
    assert summary["config"]["flows"][0]["canary"]["warmup"] == "630s"


def test_the_file_may_come_from_the_environment() -> None:
    runner = CliRunner(env={"MIRRORWATCH_CONFIG": str(EXAMPLE)})
    assert runner.invoke(main, ["check-config"]).exit_code == 0


@pytest.mark.parametrize(
    ("properties", "expected"),
    [
        (
            ", foo.bar: 1, socket.timeout.ms: soon",
            [
                '["foo.bar"]: No such configuration property: "foo.bar"',
                '["socket.timeout.ms"]: Invalid value for configuration',
            ],
        ),
        (
            ", linger.ms: x",
            ['kafka["linger.ms"]: Invalid value for configuration prop'],
        ),
        (
            ", security.protocol: SSL, ssl.ca.location: /nowhere/ca.pem",
            ["ssl.ca.location failed"],
        ),
        (
            ", security.protocol: SASL_SSL, sasl.mechanism: SCRAM-SHA-512",
            ["sasl.username and sasl.password must be set"],
        ),
        (
            ", security.protocol: SSL, ssl.key.pem: hunter2",
            ["ssl.key.pem failed: not in PEM format?"],
        ),
        (
            ", sasl.oauthbearer.method: hunter2, sasl.password: hunter2",
            ['Invalid value "**********" for'],
        ),
    ],
)
def test_what_librdkafka_refuses_is_refused(
    tmp_path: Path, properties: str, expected: list[str]
) -> None:
    flows = "  - {source: summit, target: ldf}\n"
    path = write(tmp_path, flows, properties)
    result = check(path)
    assert result.exit_code == 2
    for text in expected:
        assert text in result.stderr
    assert f"{path}:3: clusters.summit.kafka" in result.stderr
    assert "hunter2" not in result.output
    for command in ("run", "once"):
        other = CliRunner().invoke(main, [command, "--config", str(path)])
        assert (other.exit_code, other.output) == (2, result.output)


def test_nothing_is_connected_to(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.5)
        port = server.getsockname()[1]
        flows = "  - {source: summit, target: ldf}\n"
        assert check(write(tmp_path, flows, port=port)).exit_code == 0
        with pytest.raises(TimeoutError):
            server.accept()


def test_notes_tell_what_is_allowed_and_yet_worth_a_thought(
    tmp_path: Path,
) -> None:
    flows = """
  - source: summit
    target: ldf
    topics: {include: ['(?<=a)b', 'c.*']}
  - source: summit
    target: ldf
    name: other
    topics: {include: ['d.*']}
    canary: {enabled: false}
web: {listen: "0.0.0.0:0"}
"""
    properties = ", sasl.password: hunter2, ssl.key.password: '${env:HOME}'"
    result = check(write(tmp_path, flows, properties), "--json")
    starts = (
        'clusters.summit.kafka["sasl.password"] is written in the file',
        "web.listen: other machines can reach the page",
        "flows[0].canary.topic is none of the flow's topics",
        "flows[0].target has a bootstrap server of the source",
        "flows[1].canary is off",
        "flows[1].target has a bootstrap server of the source",
    )
    notes = json.loads(result.output)["notes"]
    for note, start in zip(notes, starts, strict=True):
        assert note.startswith(start)


def test_topics_that_only_the_worker_names_are_asked_for(
    tmp_path: Path,
) -> None:
    flows = """
  - source: summit
    target: ldf
    mirror: {mode: connect, connect: {url: "http://c:8083"}}
"""
    result = check(write(tmp_path, flows))
    assert result.exit_code == 2
    for kind, setting in (("offsets", "offset"), ("configs", "config")):
        assert (
            f"flows[0].mirror.topics.{kind}: is missing (as mode is connect): "
            f"it is the worker's {setting}.storage.topic"
        ) in result.output


@pytest.mark.parametrize(
    ("held", "reason"),
    [("garbage", "no certificate or crl found"), (None, "no such file")],
)
def test_an_authority_that_is_none_is_refused(
    tmp_path: Path, held: str | None, reason: str
) -> None:
    ca = tmp_path / "ca.pem"
    if held is not None:
        ca.write_text(held)
    flows = f"""
  - source: summit
    target: ldf
    mirror: {{jmx: {{format: jolokia, urls: ["https://m:1"], ca: {ca}}}}}
sinks: {{influxdb: {{url: "https://h", database: m, ca: {ca}}}}}
"""
    result = check(write(tmp_path, flows))
    assert result.exit_code == 2
    for key in ("flows[0].mirror.jmx.ca", "sinks.influxdb.ca"):
        assert f"{key}: cannot be used ({reason}" in result.output
    result = check(write(tmp_path, flows), "--without-secrets")
    assert result.exit_code == 0, result.output
    trustme.CA().cert_pem.write_to_path(str(ca))
    result = check(write(tmp_path, flows))
    assert result.exit_code == 0, result.output


def test_the_cost_of_a_known_number_of_partitions_is_one_sum(
    tmp_path: Path,
) -> None:
    flows = """
  - source: summit
    target: ldf
    canary: {partitions: 3, sized: {bytes: 100KiB}}
"""
    result = check(write(tmp_path, flows))
    assert (
        "30.8 MB a day per partition and 2.5 MB sized; 94.7 MB a day in all"
        in result.output
    )
    assert "default: lsst.sal.ATDome.position -> summit.lsst" in result.output


def test_filtered_topics_are_shown(
    tmp_path: Path,
) -> None:
    topics = (
        '{include: ["a.*"], filtered: [{pattern: "a.b", at_most: 10%}, "c"]}'
    )
    flow = f"  - {{source: summit, target: ldf, topics: {topics}}}"
    result = check(write(tmp_path, flow))
    assert "filtered: a.b (at most 10%) c" in result.output


SECRETS = """
clusters:
  summit:
    kafka:
      bootstrap.servers: "a:1"
      security.protocol: SASL_SSL
      sasl.mechanism: SCRAM-SHA-512
      sasl.username: watch
      sasl.password: ${file:/nowhere/password}
  ldf: {kafka: {bootstrap.servers: "b:1"}}
flows:
- {source: summit, target: ldf}
sinks:
  influxdb:
    url: "http://c:1"
    database: d
    username: u
    password: ${env:NOT_SET}
"""


def test_a_pipeline_without_secrets_checks_all_else(tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    path.write_text(SECRETS)
    assert check(path).exit_code == 2
    result = check(path, "--without-secrets")
    assert result.exit_code == 0, result.output
    for text in (
        "has no error. Not checked (references):",
        "clusters.summit.kafka",
        "sasl.password",
        "sinks.influxdb.password",
        "Flow summit->ldf",
    ):
        assert text in result.output
    summary = json.loads(check(path, "--without-secrets", "--json").output)
    assert len(summary["not_followed"]) == 2
    path.write_text(SECRETS + "interval: 5\n")
    result = check(path, "--without-secrets")
    assert result.exit_code == 2
    assert "interval: a duration needs a unit" in result.output
    assert "password" not in result.output


def test_without_secrets_no_certificate_is_opened(tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    config = """
    clusters:
      summit:
        kafka:
          bootstrap.servers: "a:1"
          security.protocol: SSL
          ssl.ca.location: /nowhere/ca.crt
          ssl.certificate.location: /nowhere/user.crt
          ssl.key.location: /nowhere/user.key
      ldf: {kafka: {bootstrap.servers: "b:1"}}
    flows: [{source: summit, target: ldf}]
    """
    path.write_text(config)
    assert "ssl.ca.location" in check(path).output
    result = check(path, "--without-secrets")
    assert result.exit_code == 0, result.output
    # Nonsense beside them is found.
    path.write_text(config.replace("protocol: SSL", "protocol: TLS"))
    result = check(path, "--without-secrets")
    assert result.exit_code == 2
    assert "security.protocol" in result.output


def test_without_secrets_what_needs_a_value_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("INTERVAL", "nonsense")
    path = tmp_path / "config.yaml"
    path.write_text(SECRETS + "interval: ${env:INTERVAL}\n")
    assert check(path, "--without-secrets").exit_code == 0
    named = '{name: "${env:N}", source'
    path.write_text(SECRETS.replace("{source", named))
    result = check(path, "--without-secrets")
    assert result.exit_code == 2
    assert "flows[0].name: is shown by page" in result.output


BCRYPT = "$2y$10$QOauhQNbBCuQDKes6eFzPeMqBSjb7Mr5DUmpZ/VcEd00UAV/LDeSi"
"""The hash that Prometheus checks for users that there are not."""

ONE_FLOW = """
  - {source: summit, target: ldf}
web:
  listen: "0.0.0.0:8443"
"""
LOGIN = f"  basic_auth_users: {{operator: '{BCRYPT}'}}\n"


@pytest.mark.parametrize(
    ("login", "ways", "note"),
    [
        ("", "none", "other machines can reach the page, which has no login"),
        (LOGIN, "password", "passwords and tokens cross the network unencr"),
        (
            f"{LOGIN}  bearer_tokens: {{t: {'5f' * 32}}}",
            "password or token",
            "passwords and tokens cross the network unencrypted",
        ),
    ],
)
def test_a_page_that_strangers_can_read_is_noted(
    tmp_path: Path, login: str, ways: str, note: str
) -> None:
    result = check(write(tmp_path, ONE_FLOW + login))
    assert result.exit_code == 0
    assert note in result.output
    assert re.search(rf"login +{ways} *\n", result.output)
    assert BCRYPT not in result.output


def test_a_page_with_login_and_tls_needs_no_note(tmp_path: Path) -> None:
    pem = tmp_path / "tls.pem"
    issued = trustme.CA().issue_cert("127.0.0.1")
    issued.private_key_and_cert_chain_pem.write_to_path(str(pem))
    tls = f"  tls_server_config: {{cert_file: {pem}, key_file: {pem}}}\n"

    result = check(write(tmp_path, ONE_FLOW + LOGIN + tls))

    assert result.exit_code == 0
    assert "https://0.0.0.0:8443/" in result.output
    assert "web.listen" not in result.output
    assert BCRYPT not in result.output


TLS = "tls_server_config: {cert_file: /no/c, key_file: /no/k"


@pytest.mark.parametrize(
    ("web", "key", "error"),
    [
        ("basic_auth_users: {u: hunter2}", "basic_auth_users.u", "bcrypt"),
        (
            f"basic_auth_users: {{u: '{BCRYPT.replace('10', '31')}'}}",
            "basic_auth_users.u",
            "cost from 4 to 15",
        ),
        (f"basic_auth_users: {{'a:b': '{BCRYPT}'}}", "a:b", "no colon"),
        ("basic_auth_users: {}", "basic_auth_users", "must not be empty"),
        ("bearer_tokens: {t: hunter2}", "bearer_tokens.t", "SHA-256"),
        (f"{TLS}}}", "tls_server_config", "No such file"),
        (
            f"{TLS}, client_ca_file: /no/ca}}",
            "tls_server_config",
            "No such file",
        ),
        (f"{TLS}, cipher_suites: [x]}}", "cipher_suites", "unknown key"),
    ],
)
def test_a_login_that_would_not_hold_is_refused(
    tmp_path: Path, web: str, key: str, error: str
) -> None:
    result = check(write(tmp_path, f"{ONE_FLOW}  {web}\n"))
    assert result.exit_code == 2
    assert f":9: web.{key}" in result.stderr or key in result.stderr
    assert error in result.stderr
    assert "hunter2" not in result.stderr


def test_problems_are_printed_as_json_with_their_places(
    tmp_path: Path,
) -> None:
    file = tmp_path / "config.yaml"
    file.write_text(
        "clusters:\n  a: {kafka: {bootstrap.servers: a, no.such: 1}}\n"
        "  b: {kafka: {bootstrap.servers: b}}\n"
        "flows:\n  - {source: a, target: b, intervall: 5s}\n"
    )
    result = check(file, "--json")
    assert result.exit_code == 2
    error = json.loads(result.stdout)["error"]
    assert error["type"] == "ConfigError"
    (problem,) = error["problems"]
    assert (problem["file"], problem["line"]) == (str(file), 5)
    assert problem["path"] == "flows[0].intervall"
    assert error["message"].startswith(f"{file}:5: flows[0].intervall: ")
    assert result.stderr.startswith("Error: ")
    # What librdkafka says, too.
    file.write_text(file.read_text().replace(", intervall: 5s", ""))
    (problem,) = json.loads(check(file, "--json").stdout)["error"]["problems"]
    assert problem["path"] == 'clusters.a.kafka["no.such"]'
    assert problem["line"] == 2
    file.write_text("a: [")
    (problem,) = json.loads(check(file, "--json").stdout)["error"]["problems"]
    assert problem["line"] == 1
    assert problem["message"].startswith("not YAML: ")


def test_a_wrong_option_is_printed_as_json_too() -> None:
    result = check(EXAMPLE, "--json", "--colour")
    assert result.exit_code == 2
    assert json.loads(result.stdout)["error"] == {
        "type": "UsageError",
        "message": "No such option '--colour'.",
    }
    assert check(EXAMPLE, "--colour").stdout == ""
