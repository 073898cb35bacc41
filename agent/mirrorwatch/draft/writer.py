"""Writes a draft as YAML, with what is known of it as comments."""

import re
import textwrap
from collections.abc import Iterator, Sequence
from typing import Any

import yaml

from ..config.base import YamlPath, read_documents
from .model import Draft

__all__ = ["to_yaml"]

WIDTH = 78
"""Of comments; lines to copy are not broken."""

INDENT = "  "

BREAKS = re.compile("[\r\n\x85\u2028\u2029]+")
"""Line breaks in YAML, which also end a comment."""


def to_yaml(draft: Draft, head: Sequence[str]) -> str:
    """Return the text of a configuration.

    Parameters
    ----------
    draft
        Draft to write.
    head
        Lines above everything else, as comments.

    Raises
    ------
    ConfigError
        Raised if what was read holds what no configuration may.
    """
    lines = [f"# {line}".rstrip() for line in head]
    lines += [""]
    lines += _write_mapping(draft, draft.data, (), "")
    text = "\n".join(lines) + "\n"
    (document,) = read_documents(text, "the configuration made of it")
    if document.problems:
        raise document.to_error(document.problems)
    assert document.data == draft.data  # noqa: S101 - a comment that ends
    return text


def _write_mapping(
    draft: Draft, block: dict[str, Any], path: YamlPath, indent: str
) -> Iterator[str]:
    for key, value in block.items():
        yield from _write_comments(draft, (*path, key), indent)
        yield from _write_entry(draft, key, value, (*path, key), indent)


def _write_entry(
    draft: Draft, key: str, value: Any, path: YamlPath, indent: str
) -> Iterator[str]:
    name = _scalar(key)
    inner = indent + INDENT
    hints = draft.hints.get(path, ())
    match value:
        case dict() if value or hints:
            # A block of comments only is one without a value.
            yield f"{indent}{name}:"
            yield from _write_mapping(draft, value, path, inner)
            yield from (f"{inner}# {BREAKS.sub(' ', h)}" for h in hints)
        case list() if value:
            yield f"{indent}{name}:"
            for number, item in enumerate(value):
                yield from _write_item(draft, item, (*path, number), inner)
        case _:
            yield f"{indent}{name}: {_scalar(value)}"


def _write_item(
    draft: Draft, item: Any, path: YamlPath, indent: str
) -> Iterator[str]:
    yield from _write_comments(draft, path, indent)
    if not isinstance(item, dict):
        yield f"{indent}- {_scalar(item)}"
        return
    below = indent + INDENT
    lines = list(_write_mapping(draft, item, path, below))
    # The dash stands before the first key, wherever comments are.
    first = next(
        n for n, line in enumerate(lines) if not line.strip().startswith("#")
    )
    lines[first] = f"{indent}- {lines[first].removeprefix(below)}"
    yield from lines


def _write_comments(
    draft: Draft, path: YamlPath, indent: str
) -> Iterator[str]:
    for text in draft.comments.get(path, ()):
        line = BREAKS.sub(" ", text)
        parts = [line]
        if not line.startswith(" "):
            parts = textwrap.wrap(
                line, WIDTH, break_long_words=False, break_on_hyphens=False
            )
        yield from (f"{indent}# {part}" for part in parts)


def _scalar(value: Any) -> str:
    plain = not isinstance(value, str) or value.isprintable()
    text: str = yaml.safe_dump(
        value,
        default_flow_style=True,
        default_style=None if plain else '"',
        width=10**9,
        allow_unicode=plain,
    )
    return text.removesuffix("\n").removesuffix("\n...")
