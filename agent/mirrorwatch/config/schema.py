"""Prints a JSON Schema of the configuration, made from the models.

``python -m mirrorwatch.config.schema > docs/configuration.schema.json``

Editors complete and check by it. It knows keys, types and bounds; the rules
between keys are those of ``mirrorwatch check-config``.
"""

import json
import re
import sys
from typing import Any

from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema

from .base import DURATION
from .root import Config

__all__ = ["make_schema", "render_schema"]

REFERENCE = {
    "type": "string",
    "pattern": r"\$\{(env|file):[^}]*\}",
    "description": "A reference: `${env:NAME}` or `${file:/path}`",
}
"""Stands for any value that is no block."""

DIALECT = "https://json-schema.org/draft/2020-12/schema"
"""JSON Schema dialect of pydantic."""

ONE_OR_LIST = ("include", "exclude", "merged", "filtered", "groups")
"""Lists of regexes, which may be one text with commas as well."""


FILLED_IN = {"mirror", "policy"}
"""Keys that need not be there: they follow from others."""

SCALARS = {"boolean", "integer", "number", "string"}
"""Types of which a reference may stand for a value."""


class _Generator(GenerateJsonSchema):
    """Describes what a file may hold, rather than what is made of it."""

    def timedelta_schema(
        self, schema: core_schema.TimedeltaSchema
    ) -> JsonSchemaValue:
        del schema
        # Groups with names are written in another way in JavaScript.
        return {
            "type": "string",
            "pattern": f"^{re.sub('[?]P<[a-z]+>', '', DURATION.pattern)}$",
            "examples": ["250ms", "5s", "15m", "2h", "1d"],
        }

    def model_schema(self, schema: core_schema.ModelSchema) -> JsonSchemaValue:
        found = super().model_schema(schema)
        properties = found.get("properties", {})
        filled_in = FILLED_IN | {
            name
            for name, value in properties.items()
            if value.pop("default_text", None)
        }
        required = [k for k in found.get("required", ()) if k not in filled_in]
        found["required"] = required
        for name, value in properties.items():
            # A key without a value is the same as no key.
            if name not in required:
                properties[name] = _or(value, {"type": "null"})
        return found


def _or(schema: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    """Return a schema of what one of two allows."""
    kept: dict[str, Any] = {
        key: schema[key]
        for key in ("title", "description", "default")
        if key in schema
    }
    bare = {k: v for k, v in schema.items() if k not in kept}
    options = bare["anyOf"] if set(bare) == {"anyOf"} else [bare]
    return {
        **kept,
        "anyOf": [*options, *([] if other in options else [other])],
    }


def make_schema() -> dict[str, Any]:
    """Return the JSON Schema of a configuration file."""
    schema = Config.model_json_schema(schema_generator=_Generator)
    blocks = schema["$defs"]
    flow = blocks["FlowConfig"]["properties"]
    flow["naming"] = _or(flow["naming"], {"type": "string"})
    topics = blocks["TopicsConfig"]["properties"]
    pattern = {"$ref": "#/$defs/FilteredConfig"}
    topics["filtered"] = _or(
        topics["filtered"],
        {"type": "array", "items": _or(pattern, {"type": "string"})},
    )
    for block in blocks.values():
        properties = block.get("properties", {})
        for name in ONE_OR_LIST:
            if "array" in str(properties.get(name, "")):
                properties[name] = _or(properties[name], {"type": "string"})
    found: dict[str, Any] = _allow_references(schema)
    found["$defs"]["Reference"] = REFERENCE
    return {"$schema": DIALECT, **found, "title": "mirrorwatch"}


def _allow_references(schema: Any) -> Any:
    """Allow a reference wherever a text is not enough."""
    if isinstance(schema, list):
        return [_allow_references(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    found = {
        key: value
        if key in {"default", "examples", "enum", "const"}
        else _allow_references(value)
        for key, value in schema.items()
    }
    kind = schema.get("type")
    is_text = kind == "string" and not schema.keys() & {"pattern", "enum"}
    if isinstance(kind, str) and kind in SCALARS and not is_text:
        return _or(found, {"$ref": "#/$defs/Reference"})
    return found


def render_schema() -> str:
    """Return the JSON Schema as text."""
    return json.dumps(make_schema(), indent=1, sort_keys=False) + "\n"


if __name__ == "__main__":
    sys.stdout.write(render_schema())
