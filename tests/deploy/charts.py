"""Renders the Helm chart, and tells what Kubernetes would refuse of it."""

import json
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import kubernetes_validate
import yaml

from tests.support.programs import program

__all__ = [
    "CHART",
    "EXAMPLES",
    "KUBERNETES",
    "HelmError",
    "Manifest",
    "call_helm",
    "example",
    "find",
    "pod_specs",
    "render",
    "validate",
]

ROOT = Path(__file__).parent.parent.parent
CHART = ROOT / "deploy" / "helm" / "mirrorwatch"
EXAMPLES = ROOT / "deploy" / "helm" / "examples"

KUBERNETES = "1.33"

SCHEMAS = Path(__file__).parent / "crds.json"
"""Schemas of the custom resources, without prose and cut to what a chart may
set, from the operators' repositories in August 2026: Strimzi (1.2), Prometheus
operator (0.93), Spark operator (2.5). Vault's has no types worth a copy."""

VAULT_SECRET: dict[str, Any] = {
    "type": "object",
    "required": ["spec"],
    "properties": {
        "apiVersion": {},
        "kind": {},
        "metadata": {},
        "spec": {
            "type": "object",
            "required": ["path", "type"],
            "properties": {
                "path": {"type": "string"},
                "type": {"enum": ["Opaque"]},
            },
        },
    },
}

Manifest = dict[str, Any]


class HelmError(Exception):
    """Helm refused; the message is what it printed."""


def call_helm(*words: str | Path) -> str:
    """Return what helm prints, or raise with what it complains of."""
    ran = subprocess.run(
        [program("helm"), *map(str, words)],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    if ran.returncode:
        raise HelmError(f"{ran.stdout}{ran.stderr}")
    return ran.stdout


def example(name: str) -> Path:
    """Return the path of example values."""
    return EXAMPLES / f"{name}.yaml"


def render(
    *files: Path,
    values: Mapping[str, Any] | None = None,
    chart: Path = CHART,
    release: str = "mirrorwatch",
    options: Sequence[str | Path] = (),
) -> list[Manifest]:
    """Return the manifests that files of values and ``values`` make."""
    words: list[str | Path] = ["template", release, chart]
    words += ["--kube-version", KUBERNETES, "--namespace", "kafka"]
    words += ["--set-json", 'image.repository="registry.example/mirrorwatch"']
    for file in files:
        words += ["--values", file]
    for key, value in (values or {}).items():
        words += ["--set-json", f"{key}={json.dumps(value)}"]
    text = call_helm(*words, *options)
    return [one for one in yaml.safe_load_all(text) if one]


def find(manifests: Sequence[Manifest], kind: str) -> Manifest:
    """Return the only manifest of a kind."""
    (found,) = (one for one in manifests if one["kind"] == kind)
    return found


def pod_specs(manifests: Sequence[Manifest]) -> Iterator[Manifest]:
    """Yield the specification of each pod that Kubernetes itself starts."""
    for one in manifests:
        if one["kind"] == "Pod":
            yield one["spec"]
        elif one["kind"] == "Deployment":
            yield one["spec"]["template"]["spec"]
        elif one["kind"] == "CronJob":
            yield one["spec"]["jobTemplate"]["spec"]["template"]["spec"]


def validate(manifest: Manifest) -> None:
    """Raise unless a manifest is valid, fields that nobody knows included."""
    version, kind = manifest["apiVersion"], manifest["kind"]
    schema = _custom_schemas().get(f"{version}/{kind}")
    if schema is None:
        kubernetes_validate.validate(manifest, KUBERNETES, strict=True)
    else:
        jsonschema.validate(manifest, schema)


@cache
def _custom_schemas() -> dict[str, Any]:
    schemas = json.loads(SCHEMAS.read_text("utf-8"))
    schemas["ricoberger.de/v1alpha1/VaultSecret"] = VAULT_SECRET
    return {name: _strict(schema) for name, schema in schemas.items()}


def _strict(schema: Any) -> Any:
    """Return a schema that refuses fields which it does not list.

    Kubernetes would drop them without a word.
    """
    if isinstance(schema, list):
        return [_strict(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    made = {name: _strict(part) for name, part in schema.items()}
    if isinstance(made.get("pattern"), str):
        # Go has flags anywhere, Python at the start.
        made["pattern"] = made["pattern"].replace("^(?i)", "(?i)^")
    if isinstance(made.get("properties"), dict):
        made.setdefault("additionalProperties", False)
    return made
