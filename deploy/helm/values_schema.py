"""Writes the schema of the chart's values, with that of the configuration.

``make chart``. A test holds the chart to what this returns.
"""

import json
from pathlib import Path
from typing import Any

import yaml

__all__ = ["SCHEMA", "values_schema"]

HERE = Path(__file__).parent
CONFIGURATION = HERE.parent.parent / "docs" / "configuration.schema.json"
SCHEMA = HERE / "mirrorwatch" / "values.schema.json"

PROSE = {"title", "description", "examples", "default"}
"""Keywords that do not decide whether a value is right."""


def values_schema() -> str:
    """Return the JSON Schema of the chart's values, as `SCHEMA` has it."""
    text = (HERE / "values.schema.yaml").read_text(encoding="utf-8")
    schema: dict[str, Any] = yaml.safe_load(text)
    config = _without_prose(json.loads(CONFIGURATION.read_text("utf-8")))
    config.pop("$schema")
    parts = config.pop("$defs")
    twice = schema["$defs"].keys() & {*parts, "Configuration"}
    if twice:
        raise ValueError(f"defined twice: {sorted(twice)}")
    schema["$defs"] |= {**parts, "Configuration": config}
    return json.dumps(schema, separators=(",", ":"), sort_keys=True) + "\n"


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


if __name__ == "__main__":
    SCHEMA.write_text(values_schema(), encoding="utf-8")
