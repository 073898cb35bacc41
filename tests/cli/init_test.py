"""First configurations of `mirrorwatch init`, for each input."""

import json
import re
import shlex
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import jsonschema
import pytest
import trustme
import yaml
from click.testing import CliRunner, Result

from deploy.helm.values_schema import values_schema
from mirrorwatch.cli import main
from mirrorwatch.config import Config
from mirrorwatch.domain.mirror_records import Companion
from mirrorwatch.draft.properties import parse_properties
from mirrorwatch.mirrors.mirrormaker2 import MirrorMaker2
from mirrorwatch.wiring.context import to_mirror
from tests.support.http import serving

EXAMPLES = Path(__file__).parents[1] / "data" / "init"

SECRETS = (
    "hunter2",
    "aHVudGVyMi1zZWNyZXQ",
    "truststore.password",
    "jaas",
)

STRIMZI = """
apiVersion: kafka.strimzi.io/v1beta2
kind: KafkaMirrorMaker2
metadata: {name: mm2}
spec:
  clusters:
  - {alias: summit, bootstrapServers: "summit.example:9092"}
  - {alias: ldf, bootstrapServers: "ldf.example:9092"}
  mirrors:
  - sourceCluster: summit
    targetCluster: ldf
    sourceConnector: {}
"""

DEDICATED = """
clusters = summit, ldf
summit.bootstrap.servers = summit.example:9092
ldf.bootstrap.servers = ldf.example:9092
summit->ldf.enabled = true
"""


IDENTITY = "org.apache.kafka.connect.mirror.IdentityReplicationPolicy"


def init(*options: str, text: str | None = None) -> Result:
    return CliRunner().invoke(main, ["init", *options], input=text)


def put_secrets(data: Mapping[str, Any], folder: Path) -> None:
    """Put a password or a certificate wherever one is asked for."""
    ca = trustme.CA()
    own = ca.issue_cert("mirrorwatch")
    pem = {
        "ca.crt": ca.cert_pem.bytes(),
        "user.crt": own.cert_chain_pems[0].bytes(),
        "user.key": own.private_key_pem.bytes(),
    }
    for cluster in data["clusters"].values():
        for value in map(str, cluster["kafka"].values()):
            path = Path(value.removeprefix("${file:").removesuffix("}"))
            if path.parent == folder:
                kind = path.name.rpartition("-")[2]
                path.write_bytes(pem.get(kind, b"a-password\n"))


def made(
    folder: Path, *options: str, text: str | None = None
) -> tuple[dict[str, Any], Result]:
    """Return what was made, which the real `check-config` takes."""
    secrets = folder / "secrets"
    secrets.mkdir()
    config = folder / "mirrorwatch.yaml"
    result = init(
        *options, "--secrets", str(secrets), "--output", str(config), text=text
    )
    assert result.exit_code == 0, result.output
    written = config.read_text()
    assert not [s for s in SECRETS if s in written + result.output]
    data: dict[str, Any] = yaml.safe_load(written)
    put_secrets(data, secrets)
    checked = CliRunner().invoke(
        main, ["check-config", "--config", str(config)]
    )
    assert checked.exit_code == 0, checked.output
    return data, result


def made_of(folder: Path, text: str) -> tuple[dict[str, Any], Result]:
    option = "--from-strimzi" if "apiVersion" in text else "--from-properties"
    file = folder / "input"
    file.write_text(text)
    return made(folder, option, str(file))


def refused(folder: Path, text: str) -> str:
    """Return why an input is refused; nothing is written then."""
    option = "--from-strimzi" if "kind" in text else "--from-properties"
    file = folder / "input"
    file.write_text(text)
    result = init(option, str(file), "--output", str(folder / "out.yaml"))
    assert result.exit_code == 2, result.output
    assert not (folder / "out.yaml").exists()
    return result.output.replace(str(file), "FILE")


def test_a_strimzi_site_needs_nothing_but_its_secrets(tmp_path: Path) -> None:
    file = EXAMPLES / "strimzi-v1beta2.yaml"
    data, result = made(tmp_path, "--from-strimzi", str(file))
    secrets = tmp_path / "secrets"
    common = {
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "SCRAM-SHA-512",
        "sasl.username": "mirrorwatch",
    }
    assert data == {
        "clusters": {
            "summit": {
                "kafka": {
                    "bootstrap.servers": "sasquatch-summit-kafka-bootstrap"
                    ".lsst.codes:9094",
                    **common,
                    "sasl.password": f"${{file:{secrets}/summit-password}}",
                    "ssl.ca.location": f"{secrets}/summit-ca.crt",
                }
            },
            "ldf": {
                "kafka": {
                    "bootstrap.servers": "sasquatch-kafka-bootstrap:9093",
                    **common,
                    "sasl.password": f"${{file:{secrets}/ldf-password}}",
                    "ssl.ca.location": f"{secrets}/ldf-ca.crt",
                },
                "cluster_id": "yN8zgSN7TQ6Xqg8zS2hHdw",
            },
        },
        "flows": [
            {
                "source": "summit",
                "target": "ldf",
                "naming": "default",
                "topics": {
                    "include": [
                        "lsst[.]sal[.].*",
                        "registry-schemas",
                        "mirrorwatch[.]canary",
                    ],
                    "exclude": [".*[-.]internal"],
                },
                "mirror": {
                    "mode": "connect",
                    "topics": {
                        kind: f"mirrormaker2-cluster-{kind}"
                        for kind in ("offsets", "configs", "status")
                    },
                    "syncs_location": "target",
                },
                "canary": {"warmup": "1230s"},
            }
        ],
    }
    assert (
        "kubectl -n efd get secret mirrorwatch "
        "-o jsonpath='{.data.password}' | base64 -d" in result.stderr
    )
    assert "Not known" not in result.stderr
    line = next(
        x for x in result.stderr.splitlines() if "kubectl -n efd p" in x
    )
    *_, patch = shlex.split(line)
    assert json.loads(patch) == [
        {
            "op": "replace",
            "path": "/spec/mirrors/0/topicsPattern",
            "value": "lsst[.]sal[.].*,registry-schemas,mirrorwatch[.]canary",
        }
    ]
    assert f"{file}:81: spec.mirrors[0].topicsPattern: lsst" in result.stderr


@pytest.mark.parametrize(
    "kind", ["jmxPrometheusExporter", "strimziMetricsReporter"]
)
def test_strimzis_metrics_are_suggested_where_they_are_scraped(
    tmp_path: Path, kind: str
) -> None:
    text = (EXAMPLES / "strimzi-v1beta2.yaml").read_text()
    file = tmp_path / "mirror.yaml"
    file.write_text(text.replace("jmxPrometheusExporter", kind))
    made(tmp_path, "--from-strimzi", str(file))
    written = (tmp_path / "mirrorwatch.yaml").read_text()
    assert ':9404/metrics"]}' in written


def test_strimzi_v1_names_its_topics_and_each_flow_has_its_canary(
    tmp_path: Path,
) -> None:
    file = EXAMPLES / "strimzi-v1.yaml"
    data, result = made(tmp_path, "--from-strimzi", str(file))
    secrets = tmp_path / "secrets"
    assert data["clusters"]["central"]["kafka"] == {
        "bootstrap.servers": "central-kafka-bootstrap.kafka.svc:9093",
        "security.protocol": "SSL",
        "ssl.ca.location": f"{secrets}/central-ca.crt",
        "ssl.certificate.location": f"{secrets}/central-user.crt",
        "ssl.key.location": f"{secrets}/central-user.key",
    }
    north = data["clusters"]["north"]["kafka"]
    assert north["sasl.mechanism"] == "SCRAM-SHA-256"
    # An empty list of certificates stands for the public CAs.
    assert "ssl.ca.location" not in north
    assert data["clusters"]["south"]["kafka"] == {
        "bootstrap.servers": "south.example:9092"
    }
    first, second = data["flows"]
    assert first["mirror"]["topics"]["offsets"] == "sites-mm2-offsets"
    assert first["naming"] == second["naming"] == "identity"
    assert first["canary"]["topic"] == "mirrorwatch.canary-north-central"
    assert second["canary"]["topic"] == "mirrorwatch.canary-south-central"
    assert '"/spec/mirrors/0/sourceConnector/config/topics"' in result.stderr
    assert '"/spec/mirrors/1/topicsPattern"' in result.stderr


def test_a_dedicated_mirror_is_read_as_it_reads_itself(tmp_path: Path) -> None:
    file = EXAMPLES / "active-active.properties"
    data, result = made(tmp_path, "--from-properties", str(file))
    secrets = tmp_path / "secrets"
    assert data["clusters"]["summit"]["kafka"] == {
        "bootstrap.servers": "summit1:9094, summit2:9094",
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "SCRAM-SHA-512",
        "sasl.username": "mirrorwatch",
        "sasl.password": f"${{file:{secrets}/summit-password}}",
        "ssl.ca.location": f"{secrets}/summit-ca.crt",
    }
    assert data["clusters"]["ldf"]["kafka"] == {
        "bootstrap.servers": "ldf1:9094"
    }
    there, back = data["flows"]
    assert (there["source"], back["source"]) == ("summit", "ldf")
    assert there["topics"]["include"] == [
        r"lsst\.sal\..*",
        "lsst.obsenv.[a-z]+",
        "mirrorwatch[.]canary",
    ]
    assert there["mirror"] == {
        "separator": "_",
        "topics": {
            "offsets": "mm2-own-offsets",
        },
        "syncs_location": "target",
    }
    added = r"ldf\\..*,mirrorwatch[.]canary"
    assert f"{file}:20: ldf->summit.topics = {added}" in result.stderr


def test_connectors_without_alias_are_read_and_no_other_is_looked_at(
    tmp_path: Path,
) -> None:
    answer = (EXAMPLES / "empty-alias.connect.json").read_bytes()
    with serving(answer) as url:
        data, result = made(tmp_path, "--from-connect", url)
    assert data["clusters"]["source"]["kafka"] == {
        "bootstrap.servers": "summit.example:9094",
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "PLAIN",
        "sasl.username": "mirrorwatch",
        "sasl.password": f"${{file:{tmp_path}/secrets/source-password}}",
        "ssl.endpoint.identification.algorithm": "none",
    }
    (flow,) = data["flows"]
    assert flow["mirror"] == {
        "mode": "connect",
        "source_alias": "",
        "separator": "",
        "topics": {
            "offsets": "connect-offsets",
            "configs": "connect-configs",
        },
        "connect": {"url": url},
    }
    assert flow["topics"]["exclude"] == [r"lsst\.sal\.Test\..*"]
    assert r'efd-source: "topics": "lsst\\.sal\\..*,mirror' in result.stderr
    unknown = [x for x in result.stderr.splitlines() if "Not known" in x]
    assert [x.split(": ")[1] for x in unknown] == [
        "flows[0].mirror.topics.offsets",
        "flows[0].mirror.topics.configs",
        "flows[0].topics",
    ]
    config = Config.from_file(tmp_path / "mirrorwatch.yaml")
    assert config.flows[0].topic_naming.keeps_names
    # What run asks its mirror for has a name.
    names = {t.name for t in to_mirror(config.flows[0]).internal_topics()}
    assert {"connect-offsets", "connect-configs"} <= names


def connectors_of(**given: tuple[str, dict[str, str]]) -> bytes:
    """Return what the REST API says of connectors of MirrorMaker 2."""
    return json.dumps(
        {
            name: {
                "info": {
                    "name": name,
                    "config": {
                        "connector.class": "org.apache.kafka.connect.mirror."
                        f"Mirror{kind}Connector",
                        "source.cluster.alias": "summit",
                        "source.cluster.bootstrap.servers": "summit:9092",
                        "target.cluster.alias": "ldf",
                        "target.cluster.bootstrap.servers": "ldf:9092",
                        **config,
                    },
                },
                "status": {"connector": {"state": "RUNNING"}, "tasks": []},
            }
            for name, (kind, config) in given.items()
        }
    ).encode()


def test_a_connector_without_a_target_alias_has_kafkas_default(
    tmp_path: Path,
) -> None:
    stated = {"target.cluster.alias": "target"}
    said = json.loads(
        connectors_of(
            events=("Source", {"topics": "evt.*"}),
            telemetry=("Source", {"topics": "tel.*", **stated}),
            checkpoints=("Checkpoint", {}),
        )
    )
    for name in ("events", "checkpoints"):
        del said[name]["info"]["config"]["target.cluster.alias"]
    answer = json.dumps(said).encode()
    with serving(answer) as url:
        data, _ = made(tmp_path, "--from-connect", url)
    assert {flow["target"] for flow in data["flows"]} == {"target"}
    assert [flow["mirror"]["connectors"] for flow in data["flows"]] == [
        ["events", "checkpoints"],
        ["telemetry", "checkpoints"],
    ]
    for flow in Config.from_file(tmp_path / "mirrorwatch.yaml").flows:
        assert flow.mirror.target_alias == "target"


def test_flows_of_one_pair_keep_their_checkpoints(tmp_path: Path) -> None:
    answer = connectors_of(
        telemetry=("Source", {"topics": "tel[.].*"}),
        events=("Source", {"topics": "evt[.].*"}),
        checkpoints=("Checkpoint", {}),
        beats=("Heartbeat", {}),
        other=("Checkpoint", {"source.cluster.alias": "base"}),
    )
    with serving(answer) as url:
        data, _ = made(tmp_path, "--from-connect", url)
    assert [flow["mirror"]["connectors"] for flow in data["flows"]] == [
        ["events", "beats", "checkpoints"],
        ["telemetry", "beats", "checkpoints"],
    ]
    config = Config.from_file(tmp_path / "mirrorwatch.yaml")
    mirror = to_mirror(config.flows[0])
    assert isinstance(mirror, MirrorMaker2)
    (found,) = (
        mirror.to_fact(name, each["info"]["config"])
        for name, each in json.loads(answer).items()
        if name == "checkpoints"
    )
    assert isinstance(found, Companion)
    assert found.role == "checkpoints"


def test_strimzis_flows_of_one_pair_keep_their_checkpoints(
    tmp_path: Path,
) -> None:
    first = STRIMZI.replace(
        "sourceConnector: {}",
        "topicsPattern: tel.*\n    sourceConnector: {}\n    "
        "checkpointConnector: {}",
    )
    second = STRIMZI.replace("name: mm2", "name: other").replace(
        "sourceConnector: {}",
        "topicsPattern: evt.*\n    sourceConnector: {}\n    "
        "heartbeatConnector: {}",
    )
    data, _ = made_of(tmp_path, f"{first}---{second}")
    assert [flow["mirror"]["connectors"] for flow in data["flows"]] == [
        [
            "summit->ldf.MirrorSourceConnector",
            "summit->ldf.MirrorCheckpointConnector",
        ],
        [
            "summit->ldf.MirrorSourceConnector",
            "summit->ldf.MirrorHeartbeatConnector",
        ],
    ]


@pytest.mark.parametrize(
    ("lines", "keys"),
    [
        ("replication.policy.separator = -", {"mirror": {"separator": "-"}}),
        (
            f"summit->ldf.replication.policy.class = {IDENTITY}",
            {"naming": "identity"},
        ),
        (
            "summit->ldf.offset-syncs.topic.location = target",
            {"mirror": {"syncs_location": "target"}},
        ),
        ("status.storage.topic = s", {"mirror": {"topics": {"status": "s"}}}),
        (
            "topics = a.*\nsummit->ldf.topics = b.*",
            {"topics": {"include": ["b.*", "mirrorwatch[.]canary"]}},
        ),
        (
            "topics.blacklist = b.*",
            {"topics": {"include": [".*"], "exclude": ["b.*"]}},
        ),
        ("ldf->summit.enabled = false", {"source": "summit"}),
    ],
)
def test_what_the_mirror_is_told_decides(
    lines: str, keys: dict[str, Any], tmp_path: Path
) -> None:
    data, _ = made_of(tmp_path, f"{DEDICATED}\n{lines}\n")
    (flow,) = data["flows"]
    assert {key: flow[key] for key in keys} == keys


def test_the_filter_that_has_the_canary_stays_as_it_is(tmp_path: Path) -> None:
    data, result = made_of(tmp_path, STRIMZI)
    assert data["flows"][0]["topics"]["include"] == [".*"]
    assert "mirror's filter" not in result.stderr


def test_a_filter_that_excludes_the_canary_is_told(tmp_path: Path) -> None:
    _, result = made_of(tmp_path, f"{DEDICATED}\ntopics.exclude = mirror.*")
    assert "flows[0].topics.exclude: how the canary gets" in result.stderr


@pytest.mark.parametrize(
    ("lines", "path"),
    [
        ("topic.filter.class = com.acme.Filter", "flows[0].topics"),
        ("transforms = drop", "flows[0].topics"),
        ("replication.policy.class = com.acme.Policy", "flows[0].naming"),
        ("emit.offset-syncs.enabled = false", "flows[0].mirror"),
        (
            "summit.security.protocol = SASL_PLAINTEXT",  # GSSAPI
            'clusters.summit.kafka["sasl.mechanism"]',
        ),
    ],
)
def test_what_cannot_be_known_is_asked(
    tmp_path: Path, lines: str, path: str
) -> None:
    _, result = made_of(tmp_path, f"{DEDICATED}\n{lines}\n")
    assert f"Not known: {path}: " in result.stderr


@pytest.mark.parametrize(
    "line",
    [
        "ldf.bootstrap.servers = ${file:/a:brokers}",
        "topics = ${env:TOPICS}",
        "ldf.offset.storage.topic = ${env:OFFSETS}",
        "offset-syncs.topic.location = ${file:/run/site:location}",
    ],
)
def test_what_only_the_worker_can_resolve_is_refused_with_its_place(
    tmp_path: Path, line: str
) -> None:
    said = refused(tmp_path, f"{DEDICATED}{line}\n")
    assert f"FILE:6: {line.partition(' ')[0]}: refers to a" in said


def test_sources_of_one_target_have_canaries_of_their_own(
    tmp_path: Path,
) -> None:
    text = (
        "clusters = a, b, c\nreplication.policy.class = "
        "org.apache.kafka.connect.mirror.IdentityReplicationPolicy\n"
    )
    text += "".join(f"{x}.bootstrap.servers = {x}:9092\n" for x in "abc")
    text += "a->c.enabled = true\nb->c.enabled = true\n"
    data, _ = made_of(tmp_path, text)
    canaries = [flow["canary"]["topic"] for flow in data["flows"]]
    assert len({*canaries}) == 2


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("SASL_SSL://a:9093, SASL_SSL://b:9093", "a:9093, b:9093"),
        ("a:9092,b:9092, ", "a:9092,b:9092"),
    ],
)
def test_what_java_ignores_in_addresses_is_left_out(
    tmp_path: Path, written: str, meant: str
) -> None:
    text = DEDICATED.replace("summit.example:9092", written)
    data, _ = made_of(tmp_path, text)
    assert data["clusters"]["summit"]["kafka"]["bootstrap.servers"] == meant


def test_all_authorities_that_the_mirror_trusts_are_in_the_file(
    tmp_path: Path,
) -> None:
    trusted = "[{secretName: old, certificate: ca.crt}, {secretName: new}]"
    text = STRIMZI.replace(
        'bootstrapServers: "ldf.example:9092"}',
        'bootstrapServers: "ldf.example:9092", tls: '
        f"{{trustedCertificates: {trusted}}}}}",
    )
    _, result = made_of(tmp_path, text)
    (line,) = [x for x in result.stderr.splitlines() if "ldf-ca.crt:" in x]
    assert line.count("kubectl get secret") == 2
    assert re.search(r"PEM: \(kubectl .*get secret old.*secret new.*\)$", line)


def test_what_an_older_kafka_excludes_is_said_where_it_is_unknown(
    tmp_path: Path,
) -> None:
    made_of(tmp_path, DEDICATED)
    written = (tmp_path / "mirrorwatch.yaml").read_text()
    (line,) = re.findall(r"#   (exclude: .*)", written)
    assert yaml.safe_load(line)["exclude"][0] == r".*[\-\.]internal"


@pytest.mark.parametrize("named", [True, False], ids=["region", "no region"])
def test_a_mirror_that_logs_in_by_iam_is_no_question(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, named: bool
) -> None:
    signer = SimpleNamespace(MSKAuthTokenProvider=SimpleNamespace())
    signer.MSKAuthTokenProvider.generate_auth_token = None
    monkeypatch.setitem(sys.modules, "aws_msk_iam_sasl_signer", signer)
    monkeypatch.setenv("AWS_REGION", "eu-west-1")
    servers = "b-1.efd.x1.c2.kafka.eu-west-1.amazonaws.com:9098"
    text = DEDICATED
    if named:
        text = text.replace("ldf.example:9092", servers)
    text += """
        ldf.security.protocol = SASL_SSL
        ldf.sasl.mechanism = AWS_MSK_IAM
        """
    data, result = made_of(tmp_path, text)
    assert data["clusters"]["ldf"]["kafka"] == {
        "bootstrap.servers": servers if named else "ldf.example:9092",
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "AWS_MSK_IAM",
    }
    asks = "set AWS_REGION in the environment" in result.stderr
    assert asks is not named
    assert "Put into" not in result.stderr


def test_an_old_kafka_has_its_own_defaults(tmp_path: Path) -> None:
    text = STRIMZI.replace("spec:", "spec:\n  version: 3.0.1")
    data, _ = made_of(tmp_path, text)
    (flow,) = data["flows"]
    assert flow["topics"]["exclude"][0] == r".*[\-\.]internal"


def test_steps_are_printed_in_the_order_in_which_they_work(
    tmp_path: Path,
) -> None:
    _, result = made(
        tmp_path, "--from-strimzi", str(EXAMPLES / "strimzi-v1beta2.yaml")
    )
    steps = re.findall(
        r"patch kafkamirrormaker2|mirrorwatch acls|summit-password:"
        r"|mirrorwatch check-config|mirrorwatch doctor",
        result.stderr,
    )
    assert steps == [
        "patch kafkamirrormaker2",
        "mirrorwatch acls",
        "summit-password:",
        "mirrorwatch check-config",
        "mirrorwatch doctor",
    ]


@cache
def validator() -> jsonschema.Draft202012Validator:
    """Return the validator of the chart's values."""
    return jsonschema.Draft202012Validator(json.loads(values_schema()))


def values_of(folder: Path, text: str) -> tuple[dict[str, Any], Result]:
    """Return the chart's values for an export of Strimzi's resources."""
    (folder / "mm2.yaml").write_text(text)
    file = folder / "values.yaml"
    words = ["--from-strimzi", str(folder / "mm2.yaml"), "--helm", str(file)]
    result = init(*words)
    assert result.exit_code == 0, result.output
    values: dict[str, Any] = yaml.safe_load(file.read_text())
    validator().validate(values)
    # The commands take such a file, without any secret.
    for command in (["acls"], ["check-config", "--without-secrets"]):
        ran = CliRunner().invoke(main, [*command, "--config", str(file)])
        assert ran.exit_code == 0, ran.output
    return values, result


@pytest.mark.parametrize("exists", [True, False], ids=["user", "no user"])
def test_values_of_the_chart_name_each_secret_and_user(
    tmp_path: Path, *, exists: bool
) -> None:
    text = (EXAMPLES / "strimzi-v1beta2.yaml").read_text()
    if not exists:
        text = text[: text.rindex("- apiVersion")]
    values, result = values_of(tmp_path, text)
    mounted = {
        item["path"]: (secret["name"], item["key"])
        for secret in values["secrets"]["from"]
        for item in secret["items"]
    }
    assert mounted == {
        "summit-password": ("mirrorwatch-files", "summit-password"),
        "summit-ca.crt": ("summit-ca", "ca.crt"),
        "ldf-password": ("mirrorwatch", "password"),
        "ldf-ca.crt": ("sasquatch-cluster-ca-cert", "ca.crt"),
    }
    assert ("kafka" in values) is not exists
    assert ("--cluster ldf" in result.stderr) is exists
    assert "--cluster summit" in result.stderr
    if not exists:
        (user,) = values["kafka"]["users"]
        acls = user.pop("acls")
        assert user == {
            "name": "mirrorwatch",
            "cluster": "sasquatch",
            "authentication": {"type": "scram-sha-512"},
        }
        names = [acl["resource"]["name"] for acl in acls]
        assert len(names) == len({*names})
        assert "mirrormaker2-cluster-offsets" in names


def test_a_file_of_several_secrets_or_another_namespace_is_made_by_hand(
    tmp_path: Path,
) -> None:
    text = (EXAMPLES / "strimzi-v1beta2.yaml").read_text()
    text = text.replace(
        "- secretName: summit-ca",
        "- {secretName: old}\n        - secretName: x",
    )
    before, kafka = text.split("  kind: Kafka\n")
    kafka = kafka.replace("namespace: efd", "namespace: kafka")
    text = f"{before}  kind: Kafka\n{kafka}"
    text = text[: text.rindex("- apiVersion")]
    values, result = values_of(tmp_path, text)
    # Its user is made before the Secret is copied.
    assert "kafka" not in values
    assert "--cluster ldf" in result.stderr
    (secret,) = (
        s
        for s in values["secrets"]["from"]
        if s["name"] == "mirrorwatch-files"
    )
    assert {item["path"] for item in secret["items"]} == {
        *("summit-password", "summit-ca.crt", "ldf-password"),
    }


def test_stdin_is_read_and_stdout_written() -> None:
    result = init("--from-strimzi", "-", text=STRIMZI)
    assert result.exit_code == 0, result.output
    assert yaml.safe_load(result.stdout)["flows"][0]["target"] == "ldf"


@pytest.mark.parametrize("name", ["-", "many.yaml"])
def test_too_many_resources_are_refused_with_what_to_leave_out(
    tmp_path: Path, name: str
) -> None:
    text = STRIMZI + "#" * 1024 * 1024
    file = tmp_path / name
    if name != "-":
        file.write_text(text)
    given = name if name == "-" else str(file)
    result = init("--from-strimzi", given, text=text)
    assert result.exit_code == 2
    assert "too large: at most 1024 KiB; take kafkamirrorm" in result.output


def test_a_file_is_overwritten_only_by_force(tmp_path: Path) -> None:
    file = tmp_path / "mirrorwatch.yaml"
    file.write_text("mine")
    options = ("--from-strimzi", "-", "--output", str(file))
    result = init(*options, text=STRIMZI)
    assert result.exit_code == 2
    assert f"{file}: exists; --force overwrites it" in result.output
    assert file.read_text() == "mine"
    assert init(*options, "--force", text=STRIMZI).exit_code == 0
    assert "clusters" in file.read_text()
    assert file.stat().st_mode & 0o777 == 0o644


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("kafka.strimzi.io/v1beta2", "kafka.strimzi.io/v9"), "FILE:2: apiV"),
        (("kind: KafkaMirrorMaker2", "kind: Kafka"), "FILE: no KafkaMirrorM"),
        (("sourceCluster: summit", "sourceCluster: x"), "FILE:10: spec.mirr"),
        (("  mirrors:\n  -", "  mirrors:\n   "), "FILE:9: spec.mirrors: mu"),
        ((', bootstrapServers: "summit.example:9092"', ""), "FILE:7: spec"),
        (("summit.example:9092", "http://u:hunter2@h"), "FILE:7: spec.clust"),
        (
            (
                "sourceConnector: {}",
                "sourceConnector: {}\n    topicsPattern: '['",
            ),
            "FILE:13: spec.mirrors[0].topicsPattern (flows[0].topics.include",
        ),
        (
            (
                "sourceConnector: {}",
                'topicsPattern: "\\x07"\n    sourceConnector: {}',
            ),
            "FILE:12: spec.mirrors[0].topicsPattern: holds control",
        ),
        (("apiVersion", "apiVersion: [\napiVersion"), "FILE:4: not YAML"),
        (("summit.example", "!!python/name:os.system summit"), "FILE:"),
    ],
)
def test_a_resource_that_cannot_be_used_is_named_by_its_line(
    change: tuple[str, str], said: str, tmp_path: Path
) -> None:
    text = STRIMZI.replace(*change, 1)
    assert text != STRIMZI
    output = refused(tmp_path, text)
    assert f"Error: {said}" in output
    assert "hunter2" not in output


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "clusters is missing"),
        ("clusters = a, b", "FILE:1: clusters: no flow is enabled; "),
        (f"{DEDICATED}x = \\u12", "FILE:6: a \\u needs four hexadecimal"),
        (
            f"{DEDICATED}summit->ldf.topics = a[",
            "FILE:6: summit->ldf.topics (flows[0].topics.include",
        ),
    ],
)
def test_properties_that_cannot_be_used_are_named_by_their_line(
    text: str, said: str, tmp_path: Path
) -> None:
    assert said in refused(tmp_path, text)


def test_no_address_of_a_rest_api_holds_a_password() -> None:
    result = init("--from-connect", "http://u:hunter2@h:8083")
    assert result.exit_code == 2
    assert "hunter2" not in result.output


@pytest.mark.parametrize(
    ("status", "said"),
    [
        (401, "(status 401). Check --username and CONNECT_PASSWORD"),
        (None, "Check the worker, --from-connect and the network"),
    ],
)
def test_a_rest_api_that_does_not_answer_is_named_with_the_remedy(
    status: int | None, said: str
) -> None:
    with serving(b"", status=status or 200) as server:
        url = "http://127.0.0.1:1" if status is None else server
        result = init("--from-connect", url)
    assert result.exit_code == 1
    assert f"REST API of {url}" in result.stderr
    assert said in result.stderr
    assert "mirror.connect" not in result.stderr


def test_another_server_is_no_rest_api() -> None:
    with serving(b'{"x": {"info": 3}}') as url:
        result = init("--from-connect", url)
    assert result.exit_code == 1
    assert "none of Connect's REST API" in result.output


def test_without_a_terminal_nothing_is_asked() -> None:
    result = init()
    assert result.exit_code == 2
    assert "--from-strimzi" in result.output


def test_properties_are_read_as_java_does() -> None:
    text = (
        "# no\n ! no\n\na=1\nb : 2\nc 3\n d\\ e = f\\tg\\u0041 \n"
        "h = x, \\\n   # y\ni\nj=\\\\\nk = a=b:c\n"
    )
    found = parse_properties(text, "f")
    assert {k: s.value for k, s in found.items()} == {
        "a": "1",
        "b": "2",
        "c": "3",
        "d e": "f\tgA ",
        "h": "x, # y",
        "i": "",
        "j": "\\",
        "k": "a=b:c",
    }
    assert found["i"].place.line == 10
