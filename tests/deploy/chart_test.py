"""The Helm chart: what it renders, what it refuses, what it must match."""

import json
import re
import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from click.testing import CliRunner

from deploy.helm.values_schema import SCHEMA, values_schema
from mirrorwatch.cli.root import main
from tests.deploy.charts import (
    CHART,
    EXAMPLES,
    HelmError,
    Manifest,
    call_helm,
    example,
    find,
    pod_specs,
    render,
    validate,
)
from tests.support.programs import program

pytestmark = pytest.mark.slow


ROOT = CHART.parent.parent.parent
VALUES = yaml.safe_load((CHART / "values.yaml").read_text("utf-8"))

SITES = {
    "minimal": ("minimal",),
    "strimzi": ("strimzi",),
    "strimzi-source": ("strimzi-source",),
    "spark": ("strimzi", "spark"),
    "phalanx": ("phalanx",),
}
"""Examples of values, each with what it is added to."""

AGENTS = [name for name in SITES if name != "strimzi-source"]

PAGES = {"/healthz", "/readyz", "/metrics"}
"""Addresses that the tests of the web server hold the agent to."""

sites = pytest.mark.parametrize("site", SITES)
agents = pytest.mark.parametrize("site", AGENTS)
needs_helm = pytest.mark.helm


def render_site(site: str, **more: Any) -> list[Manifest]:
    """Return the manifests of one of `SITES`."""
    return render(*map(example, SITES[site]), **more)


def check_config(file: Path, *words: str) -> tuple[int, str]:
    """Return exit status and output of the real command."""
    command = ["check-config", "--without-secrets", "--config", str(file)]
    result = CliRunner().invoke(main, [*command, *words])
    return result.exit_code, result.output


def write_config(manifests: list[Manifest], folder: Path) -> Path:
    """Write the agent's file, as the pod would have it."""
    file = folder / "config.yaml"
    file.write_text(find(manifests, "ConfigMap")["data"]["config.yaml"])
    return file


def settings(manifests: list[Manifest]) -> list[Manifest]:
    """Return the manifests without dashboards, which are config maps too."""
    return [
        one for one in manifests if "-board-" not in one["metadata"]["name"]
    ]


# Nothing here needs Helm.


def test_every_example_belongs_to_a_site() -> None:
    used = {name for names in SITES.values() for name in names}
    assert {file.stem for file in EXAMPLES.iterdir()} == used


def test_the_schema_is_that_of_the_configuration() -> None:
    assert SCHEMA.read_text("utf-8") == values_schema(), "run `make chart`"


def test_the_chart_has_the_version_of_the_agent() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text("utf-8"))
    version = project["project"]["version"]
    assert (chart["version"], chart["appVersion"]) == (version, version)


def test_the_chart_has_no_copy_of_generated_files() -> None:
    found = (CHART / "files").rglob("*")
    files = [file for file in found if file.is_symlink()]
    assert {file.resolve() for file in files} == {
        ROOT / "alerts" / "prometheus",
        ROOT / "dashboards" / "grafana-prometheus",
        ROOT / "dashboards" / "grafana-influxql",
    }
    beside = {file.name for file in (CHART / "files").iterdir()}
    assert beside == {"rules", "dashboards"}
    assert {*(CHART / "files" / "dashboards").iterdir()} <= {*files}


def test_every_value_is_documented_and_checked() -> None:
    readme = (CHART / "README.md").read_text("utf-8")
    schema = yaml.safe_load(
        (CHART.parent / "values.schema.yaml").read_text("utf-8")
    )
    listed = {*re.findall(r"^\| ([\w.]+) \|", readme, re.MULTILINE)} - {"Key"}
    for path in value_paths(VALUES):
        parts = path.split(".")
        wanted = {".".join(parts[:n]) for n in range(1, len(parts) + 1)}
        assert wanted & listed, path
    for key in VALUES:
        assert key in schema["properties"], key
    text = (CHART / "values.yaml").read_text("utf-8")
    for name in listed:
        key = name.rpartition(".")[2]
        assert re.search(
            rf"^ *# -- [^\n]+(\n *#[^\n]*)*\n *{key}:", text, re.MULTILINE
        ), f"{name} has no comment"


def value_paths(values: dict[str, Any], before: str = "") -> Iterator[str]:
    """Yield the path of each value."""
    for key, value in values.items():
        path = f"{before}{key}"
        if isinstance(value, dict) and value:
            yield from value_paths(value, f"{path}.")
        else:
            yield path


@sites
def test_rights_of_the_examples_are_those_of_the_command(
    site: str,
) -> None:
    values: dict[str, Any] = {}
    for name in SITES[site]:
        values |= yaml.safe_load(example(name).read_text("utf-8"))
    users = values.get("kafka", {}).get("users", [])
    if not users:
        return
    # The source's user is that of the configuration at the target.
    file = example(SITES[site][0].split("-")[0])
    flow = yaml.safe_load(file.read_text())["config"]["flows"][0]
    side = "source" if site.endswith("-source") else "target"
    words = ["acls", "--format", "strimzi", "--cluster", flow[side]]
    result = CliRunner().invoke(main, [*words, "--config", str(file)])
    assert result.exit_code == 0, result.output
    wanted = yaml.safe_load(result.stdout)
    (user,) = users
    given, printed = (
        {
            (*sorted(acl["resource"].items()), operation)
            for acl in acls
            for operation in acl["operations"]
        }
        for acls in (user["acls"], wanted["spec"]["authorization"]["acls"])
    )
    assert given == printed


@sites
def test_values_of_an_example_match_the_schema_and_check_config(
    site: str, tmp_path: Path
) -> None:
    """The part of `test_the_agent_accepts...` that needs no Helm."""
    values: dict[str, Any] = {}
    for name in SITES[site]:
        merge(values, yaml.safe_load(example(name).read_text("utf-8")))
    jsonschema.validate(values, json.loads(values_schema()))
    if "config" in values:
        file = tmp_path / "config.yaml"
        file.write_text(yaml.safe_dump(values["config"]), encoding="utf-8")
        status, said = check_config(file)
        assert status == 0, said


def merge(values: dict[str, Any], more: dict[str, Any]) -> None:
    """Merge values as Helm does: mappings by their keys, all else replaced."""
    for key, value in more.items():
        if isinstance(value, dict) and isinstance(values.get(key), dict):
            merge(values[key], value)
        else:
            values[key] = value


# What Helm makes of it.


@needs_helm
@sites
def test_an_example_passes_helms_linter(site: str) -> None:
    words: list[str | Path] = []
    for name in SITES[site]:
        words += ["--values", example(name)]
    said = call_helm("lint", CHART, "--strict", *words)
    assert "0 chart(s) failed" in said


@needs_helm
@sites
def test_manifests_are_valid(site: str) -> None:
    manifests = render_site(site)
    assert manifests
    for manifest in manifests:
        validate(manifest)


@needs_helm
def test_a_field_that_nobody_knows_is_not_valid() -> None:
    manifests = render_site("strimzi")
    for kind in ("Deployment", "PodMonitor", "KafkaUser", "PrometheusRule"):
        manifest = find(manifests, kind)
        manifest["spec"]["replica"] = 1
        with pytest.raises(Exception, match="replica"):
            validate(manifest)


@needs_helm
@agents
def test_the_agent_accepts_the_file_that_is_rendered(
    site: str, tmp_path: Path
) -> None:
    manifests = settings(render_site(site))
    status, said = check_config(write_config(manifests, tmp_path))
    assert status == 0, said
    # The container finds it without an option.
    (container,) = find(manifests, "Deployment")["spec"]["template"]["spec"][
        "containers"
    ]
    paths = {
        mount["name"]: mount["mountPath"]
        for mount in container["volumeMounts"]
    }
    env = {one["name"]: one.get("value") for one in container["env"]}
    assert env["MIRRORWATCH_CONFIG"] == f"{paths['config']}/config.yaml"
    assert container["args"] == ["run"]


@needs_helm
@agents
def test_a_file_makes_the_same_as_a_mapping(site: str, tmp_path: Path) -> None:
    mapped = settings(render_site(site))
    text = find(mapped, "ConfigMap")["data"]["config.yaml"]
    file = tmp_path / "given.yaml"
    file.write_text(f"# Of its own.\n{text}", encoding="utf-8")
    given = settings(
        render_site(
            site,
            values={"config": None},
            options=["--set-file", f"config={file}"],
        )
    )
    (tmp_path / "out").mkdir()
    made = write_config(given, tmp_path / "out")
    assert made.read_text("utf-8").startswith("# Of its own.\n")
    assert yaml.safe_load(made.read_text("utf-8")) == yaml.safe_load(text)
    status, said = check_config(made)
    assert status == 0, said


WRITTEN = {
    "texts": ["on", "0123", "1_000", "12:30:45", "1e3", "0x1F", "null", "~"],
    "more": [
        "2026-11-23",
        "a: b",
        "#",
        " x ",
        "é",
        "{{ .Values }}",
        "0 2 * * *",
    ],
    "lines": "one\n two\n\nthree\n",
    "numbers": [1, 2097151, 604800000, 10_000_000_000, 0.1],
    "others": [True, False, {"a.b": {}}],
}
"""What one reader of YAML or another takes for something else."""


@needs_helm
def test_values_arrive_as_they_were_written(tmp_path: Path) -> None:
    values = yaml.safe_load(example("minimal").read_text("utf-8"))
    values["config"]["written"] = WRITTEN
    file = tmp_path / "values.yaml"
    # Quoted, as people are told to do.
    file.write_text(json.dumps(values), encoding="utf-8")
    manifests = render(file, options=["--skip-schema-validation"])
    text = find(manifests, "ConfigMap")["data"]["config.yaml"]
    assert yaml.safe_load(text)["written"] == WRITTEN


@needs_helm
def test_the_page_listens_where_kubernetes_asks() -> None:
    small = yaml.safe_load(example("minimal").read_text("utf-8"))["config"]
    for config in (small, yaml.safe_dump(small)):
        manifests = render(values={"config": config})
        file = yaml.safe_load(
            find(manifests, "ConfigMap")["data"]["config.yaml"]
        )
        assert file["web"] == {"listen": "0.0.0.0:8080"}
    for config in (
        {**small, "web": {"listen": "0.0.0.0:9000"}},
        yaml.safe_dump({**small, "web": {"listen": "[::]:9000"}}),
    ):
        manifests = render(values={"config": config})
        (spec, _) = pod_specs(manifests)
        (container,) = spec["containers"]
        assert container["ports"][0]["containerPort"] == 9000
    for name in ("startupProbe", "livenessProbe", "readinessProbe"):
        assert container[name]["httpGet"]["path"] in PAGES
        assert container[name]["httpGet"]["port"] == "web"


@needs_helm
@agents
def test_files_of_the_configuration_are_mounted(site: str) -> None:
    manifests = settings(render_site(site))
    text = find(manifests, "ConfigMap")["data"]["config.yaml"]
    named = {*re.findall(r"/run/secrets/mirrorwatch/[\w.-]+", text)}
    specs = [*pod_specs(manifests)]
    assert len(specs) >= 2
    for spec in specs:
        (container,) = spec["containers"]
        places = {m["name"]: m["mountPath"] for m in container["volumeMounts"]}
        volumes = {volume["name"]: volume for volume in spec["volumes"]}
        assert places.keys() == volumes.keys()
        mounted = {
            f"{places['secrets']}/{item['path']}"
            for source in volumes.get("secrets", {})
            .get("projected", {})
            .get("sources", ())
            for item in source["secret"]["items"]
        }
        assert mounted == named


@needs_helm
@pytest.mark.parametrize("export", ["strimzi-v1beta2", "strimzi-v1"])
def test_init_makes_values_that_the_chart_and_the_agent_take(
    export: str, tmp_path: Path
) -> None:
    file = tmp_path / "values.yaml"
    given = ROOT / "tests" / "data" / "init" / f"{export}.yaml"
    words = ["init", "--from-strimzi", str(given), "--helm", str(file)]
    result = CliRunner().invoke(main, words)
    assert result.exit_code == 0, result.output
    manifests = settings(render(file))
    for manifest in manifests:
        validate(manifest)
    status, said = check_config(write_config(manifests, tmp_path))
    assert status == 0, said
    # The same of the values, before anything is rendered.
    status, said = check_config(file)
    assert status == 0, said


@needs_helm
@agents
def test_pods_have_no_rights_that_they_do_not_need(site: str) -> None:
    for spec in pod_specs(render_site(site)):
        assert spec["securityContext"]["runAsNonRoot"]
        assert spec["securityContext"]["runAsUser"] == 10001
        assert spec["automountServiceAccountToken"] is False
        (container,) = spec["containers"]
        assert container["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }
        resources = container["resources"]
        assert resources["limits"]["memory"]
        assert resources["requests"].keys() >= {"cpu", "memory"}


@needs_helm
@agents
def test_state_outlives_pods_and_the_release(site: str) -> None:
    manifests = settings(render_site(site))
    claim = find(manifests, "PersistentVolumeClaim")["metadata"]
    # Of Helm, and of Argo CD.
    assert claim["annotations"] == {
        "helm.sh/resource-policy": "keep",
        "argocd.argoproj.io/sync-options": "Prune=false,Delete=false",
    }
    deployment = find(manifests, "Deployment")["spec"]
    assert deployment["replicas"] == 1
    assert deployment["strategy"] == {"type": "Recreate"}
    spec = deployment["template"]["spec"]
    (volume,) = (v for v in spec["volumes"] if v["name"] == "state")
    assert volume["persistentVolumeClaim"]["claimName"] == claim["name"]


ONE = "mirrorwatch runs as one process"


@needs_helm
@pytest.mark.parametrize(
    ("values", "why"),
    [
        ({"replicas": 2}, ONE),
        ({"replicaCount": 3}, ONE),
        ({"strategy": {"type": "RollingUpdate"}}, ONE),
        ({"strategy": "RollingUpdate"}, ONE),
        ({"updateStrategy": {"type": "RollingUpdate"}}, ONE),
        ({"autoscaling": {"enabled": True}}, ONE),
        ({"config": None}, "config is missing"),
        ({"image.repository": ""}, "image.repository is missing"),
        (
            {
                "config.web": {
                    "listen": "0.0.0.0:1",
                    "bearer_tokens": {
                        "a": "${file:/run/secrets/mirrorwatch/token}"
                    },
                }
            },
            "config names /run/secrets/mirrorwatch/token, which no item",
        ),
        ({"config": "flows: ["}, "config is not YAML"),
        ({"config.web": {"listen": "127.0.0.1:8080"}}, "reached by nobody"),
        ({"config.web": {"listen": "0.0.0.0:0"}}, "port as a number"),
        ({"config.audit": {}}, "Choose who runs audits"),
        ({"audit.runs": "CronJob"}, "no audit block"),
        (
            {
                "config.audit": {"schedule": "0 2 * * *"},
                "audit.runs": "CronJob",
            },
            "set audit.start to false",
        ),
        (
            {"config.audit": {"start": False}, "audit.runs": "Agent"},
            "nobody would run audits",
        ),
        (
            {
                "config.audit": {"start": False},
                "audit.runs": "SparkApplication",
            },
            "needs audit.out, a path",
        ),
        (
            {
                "config.audit": {"start": False, "out": "/audits"},
                "audit.runs": "SparkApplication",
            },
            "needs audit.spark.claim",
        ),
        ({"vault.kind": "VaultSecret"}, "global.vaultSecretsPath"),
        ({"ingress.kind": "Ingress"}, "ingress needs config.web.url"),
        ({"config.flow": []}, "flow"),
        ({"config.flows[0].chekcs": {}}, "chekcs"),
        ({"persistance": {}}, "persistance"),
        ({"image.digest": "sha256:12"}, "digest"),
        ({"monitor.kind": "Podmonitor"}, "kind"),
        ({"kafka.users": [{"cluster": "ldf", "acls": []}]}, "acls"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_values_that_cannot_work_are_refused_with_the_reason(
    values: dict[str, Any], why: str
) -> None:
    with pytest.raises(HelmError, match=re.escape(why)):
        render_site("minimal", values=values)


@needs_helm
@pytest.mark.parametrize(
    "values", [{"replicas": 1}, {"strategy": {"type": "Recreate"}}]
)
def test_values_that_say_what_the_chart_does_are_let_through(
    values: dict[str, Any],
) -> None:
    assert render_site("minimal", values=values)


PLANTED = "hunter2-hunter2"


@needs_helm
@pytest.mark.parametrize("as_text", [False, True])
@pytest.mark.parametrize(
    "key",
    [
        "clusters.summit.kafka.sasl.password",
        "clusters.summit.kafka.ssl.key.pem",
        "clusters.summit.kafka.sasl.oauthbearer.client.secret",
        "clusters.summit.schema_registry.password",
        "sinks.influxdb.token",
        "sinks.influxdb.url",
    ],
)
def test_a_secret_in_the_configuration_is_refused_and_not_printed(
    key: str, *, as_text: bool
) -> None:
    def given(value: str) -> dict[str, Any]:
        config = yaml.safe_load(example("minimal").read_text("utf-8"))[
            "config"
        ]
        config["sinks"] = {
            "influxdb": {"url": "http://influxdb:8086", "database": "m"}
        }
        config["clusters"]["summit"]["schema_registry"] = {
            "url": "http://registry:8081",
            "username": "m",
        }
        if key == "sinks.influxdb.token":
            config["sinks"]["influxdb"] = {
                "url": "http://influxdb:8086",
                "bucket": "m",
                "org": "m",
            }
        words = key.split(".")
        depth = 3 if words[2] in {"kafka", "schema_registry"} else 2
        place = config
        for word in words[:depth]:
            place = place[word]
        place[".".join(words[depth:])] = value
        return {"config": yaml.safe_dump(config) if as_text else config}

    address = key.endswith("url")
    plain = f"http://m:{PLANTED}@influxdb:8086" if address else PLANTED
    with pytest.raises(HelmError) as raised:
        render(values=given(plain))
    assert PLANTED not in str(raised.value)
    assert f"config.{key}" in str(raised.value)
    if not address:
        assert render(values=given("${file:/run/secrets/one}"))


# Our own files in it.


@needs_helm
def test_rules_and_dashboards_are_ours_in_the_packaged_chart_too(
    tmp_path: Path,
) -> None:
    call_helm("package", CHART, "--destination", tmp_path)
    (package,) = tmp_path.glob("*.tgz")
    rules = yaml.safe_load(
        (ROOT / "alerts" / "prometheus" / "mirrorwatch.yaml").read_text(
            "utf-8"
        )
    )
    for source in ("prometheus", "influxql"):
        manifests = render_site(
            "strimzi", chart=package, values={"dashboards.source": source}
        )
        assert find(manifests, "PrometheusRule")["spec"] == rules
        boards = {
            name: json.loads(text)
            for one in manifests
            if "-board-" in one["metadata"]["name"]
            for name, text in one["data"].items()
        }
        folder = ROOT / "dashboards" / f"grafana-{source}"
        assert boards == {
            f"mirrorwatch-{file.name}": json.loads(file.read_text("utf-8"))
            for file in folder.iterdir()
        }


@needs_helm
def test_the_readme_of_the_chart_is_that_of_its_values() -> None:
    made = subprocess.run(
        [
            program("helm-docs"),
            *("--chart-search-root", str(CHART.parent)),
            *("--dry-run", "--log-level", "warning"),
        ],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    ).stdout
    assert made.strip() == (CHART / "README.md").read_text("utf-8").strip()


# Audits.


@needs_helm
def test_an_audit_by_kubernetes_follows_the_configuration() -> None:
    values = {"config.audit.schedule": "30 4 * * *"}
    job = find(render_site("strimzi", values=values), "CronJob")["spec"]
    assert job["schedule"] == "30 4 * * *"
    assert job["timeZone"] == "America/Santiago"
    assert job["concurrencyPolicy"] == "Forbid"
    spec = job["jobTemplate"]["spec"]["template"]["spec"]
    (container,) = spec["containers"]
    assert container["args"] == ["audit", "run"]
    assert container["image"].startswith("registry.example/mirrorwatch-audit:")
    result = CliRunner().invoke(main, [*container["args"], "--help"])
    assert result.exit_code == 0
    # The same volume, on the same node.
    deployment = find(render_site("strimzi"), "Deployment")["spec"]
    labels = deployment["template"]["metadata"]["labels"]
    (term,) = spec["affinity"]["podAffinity"][
        "requiredDuringSchedulingIgnoredDuringExecution"
    ]
    wanted = term["labelSelector"]["matchLabels"]
    assert wanted.items() <= labels.items()


@needs_helm
def test_the_agent_reads_what_spark_wrote(tmp_path: Path) -> None:
    manifests = settings(render_site("spark"))
    config = yaml.safe_load(write_config(manifests, tmp_path).read_text())
    spark = find(manifests, "ScheduledSparkApplication")["spec"]
    template = spark["template"]
    assert spark["schedule"] == config["audit"]["schedule"]
    (agent, *_) = (
        manifest["spec"]["template"]["spec"]["containers"][0]
        for manifest in manifests
        if manifest["kind"] == "Deployment"
    )
    for one in (agent, template["driver"], template["executor"]):
        places = {m["name"]: m["mountPath"] for m in one["volumeMounts"]}
        assert places["audits"] == config["audit"]["out"]
        assert places["secrets"] == "/run/secrets/mirrorwatch"
    volumes = {volume["name"]: volume for volume in template["volumes"]}
    claim = volumes["audits"]["persistentVolumeClaim"]["claimName"]
    assert claim == "mirrorwatch-audits"
    dockerfile = (ROOT / "Dockerfile").read_text("utf-8")
    file = template["mainApplicationFile"].removeprefix("local://")
    assert f" {file}\n" in dockerfile


@needs_helm
def test_the_agent_may_run_audits_itself() -> None:
    manifests = render_site(
        "minimal",
        values={"config.audit": {"timezone": "UTC"}, "audit.runs": "Agent"},
    )
    deployment = find(manifests, "Deployment")["spec"]["template"]["spec"]
    (container,) = deployment["containers"]
    assert container["image"].startswith("registry.example/mirrorwatch-audit:")
    assert container["resources"] == VALUES["audit"]["resources"]
    assert not [m for m in manifests if m["kind"] == "CronJob"]


# Networks, and several releases.


@needs_helm
def test_only_neighbours_and_prometheus_reach_the_page() -> None:
    policy = find(render_site("strimzi"), "NetworkPolicy")["spec"]
    assert policy["policyTypes"] == ["Ingress"]
    (rule,) = policy["ingress"]
    assert rule["ports"] == [{"port": "web", "protocol": "TCP"}]
    name = "kubernetes.io/metadata.name"
    assert rule["from"] == [
        {"podSelector": {}},
        {"namespaceSelector": {"matchLabels": {name: "monitoring"}}},
    ]
    egress = [{"to": [{"ipBlock": {"cidr": "10.0.0.0/8"}}]}]
    values = {"networkPolicy.egress": egress, "monitor.kind": ""}
    policy = find(render_site("strimzi", values=values), "NetworkPolicy")
    assert policy["spec"]["policyTypes"] == ["Ingress", "Egress"]
    assert policy["spec"]["egress"][1:] == egress
    assert policy["spec"]["ingress"][0]["from"] == [{"podSelector": {}}]


@needs_helm
def test_the_page_is_behind_the_path_of_its_url() -> None:
    manifests = render_site("phalanx")
    name = find(manifests, "Service")["metadata"]["name"]
    ingress = find(manifests, "GafaelfawrIngress")
    (rule,) = ingress["template"]["spec"]["rules"]
    assert rule["host"] == "usdfprod.example"
    (path,) = rule["http"]["paths"]
    assert path["path"] == "/mirrorwatch"
    assert path["backend"]["service"] == {
        "name": name,
        "port": {"number": 8080},
    }
    policy = find(manifests, "NetworkPolicy")["spec"]
    assert {
        "namespaceSelector": {},
        "podSelector": {"matchLabels": {"gafaelfawr.lsst.io/ingress": "true"}},
    } in policy["ingress"][0]["from"]
    # The same by an ingress of Kubernetes itself.
    manifests = render_site("phalanx", values={"ingress.kind": "Ingress"})
    assert find(manifests, "Ingress")["spec"]["rules"] == [rule]
    (own,) = find(manifests, "NetworkPolicy")["spec"]["ingress"]
    assert len(own["from"]) == 2


@needs_helm
def test_alerts_have_the_labels_of_the_site_beside_their_own() -> None:
    plain = find(
        render_site("phalanx", values={"rules.alertLabels": {}}),
        "PrometheusRule",
    )
    labelled = find(
        render_site("phalanx", values={"rules.alertLabels": {"team": "efd"}}),
        "PrometheusRule",
    )
    alerts = 0
    for one, two in zip(
        plain["spec"]["groups"], labelled["spec"]["groups"], strict=True
    ):
        for old, new in zip(one["rules"], two["rules"], strict=True):
            if "alert" in old:
                alerts += 1
                old["labels"] = {"team": "efd", **old["labels"]}
            assert old == new
    assert alerts


@needs_helm
@pytest.mark.parametrize("kind", ["PodMonitor", "ServiceMonitor"])
def test_prometheus_finds_the_agent_and_no_other_pod(kind: str) -> None:
    manifests = render_site("strimzi", values={"monitor.kind": kind})
    spec = find(manifests, kind)["spec"]
    wanted = spec["selector"]["matchLabels"].items()
    deployment = find(manifests, "Deployment")["spec"]["template"]
    assert wanted <= deployment["metadata"]["labels"].items()
    assert wanted <= find(manifests, "Service")["metadata"]["labels"].items()
    (endpoint,) = spec.get("podMetricsEndpoints") or spec["endpoints"]
    assert endpoint["path"] in PAGES
    job = find(manifests, "CronJob")["spec"]["jobTemplate"]["spec"]["template"]
    for other in (job, find(manifests, "Pod")):
        assert not wanted <= other["metadata"]["labels"].items()


@needs_helm
@pytest.mark.parametrize("kind", ["PodMonitor", "ServiceMonitor"])
def test_series_go_on_in_a_new_pod(kind: str) -> None:
    more = [{"targetLabel": "cluster", "replacement": "ldf"}]
    values = {"monitor.kind": kind, "monitor.relabelings": more}
    spec = find(render_site("strimzi", values=values), kind)["spec"]
    (endpoint,) = spec.get("podMetricsEndpoints") or spec["endpoints"]
    # Both are by nature others of each pod, and no increase is seen across.
    assert endpoint["relabelings"] == [
        {"targetLabel": "instance", "replacement": "mirrorwatch"},
        {"action": "labeldrop", "regex": "pod"},
        *more,
    ]


@needs_helm
def test_two_releases_beside_each_other_share_nothing() -> None:
    one = render_site("strimzi", release="mirrorwatch")
    two = render_site("strimzi", release="mirrorwatch-ops")
    theirs = {"KafkaUser", "KafkaTopic"}

    def names(manifests: list[Manifest]) -> set[tuple[str, str]]:
        return {
            (m["kind"], m["metadata"]["name"])
            for m in manifests
            if m["kind"] not in theirs
        }

    assert not names(one) & names(two)
    wanted = find(one, "Service")["spec"]["selector"].items()
    labels = find(two, "Deployment")["spec"]["template"]["metadata"]["labels"]
    assert not wanted <= labels.items()


# Updates.

EVERY_VALUE = Path(__file__).parent / "every_value.yaml"


@needs_helm
def test_every_value_works(tmp_path: Path) -> None:
    manifests = settings(render(EVERY_VALUE))
    for manifest in manifests:
        validate(manifest)
    status, said = check_config(write_config(manifests, tmp_path))
    assert status == 0, said


def test_every_value_matches_the_schema() -> None:
    values = yaml.safe_load(EVERY_VALUE.read_text("utf-8"))
    jsonschema.validate(values, json.loads(values_schema()))


@needs_helm
def test_an_update_keeps_what_cannot_be_changed_and_what_is_stored() -> None:
    """Selectors are immutable, and another claim would be an empty one."""
    manifests = render(EVERY_VALUE, options=["--is-upgrade"])
    assert find(manifests, "Deployment")["spec"]["selector"] == {
        "matchLabels": {
            "app.kubernetes.io/name": "mirrorwatch",
            "app.kubernetes.io/instance": "mirrorwatch",
            "app.kubernetes.io/component": "agent",
        }
    }
    claim = find(manifests, "PersistentVolumeClaim")
    assert claim["metadata"]["name"] == "mirrorwatch"


@needs_helm
def test_only_a_new_configuration_restarts_the_agent() -> None:
    def template(**values: Any) -> Any:
        manifests = render_site("minimal", values=values)
        return find(manifests, "Deployment")["spec"]["template"]

    first = template()
    assert template(rules={"enabled": True}) == first
    assert template(monitor={"kind": "PodMonitor"}) == first
    other = template(
        **{"config.web": {"listen": "0.0.0.0:8080", "url": "http://m"}}
    )
    checksum = "checksum/config"
    before, after = (t["metadata"]["annotations"] for t in (first, other))
    assert before[checksum] != after[checksum]
