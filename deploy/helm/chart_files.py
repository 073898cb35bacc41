"""Writes what the Helm chart has of our own files: `make chart-files`.

Alert rules, dashboards, and the schema of its values with that of the
configuration in it. A test holds the chart to what this writes.
"""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
CHART = HERE / "mirrorwatch"

SOURCES = {
    "rules": (ROOT / "alerts" / "prometheus", "*.yaml"),
    "dashboards/prometheus": (
        ROOT / "dashboards" / "grafana-prometheus",
        "*.json",
    ),
    "dashboards/influxql": (ROOT / "dashboards" / "grafana-influxql", "*.json"),
}
"""What each folder of the chart's `files` is copied from."""


def chart_files() -> Iterator[tuple[Path, str]]:
    """Yield path and content of each file that is written."""
    for name, (folder, pattern) in SOURCES.items():
        for file in sorted(folder.glob(pattern)):
            target = CHART / "files" / name / file.name
            yield target, file.read_text(encoding="utf-8")
    schema = json.dumps(values_schema(), separators=(",", ":"), sort_keys=True)
    yield CHART / "values.schema.json", f"{schema}\n"


def values_schema() -> dict[str, Any]:
    """Return the JSON Schema of the chart's values."""
    text = (HERE / "values.schema.yaml").read_text(encoding="utf-8")
    schema: dict[str, Any] = yaml.safe_load(text)
    file = ROOT / "docs" / "configuration.schema.json"
    config = _without_prose(json.loads(file.read_text(encoding="utf-8")))
    config.pop("$schema")
    parts = config.pop("$defs")
    twice = schema["$defs"].keys() & {*parts, "Configuration"}
    if twice:
        raise ValueError(f"defined twice: {sorted(twice)}")
    schema["$defs"] |= {**parts, "Configuration": config}
    return schema


PROSE = {"title", "description", "examples", "default"}
"""Keywords that do not decide whether a value is right."""


def _without_prose(schema: Any, *, keys: bool = False) -> Any:
    """Return a schema without what Helm has no use for.

    With ``keys``, the names are those of properties: one may be `default`.
    """
    if isinstance(schema, list):
        return [_without_prose(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        name: _without_prose(
            part, keys=not keys and name in {"properties", "$defs"}
        )
        for name, part in schema.items()
        if keys or name not in PROSE
    }


def main() -> None:
    """Write the files, and remove those that are no more."""
    wanted = dict(chart_files())
    for old in (CHART / "files").rglob("*"):
        if old.is_file() and old not in wanted:
            old.unlink()
    for path, text in wanted.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    sys.stdout.write(f"{len(wanted)} files written below {CHART}\n")


if __name__ == "__main__":
    main()
