"""From a document to a model: every problem at once, and no secret shown."""

import difflib
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import NoneType
from typing import Any, TypeVar, get_args

import yaml
from pydantic import ValidationError
from pydantic_core import ErrorDetails

from ..exceptions import ConfigError
from ..secrets import looks_secret
from .base import (
    NEVER_SHOWN,
    ConfigProblem,
    Model,
    ProblemsError,
    Referenced,
    YamlPath,
    find_block,
    format_path,
)

__all__ = [
    "Document",
    "ReferenceFailedError",
    "load",
    "read_document",
    "resolve",
]


QUOTED = re.compile(r"'(?!<[a-z ]+>')[^']{2,}'|\"[^\"]{2,}\"")
"""Parts of the file in PyYAML's messages. They are cut out: a password that
starts with ``*`` is an undefined alias to YAML. What PyYAML calls its own
tokens stays, such as ``'<stream end>'``."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Document:
    """What a file holds."""

    name: str
    """Name of the file, for messages."""

    data: Any
    """Its content: mappings, lists and scalars."""

    lines: Mapping[YamlPath, int] = field(default_factory=dict)
    """Line of each key and list item, counted from 1."""

    problems: Sequence[ConfigProblem] = ()
    """What is wrong with it as a document."""

    def to_error(self, problems: Sequence[ConfigProblem]) -> ConfigError:
        """Make the error that shows all problems, in the file's order."""
        placed = sorted(
            ((self._line(p.path), p) for p in problems), key=lambda x: x[0]
        )
        rows = []
        for line, problem in placed:
            where = f"{self.name}:{line}" if line else self.name
            path = format_path(problem.path)
            rows.append(": ".join(filter(None, (where, path))))
            rows[-1] += f": {problem.message}"
        return ConfigError("\n".join(dict.fromkeys(rows)))

    def _line(self, path: YamlPath) -> int:
        """Return the line of the nearest key that is in the file."""
        for length in range(len(path), 0, -1):
            if path[:length] in self.lines:
                return self.lines[path[:length]]
        return 0


def read_document(path: Path) -> Document:
    """Read a YAML file.

    Raises
    ------
    ConfigError
        Raised if the file cannot be read, or is not YAML.
    """
    try:
        text = path.read_text("utf-8")
    except OSError as e:
        raise ConfigError(f"{path}: cannot read the file: {e.strerror}") from e
    except UnicodeDecodeError as e:
        raise ConfigError(f"{path}: not UTF-8 text") from e
    try:
        return _Reader(text).read(str(path))
    except yaml.MarkedYAMLError as e:
        line = f":{e.problem_mark.line + 1}" if e.problem_mark else ""
        reason = QUOTED.sub("...", e.problem or "cannot be parsed")
        raise ConfigError(f"{path}{line}: not YAML: {reason}") from e
    except yaml.YAMLError as e:
        raise ConfigError(f"{path}: not YAML: forbidden characters") from e
    except RecursionError as e:
        raise ConfigError(f"{path}: not YAML: nested too deeply") from e


class _Reader:
    def __init__(self, text: str) -> None:
        self._loader = yaml.SafeLoader(text)
        self._lines: dict[YamlPath, int] = {}
        self._problems: list[ConfigProblem] = []

    def read(self, name: str) -> Document:
        try:
            node = self._loader.get_single_node()
            data = None if node is None else self._build(node, (), ())
        finally:
            self._loader.dispose()
        return Document(
            name=name, data=data, lines=self._lines, problems=self._problems
        )

    def _build(
        self, node: yaml.Node, path: YamlPath, above: tuple[yaml.Node, ...]
    ) -> Any:
        if node in above:
            self._problems.append(ConfigProblem(path, "contains itself"))
            return None
        above = (*above, node)
        if isinstance(node, yaml.MappingNode):
            return self._build_mapping(node, path, above)
        if isinstance(node, yaml.SequenceNode):
            items = []
            for index, item in enumerate(node.value):
                inner = (*path, index)
                self._lines[inner] = item.start_mark.line + 1
                items.append(self._build(item, inner, above))
            return items
        try:
            return self._loader.construct_object(node)
        except ValueError:
            # A date such as 2026-99-99, which is text to us anyway.
            return node.value

    def _build_mapping(
        self,
        node: yaml.MappingNode,
        path: YamlPath,
        above: tuple[yaml.Node, ...],
    ) -> dict[str, Any]:
        seen: dict[str, int] = {}
        for key, _ in node.value:
            line = key.start_mark.line + 1
            if key.value in seen:
                first = seen[key.value]
                self._problems.append(
                    ConfigProblem(
                        (*path, str(key.value)),
                        f"the key is there twice, first in line {first}",
                    )
                )
            seen[key.value] = line
        self._loader.flatten_mapping(node)
        result = {}
        for key, value in node.value:
            # Aliases and properties are text even where YAML sees a number.
            name = str(key.value)
            inner = (*path, name)
            self._lines[inner] = key.start_mark.line + 1
            result[name] = self._build(value, inner, above)
        return result


REFERENCE = re.compile(r"\$(?P<escaped>\$)?\{(?P<kind>\w+):(?P<name>[^}]*)\}")
"""A reference. ``${topic}`` of a naming format has no colon, so it is none;
``$${env:X}`` stands for the text ``${env:X}``."""


class ReferenceFailedError(ValueError):
    """A reference leads nowhere. The message names it, never a value."""


def resolve(text: str, environment: Mapping[str, str] | None = None) -> str:
    """Put the values in the place of the references in a text.

    Parameters
    ----------
    text
        Text that may hold references.
    environment
        Environment variables, by default those of the process.

    Raises
    ------
    ReferenceFailedError
        Raised if a variable is not set, or a file cannot be read.
    """
    known = os.environ if environment is None else environment
    referenced = False

    def replace(match: re.Match[str]) -> str:
        nonlocal referenced
        if match["escaped"]:
            return match[0][1:]
        referenced = True
        return _look_up(match[0], match["kind"], match["name"], known)

    resolved = REFERENCE.sub(replace, text)
    return Referenced(resolved) if referenced else resolved


def _look_up(
    reference: str, kind: str, name: str, environment: Mapping[str, str]
) -> str:
    match kind:
        case "env":
            if name not in environment:
                raise ReferenceFailedError(
                    f"{reference}: the environment variable is not set"
                )
            return environment[name]
        case "file":
            try:
                # Files made by editors and `echo` end in a line feed.
                return Path(name).read_text("utf-8").rstrip("\r\n")
            except OSError as e:
                raise ReferenceFailedError(
                    f"{reference}: cannot read the file ({e.strerror})"
                ) from e
            except ValueError as e:
                raise ReferenceFailedError(
                    f"{reference}: the file is not UTF-8 text"
                ) from e
        case _:
            raise ReferenceFailedError(
                f"{reference}: unknown kind of reference; "
                "allowed are ${env:NAME} and ${file:/path}"
            )


PLAIN = {
    "missing": "is missing, and is required",
    "string_type": "must be text (numbers and dates need quotes)",
    "int_type": "must be a whole number",
    "int_parsing": "must be a whole number",
    "int_from_float": "must be a whole number",
    "float_type": "must be a number",
    "float_parsing": "must be a number",
    "bool_type": "must be true or false",
    "bool_parsing": "must be true or false",
    "dict_type": "must be a mapping of keys to values",
    "model_type": "must be a mapping of keys to values",
    "tuple_type": "must be a list",
    "path_type": "must be the path of a file",
    "too_short": "must not be empty",
    "string_too_short": "must not be empty",
    "byte_size": "must be a size in bytes, such as 100000 or 512KiB",
    "byte_size_unit": "must be a size in bytes, such as 100000 or 512KiB",
}
"""Our words for pydantic's types of errors."""

BOUNDS = {
    "greater_than": ("gt", "above"),
    "greater_than_equal": ("ge", "at least"),
    "less_than": ("lt", "below"),
    "less_than_equal": ("le", "at most"),
}

MILLISECONDS = re.compile("(?<=[0-9])000 microseconds")
"""The end of what pydantic calls a tenth of a second."""

VALUELESS = {"missing", "extra_forbidden", NEVER_SHOWN}
"""Errors where the value is beside the point, or secret."""

WITHOUT_REASON = {"pattern": "not a usable regex"}
"""Shown where a value is secret and the reason may quote it."""

FOLLOWING = {"default_factory_not_called"}
"""Errors that only follow from another one."""


def translate(
    error: ValidationError, data: Any, model: type[Model]
) -> list[ConfigProblem]:
    """Translate pydantic's errors.

    Parameters
    ----------
    error
        What pydantic found.
    data
        What it was given, for the values and to know which keys exist.
    model
        Model of the whole.
    """
    details = error.errors(include_url=False, include_input=False)
    problems: list[ConfigProblem] = []
    for detail in details:
        inner = detail.get("ctx", {}).get("error")
        if isinstance(inner, ProblemsError):
            problems += [
                show_value(replace(p, path=detail["loc"] + p.path), data)
                for p in inner.problems
            ]
        elif not _follows(detail, details):
            problems.append(_translate_one(detail, data, model))
    return problems


def _find_value(data: Any, path: YamlPath) -> tuple[YamlPath, Any]:
    """Return the value at a path, or the scalar that stands in its way."""
    for depth, part in enumerate(path):
        if not isinstance(data, dict | list):
            return path[:depth], data
        try:
            data = data[part]  # type: ignore[index]
        except (KeyError, IndexError):
            return path, None
    return path, data


def _is_secret(path: YamlPath, value: Any) -> bool:
    """Return whether a value must not be shown."""
    return isinstance(value, Referenced) or any(
        isinstance(part, str) and looks_secret(part) for part in path
    )


def _follows(detail: ErrorDetails, others: Sequence[ErrorDetails]) -> bool:
    """Return whether an error only follows from another."""
    loc = detail["loc"]
    return detail["type"] in FOLLOWING or (
        # A list whose only item is wrong counts as empty.
        detail["type"] == "too_short"
        and any(o["loc"][: len(loc)] == loc != o["loc"] for o in others)
    )


def _translate_one(
    detail: ErrorDetails, data: Any, model: type[Model]
) -> ConfigProblem:
    kind, loc = detail["type"], detail["loc"]
    context = detail.get("ctx", {})
    inner = context.get("error")
    if kind == "extra_forbidden":
        message = _describe_unknown(loc, model)
    elif kind == "literal_error":
        message = f"must be {context['expected']}"
    elif kind in BOUNDS:
        key, words = BOUNDS[kind]
        bound = MILLISECONDS.sub("ms", str(context[key]))
        message = f"must be {words} {bound}"
    elif inner is not None:
        message = str(inner)
    else:
        message = PLAIN.get(kind, detail["msg"])
    problem = ConfigProblem(loc, message, shows_value=kind not in VALUELESS)
    return show_value(problem, data, WITHOUT_REASON.get(kind))


def show_value(
    problem: ConfigProblem, data: Any, if_secret: str | None = None
) -> ConfigProblem:
    """Add the value if it is a scalar and no secret."""
    path, value = _find_value(data, problem.path)
    message = problem.message
    if _is_secret(path, value):
        message = if_secret or message
    elif problem.shows_value and isinstance(value, str | int | float):
        message += f" (is {value!r})"
    return ConfigProblem(path, message)


def _describe_unknown(loc: YamlPath, model: type[Model]) -> str:
    known = sorted(_model_at(model, loc[:-1]).model_fields)
    near = difflib.get_close_matches(str(loc[-1]), known, n=1)
    hint = f"did you mean {near[0]}? " if near else ""
    return f"unknown key; {hint}allowed are {', '.join(known)}"


def _model_at(model: type[Model], loc: YamlPath) -> type[Model]:
    """Return the model of the block at a path."""
    found: Any = model
    for part in loc:
        block = find_block(found)
        if block is not None:
            found = block.model_fields[str(part)].annotation
        else:
            # A tuple's items, or a dictionary's values.
            found = [a for a in get_args(found) if a is not Ellipsis][-1]
        if NoneType in get_args(found):
            found = next(a for a in get_args(found) if a is not NoneType)
    block = find_block(found)
    assert block is not None  # noqa: S101 - only blocks refuse keys
    return block


M = TypeVar("M", bound=Model)


def load(
    model: type[M],
    document: Document,
    check_parts: Callable[[Any], Sequence[ConfigProblem]],
) -> M:
    """Validate a document.

    Parameters
    ----------
    model
        Model of the whole.
    document
        What was read.
    check_parts
        Checks the rules between those parts that are right, where others
        are wrong, so that nobody has to fix one problem to see the next.

    Raises
    ------
    ConfigError
        Raised with all problems.
    """
    if document.data is None:
        raise document.to_error(
            [ConfigProblem((), "is empty; needed are clusters and flows")]
        )
    problems = list(document.problems)
    data = _resolve_all(document.data, (), problems)
    unresolved = {p.path for p in problems}
    try:
        loaded = model.model_validate(data)
    except ValidationError as e:
        found = translate(e, data, model)
        found += [show_value(p, data) for p in check_parts(data)]
        problems += [p for p in found if p.path not in unresolved]
    if problems:
        # Not `from e`: pydantic's error may quote values.
        raise document.to_error(problems) from None
    return loaded


def _resolve_all(
    value: Any, path: YamlPath, problems: list[ConfigProblem]
) -> Any:
    """Put the values in the place of all references."""
    match value:
        case dict():
            return {
                k: _resolve_all(v, (*path, k), problems)
                for k, v in value.items()
            }
        case list() | tuple():
            return [
                _resolve_all(v, (*path, i), problems)
                for i, v in enumerate(value)
            ]
        case str():
            try:
                return resolve(value)
            except ReferenceFailedError as e:
                problems.append(ConfigProblem(path, str(e)))
                return Referenced()
        case _:
            return value
