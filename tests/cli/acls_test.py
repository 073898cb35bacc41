"""The rights that `mirrorwatch acls` prints."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from mirrorwatch.cli import main

DOCS = Path(__file__).parents[2] / "docs" / "security.md"

CONNECT = {
    "mode": "connect",
    "topics": {k: f"c-{k}" for k in ("offsets", "configs", "status")},
}


def users(
    folder: Path, top: dict[str, Any], **flow: Any
) -> dict[str, set[str]]:
    """Return what each cluster's `KafkaUser` may, as words."""
    output = run(folder, top, flow, "--format", "strimzi")
    return {
        user["metadata"]["labels"]["strimzi.io/cluster"]: {
            f"{operation} {acl['resource']['name']}"
            + "*" * (acl["resource"]["patternType"] == "prefix")
            for acl in user["spec"]["authorization"]["acls"]
            for operation in acl["operations"]
        }
        for user in yaml.safe_load_all(output)
    }


def run(
    folder: Path, top: dict[str, Any], flow: dict[str, Any], *options: str
) -> str:
    path = folder / "config.yaml"
    clusters = {
        alias: {"kafka": {"bootstrap.servers": f"{alias}.example:9092"}}
        for alias in ("summit", "ldf")
    }
    flows = [{"source": "summit", "target": "ldf", **flow}]
    path.write_text(
        yaml.safe_dump({"clusters": clusters, "flows": flows, **top})
    )
    result = CliRunner().invoke(
        main, ["acls", "--config", str(path), *options]
    )
    assert result.exit_code == 0, result.output
    return result.output


def test_the_documented_rights_are_the_printed_ones(tmp_path: Path) -> None:
    printed = users(tmp_path, {}, naming="identity", canary={"create": False})
    rows = re.findall(
        r"^\| (source|target) \| ([A-Z]+) \| `(\S+)` \|",
        DOCS.read_text(),
        re.MULTILINE,
    )
    documented: dict[str, set[str]] = {"summit": set(), "ldf": set()}
    for side, operation, topic in rows:
        alias = "summit" if side == "source" else "ldf"
        documented[alias].add(f"{operation.capitalize()} {topic}")
    # Beside the minimum: what the flow carries, and groups.
    optional = {"DescribeConfigs *", "Describe *"}
    assert {a: r - optional for a, r in printed.items()} == documented
    assert printed["summit"] - documented["summit"] == optional


def test_schemas_are_read_where_both_sides_have_a_registry(
    tmp_path: Path,
) -> None:
    def clusters(*with_registry: str) -> dict[str, Any]:
        return {
            alias: {
                "kafka": {"bootstrap.servers": f"{alias}.example:9092"},
                **(
                    {"schema_registry": {"url": f"http://{alias}.example"}}
                    if alias in with_registry
                    else {}
                ),
            }
            for alias in ("summit", "ldf")
        }

    flow = {"naming": "default", "topics": {"include": ["lsst[.].*"]}}
    for known in ((), ("summit",), ("summit", "ldf")):
        top = {"clusters": clusters(*known)}
        printed = users(tmp_path, top, **flow)
        wanted = "Read" if len(known) == 2 else "Describe"
        assert f"{wanted} lsst.*" in printed["summit"]
        assert f"{wanted} summit.lsst.*" in printed["ldf"]


def test_default_naming_on_connect_has_names_of_its_own(
    tmp_path: Path,
) -> None:
    printed = users(
        tmp_path,
        {},
        mirror=CONNECT,
        topics={"include": ["lsst[.]sal[.].*", r"mirrorwatch\.canary"]},
    )
    assert {"Create mirrorwatch.canary", "Describe lsst.sal.*"} <= printed[
        "summit"
    ]
    assert {
        *("Read c-offsets", "Read c-configs", "Read c-status"),
        *("Read summit.mirrorwatch.canary", "Describe summit.lsst.sal.*"),
    } <= printed["ldf"]
    assert "Describe *" not in printed["ldf"]


@pytest.mark.parametrize(
    ("form", "covered"),
    [("${topic}.copy", "lsst.sal.*"), ("s-${topic}-x", "s-lsst.sal.*")],
)
def test_what_is_added_behind_a_name_is_in_no_prefix(
    tmp_path: Path, form: str, covered: str
) -> None:
    topics = {"include": ["lsst[.]sal[.].*", "orders"]}
    printed = users(tmp_path, {}, naming={"format": form}, topics=topics)
    literal = form.replace("${topic}", "orders")
    assert {f"Describe {covered}", f"Describe {literal}"} <= printed["ldf"]


@pytest.mark.parametrize("include", ["a|b", "(a).*", ".*"])
def test_a_filter_without_one_beginning_covers_all(
    tmp_path: Path, include: str
) -> None:
    printed = users(tmp_path, {}, topics={"include": [include]})
    assert "Describe *" in printed["ldf"]


@pytest.mark.parametrize(
    ("include", "covered"), [("ab?c", "a*"), ("ab*", "a*"), ("ab", "ab")]
)
def test_a_repeated_letter_is_no_part_of_the_beginning(
    tmp_path: Path, include: str, covered: str
) -> None:
    printed = users(tmp_path, {}, topics={"include": [include]})
    assert f"Describe {covered}" in printed["summit"]


def test_an_audit_reads_what_the_flow_carries(tmp_path: Path) -> None:
    top = {"audit": {"schedule": "0 3 * * *"}}
    printed = users(tmp_path, top, topics={"include": ["orders"]})
    assert "Read orders" in printed["summit"]
    assert "Read summit.orders" in printed["ldf"]


def test_no_probes_need_no_rights_on_their_topic(tmp_path: Path) -> None:
    printed = users(tmp_path, {}, canary={"enabled": False})
    assert not [r for s in printed.values() for r in s if "canary" in r]


def test_large_probes_need_to_know_what_their_topic_takes(
    tmp_path: Path,
) -> None:
    sized = {"sized": {"bytes": 100_000}}
    printed = users(tmp_path, {}, naming="identity", canary=sized)
    for rights in printed.values():
        assert "DescribeConfigs mirrorwatch.canary" in rights


def test_readers_are_described_and_their_topics_read(tmp_path: Path) -> None:
    printed = users(
        tmp_path,
        {},
        topics={"include": ["orders"]},
        readers={"groups": ["billing-.*"], "connectors": ["a.sink"]},
    )
    assert {
        *("Describe billing-*", "Describe connect-a.sink"),
        "Read summit.orders",
    } <= printed["ldf"]
    assert "Describe orders" in printed["summit"]


def test_syncs_at_the_target_are_read_there(tmp_path: Path) -> None:
    printed = users(tmp_path, {}, mirror={"syncs_location": "target"})
    assert "Read mm2-offset-syncs.summit.internal" in printed["ldf"]


def test_users_are_of_the_version_that_strimzi_takes_since_1_0(
    tmp_path: Path,
) -> None:
    output = run(tmp_path, {}, {}, "--format", "strimzi")
    versions = {user["apiVersion"] for user in yaml.safe_load_all(output)}
    assert versions == {"kafka.strimzi.io/v1"}
    assert "before 0.49 takes kafka.strimzi.io/v1beta2" in output


def test_each_command_has_its_reason_before_it(tmp_path: Path) -> None:
    lines = run(tmp_path, {}, {}, "--user", "watcher").splitlines()
    commands = [n for n, li in enumerate(lines) if li.startswith("kafka-acls")]
    assert commands
    for number in commands:
        assert lines[number - 1].startswith("# ")
        assert "--allow-principal User:watcher " in lines[number]


def test_rights_of_one_cluster_are_printed(tmp_path: Path) -> None:
    printed = run(tmp_path, {}, {}, "--cluster", "ldf")
    assert "# ldf: " in printed
    assert "# summit: " not in printed


@pytest.mark.parametrize(
    ("login", "kind"), [("sasl.username", "scram-sha-512"), ("x", "tls")]
)
def test_a_user_logs_in_as_the_configuration_says(
    tmp_path: Path, login: str, kind: str
) -> None:
    kafka = {"bootstrap.servers": "a:1", login: "me"}
    clusters = {alias: {"kafka": kafka} for alias in ("summit", "ldf")}
    output = run(tmp_path, {"clusters": clusters}, {}, "--format", "strimzi")
    for user in yaml.safe_load_all(output):
        assert user["spec"]["authentication"] == {"type": kind}
        resources = [
            str(acl["resource"])
            for acl in user["spec"]["authorization"]["acls"]
        ]
        assert len(resources) == len({*resources})


def test_rights_are_known_before_the_password_is(tmp_path: Path) -> None:
    secret = {"sasl.password": "${file:/nowhere/password}"}
    clusters = {
        alias: {"kafka": {"bootstrap.servers": f"{alias}:9092", **secret}}
        for alias in ("summit", "ldf")
    }
    path = tmp_path / "config.yaml"
    flow: dict[str, Any] = {"source": "summit", "target": "ldf"}
    words = ["acls", "--config", str(path)]
    receiver = {"name": "a", "kind": "slack", "url": "${file:/nowhere/hook}"}
    sinks = {"notify": {"receivers": [receiver]}}
    data = {"clusters": clusters, "flows": [flow], "sinks": sinks}
    path.write_text(yaml.safe_dump(data))
    result = CliRunner().invoke(main, words)
    assert result.exit_code == 0, result.output
    assert result.output.strip() == run(tmp_path, {}, {}).strip()
    # What it is for depends on this one.
    flow["canary"] = {"topic": "${env:CANARY}"}
    path.write_text(yaml.safe_dump({"clusters": clusters, "flows": [flow]}))
    result = CliRunner().invoke(main, words)
    assert result.exit_code == 2
    assert "flows[0].canary.topic" in result.output
