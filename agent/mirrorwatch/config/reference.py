"""Prints the reference of all keys, made from the models.

``python -m mirrorwatch.config.reference > docs/configuration.md``
"""

import ast
import inspect
import re
import sys
from collections.abc import Iterator
from datetime import timedelta
from itertools import pairwise
from textwrap import dedent
from typing import Any, Literal, cast, get_args, get_origin

from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from .base import Model, find_block, format_duration
from .kafka import OWNED_PROPERTIES
from .root import Config

__all__ = ["render_reference"]


KINDS = {
    "bool": "true or false",
    "ByteSize": "size (`100000`, `512KiB`)",
    "float": "number",
    "int": "whole number",
    "KafkaProperties": "mapping of librdkafka properties",
    "Path": "path",
    "SecretStr": "secret",
    "str": "text",
    "timedelta": "duration",
}
"""Types as people call them."""

BEFORE = """
# Configuration

<!-- Made by `python -m mirrorwatch.config.reference`; a test holds it so. -->

One YAML file, named by `--config FILE` or `MIRRORWATCH_CONFIG`. An example is
`agent/config.example.yaml`. `mirrorwatch check-config` says what a file means,
or everything that is wrong with it, without connecting to anything. Only
`clusters` and `flows` are required.

**Durations** have a unit: `250ms`, `5s`, `15m`, `2h`, `1d`. A bare number is
refused. **A key without a value** is the same as no key. **Unknown keys** are
refused, and so are keys that stand there twice.

**Secrets** do not belong in the file. `${env:NAME}` stands for an environment
variable and `${file:/path}` for the content of a file (without the line feed
at its end), in any value, also inside a longer text. `$${env:NAME}` stands for
the text itself. What came from a reference is never shown: not in an error,
a log, the page or the output of `check-config`. The same goes for every value
whose key speaks of a password, token, key, secret, credential, PEM or JAAS.
"""

AFTER = r"""
## Rules between keys

Refused, each with the file, the line, the key and what is allowed:

- a flow whose source or target is no cluster, or whose target is its source;
- two flows with one name;
- two flows from one cluster to one other whose topics overlap, or that have
  one canary topic, or where one carries the other's canary topic;
- a ring of flows that keep names (`identity`, or an empty prefix), such as two
  opposite ones, with a topic that all of them carry, or with one canary topic:
  records would go round for ever;
- flows from different clusters that write to one topic of their target, unless
  both list it under `topics.merged`;
- `canary.format: avro` where the source has no `schema_registry`;
- sized probes above 512 KiB, or above `mirror.max_request_size` where that is
  configured: a record that the mirror cannot produce kills its task;
- a `separator` of the naming that is not the mirror's: MirrorMaker 2 has one;
- `mirror.jmx` with an address that its format cannot use, a password without a
  user, or `ca` for RMI;
- keys of InfluxDB 2.x and 1.x together.

## Topic regexes

They match the whole name, as in MirrorMaker 2, which uses Java's regexes;
here they are Python's. For topic names the two agree, but for these, which are
refused: `\Q...\E`, `\p{...}`, `\h`, `(?<name>...)` (Java only),
`[a-z&&[^b]]` and `[a[bc]]` (read differently), `(?P<name>...)` (Python only).
`include` and `exclude` also take the mirror's own comma separated text, which
is split at every comma, as Kafka does.

Whether two filters overlap is decided exactly: each regex becomes a finite
automaton, and all are walked together until a common name is found or none is
left. A refusal names such a topic, and is never wrong. Not decided, and noted
by `check-config`, are regexes beyond automata (look-behind, back-references,
`\b`, anchors in the middle, atomic groups), an unbounded repeat followed by
a counted one above 10 (`.*x.{12}`), whose automaton would be huge, and filters
that together have more than 200,000 states.

## Kafka properties that the agent owns

Everything else is passed through to every client of the cluster. Refused:

@OWNED@
"""


CONTAINERS = {tuple: ("list", 0), dict: ("mapping", 1)}
"""What a container is called, and which of its types is told."""


def render_reference() -> str:
    """Return the page on configuration, in Markdown."""
    blocks = [
        "\n".join([f"## {heading}", "", *_render_table(model)])
        for heading, model in _walk(Config, "")
    ]
    owned = "\n".join(
        f"- `{name}`: {reason}." for name, reason in OWNED_PROPERTIES.items()
    )
    parts = [BEFORE, *blocks, AFTER.replace("@OWNED@", owned)]
    return "\n\n".join(part.strip() for part in parts) + "\n"


def _walk(model: type[Model], path: str) -> Iterator[tuple[str, type[Model]]]:
    """Yield each block with its heading, from the top of the file."""
    yield (f"`{path}`" if path else "Top of the file", model)
    for name, field in model.model_fields.items():
        inner, suffix = _find_model(field.annotation)
        if inner is not None:
            below = f"{path}.{name}" if path else name
            yield from _walk(inner, below + suffix)


def _render_table(model: type[Model]) -> Iterator[str]:
    yield _flatten(model.__doc__ or "").split(" Notes ---")[0]
    yield ""
    yield "| key | value | default | what it is, and why the default |"
    yield "| --- | --- | --- | --- |"
    reasons = {} if model.origin is None else _read_reasons(model.origin)
    for name, field in model.model_fields.items():
        reason = field.description or reasons.get(name, "")
        cells = (
            f"`{name}`",
            _describe_type(field.annotation, field.metadata),
            _describe_default(field),
            f"**{field.title}.** {_flatten(reason)}",
        )
        yield "| " + " | ".join(c.replace("|", "\\|") for c in cells) + " |"


def _read_reasons(block: type) -> dict[str, str]:
    """Return the text below each field of a dataclass."""
    (tree,) = ast.parse(dedent(inspect.getsource(block))).body
    return {
        field.target.id: text.value.value
        for field, text in pairwise(cast("ast.ClassDef", tree).body)
        if isinstance(field, ast.AnnAssign)
        and isinstance(field.target, ast.Name)
        and isinstance(text, ast.Expr)
        and isinstance(text.value, ast.Constant)
        and isinstance(text.value.value, str)
    }


def _find_model(annotation: Any) -> tuple[type[Model] | None, str]:
    """Return the block behind an annotation, and how its path goes on."""
    block = find_block(annotation)
    if block is not None:
        return block, ""
    suffix = {dict: ".ALIAS", tuple: "[]"}.get(get_origin(annotation), "")
    for argument in get_args(annotation):
        model, _ = _find_model(argument)
        if model is not None:
            return model, suffix
    return None, ""


def _describe_type(annotation: Any, metadata: list[Any]) -> str:
    """Name a type as a person would, with its bounds."""
    origin = get_origin(annotation)
    arguments = [a for a in get_args(annotation) if a is not type(None)]
    if origin is Literal:
        return " or ".join(f"`{a}`" for a in arguments)
    if origin in CONTAINERS:
        prefix, position = CONTAINERS[origin]
        return f"{prefix}: {_describe_type(arguments[position], [])}"
    if arguments:
        return _describe_type(arguments[0], metadata)
    if _find_model(annotation)[0] is not None:
        return "block"
    bounds = [
        f"{words} {_show(getattr(item, key))}"
        for item in metadata
        for key, words in (("gt", "above"), ("ge", "at least"))
        if hasattr(item, key)
    ]
    return ", ".join([KINDS[annotation.__name__], *bounds])


def _describe_default(field: FieldInfo) -> str:
    extra = field.json_schema_extra
    if isinstance(extra, dict) and "default_text" in extra:
        return str(extra["default_text"])
    if field.is_required():
        return "required"
    if field.default is PydanticUndefined:
        return "its own defaults" if _find_model(field.annotation)[0] else "-"
    return "-" if field.default is None else f"`{_show(field.default)}`"


def _show(value: Any) -> str:
    if isinstance(value, timedelta):
        return format_duration(value)
    if isinstance(value, tuple):
        return "[" + ", ".join(f'"{v}"' for v in value) + "]"
    if isinstance(value, bool):
        return str(value).lower()
    return str(value)


def _flatten(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip()


if __name__ == "__main__":
    sys.stdout.write(render_reference())
