"""Prints the reference of all keys, made from the models.

``python -m mirrorwatch.config.reference > docs/configuration.md``
"""

import re
import sys
from collections.abc import Iterator
from datetime import timedelta
from typing import Any, Literal, get_args, get_origin

from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from .base import Model
from .durations import format_duration
from .kafka import OWNED_PROPERTIES
from .reference_text import AFTER, BEFORE, KINDS
from .root import Config

__all__ = ["render_reference"]


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
    for name, field in model.model_fields.items():
        cells = (
            f"`{name}`",
            _describe_type(field.annotation, field.metadata),
            _describe_default(field),
            f"**{field.title}.** {_flatten(field.description or '')}",
        )
        yield "| " + " | ".join(c.replace("|", "\\|") for c in cells) + " |"


def _find_model(annotation: Any) -> tuple[type[Model] | None, str]:
    """Return the block behind an annotation, and how its path goes on."""
    if isinstance(annotation, type) and issubclass(annotation, Model):
        return annotation, ""
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
