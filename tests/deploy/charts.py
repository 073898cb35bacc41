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
operator (0.93), Spark operator (2.5)."""

TEXT = {"type": "string", "minLength": 1}


def _object(
    required: Mapping[str, Any], optional: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    return {
        "type": "object",
        "required": [*required],
        "properties": {**required, **(optional or {})},
    }


_RESOURCE = {"apiVersion": TEXT, "kind": TEXT, "metadata": {}}
_STORE = _object({"name": TEXT, "kind": TEXT})
_BACKEND = _object(
    {"service": _object({"name": TEXT, "port": _object({"number": {}})})}
)
_PATH = _object({"path": TEXT, "pathType": TEXT, "backend": _BACKEND})
_RULE = _object(
    {
        "host": TEXT,
        "http": _object({"paths": {"type": "array", "items": _PATH}}),
    }
)
_EXTRACT = _object({"extract": _object({"key": TEXT})})

SMALL_SCHEMAS = {
    "ricoberger.de/v1alpha1/VaultSecret": _object(
        {
            **_RESOURCE,
            "spec": _object({"path": TEXT, "type": {"enum": ["Opaque"]}}),
        }
    ),
    "external-secrets.io/v1/ExternalSecret": _object(
        {
            **_RESOURCE,
            "spec": _object(
                {
                    "secretStoreRef": _STORE,
                    "target": _object({"name": TEXT}),
                    "dataFrom": {"type": "array", "items": _EXTRACT},
                }
            ),
        }
    ),
    "gafaelfawr.lsst.io/v1alpha1/GafaelfawrIngress": _object(
        {
            **_RESOURCE,
            "config": _object(
                {
                    "scopes": _object({"all": {"type": "array"}}),
                    "service": TEXT,
                    "loginRedirect": {"type": "boolean"},
                }
            ),
            "template": _object(
                {
                    "metadata": _object({"name": TEXT}, {"annotations": {}}),
                    "spec": _object(
                        {"rules": {"type": "array", "items": _RULE}},
                        {"ingressClassName": TEXT, "tls": {}},
                    ),
                }
            ),
        }
    ),
}
"""Schemas of resources of which the chart sets a few fields only, by the
operators' documentation."""

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
    schemas |= SMALL_SCHEMAS
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
